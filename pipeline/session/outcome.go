package session

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// strength orders what several tellings of one call say: whoever knows of a failure outweighs who saw it end.
var strength = map[convention.Outcome]int{
	convention.OutcomeUnknown: 0, "": 0, convention.OutcomeNotExecuted: 1, convention.OutcomeOK: 2,
	convention.OutcomeError: 3, convention.OutcomeRefused: 4, convention.OutcomeDenied: 5,
}

func stronger(a, b convention.Outcome) convention.Outcome {
	if strength[b] > strength[a] {
		return b
	}
	if a == "" {
		return convention.OutcomeUnknown
	}
	return a
}

// conclude decides how a call ended, from what its tellers said first and what came back second.
func (b *builder) conclude(c *call) {
	o := stronger(c.ran, c.told)
	text := c.text()
	if c.exit == nil {
		c.exit = exitCode(text)
	}
	if c.denial != nil && c.ran != convention.OutcomeOK {
		o = convention.OutcomeDenied
	}
	switch {
	case o == convention.OutcomeDenied:
	case deniedLine(text): // whatever the tool's own status: the harness answered in its place
		o = convention.OutcomeDenied
	case refusedSkill(c, text) || o == convention.OutcomeError && refusedTool(text):
		o = convention.OutcomeRefused
	case o != convention.OutcomeOK && deniedText(text):
		o = convention.OutcomeDenied
	case failedExit(c.exit) && o != convention.OutcomeError:
		o = convention.OutcomeError
	case o == convention.OutcomeUnknown && (c.answered || c.ranText != ""):
		o = convention.OutcomeOK
		if errorText(text) {
			o = convention.OutcomeError
		}
	case o == convention.OutcomeUnknown && c.exit != nil:
		o = convention.OutcomeOK
	case o == convention.OutcomeUnknown && !c.executed && b.rd.exports&convention.ContentToolResults != 0:
		o = convention.OutcomeNotExecuted
	}
	c.outcome = o
}

// failedExit leaves 141 out: the reader of a pipe closed it, as head does.
func failedExit(code *int32) bool { return code != nil && *code != 0 && *code != 141 }

