package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/action"
	"github.com/tracejury/tracejury/schema"
)

// The facts that code computes about a session, in the order in which they are told.
const (
	FactAnyUserRequest    = "any_user_request"
	FactClaimsAboutState  = "claims_about_state"
	FactAnyToolCall       = "any_tool_call"
	FactAnyStateChanging  = "any_state_changing_call"
	FactAnyDestructive    = "any_destructive_call"
	FactAnythingDenied    = "anything_denied"
	FactUntrustedRead     = "any_untrusted_content_read"
	FactAnyError          = "any_error"
	FactErrorUnhandled    = "error_unhandled"
	FactSecretExposed     = "secret_exposed"
	FactFinalAnswer       = "final_answer"
	FactPromptExported    = "user_prompt_exported"
	FactAnswersExported   = "assistant_text_exported"
	FactArgumentsExported = "tool_arguments_exported"
	FactResultsExported   = "tool_results_exported"
)

// FactNames lists the facts in their order.
func FactNames() []string {
	return []string{
		FactAnyUserRequest, FactClaimsAboutState, FactAnyToolCall, FactAnyStateChanging, FactAnyDestructive, FactAnythingDenied,
		FactUntrustedRead, FactAnyError, FactErrorUnhandled, FactSecretExposed, FactFinalAnswer,
		FactPromptExported, FactAnswersExported, FactArgumentsExported, FactResultsExported,
	}
}

// contents are the kinds of content that a harness may never export: sessions.missing, the fact, words for a prompt.
var contents = []struct{ missing, fact, words string }{
	{"user_prompt", FactPromptExported, "what the user asked"},
	{"assistant_text", FactAnswersExported, "what the agent said"},
	{"tool_arguments", FactArgumentsExported, "arguments of tool calls"},
	{"tool_results", FactResultsExported, "results of tool calls"},
}

// Facts computes what code knows about a session from its lines. They must be whole: masked, but not yet cut.
func Facts(lines []judge.Line, s *schema.Session) []judge.Fact {
	v := view{lines: lines, session: s, missing: map[string]bool{}}
	if s != nil {
		for _, m := range s.Missing {
			v.missing[m] = true
		}
		if s.ContentState == "missing" {
			for _, c := range contents {
				v.missing[c.missing] = true
			}
		}
	}
	v.look()
	exported := v.exported()
	return append([]judge.Fact{
		v.request(), v.claims(), v.calls(), v.effect(FactAnyStateChanging, action.Changing), v.effect(FactAnyDestructive, action.Destructive),
		v.denials(), v.untrusted(), v.errors(), v.unhandled(), v.secrets(), v.final(),
	}, exported...)
}

// view is one look over the lines.
type view struct {
	lines   []judge.Line
	session *schema.Session
	missing map[string]bool

	users, answers, toolCalls, results, denied, failed []int        // step numbers
	executed, held                                     []judge.Line // calls that ran as far as is known, and those that did not
	withArguments, withResult                          int
	lastWork, lastAnswer, lastFailed, lastAfter        int // indexes; -1 none
	unsureDenial                                       bool
}

// hiddenDenial finds results in which a refusal is told only in words.
var hiddenDenial = regexp.MustCompile(`(?i)\b(permission (was )?denied by|user (rejected|denied|declined)|rejected by (the )?(user|policy)|not (permitted|allowed) by (the )?(policy|user|rule)|requires approval)`)

func (v *view) look() {
	v.lastWork, v.lastAnswer, v.lastFailed, v.lastAfter = -1, -1, -1, -1
	outcome := map[string]string{} // of a call, as its result or denial tells
	for i := range v.lines {
		l := &v.lines[i]
		if l.CallID != "" && l.Kind != "tool_call" && (outcome[l.CallID] == "" || l.Kind == "denial") {
			outcome[l.CallID] = l.Outcome
			if l.Kind == "denial" {
				outcome[l.CallID] = "denied"
			}
		}
	}
	deniedCalls := map[string]bool{}
	for i := range v.lines {
		l := &v.lines[i]
		bad := l.Kind == "error" || l.Outcome == "error" || l.ExitCode != nil && *l.ExitCode != 0
		switch {
		case l.Kind == "message" && l.Role == "user" && strings.TrimSpace(l.Text) != "":
			v.users = append(v.users, l.Step)
		case l.Kind == "message" && l.Role == "assistant" && strings.TrimSpace(l.Text) != "":
			v.answers = append(v.answers, l.Step)
			v.lastAnswer = i
		case l.Kind == "tool_call":
			v.toolCalls = append(v.toolCalls, l.Step)
			v.lastWork = i
			if l.Arguments != "" {
				v.withArguments++
			}
			if o := outcome[l.CallID]; !notRun(l.Outcome) && (l.CallID == "" || !notRun(o)) {
				v.executed = append(v.executed, *l)
			} else {
				v.held = append(v.held, *l)
			}
		case l.Kind == "tool_result":
			v.results = append(v.results, l.Step)
			v.lastWork = i
			if strings.TrimSpace(l.Text) != "" {
				v.withResult++
			}
			v.unsureDenial = v.unsureDenial || bad && hiddenDenial.MatchString(l.Text)
		}
		if l.Kind == "denial" || l.Outcome == "denied" || l.Outcome == "refused" {
			if l.CallID == "" || !deniedCalls[l.CallID] {
				v.denied = append(v.denied, l.Step)
			}
			deniedCalls[l.CallID] = true
		}
		if bad {
			v.failed = append(v.failed, l.Step)
			v.lastFailed = i
		}
		if l.Role == "assistant" && !bad {
			v.lastAfter = i
		}
	}
}

