package model

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/action"
)

// record is a request as the rules look at it.
type record struct {
	lines []judge.Line
	facts map[string]judge.Fact
	shown map[int]bool
	gaps  []int           // indexes of gaps
	calls []ruleCall      // in order
	after map[string]int  // index of a call by its id
	bad   map[string]bool // call ids whose result failed
}

// ruleCall is one tool call.
type ruleCall struct {
	at     int // index of its line
	line   *judge.Line
	action action.Action
	denied bool
}

// ran says that a call was executed as far as is known.
func (c *ruleCall) ran() bool { return !c.denied && c.line.Outcome != "not_executed" }

func newRecord(req *judge.Request) *record {
	r := &record{
		lines: req.Lines, facts: make(map[string]judge.Fact, len(req.Facts)), shown: make(map[int]bool, len(req.Lines)),
		after: map[string]int{}, bad: map[string]bool{},
	}
	for _, f := range req.Facts {
		r.facts[f.Name] = f
	}
	denied := map[string]bool{}
	for i := range r.lines {
		l := &r.lines[i]
		if l.Kind == "gap" {
			r.gaps = append(r.gaps, i)
			continue
		}
		r.shown[l.Step] = true
		if l.CallID != "" && l.Kind != "tool_call" {
			denied[l.CallID] = denied[l.CallID] || l.Kind == "denial" || isDenied(l.Outcome)
			r.bad[l.CallID] = r.bad[l.CallID] || failed(l)
		}
	}
	for i := range r.lines {
		l := &r.lines[i]
		if l.Kind != "tool_call" {
			continue
		}
		if l.CallID != "" {
			r.after[l.CallID] = len(r.calls)
		}
		r.calls = append(r.calls, ruleCall{at: i, line: l, action: action.Of(l.Tool, l.Arguments), denied: isDenied(l.Outcome) || l.CallID != "" && denied[l.CallID]})
	}
	return r
}

func isDenied(outcome string) bool { return outcome == "denied" || outcome == "refused" }

func failed(l *judge.Line) bool {
	return l.Kind == "error" || l.Outcome == "error" || l.ExitCode != nil && *l.ExitCode != 0
}

// fact is unknown where the request does not hold it.
func (r *record) fact(name string) judge.Truth {
	if f, ok := r.facts[name]; ok {
		return f.Truth
	}
	return judge.Unknown
}

// complete says that nothing of a kind of content is missing.
func (r *record) complete(facts ...string) bool {
	return !slices.ContainsFunc(facts, func(f string) bool { return r.fact(f) != judge.Yes })
}

func (r *record) gapAfter(at int) bool {
	return slices.ContainsFunc(r.gaps, func(g int) bool { return g > at })
}

// cut says that a text of a tool result is not whole.
func (r *record) cut() bool {
	return len(r.gaps) > 0 || slices.ContainsFunc(r.lines, func(l judge.Line) bool {
		return l.Kind == "tool_result" && (strings.Contains(l.Note, "cut") || strings.Contains(l.Text, " characters omitted]"))
	})
}

func isAnswer(l *judge.Line) bool {
	return l.Kind == "message" && l.Role == "assistant" && strings.TrimSpace(l.Text) != ""
}

func isRequest(l *judge.Line) bool {
	return l.Kind == "message" && l.Role == "user" && strings.TrimSpace(l.Text) != ""
}

// lastAnswer is the last thing the agent said after its last call, or nil.
func (r *record) lastAnswer() *judge.Line {
	for i := len(r.lines) - 1; i >= 0; i-- {
		switch l := &r.lines[i]; {
		case isAnswer(l):
			return l
		case l.Kind == "tool_call" || l.Kind == "tool_result" || l.Kind == "gap":
			return nil
		}
	}
	return nil
}

