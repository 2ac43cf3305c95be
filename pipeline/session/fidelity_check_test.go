package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

func checkFidelity(t *testing.T, sc score, tr truth, s scenario, x exported, rows []schema.Span) {
	t.Helper()
	all := sessionsOf(rows, Options{})
	if len(all) == 0 {
		t.Fatal("no session")
	}
	b := all[0]
	if !x.separate {
		sc.expect(t, "session", len(all) == 1, "%d sessions", len(all))
		checkTokens(t, sc, x, b, rows)
	}
	checkMissing(t, sc, x, b)
	if x.harness != "" {
		sc.expect(t, "session", b.Session.Harness == x.harness, "harness %q, want %q", b.Session.Harness, x.harness)
	}
	if x.nothing {
		if len(b.Steps) > 0 {
			sc.invent(t, "text", "steps of spans without content:\n%s", dump(b))
		}
		return
	}
	if x.onePrompt {
		s.Prompts = []string{strings.Join(s.Prompts, "\n")}
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
		case st.Role == "user" && x.quoted:
			prompts = append(prompts, strings.Trim(st.Text, `"`))
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
	if x.lostEnd { // what arrived is the beginning
		want = want[:min(len(want), len(texts))]
		sc.expect(t, "text", len(texts) > 0, "nothing was said")
	} else if x.texts != "none" {
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
	tool           string // of an MCP server
	skill          bool
}

func scriptedCalls(s scenario, x exported) (out []scripted) {
	denied := fmt.Sprint(s.Truth.Denied)
	for _, turn := range s.Turns {
		for _, c := range turn.Calls {
			w := scripted{outcome: "ok"}
			if m, ok := c["mcp"].([]any); ok {
				w.value, w.tool = "", fmt.Sprint(m[1])
				args, _ := c["args"].(map[string]any)
				if invoice, ok := args["invoice"].(string); ok {
					w.value = invoice
				}
				switch {
				case w.value == "INV-9999":
					w.outcome = "error"
				case w.tool == "post_payment":
					w.outcome = "" // denied, run or refused by the server
				}
			}
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
				if x.noTool {
					w.outcome = "refused"
				}
			}
			if w.skill && x.skillRead {
				w.value += "/SKILL.md"
			}
			if x.noOutcome {
				w.outcome = ""
			}
			out = append(out, w)
			if w.skill && x.sandbox { // the file at the path that the tool answered
				w.value, w.skill = w.value+"/SKILL.md", false
				out = append(out, w)
			}
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
	if x.lostEnd {
		want = want[:min(len(want), len(calls))]
	}
	next := 0
	denials := 0
	for i, w := range want {
		at := -1
		for j := next; j < len(calls) && at < 0; j++ {
			switch args := calls[j].Arguments; {
			case w.tool != "":
				if strings.HasSuffix(calls[j].Tool, w.tool) && (x.noArgs || strings.Contains(args, w.value)) {
					at = j
				}
			case x.noArgs || argsHold(args, w.value) || x.byCommand && strings.Contains(args, w.value):
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

// checkMissing compares the kinds of content that the session says are missing. A kind with a question mark is missing in
// some of the line's captures.
func checkMissing(t *testing.T, sc score, x exported, b Built) {
	t.Helper()
	for _, m := range b.Session.Missing {
		if !slices.Contains(x.missing, m) && !slices.Contains(x.missing, m+"?") {
			sc.invent(t, "missing", "%s", m)
		}
	}
	for _, m := range x.missing {
		if !strings.HasSuffix(m, "?") {
			sc.expect(t, "missing", slices.Contains(b.Session.Missing, m), "%s is not said to be missing", m)
		}
	}
	state := "full"
	if len(b.Session.Missing) > 0 {
		state = b.Session.ContentState
		if state == "full" {
			t.Errorf("content is %s and %v is missing", state, b.Session.Missing)
		}
	}
	sc.expect(t, "missing", b.Session.ContentState == state, "content is %s, want %s", b.Session.ContentState, state)
}

// checkTokens compares the session's tokens with the sum over the records that tell of one model call each, read from raw
// attributes by what the captures' description says of the client.
func checkTokens(t *testing.T, sc score, x exported, b Built, rows []schema.Span) {
	t.Helper()
	var in, out float64
	found := false
	seen := map[string]bool{}
	for _, r := range rows {
		var a map[string]any
		if json.Unmarshal([]byte(r.Attributes), &a) != nil || seen[r.RecordSHA256] {
			continue
		}
		seen[r.RecordSHA256] = true
		num := func(k string) float64 {
			switch v := a[k].(type) {
			case float64:
				return v
			case string:
				var f float64
				_, _ = fmt.Sscan(v, &f)
				return f
			}
			return 0
		}
		i, o := leafTokens(r, a, num)
		if o > 0 {
			in, out, found = in+i, out+o, true
		}
	}
	if !found || x.noUsage {
		if b.Session.OutputTokens != nil {
			sc.invent(t, "tokens", "%d", *b.Session.OutputTokens)
		}
		return
	}
	ok := b.Session.InputTokens != nil && b.Session.OutputTokens != nil && *b.Session.InputTokens == int64(in) && *b.Session.OutputTokens == int64(out)
	sc.expect(t, "tokens", ok, "want %v in, %v out; got %s %s", in, out, number(b.Session.InputTokens), number(b.Session.OutputTokens))
}

func number(n *int64) string {
	if n == nil {
		return "null"
	}
	return fmt.Sprint(*n)
}

func leafTokens(r schema.Span, a map[string]any, num func(string) float64) (in, out float64) {
	event, _ := a["event.name"].(string)
	switch op, _ := a["ai.operationId"].(string); {
	case event == "api_request":
		return num("input_tokens") + num("cache_read_tokens") + num("cache_creation_tokens"), num("output_tokens")
	case event == "codex.sse_event" && a["event.kind"] == "response.completed",
		strings.HasSuffix(event, ".api_response"):
		if total := num("total_token_count"); total > 0 {
			return num("input_token_count"), total - num("input_token_count")
		}
		return num("input_token_count"), num("output_token_count")
	case r.Signal == "log" || strings.HasPrefix(r.ScopeName, "com.anthropic.sdk") || r.Service == "claude-code" || r.Service == "gemini-cli" || r.Service == "qwen-code" || strings.HasPrefix(r.Service, "codex"):
		return 0, 0
	case strings.HasSuffix(op, ".doGenerate"), strings.HasSuffix(op, ".doStream"):
		return num("ai.usage.inputTokens"), num("ai.usage.outputTokens")
	case op != "":
		return 0, 0
	case a["mastra.span.type"] == "model_generation" && a["openinference.span.kind"] != nil, a["openinference.span.kind"] == "LLM" && a["mastra.span.type"] == nil:
		return num("llm.token_count.prompt"), num("llm.token_count.completion")
	case r.ScopeName == "@traceloop/instrumentation-anthropic":
		return num("gen_ai.usage.input_tokens") + num("gen_ai.usage.cache_read.input_tokens") + num("gen_ai.usage.cache_creation.input_tokens"), num("gen_ai.usage.output_tokens")
	case a["openinference.span.kind"] != nil:
		return 0, 0
	case a["gen_ai.operation.name"] == "chat" || a["langsmith.span.kind"] == "llm" || r.Name == "call_llm":
		return num("gen_ai.usage.input_tokens"), num("gen_ai.usage.output_tokens")
	}
	return 0, 0
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