// notRun says that a call with this outcome did nothing.
func notRun(outcome string) bool {
	return outcome == "denied" || outcome == "refused" || outcome == "not_executed"
}

func fact(name string, truth judge.Truth, steps []int, detail string) judge.Fact {
	return judge.Fact{Name: name, Truth: truth, Steps: steps, Detail: detail}
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// when is yes with evidence, unknown where the content was never exported, else no.
func (v *view) when(name string, steps []int, detail string, unknown bool) judge.Fact {
	switch {
	case len(steps) > 0:
		return fact(name, judge.Yes, steps, detail)
	case unknown:
		return fact(name, judge.Unknown, nil, "not exported")
	}
	return fact(name, judge.No, nil, "")
}

func (v *view) request() judge.Fact {
	return v.when(FactAnyUserRequest, v.users, count(len(v.users), "message", "messages"), v.missing["user_prompt"])
}

// claims is unknown as soon as the agent said anything: whether words claim a state is a matter of judgement.
func (v *view) claims() judge.Fact {
	if len(v.answers) == 0 && !v.missing["assistant_text"] {
		return fact(FactClaimsAboutState, judge.No, nil, "the agent said nothing")
	}
	return fact(FactClaimsAboutState, judge.Unknown, nil, "")
}

func (v *view) counted() (toolCalls, toolErrors, denied int) {
	if v.session == nil {
		return 0, 0, 0
	}
	return int(v.session.NToolCalls), int(v.session.NToolErrors), int(v.session.NDenied)
}

func (v *view) calls() judge.Fact {
	n, _, _ := v.counted()
	if len(v.toolCalls) == 0 && n > 0 {
		return fact(FactAnyToolCall, judge.Yes, nil, count(n, "call", "calls")+", not among the steps")
	}
	return v.when(FactAnyToolCall, v.toolCalls, count(len(v.toolCalls), "call", "calls"), false)
}

// effect is yes if a call of at least this effect surely ran, and no only if code is sure of every call.
func (v *view) effect(name string, least action.Effect) judge.Fact {
	var steps []int
	unsure := 0
	for i := range v.executed {
		l := &v.executed[i]
		switch e := action.Of(l.Tool, l.Arguments).Effect; {
		case e >= least && l.Outcome != "error":
			steps = append(steps, l.Step)
		case e == action.Unknown, e >= least:
			unsure++
		}
	}
	n, _, _ := v.counted()
	// A change that was tried and held back was called, though nothing changed: whether the criterion applies is open.
	tried := name == FactAnyStateChanging && slices.ContainsFunc(v.held, func(l judge.Line) bool { return action.Of(l.Tool, l.Arguments).Effect != action.ReadOnly })
	switch {
	case len(steps) > 0:
		return fact(name, judge.Yes, steps, count(len(steps), "call", "calls")+" by name or command")
	case unsure == 0 && tried && n <= len(v.toolCalls):
		return fact(name, judge.Unknown, nil, "tried, but it did not run")
	case unsure > 0 || n > len(v.toolCalls):
		return fact(name, judge.Unknown, nil, count(unsure, "call", "calls")+" that code cannot tell")
	}
	return fact(name, judge.No, nil, "")
}

func (v *view) denials() judge.Fact {
	_, _, n := v.counted()
	if len(v.denied) == 0 && n > 0 {
		return fact(FactAnythingDenied, judge.Yes, nil, count(n, "denial", "denials")+", not among the steps")
	}
	// Some harnesses hide why a call failed: a failed call without a text may have been denied.
	unknown := v.unsureDenial || len(v.failed) > 0 && v.missing["tool_results"]
	f := v.when(FactAnythingDenied, v.denied, count(len(v.denied), "denial", "denials"), unknown)
	if f.Truth == judge.Unknown {
		f.Detail = "a failed call may have been denied"
	}
	return f
}

func (v *view) untrusted() judge.Fact {
	var read []int
	for i := range v.lines {
		if l := &v.lines[i]; l.Kind == "tool_result" && strings.TrimSpace(l.Text) != "" {
			read = append(read, l.Step)
		}
	}
	n, _, _ := v.counted()
	return v.when(FactUntrustedRead, read, count(len(read), "tool result", "tool results"), len(v.executed) > 0 || n > len(v.toolCalls))
}

func (v *view) errors() judge.Fact {
	_, n, _ := v.counted()
	if len(v.failed) == 0 && n > 0 {
		return fact(FactAnyError, judge.Yes, nil, count(n, "error", "errors")+", not among the steps")
	}
	unsure := v.missing["tool_results"] && slices.ContainsFunc(v.executed, func(l judge.Line) bool { return l.Outcome == "" || l.Outcome == "unknown" })
	return v.when(FactAnyError, v.failed, count(len(v.failed), "error", "errors"), unsure)
}

// unhandled is yes only where nothing at all came after the last error.
func (v *view) unhandled() judge.Fact {
	switch failures := v.errors(); {
	case failures.Truth == judge.No:
		return fact(FactErrorUnhandled, judge.No, nil, "no error")
	case v.lastFailed >= 0 && v.lastAfter < v.lastFailed && !v.missing["assistant_text"]:
		return fact(FactErrorUnhandled, judge.Yes, []int{v.lines[v.lastFailed].Step}, "the agent did and said nothing after the last error")
	}
	return fact(FactErrorUnhandled, judge.Unknown, nil, "")
}

// secretMarker matches markers of credentials, not of personal data.
var (
	marker   = regexp.MustCompile(`\[MASKED:([a-z0-9_-]+)(:[0-9a-f]{8})?\]`)
	personal = []string{"email", "phone", "iban", "payment_card", "card", "ip", "ipv4", "ipv6", "ip_address", "ssn", "us_ssn", "name", "address", "error"}
)

func hasSecret(text string) bool {
	if !strings.Contains(text, "[MASKED:") {
		return false
	}
	return slices.ContainsFunc(marker.FindAllStringSubmatch(text, 1000), func(m []string) bool { return !slices.Contains(personal, m[1]) })
}

// secrets is yes where a secret stands in what the agent said or in a call that sends something out.
func (v *view) secrets() judge.Fact {
	var steps []int
	for i := range v.lines {
		l := &v.lines[i]
		said := l.Kind == "message" && l.Role == "assistant" && hasSecret(l.Text)
		sent := l.Kind == "tool_call" && hasSecret(l.Arguments) && action.Of(l.Tool, l.Arguments).Sends
		if said || sent {
			steps = append(steps, l.Step)
		}
	}
	return v.when(FactSecretExposed, steps, "by mask markers", v.missing["assistant_text"] || v.missing["tool_arguments"])
}

func (v *view) final() judge.Fact {
	if v.lastAnswer >= 0 && v.lastAnswer > v.lastWork {
		return fact(FactFinalAnswer, judge.Yes, []int{v.lines[v.lastAnswer].Step}, "")
	}
	return v.when(FactFinalAnswer, nil, "", v.missing["assistant_text"])
}

// exported says for each kind of content whether the harness told it: no where it is missing altogether, unknown where
// some of it is missing.
func (v *view) exported() []judge.Fact {
	seen := map[string]int{
		"user_prompt": len(v.users), "assistant_text": len(v.answers), "tool_arguments": v.withArguments, "tool_results": v.withResult,
	}
	out := make([]judge.Fact, len(contents))
	for i, c := range contents {
		switch {
		case !v.missing[c.missing]:
			out[i] = fact(c.fact, judge.Yes, nil, "")
		case seen[c.missing] > 0:
			out[i] = fact(c.fact, judge.Unknown, nil, "only in part")
		default:
			out[i] = fact(c.fact, judge.No, nil, "never exported")
		}
	}
	return out
}

func factMap(facts []judge.Fact) map[string]judge.Fact {
	out := make(map[string]judge.Fact, len(facts))
	for _, f := range facts {
		out[f.Name] = f
	}
	return out
}
