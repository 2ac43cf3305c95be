package pipeline

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteText prints the summary for a person.
func (s *IngestSummary) WriteText(w io.Writer) {
	c := &s.Counts
	fmt.Fprintf(w, "objects   %d listed, %d new%s\n", c.Listed, c.New, byName(c.Objects, ": "))
	if s.DryRun {
		fmt.Fprintln(w, "dry run   nothing was read")
		if f := s.Forecast; f != nil && c.New > 0 {
			disk := "no local disk"
			if f.Disk > 0 {
				disk = "up to " + sizeText(f.Disk) + " of local disk"
			}
			fmt.Fprintf(w, "to read   %s stored, about %s unpacked, %s needed\n", sizeText(f.Stored), sizeText(f.Plain), disk)
		}
		return
	}
	if c.New > 0 {
		fmt.Fprintf(w, "records   %d = %d written + %d duplicate + %d filtered%s + %d quarantined\n", c.Records, c.Written, c.Duplicates, c.Filtered, parens(byName(c.FilteredBy, "")), c.Quarantined)
		fmt.Fprintf(w, "sessions  %d written", c.Sessions)
		if c.Moved > 0 {
			fmt.Fprintf(w, ", %d moved to another key", c.Moved)
		}
		fmt.Fprintln(w)
	}
	if c.NoIDs > 0 {
		fmt.Fprintf(w, "ids       %d spans without an id were kept under one made from their content\n", c.NoIDs)
	}
	if c.Cut > 0 {
		fmt.Fprintf(w, "too large %d sessions, which will not be judged: is their session id that of many? else raise limits.max_session_bytes\n", c.Cut)
	}
	if len(c.SkillTools) > 0 {
		fmt.Fprintf(w, "skills    not recognised in calls of: %s; ingest --explain OBJECT shows them\n", byTool(c.SkillTools))
	}
	if len(c.Masked) > 0 {
		fmt.Fprintf(w, "masked    %s\n", byName(c.Masked, ""))
	}
	if c.Expired > 0 {
		fmt.Fprintf(w, "expired   content of %d days deleted\n", c.Expired)
	}
	if s.Checked {
		fmt.Fprintln(w, "check     nothing was written")
	} else if s.Commit >= 0 {
		fmt.Fprintf(w, "commit    %d in %s\n", s.Commit, s.Data)
	} else {
		fmt.Fprintf(w, "commit    none: nothing new for %s\n", s.Data)
	}
}

// byName lists counts as "3 ok, 1 partial".
func byName(m map[string]int64, prefix string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if m[k] != 0 {
			parts = append(parts, fmt.Sprintf("%d %s", m[k], strings.ReplaceAll(k, "_", " ")))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return prefix + strings.Join(parts, ", ")
}

// byTool lists tools with the sessions that called them, names as they are.
func byTool(m map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s (%d sessions)", k, m[k]))
	}
	return strings.Join(parts, ", ")
}

func parens(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// WriteText prints the summary for a person.
func (s *ExportSummary) WriteText(w io.Writer) {
	for _, f := range s.Files {
		fmt.Fprintf(w, "%8d  %s\n", f.Bytes, f.Path)
	}
	for _, t := range slices.Sorted(maps.Keys(s.Losses)) {
		for _, l := range s.Losses[t] {
			where := t
			if l.File != "" {
				where = l.File
			}
			fmt.Fprintf(w, "loss      %s: %s: %s\n", where, l.What, l.How)
		}
	}
	if s.Dir != "" {
		fmt.Fprintln(w, "exports  ", s.Dir)
	}
}

// WriteText prints the summary for a person.
func (s *EvaluateSummary) WriteText(w io.Writer) {
	fmt.Fprintf(w, "run       %s (%s)\n", s.RunID, s.State)
	if s.Window[0] != "" {
		fmt.Fprintf(w, "window    %s to %s\n", s.Window[0], s.Window[1])
	}
	left := map[string]int64{}
	for k, n := range s.LeftOut {
		left[k] = int64(n)
	}
	fmt.Fprintf(w, "%-9s %d eligible, %d sampled%s\n", plural(s.Noun), s.Eligible, s.Sampled, parens(byName(left, "left out: ")))
	for i, x := range s.Strata {
		if i == maxStrataShown {
			fmt.Fprintf(w, "          and %d services more\n", len(s.Strata)-i)
			break
		}
		fmt.Fprintf(w, "          %s: %d of %d\n", dash(printable(x.Service, 64)), x.Sampled, x.Eligible)
	}
	if s.DryRun {
		fmt.Fprintf(w, "dry run   %d calls, about %d input tokens%s; nothing was asked\n", s.Calls, s.InputTokens, dollars(", about ", s.CostMicroUSD))
		s.writeJudge(w)
		s.writeNotes(w)
		return
	}
	why := map[string]int64{}
	for k, n := range s.UngradedBy {
		why[k] = int64(n)
	}
	fmt.Fprintf(w, "graded    %d subjects, %d ungraded%s, %d %s not attempted\n", s.Graded, s.Ungraded, parens(byName(why, "")), s.NotAttempted, plural(s.Noun))
	if s.Already {
		fmt.Fprintln(w, "calls     none: this run was finished before")
	} else {
		fmt.Fprintf(w, "calls     %d made now, %d answers taken from the ledger%s%s\n", s.Calls, s.FromLedger, fromCache(s.FromCache), dollars("; the whole run cost ", s.CostMicroUSD))
	}
	s.writeJudge(w)
	if s.OnRefusal != "" {
		fmt.Fprintf(w, "          %s\n", s.OnRefusal)
	}
	s.writeAgreement(w)
	s.writeNotes(w)
}

// writeJudge names the judge. Without --judge it is code, which nobody should take for a model.
func (s *EvaluateSummary) writeJudge(w io.Writer) {
	judge := s.Judge
	if s.Offline {
		judge += " (offline: verdicts come from code, not from a model, and nothing was sent to one; --judge names a model)"
	}
	fmt.Fprintf(w, "judge     %s\n", judge)
}

func fromCache(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d from the shared cache", n)
}

// writeNotes prints what a dry run and a run both tell.
func (s *EvaluateSummary) writeNotes(w io.Writer) {
	for _, b := range s.Batch {
		fmt.Fprintf(w, "batch     %s\n", b)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "warning   %s\n", warning)
	}
}

func dollars(prefix string, micro *int64) string {
	if micro == nil {
		return ""
	}
	return fmt.Sprintf("%s$%.4f", prefix, float64(*micro)/1e6)
}