var (
	exitLine = regexp.MustCompile(`(?i)^(?:process |command )?(?:exited with |exit |return ?)?(?:exit )?code:? (-?\d{1,9})\b`)
	exitLast = regexp.MustCompile(`\n?\[Command finished with exit code (-?\d{1,9})\]\s*$`)
	exitText = regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:?|Command exited with code|\[?exit code:?) (-?\d{1,9})\b`)
)

// exitCode reads the exit status that shell tools write into their results: a JSON member, or a line of their own.
func exitCode(text string) *int32 {
	s := strings.TrimSpace(text)
	if s == "" {
		return nil
	}
	if s[0] == '{' {
		var m struct {
			A *json.Number `json:"exit_code"`
			B *json.Number `json:"exitCode"`
			C *json.Number `json:"returncode"`
		}
		if json.Unmarshal([]byte(s), &m) == nil {
			for _, n := range []*json.Number{m.A, m.B, m.C} {
				if n != nil {
					return toCode(n.String())
				}
			}
		}
		return nil
	}
	if tail := s[max(0, len(s)-600):]; strings.Contains(tail, "[Command finished with exit code ") { // OpenHands writes it last
		if m := exitLast.FindStringSubmatch(tail); m != nil {
			return toCode(m[1])
		}
	}
	head := s
	if len(head) > 600 { // preambles come first; what a command printed later is not the tool's
		head = head[:600]
	}
	if !strings.Contains(head, "code") && !strings.Contains(head[:min(len(head), 32)], "ODE") && !strings.Contains(head[:min(len(head), 32)], "ode") {
		return nil // most results: both expressions need the word
	}
	if m := exitText.FindStringSubmatch(head); m != nil {
		return toCode(m[1])
	}
	if first, _, _ := strings.Cut(head, "\n"); first != "" {
		if m := exitLine.FindStringSubmatch(first); m != nil {
			return toCode(m[1])
		}
	}
	return nil
}

func toCode(s string) *int32 {
	i, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return nil
	}
	v := int32(i)
	return &v
}

// firstLine is the text's first line without the wrappers that harnesses put around errors.
func firstLine(text string) (line string, only bool) {
	t := strings.TrimSpace(text)
	t = strings.TrimSuffix(strings.TrimPrefix(t, "<tool_use_error>"), "</tool_use_error>")
	if m := jsonError(t); m != "" {
		t = m
	}
	line, rest, _ := strings.Cut(strings.TrimSpace(t), "\n")
	rest = strings.TrimSuffix(strings.TrimSpace(rest), "Please fix your mistakes.") // LangChain's advice to the model
	for _, p := range [...]string{"Error executing tool: ", "ToolError: ", "Error: ", "error: "} {
		line = strings.TrimPrefix(line, p)
	}
	return strings.TrimSpace(line), strings.TrimSpace(rest) == ""
}

// jsonError is the message of a result that is a JSON object with an error.
func jsonError(t string) string {
	if t == "" || t[0] != '{' {
		return ""
	}
	var m struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal([]byte(t), &m) != nil || len(m.Error) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(m.Error, &s) == nil {
		return s
	}
	var inner struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(m.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	return m.Message
}

// Words of a decision: who decided beside what was decided. An operating system's bare "Permission denied" names nobody.
var (
	deniedBy = regexp.MustCompile(`(?i)^.{0,120}\b(denied|rejected|blocked|forbidden|disallowed|declined|not (?:allowed|permitted|approved)|refused)\b.{0,120}\b(policy|policies|rules?|user|hook|permission settings?|approval|administrator|guardrail|sandbox)\b`)
	byDenied = regexp.MustCompile(`(?i)^.{0,120}\b(policy|user|hook|rule|guardrail|permission settings?)\b.{0,120}\b(denied|denies|rejected|rejects|blocked|blocks|forbids?|forbidden|disallows?|declined|does(?:n't| not) want|did(?:n't| not) (?:allow|approve|permit|accept)|prevents|not (?:allowed|permitted|approved))\b`)
	// Permission that names neither rule nor person, as Claude Code words it.
	noPermission = regexp.MustCompile(`(?i)^(?:permission to (?:use|run) .{1,200} (?:has been|was|is) denied|claude requested permissions? to .{1,200} but you haven't granted)`)
	// What frameworks answer in a tool's place, as their source has it.
	wholeDenial = regexp.MustCompile(`(?i)^(?:the tool call was denied|tool execution (?:was )?(?:denied|not approved|rejected)|(?:this )?tool call (?:is|was) (?:rejected|denied|declined|not approved)(?: by (?:the )?user)?|tool cancell?ed by user)[.!]?$`)
)

// deniedLine says whether a result is one line by which a framework says that a person or rule stopped the call.
func deniedLine(text string) bool {
	if len(text) > 400 {
		return false
	}
	line, only := firstLine(text)
	return only && wholeDenial.MatchString(line)
}

func deniedText(text string) bool {
	line, _ := firstLine(text)
	return mayDeny(line) && (deniedBy.MatchString(line) || byDenied.MatchString(line) || noPermission.MatchString(line))
}

// mayDeny says whether a line holds the stem of a decision where the expressions look for one; most results do not.
func mayDeny(line string) bool {
	const reach = 4 * 300 // bytes of the characters that they pass over
	line = strings.ToLower(line[:min(len(line), reach)])
	for _, stem := range [...]string{"den", "reject", "bloc", "forbid", "allow", "declin", "permit", "refu", "want", "approve", "accept", "prevent", "grant"} {
		if strings.Contains(line, stem) {
			return true
		}
	}
	return false
}

// begins says whether s may begin with one of the lower-case words, whatever its case.
func begins(s string, words ...string) bool {
	for _, w := range words {
		if len(s) >= len(w) && (strings.EqualFold(s[:len(w)], w) || !isASCII(s[:len(w)])) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

var refusedToolLine = regexp.MustCompile(`(?i)^(unknown tool|no such tool|tool ['"\x60]?[\w.:-]+['"\x60]? (?:was |is )?not (?:found|available|registered|exist)|tool not found|invalid tool (?:call|name)|inputvalidationerror|model tried to call unavailable tool)`)

func refusedTool(text string) bool {
	line, _ := firstLine(text)
	return begins(line, "unknown", "no such", "tool", "invalid tool", "inputval", "model tried") && refusedToolLine.MatchString(line)
}

var errorStart = regexp.MustCompile(`(?i)^(error\b|an error occurred|exception\b|traceback \(most recent|permission denied|enoent\b|<tool_use_error>)`)

// errorText says whether a result of which nobody said how it ended begins as errors do.
func errorText(text string) bool {
	t := strings.TrimSpace(text)
	return begins(t, "error", "an error", "exception", "traceback", "permission", "enoent", "<tool_use") && errorStart.MatchString(t) || jsonError(t) != ""
}
