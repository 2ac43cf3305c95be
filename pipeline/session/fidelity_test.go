package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// exported lists what a client exports, as the table of the captures says. Facts that are not exported are not expected, and
// telling one would be an invention.
type exported struct {
	texts       string // all, final, none: the assistant's texts
	results     bool   // of tools, so that outcomes are known
	catalogue   bool
	body        bool
	refusal     bool // that a load was refused
	denial      bool // that a policy stopped a call; otherwise it is an error
	noArgs      bool
	noPrompt    bool
	refusesRN   bool // release-notes may not be loaded by the model here
	noReason    bool // why a load or call failed is hidden from the model too
	harness     string
	skillRead   bool // skills are read as files
	lostRefusal bool // a refused load leaves no trace at all
	noSkill     bool // the names of loaded skills are withheld
	byCommand   bool // files are read and written by commands
	asksFirst   bool // lists the skills before the script begins
}

// fidelity is the table of what must be recovered from which capture. Another harness is another line.
var fidelity = []struct {
	client    string
	scenarios []string
	exported  exported
}{
	{"strands-ts", []string{"full_pdf", "full_pdf__latest", "full_pdf__attrs", "no_skill", "partial_incident", "secret_leak", "tool_denied", "tool_denied__attrs", "unknown_skill", "wrong_skill"},
		exported{texts: "final", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "strands"}},
	{"vercel-ai-sdk", []string{"full_pdf", "full_pdf__ctx", "no_skill", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "vercel_ai_sdk"}},
	{"openai-agents-js", []string{"full_pdf", "partial_incident", "partial_incident__chat_stream", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, noReason: true, harness: "openinference/openai"}},
	{"anthropic-sdk", []string{"full_pdf", "full_pdf__stream", "no_skill", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference/anthropic"}},
	{"langchain-js", []string{"full_pdf", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference/langchain"}},
	{"langchain-js", []string{"full_pdf__deep", "partial_incident__deep"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference/langchain", skillRead: true}},
	{"vercel-ai-sdk", []string{"full_pdf__legacy", "unknown_skill__legacy_stream_pb"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "vercel_ai_sdk"}},
	{"anthropic-sdk", []string{"full_pdf__traceloop", "tool_denied__traceloop_pb"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference"}},
	{"claude-code", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "secret_leak__pb_gzip", "tool_denied", "unknown_skill", "wrong_skill", "wrong_skill__pb"},
		exported{texts: "all", denial: true, refusesRN: true, lostRefusal: true, harness: "claude_code"}},
	{"claude-code", []string{"full_pdf__beta", "unknown_skill__beta", "full_pdf__raw", "partial_incident__raw", "tool_denied__raw"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, refusesRN: true, harness: "claude_code"}},
	{"claude-code", []string{"full_pdf__default_pb", "tool_denied__default_pb_gzip"},
		exported{texts: "none", denial: true, refusesRN: true, harness: "claude_code", noArgs: true, noPrompt: true, noSkill: true}},
	{"codex", []string{"full_pdf__default_pb"},
		exported{texts: "none", results: true, body: true, denial: true, harness: "codex", skillRead: true, byCommand: true, noPrompt: true}},
	{"codex", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "unknown_skill__pb", "wrong_skill"},
		exported{texts: "none", results: true, body: true, refusal: true, denial: true, harness: "codex", skillRead: true, byCommand: true, noReason: true}},
	{"gemini-cli", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "tool_denied", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "gemini_cli"}},
	{"gemini-cli", []string{"full_pdf__default"},
		exported{texts: "none", catalogue: true, denial: true, harness: "gemini_cli", noArgs: true, noPrompt: true, noSkill: true}},
	{"qwen-code", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "tool_denied", "unknown_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, refusesRN: true, harness: "qwen_code"}},
	{"google-adk-js", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "unknown_skill", "wrong_skill"},
		exported{texts: "final", results: true, body: true, refusal: true, denial: true, harness: "google_adk", asksFirst: true}},
	{"mastra", []string{"full_pdf", "full_pdf__gen_pb", "partial_incident", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "mastra"}},
	{"langsmith-otel", []string{"full_pdf", "partial_incident", "secret_leak", "unknown_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "langsmith"}},
	{"opencode", []string{"full_pdf__fast"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "opencode", noPrompt: true}},
}

type truth struct {
	Skills    map[string]string   `json:"skills"`
	Scenarios map[string]scenario `json:"scenarios"`
}

type scenario struct {
	Prompts []string `json:"prompts"`
	Turns   []struct {
		Text  *string          `json:"text"`
		Calls []map[string]any `json:"calls"`
	} `json:"turns"`
	Truth struct {
		Skills [][]string `json:"skills"`
		Denied any        `json:"denied"`
	} `json:"truth"`
}

// tally counts facts: expected, found and invented.
type tally struct{ want, got, invented int }

type score map[string]*tally

func (s score) at(fact string) *tally {
	if s[fact] == nil {
		s[fact] = &tally{}
	}
	return s[fact]
}

func (s score) expect(t *testing.T, fact string, ok bool, format string, args ...any) {
	t.Helper()
	s.at(fact).want++
	if ok {
		s.at(fact).got++
	} else {
		t.Errorf("%s: "+format, append([]any{fact}, args...)...)
	}
}

func (s score) invent(t *testing.T, fact, format string, args ...any) {
	t.Helper()
	s.at(fact).invented++
	t.Errorf("%s invented: "+format, append([]any{fact}, args...)...)
}

var facts = []string{"prompt", "text", "answer", "call", "order", "outcome", "result", "skill", "body", "catalogue", "denial", "session"}

// TestFidelity holds sessions built from real telemetry against the script that the harnesses were driven with.
func TestFidelity(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real harnesses")
	}
	raw, err := os.ReadFile(filepath.Join(shared, "captures", "truth.json"))
	if err != nil {
		t.Fatalf("read truth: %v", err)
	}
	var tr truth
	if err := json.Unmarshal(raw, &tr); err != nil {
		t.Fatalf("parse truth: %v", err)
	}
	scores := map[string]score{}
	var clients []string
	for _, line := range fidelity {
		sc := scores[line.client]
		if sc == nil {
			sc = score{}
			scores[line.client] = sc
			clients = append(clients, line.client)
		}
		for _, name := range line.scenarios {
			base, _, _ := strings.Cut(name, "__")
			t.Run(line.client+"/"+name, func(t *testing.T) {
				rows := capturedRows(t, line.client, name)
				checkFidelity(t, sc, tr, tr.Scenarios[base], line.exported, sessionsOf(rows, Options{}))
			})
		}
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-20s", "recall (invented)")
	for _, f := range facts {
		fmt.Fprintf(&table, "%13s", f)
	}
	for _, c := range clients {
		fmt.Fprintf(&table, "\n%-20s", c)
		for _, f := range facts {
			cell := "-"
			if x := scores[c][f]; x != nil {
				cell = fmt.Sprintf("%d/%d", x.got, x.want)
				if x.invented > 0 {
					cell += fmt.Sprintf(" (+%d)", x.invented)
				}
			}
			fmt.Fprintf(&table, "%13s", cell)
		}
	}
	t.Log("\n" + table.String())
}

func checkFidelity(t *testing.T, sc score, tr truth, s scenario, x exported, all []Built) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no session")
	}
	b := all[0]
	sc.expect(t, "session", len(all) == 1, "%d sessions", len(all))
	if x.harness != "" {
		sc.expect(t, "session", b.Session.Harness == x.harness, "harness %q, want %q", b.Session.Harness, x.harness)
	}
	checkTexts(t, sc, s, x, b)
	checkCalls(t, sc, s, x, b)
	checkSkills(t, sc, tr, s, x, b)
	for i, st := range b.Steps {
		if st.Step != int32(i+1) {
			t.Errorf("step %d is numbered %d", i+1, st.Step)
		}
	}
	if t.Failed() {
		t.Log(dump(b))
	}
}

func checkTexts(t *testing.T, sc score, s scenario, x exported, b Built) {
	t.Helper()
	var prompts, texts []string
	for _, st := range b.Steps {
		switch {
		case st.Role == "user":
			prompts = append(prompts, st.Text)
		case st.Role == "assistant" && st.Kind == "message":
			texts = append(texts, strings.TrimSpace(st.Text))
		}
	}
	if !x.noPrompt {
		for i, p := range s.Prompts {
			sc.expect(t, "prompt", i < len(prompts) && strings.TrimSpace(prompts[i]) == p, "%d: %q", i, p)
		}
		for _, p := range prompts {
			if !slices.Contains(s.Prompts, strings.TrimSpace(p)) {
				sc.invent(t, "prompt", "%q", p)
			}
		}
		sc.expect(t, "prompt", int(b.Session.NTurns) == len(s.Prompts) && len(prompts) == len(s.Prompts), "%d prompts in %d turns, want %d", len(prompts), b.Session.NTurns, len(s.Prompts))
	}
	var want []string
	for _, turn := range s.Turns {
		if turn.Text != nil {
			want = append(want, strings.TrimSpace(*turn.Text))
		}
	}
	answer := want[len(want)-1]
	if x.texts != "none" {
		sc.expect(t, "answer", len(texts) > 0 && texts[len(texts)-1] == answer, "last text %q, want %q", last(texts), answer)
	}
	if x.texts == "all" {
		for i, w := range want {
			sc.expect(t, "text", i < len(texts) && texts[i] == w, "%d: %q", i, w)
		}
	}
	seen := map[string]int{}
	for _, got := range texts {
		if got == "" || x.asksFirst && got == "Let me see which skills there are." {
			continue // said, but withheld, or beside the script
		}
		seen[got]++
		if seen[got] > count(want, got) {
			sc.invent(t, "text", "%q", got)
		}
	}
}

func last(l []string) string {
	if len(l) == 0 {
		return ""
	}
	return l[len(l)-1]
}

func count(l []string, s string) (n int) {
	for _, e := range l {
		if e == s {
			n++
		}
	}
	return n
}

// scripted is one call of the script: what its arguments must hold and how it must end.
type scripted struct {
	value, outcome string
	skill          bool
}

func scriptedCalls(s scenario, x exported) (out []scripted) {
	denied := fmt.Sprint(s.Truth.Denied)
	for _, turn := range s.Turns {
		for _, c := range turn.Calls {
			w := scripted{outcome: "ok"}
			for _, k := range []string{"skill", "sh", "read", "write"} {
				if v, ok := c[k].(string); ok {
					w.value, w.skill = v, k == "skill"
				}
			}
			if w.skill && w.value == "ledger-reconcile" || w.skill && w.value == "release-notes" && x.refusesRN {
				w.outcome = "refused"
				if x.lostRefusal {
					continue
				}
				if !x.refusal {
					w.outcome = ""
				}
				if x.noReason {
					w.outcome = "error" // the reason is hidden
				}
			}
			if w.value != "" && strings.Contains(denied, w.value) {
				w.outcome = "denied"
				if !x.denial {
					w.outcome = "error"
				}
			}
			if w.skill && x.skillRead {
				w.value += "/SKILL.md"
			}
			out = append(out, w)
		}
	}
	return out
}

func checkCalls(t *testing.T, sc score, s scenario, x exported, b Built) {
	t.Helper()
	want := scriptedCalls(s, x)
	var calls []schema.Step
	results := map[string]schema.Step{}
	for _, st := range b.Steps {
		switch st.Kind {
		case "tool_call":
			if x.asksFirst && st.Tool == "list_skills" {
				continue
			}
			calls = append(calls, st)
		case "tool_result", "denial":
			results[st.CallID] = st
		}
	}
	next := 0
	denials := 0
	for i, w := range want {
		at := -1
		for j := next; j < len(calls) && at < 0; j++ {
			if x.noArgs || argsHold(calls[j].Arguments, w.value) || x.byCommand && strings.Contains(calls[j].Arguments, w.value) {
				at = j
			}
		}
		sc.expect(t, "call", at >= 0, "%d: %q", i, w.value)
		if at < 0 {
			continue
		}
		sc.expect(t, "order", at == next, "call %d %q comes at %d", i, w.value, at)
		next = at + 1
		if w.outcome != "" {
			sc.expect(t, "outcome", calls[at].Outcome == w.outcome, "%q ended %s, want %s", w.value, calls[at].Outcome, w.outcome)
		}
		if w.outcome == "denied" {
			denials++
		}
		if x.results {
			r, ok := results[calls[at].CallID]
			sc.expect(t, "result", ok && r.Text != "" && r.Step > calls[at].Step, "of %q: %q", w.value, r.Text)
		}
	}
	if len(calls) > len(want) {
		sc.invent(t, "call", "%d calls, want %d", len(calls), len(want))
	}
	if x.denial && denials > 0 {
		sc.expect(t, "denial", int(b.Session.NDenied) == denials, "%d denied, want %d", b.Session.NDenied, denials)
	}
	if int(b.Session.NDenied) > denials {
		sc.invent(t, "denial", "%d denied, want %d", b.Session.NDenied, denials)
	}
}

// argsHold says whether one of the arguments is the value, or ends in it as a path does.
func argsHold(args, value string) bool {
	var m map[string]any
	if json.Unmarshal([]byte(args), &m) != nil {
		return strings.Contains(args, value)
	}
	for _, v := range m {
		switch v := v.(type) {
		case string:
			if v == value || strings.HasSuffix(v, "/"+value) || strings.HasSuffix(v, value) && strings.HasPrefix(v, "bash ") {
				return true
			}
		case []any:
			for _, e := range v {
				if e == value {
					return true
				}
			}
		}
	}
	return false
}

func checkSkills(t *testing.T, sc score, tr truth, s scenario, x exported, b Built) {
	t.Helper()
	if x.noSkill {
		return
	}
	i := 0
	for _, w := range s.Truth.Skills {
		outcome := loaded
		if strings.HasPrefix(w[1], "refused") || w[0] == "release-notes" && x.refusesRN {
			outcome = refused
			if !x.refusal {
				continue
			}
		}
		ok := i < len(b.Skills) && b.Skills[i].Skill == w[0] && b.Skills[i].Outcome == outcome
		sc.expect(t, "skill", ok, "%d: %s %s", i, w[0], outcome)
		if !ok {
			continue
		}
		sk := b.Skills[i]
		i++
		if x.body && outcome == loaded {
			_, _, want := frontmatter(tr.Skills[w[0]])
			sc.expect(t, "body", sk.BodyState == "captured" && sk.Body == strings.TrimSpace(want), "of %s: %s %q", w[0], sk.BodyState, sk.Body)
		}
		if x.catalogue {
			offered := tr.Skills[w[0]] != "" && !(w[0] == "release-notes" && x.refusesRN)
			sc.expect(t, "catalogue", sk.CatalogueState == "listed" && sk.Offered != nil && *sk.Offered == offered, "%s is %s", w[0], sk.CatalogueState)
		}
	}
	if i < len(b.Skills) {
		sc.invent(t, "skill", "%d attempts, want %d", len(b.Skills), i)
	}
	if x.catalogue {
		sc.expect(t, "catalogue", b.Session.NSkillsOffered != nil && int(*b.Session.NSkillsOffered) >= 5, "offered %v", b.Session.NSkillsOffered)
	}
}

// dump is a session as a person reads it.
func dump(b Built) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s %s/%s turns %d calls %d/%d %s missing %v warnings %v\n", b.Session.Harness, b.Session.Agent, b.Session.SessionID, b.Session.SessionIDSource,
		b.Session.NTurns, b.Session.NModelCalls, b.Session.NToolCalls, b.Session.ContentState, b.Session.Missing, b.Session.Warnings)
	for _, st := range b.Steps {
		text := strings.ReplaceAll(st.Text, "\n", "⏎")
		if len(text) > 90 {
			text = text[:90]
		}
		fmt.Fprintf(&s, "%3d t%d %s/%s [%s] %s %.60s %s %s\n", st.Step, st.Turn, st.Role, st.Kind, st.Agent, st.Tool, st.Arguments, st.Outcome, text)
	}
	for _, sk := range b.Skills {
		fmt.Fprintf(&s, "skill %d %s via %s %s %.60q body %s %d\n", sk.Attempt, sk.Skill, sk.Via, sk.Outcome, sk.Refusal, sk.BodyState, len(sk.Body))
	}
	return s.String()
}
