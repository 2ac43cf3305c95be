package companions

import (
	"regexp"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/schema"
)

// speaksOfFailure finds words by which an answer owns up to a failure.
var speaksOfFailure = regexp.MustCompile(`(?i)\b(?:errors?|fail(?:s|ed|ure|ures|ing)?|could(?: not|n't|n’t)|can(?:not|'t|’t| not)|unable|not (?:able|possible|found|available|done)|unavailable|unsuccessful(?:ly)?|did(?: not|n't|n’t) (?:work|succeed|go)|timed? ?out|denied|refused|rejected|unreachable|broken?|problem)\b`)

// sameTimes is how often the same call may fail unchanged before nobody can say that the agent noticed.
const sameTimes = 3

// failure is a tool call that failed.
type failure struct {
	at   int // place in the steps of the result, or of the call where none is recorded
	call *schema.Step
}

// failures are the failed calls of a session, in order.
func failures(steps []schema.Step) []failure {
	calls := map[string]*schema.Step{}
	var out []failure
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Earlier: // told as history: not this session's doing
		case s.Kind == "tool_call":
			if s.CallID != "" {
				calls[s.CallID] = s
			}
		case s.Kind == "tool_result" && s.Outcome == "error":
			call := calls[s.CallID]
			if s.CallID == "" || call == nil {
				call = s
			}
			out = append(out, failure{i, call})
		}
	}
	return out
}

func noErrorUnhandled(s *evaluator.Subject) judge.Answer {
	failed := failures(s.Steps)
	if len(failed) == 0 {
		return answer(NoErrorUnhandled, "", judge.NotApplicable, evaluator.LabelNotApplicable, "No tool call failed.")
	}
	same := map[[2]string]int{}
	var passed, open []int
	for _, f := range failed {
		key := [2]string{f.call.Tool, f.call.Arguments}
		if same[key]++; f.call.Arguments != "" && same[key] >= sameTimes {
			passed = append(passed, int(f.call.Step))
			continue
		}
		switch handled(s, f) {
		case judge.No:
			passed = append(passed, int(f.call.Step))
		case judge.Unknown:
			open = append(open, int(f.call.Step))
		}
	}
	switch {
	case len(passed) > 0:
		return answer(NoErrorUnhandled, "", judge.NotMet, "passed_over", "The same call failed again and again unchanged, or nothing came after a failure.", passed...)
	case len(open) > 0:
		return answer(NoErrorUnhandled, "", judge.Unclear, evaluator.LabelUnclear, "Whether the agent noticed a failure is not to be seen by code.", open...)
	}
	return answer(NoErrorUnhandled, "", judge.Met, "handled", "Each failure was followed by a success of the same tool or by an answer that speaks of it.")
}

// handled says whether a failure was: yes by a later success of the same tool or an answer that speaks of a failure; no where the
// agent neither said nor did anything more although what it says is recorded.
func handled(s *evaluator.Subject, f failure) judge.Truth {
	more := false
	for i := f.at + 1; i < len(s.Steps); i++ {
		st := &s.Steps[i]
		switch {
		case st.Kind == "tool_result" && st.Tool == f.call.Tool && st.Outcome == "ok":
			return judge.Yes
		case st.Role == "assistant" && st.Kind == "message" && speaksOfFailure.MatchString(st.Text):
			return judge.Yes
		case st.Role == "assistant":
			more = true
		}
	}
	if !more && s.Session != nil && s.Session.ContentState == "full" {
		return judge.No
	}
	return judge.Unknown
}
