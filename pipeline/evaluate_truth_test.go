package pipeline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/evaluator/skillfollowing"
	"github.com/tracejury/tracejury/judge/evaluator/skillselection"
	"github.com/tracejury/tracejury/judge/evaluator/toolselection"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// scripted is what happened in a session of the archive, written by the generator.
type scripted struct {
	Name      string          `json:"name"`
	Key       string          `json:"session_key"`
	Harness   string          `json:"harness"`
	Finished  bool            `json:"finished"`
	Content   string          `json:"content"`
	ToolCalls int             `json:"tool_calls"`
	Facts     map[string]bool `json:"facts"`
	Skills    []struct {
		Skill   string `json:"skill"`
		Outcome string `json:"outcome"`
	} `json:"skills"`
}

func scriptedSessions(t *testing.T) map[string]scripted {
	t.Helper()
	data, err := os.ReadFile("../testdata/archive-truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth struct {
		Sessions []scripted `json:"sessions"`
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	out := map[string]scripted{}
	for _, s := range truth.Sessions {
		if s.Key != "" { // its key is made of what lies in the lake
			out[s.Key] = s
		}
	}
	return out
}

// gradedBy is the final verdicts of one evaluator by session.
func gradedBy(t *testing.T, data, evaluator string) map[string][]schema.Verdict {
	t.Helper()
	out := map[string][]schema.Verdict{}
	for _, v := range readTable[schema.Verdict](t, data, "verdicts") {
		if v.Evaluator == evaluator && v.Vote == "final" {
			out[v.SessionKey] = append(out[v.SessionKey], v)
		}
	}
	return out
}

func findingsOf(list []schema.Verdict) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Findings...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// For every scripted session: the skills that were asked for and no others, the right reason where nothing is judged, one question a
// call of a tool, and facts that do not contradict what happened.
func TestEvaluatorsAgainstTheScript(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, data), pipeline.IngestOptions{})
	bedrock(t, judgetest.Options{})
	cfg := evaluateConfig(t, data)
	cfg.Evaluate.Sample, cfg.Evaluate.Days = 50, 28
	cfg.Evaluate.Evaluators = []string{"session", "skill-selection", "skill-following", "tool-selection"}
	if _, err := pipeline.Evaluate(context.Background(), cfg, pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	truth := scriptedSessions(t)
	chosen, followed, called := gradedBy(t, data, "skill_selection"), gradedBy(t, data, "skill_following"), gradedBy(t, data, "tool_selection")
	checked := 0
	for key, s := range truth {
		if chosen[key] == nil {
			if s.Finished && s.Content == "recorded" {
				t.Errorf("%s was finished, its content recorded, and it was not judged", s.Name)
			}
			continue
		}
		checked++
		var want, got []string
		outcome := map[string]string{}
		for _, k := range s.Skills {
			name := invocation.Fold(k.Skill)
			if want = append(want, name); outcome[name] != "loaded" {
				outcome[name] = k.Outcome
			}
		}
		for _, v := range chosen[key] {
			if v.Skill != "" {
				got = append(got, v.Skill)
			}
			if v.Skill != "" && v.Verdict != string(judge.Scored) && v.Verdict != string(judge.Unclear) {
				t.Errorf("%s: the choice of %s is %s", s.Name, v.Skill, v.Verdict)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		if want = slices.Compact(want); !slices.Equal(got, want) {
			t.Errorf("%s: judged the choice of %q, the script asks for %q", s.Name, got, want)
		}
		if len(want) == 0 {
			if f := findingsOf(chosen[key]); len(f) != 1 || f[0] != invocation.FindingNothingInvoked && f[0] != invocation.FindingNothingAvailable || chosen[key][0].Verdict != string(judge.NotApplicable) {
				t.Errorf("%s: no skill was asked for: %q %s", s.Name, f, chosen[key][0].Verdict)
			}
		}
		for _, v := range followed[key] {
			switch {
			case v.Skill == "":
			case outcome[v.Skill] == "refused":
				if !slices.Equal(v.Findings, []string{invocation.FindingLoadRefused}) {
					t.Errorf("%s: %s was refused: %+v", s.Name, v.Skill, v.Findings)
				}
			case s.Harness == "claude_code": // it withholds bodies
				if !slices.Equal(v.Findings, []string{invocation.FindingBodyMissing}) {
					t.Errorf("%s: the body of %s is not recorded: %+v", s.Name, v.Skill, v.Findings)
				}
			case v.Verdict == string(judge.NotApplicable) && !slices.Contains(v.Findings, invocation.FindingNoSteps):
				t.Errorf("%s: %s was loaded and is not applicable: %+v", s.Name, v.Skill, v.Findings)
			}
		}
		calls := 0
		for _, v := range called[key] {
			if v.Tool != "" {
				calls++
			}
		}
		if calls != s.ToolCalls-len(s.Skills) {
			t.Errorf("%s: %d calls were judged, the script has %d of which %d load skills", s.Name, calls, s.ToolCalls, len(s.Skills))
		}
	}
	if checked < 30 {
		t.Errorf("only %d sessions were judged", checked)
	}
	checkFacts(t, data, truth)
}

// checkFacts holds the facts that a judge is given to what happened: one that code cannot tell is unknown, never wrong.
func checkFacts(t *testing.T, data string, truth map[string]scripted) {
	t.Helper()
	names := map[string]string{"user_request": session.FactAnyUserRequest, "tool_call": session.FactAnyToolCall, "tool_error": session.FactAnyError,
		"denial": session.FactAnythingDenied, "content_read": session.FactUntrustedRead, "state_changed": session.FactAnyStateChanging}
	rubric, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	ev, err := session.New(rubric, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wrong, unknown, right := []string{}, 0, 0
	for key, s := range subjectsOf(t, data) {
		item, _, err := ev.Item(*s, "7f3a90bc11d2")
		if err != nil || item == nil || truth[key].Content != "recorded" {
			continue
		}
		facts := map[string]judge.Truth{}
		for _, f := range item.Request.Facts {
			facts[f.Name] = f.Truth
		}
		for name, happened := range truth[key].Facts {
			switch fact, known := facts[names[name]]; {
			case !known:
			case name == "content_read" && truth[key].Facts["tool_error"]: // the words of an error are read, too
			case fact == judge.Unknown:
				unknown++
			case (fact == judge.Yes) != happened:
				wrong = append(wrong, fmt.Sprintf("%s: %s is %s, the script says %t", truth[key].Name, names[name], fact, happened))
			default:
				right++
			}
		}
	}
	slices.Sort(wrong)
	if len(wrong) > 0 {
		t.Errorf("%d facts are wrong:\n%s", len(wrong), strings.Join(wrong, "\n"))
	}
	if right < 150 || unknown > right/4 {
		t.Errorf("%d facts are right, %d unknown", right, unknown)
	}
}

// subjectsOf are the sessions of a lake with their steps, skills and tools, by key.
func subjectsOf(t *testing.T, data string) map[string]*evaluator.Subject {
	t.Helper()
	out := map[string]*evaluator.Subject{}
	for _, s := range rows[schema.Session](t, data, "sessions/") {
		out[s.SessionKey] = &evaluator.Subject{Kind: "session", ID: s.SessionKey, Revision: s.Revision, Session: &s}
	}
	for _, st := range rows[schema.Step](t, data, "steps/") {
		out[st.SessionKey].Steps = append(out[st.SessionKey].Steps, st)
	}
	for _, k := range rows[schema.Skill](t, data, "skills/") {
		out[k.SessionKey].Skills = append(out[k.SessionKey].Skills, k)
	}
	for _, x := range rows[schema.Tool](t, data, "tools/") {
		out[x.SessionKey].Tools = append(out[x.SessionKey].Tools, x)
	}
	return out
}

// What real clients exported: every skill and every call becomes exactly one subject, whatever the harness, nothing without a
// reason is left unjudged, and the tools that they defined are graded.
func TestEvaluatorsOverCaptures(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real clients")
	}
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	data := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, filepath.Join(shared, "captures"), data), pipeline.IngestOptions{})
	selection, following, tools := invocationEvaluators(t)
	harnesses := map[string]int{}
	for key, s := range subjectsOf(t, data) {
		harnesses[s.Session.Harness]++
		calls := 0
		loads := map[int32]bool{}
		for _, k := range s.Skills {
			if k.Step != nil {
				loads[*k.Step] = true
			}
		}
		for _, st := range s.Steps {
			if st.Kind == "tool_call" && !st.Earlier && !loads[st.Step] {
				calls++
			}
		}
		judged := map[string]bool{}
		for _, sub := range tools.Split(*s) {
			if judged[sub.ID] {
				t.Errorf("%s: %s twice", key, sub.ID)
			}
			judged[sub.ID] = true
			answered(t, tools, &sub)
			if len(sub.Focus) > 0 {
				calls--
			}
		}
		if calls != 0 {
			t.Errorf("%s of %s: %d calls have no subject", key, s.Session.Harness, calls)
		}
		for _, e := range []splitter{selection, following} {
			focus := 0
			for _, sub := range e.Split(*s) {
				answered(t, e, &sub)
				focus += len(sub.Focus)
			}
			asked := 0
			for i := range s.Skills {
				if e == following || invocation.ByAgent(&s.Skills[i]) {
					asked++
				}
			}
			if focus != asked {
				t.Errorf("%s of %s: %d of %d attempts have a subject", key, s.Session.Harness, focus, asked)
			}
		}
	}
	if len(harnesses) < 10 {
		t.Errorf("captures of %v only", slices.Sorted(maps.Keys(harnesses)))
	}

	bedrock(t, judgetest.Options{})
	cfg := evaluateConfig(t, data)
	cfg.AsOf, cfg.Evaluate.Days = newestDay(t, data), 28
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	graded, err := pipeline.EvaluateTools(context.Background(), cfg, pipeline.ToolOptions{}, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if graded.Graded < 5 || len(graded.Servers) == 0 {
		t.Errorf("%d tools of %d servers were graded", graded.Graded, len(graded.Servers))
	}
	for _, s := range graded.Servers {
		for _, tool := range s.Tools {
			if tool.Grade == "" && tool.Reason == "" {
				t.Errorf("%s/%s has no grade and no reason", s.Server, tool.Tool)
			}
		}
	}
}

// newestDay is the last day of a lake's sessions.
func newestDay(t *testing.T, data string) string {
	t.Helper()
	days, err := filepath.Glob(filepath.Join(data, "sessions", "dt=2*"))
	if err != nil || len(days) == 0 {
		t.Fatalf("no day: %v", err)
	}
	slices.Sort(days)
	return strings.TrimPrefix(filepath.Base(days[len(days)-1]), "dt=")
}

type splitter interface {
	evaluator.Evaluator
	evaluator.Splitter
}

func invocationEvaluators(t *testing.T) (selection, following, tools splitter) {
	t.Helper()
	rubric := func(name string) judge.Rubric {
		r, err := judge.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	f, err := skillfollowing.New(rubric("skill_following"), skillfollowing.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := skillselection.New(rubric("skill_selection"), skillselection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := toolselection.New(rubric(toolselection.Name), toolselection.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s, f, c
}

// answered checks that a subject becomes a question or an answer with a reason.
func answered(t *testing.T, e evaluator.Evaluator, s *evaluator.Subject) {
	t.Helper()
	item, answers, err := e.Item(*s, "7f3a90bc11d2")
	switch {
	case err != nil:
		t.Errorf("%s: %v", s.ID, err)
	case item == nil && (len(answers) != 1 || len(answers[0].Findings) == 0 || answers[0].Explanation == ""):
		t.Errorf("%s: neither a question nor a reason: %+v", s.ID, answers)
	}
}
