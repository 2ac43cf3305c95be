package pipeline

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// whyNotText says in words what keeps a session from being judged.
var whyNotText = map[string]string{
	"no_usable_time":              "none of its records has a usable time",
	"not_finished":                "its last record is less than 30 minutes before as-of: it may go on",
	"content_expired":             "its content is past retention.content, or content storage is off",
	"began_while_content_was_off": "it began while content storage was off",
	"content_missing":             "its harness exported no content, or the content was deleted",
	"no_prompt_and_no_tool_call":  "it has no user prompt and no tool call",
	"too_large":                   "it has more records than limits.max_session_bytes, or more than 20,000 steps: its end is not in the tables (is its session id one of many sessions?)",
}

const (
	shownText     = 160  // characters of a step
	shownEvidence = 1200 // of a step that a verdict points at
)

// WriteText prints the session for a person.
func (s *SessionShow) WriteText(w io.Writer) {
	r := &s.Session
	fmt.Fprintf(w, "session   %s\nkey       %s (tenant %s, revision %.12s, dt %s)\n", dash(printable(r.SessionID, 128)), r.SessionKey, printable(r.Tenant, 64), r.Revision, s.Day)
	fmt.Fprintf(w, "by        service %s, agent %s, harness %s\n", dash(printable(r.Service, 64)), dash(printable(r.Agent, 64)), dash(printable(strings.TrimSpace(r.Harness+" "+r.HarnessVersion), 64)))
	fmt.Fprintf(w, "time      %s to %s, last record %s\n", clock(r.StartedUnixNano), clock(r.EndedUnixNano), clock(r.LastRecordUnixNano))
	fmt.Fprintf(w, "counts    %d turns, %d model calls, %d tool calls, %d errors, %d denied, %d skills loaded, %d refused\n", r.NTurns, r.NModelCalls, r.NToolCalls, r.NToolErrors, r.NDenied, r.NSkillsLoaded, r.NSkillsRefused)
	if len(r.Models) > 0 {
		fmt.Fprintf(w, "models    %s\n", printable(strings.Join(r.Models, ", "), 200))
	}
	fmt.Fprintf(w, "content   %s%s\n", r.ContentState, parens(missingText(r.Missing)))
	if s.Eligible {
		fmt.Fprintf(w, "eligible  yes, as of %s\n", s.AsOf.Format(time.RFC3339))
	} else {
		fmt.Fprintf(w, "eligible  no: %s (%s), as of %s\n", whyNotText[s.WhyNot], s.WhyNot, s.AsOf.Format(time.RFC3339))
	}
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning   %s\n", printable(warning, 200))
	}
	for _, k := range s.Skills {
		fmt.Fprintf(w, "skill     %s: %s via %s%s\n", printable(k.Skill, 64), k.Outcome, k.Via, parens(printable(k.Refusal, 120)))
	}
	s.writeSteps(w)
	s.writeJudged(w)
}

func missingText(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return "not recorded: " + printable(strings.Join(missing, ", "), 200)
}

func clock(nano int64) string {
	if nano == 0 {
		return "unknown"
	}
	return time.Unix(0, nano).UTC().Format("2006-01-02 15:04:05")
}

func (s *SessionShow) writeSteps(w io.Writer) {
	if len(s.Steps) == 0 {
		fmt.Fprintln(w, "\nsteps     none are kept")
		return
	}
	evidence := s.evidence()
	fmt.Fprintln(w, "\nsteps     (> is evidence of a verdict)")
	for _, st := range s.Steps {
		mark, limit := ' ', shownText
		if evidence[st.Step] {
			mark, limit = '>', shownEvidence
		}
		fmt.Fprintf(w, "%c %4d  %-9s %-15s %s\n", mark, st.Step, st.Role, st.Kind, stepText(&st, limit))
	}
}

func stepText(st *schema.Step, limit int) string {
	var parts []string
	if st.Tool != "" {
		parts = append(parts, printable(st.Tool, 64))
	}
	if st.Outcome != "" {
		parts = append(parts, "["+st.Outcome+exitCode(st.ExitCode)+"]")
	}
	if st.Arguments != "" {
		parts = append(parts, printable(st.Arguments, limit))
	}
	if st.Text != "" {
		parts = append(parts, printable(st.Text, limit))
	}
	if st.Truncated {
		parts = append(parts, "(cut by the harness)")
	}
	return strings.Join(parts, " ")
}

func exitCode(code *int32) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf(", exit %d", *code)
}

func (s *SessionShow) writeJudged(w io.Writer) {
	if len(s.Judged) == 0 {
		fmt.Fprintln(w, "\nverdicts  none: no run has drawn this session")
	}
	for _, j := range s.Judged {
		fmt.Fprintf(w, "\nrun %s: %s by %s, %s\n", j.Run.RunID, printable(j.Run.Evaluator, 32), printable(strings.Join(j.Run.JudgeModels, ", "), 80), gradeText(&j.Grade))
		if j.Outdated {
			fmt.Fprintln(w, "  of an earlier state of the session: records came since")
		}
		for _, v := range j.Verdicts {
			writeVerdict(w, &v)
		}
	}
	if s.MoreRuns > 0 {
		fmt.Fprintf(w, "\n%d older parts of runs are not shown\n", s.MoreRuns)
	}
}

func writeVerdict(w io.Writer, v *ShownVerdict) {
	name := v.Criterion
	if v.Item != "" {
		name += " " + v.Item
	}
	if v.Safety {
		name += " (safety)"
	}
	fmt.Fprintf(w, "  %-40s %s%s%s\n", printable(name, 64), v.Verdict.Verdict, parens(printable(v.UngradedReason+v.Label, 48)), stepsText(v.EvidenceSteps))
	switch {
	case v.Withheld != "":
		fmt.Fprintf(w, "      the judge's words were withheld: %s\n", printable(v.Withheld, 48))
	case v.Explanation != "":
		fmt.Fprintf(w, "      %s\n", printable(v.Explanation, shownEvidence))
	}
}

func stepsText(steps []int32) string {
	if len(steps) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(", steps")
	for i, n := range steps {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %d", n)
	}
	return b.String()
}

func gradeText(g *schema.Grade) string {
	if g.State != "graded" {
		return "ungraded" + parens(printable(g.UngradedReason, 48))
	}
	say := func(result *bool, yes, no, none string) string {
		switch {
		case result == nil:
			return none
		case *result:
			return yes
		}
		return no
	}
	none := "nothing applied"
	switch {
	case g.Score != nil && g.Pass == nil:
		none = fmt.Sprintf("score %.2f", *g.Score)
	case g.Undecided && g.Pass == nil:
		none = "undecided"
	}
	s := say(g.Pass, "passed", "did not pass", none)
	if g.Safe != nil || g.SubjectKind == "session" { // parts of sessions have no criteria of safety
		s += ", " + say(g.Safe, "safe", "not safe", "no safety criterion applied")
	}
	if g.Undecided && g.Pass != nil {
		s += ", undecided"
	}
	return s
}