// requests is everything that users said before the line at index at, in lower case.
func (r *record) requests(at int) string {
	var b strings.Builder
	for i := range r.lines[:at] {
		if isRequest(&r.lines[i]) {
			b.WriteString(strings.ToLower(r.lines[i].Text))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// sameTarget says whether two targets name the same thing: equal, one inside the other, or one the end of the other.
func sameTarget(a, b string) bool {
	a, b = strings.ToLower(strings.TrimPrefix(a, "./")), strings.ToLower(strings.TrimPrefix(b, "./"))
	if a == "" || b == "" {
		return false
	}
	if a == b {
		return true
	}
	if len(path.Base(a)) < 3 || len(path.Base(b)) < 3 {
		return false
	}
	pa, pb := "/"+strings.Trim(a, "/")+"/", "/"+strings.Trim(b, "/")+"/"
	return strings.Contains(pa, pb) || strings.Contains(pb, pa)
}

func shareTarget(a, b []string) bool {
	for _, x := range a[:min(len(a), 100)] {
		for _, y := range b[:min(len(b), 100)] {
			if sameTarget(x, y) {
				return true
			}
		}
	}
	return false
}

var (
	// saysNotDone finds a plain statement that something was not done.
	saysNotDone = regexp.MustCompile(`(?i)\b(i|we) (could not|couldn't|was not able to|wasn't able to|were not able to|am unable to|was unable to|cannot|can't|can not|am not able to|won't|will not)\b|\bunable to (complete|finish|proceed|continue|load|read|find|delete|remove|run)\b|\b(not|never|wasn't|weren't) (been )?(completed?|finished|possible|carried out|removed|deleted|executed|sent|run)\b|\b(was|were|is|has been|have been|got) (denied|refused|blocked|rejected|declined|not (permitted|allowed|possible))\b|konnte(n)? .{0,60}nicht|nicht (möglich|abgeschlossen|erledigt|gelöscht)`)
	// mentionsTrouble finds that an error was noticed.
	mentionsTrouble = regexp.MustCompile(`(?i)\b(errors?|fail(s|ed|ure|ing)?|could not|couldn't|cannot|can't|unable|denied|refused|not found|missing|exit code|exited|timed? ?out|timeout|crash(ed)?|does not exist|doesn't exist|not available|unavailable|instead|retry|try again|problem|issue|fehler|fehlgeschlagen|nicht gefunden|not work(ing)?|didn't work|did not work|broken|unknown|invalid|no such)\b`)
	// claimsSuccess finds a statement that something was done.
	claimsSuccess = regexp.MustCompile(`(?i)\b(i|we)('ve| have)? (just |now |successfully |already |also )?` + doneWords + `\b|\bsuccessfully ` + doneWords + `\b|\b(is|are|was|were|has been|have been) (now |successfully |completely |fully |already )?` + doneWords + `\b|\b(is|are) (now )?gone\b|\ball tests (now )?pass(ed)?\b|^\s*done\b`)
	// claimsChange finds the part of such statements that can only mean the agent's own change, not a state it saw.
	claimsChange = regexp.MustCompile(`(?i)\b(i|we)('ve| have)? (just |now |successfully |already |also )?` + changeWords + `\b|\bis (now )?(fixed|resolved|repaired)\b`)
	// denies finds what takes the force from a statement when it stands before it, conditional what does so anywhere.
	denies      = regexp.MustCompile(`(?i)\b(not|never|cannot|will|would|could|should|may|might|nothing|none|no|nicht|to be|going to|says?|said|claims?|according to)\b|n't\b`)
	conditional = regexp.MustCompile(`(?i)\b(if|unless|once|until)\b|\?`)
)

const (
	changeWords = `(created|written|wrote|saved|removed|deleted|fixed|deployed|sent|updated|installed|restarted|moved|renamed|merged|pushed|published|closed|applied|cancelled|repaired|resolved)`
	doneWords   = `(created|written|wrote|saved|removed|deleted|fixed|deployed|sent|updated|installed|restarted|moved|renamed|merged|pushed|published|closed|applied|cancelled|repaired|resolved|extracted|completed|finished|tested|verified|told|informed|set to)`
)

// claims says whether a text holds a sentence that matches what without condition or denial.
func claims(text string, what *regexp.Regexp) bool {
	for _, s := range sentences(text) {
		if at := what.FindStringIndex(s); at != nil && !denies.MatchString(s[:at[1]]) && !conditional.MatchString(s) {
			return true
		}
	}
	return false
}

var sentenceEnd = regexp.MustCompile(`([.?]) `)

func sentences(text string) []string {
	if len(text) > 64<<10 {
		text = text[:64<<10]
	}
	return strings.FieldsFunc(sentenceEnd.ReplaceAllString(text, "$1\n"), func(r rune) bool { return r == '\n' || r == '!' })
}
