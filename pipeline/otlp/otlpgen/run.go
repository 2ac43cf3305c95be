package otlpgen

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// chunk is what a client exports at one time: the records of one turn.
type chunk struct {
	script *Script
	at     int64 // when it was exported
	groups []Group
}

// render turns a script into chunks in the shape of its harness, one a turn.
func render(s *Script) []chunk {
	r := &run{script: s, random: newRandom(s.Name), now: s.Start.UnixNano()}
	r.session = r.sessionID()
	switch s.Harness {
	case ClaudeCode:
		return renderClaudeCode(r)
	case Strands:
		return renderStrands(r)
	case GenAI:
		return renderGenAI(r)
	default:
		return renderOpenInference(r)
	}
}

// run is the state of rendering one script: its clock, its ids and the conversation so far.
type run struct {
	*random
	script  *Script
	session string
	now     int64
	trace   TraceID
	history []message
}

// message is one entry of the conversation as a model is sent it.
type message struct {
	role        string // user, assistant, tool
	text, think string
	calls       []asked // assistant
	answer      *asked  // tool
}

// asked is a call under the id that the model gave it.
type asked struct {
	*Call
	id string
}

// sessionID draws the id in the harness's form. It is drawn even when it is not exported, so that other ids stay.
func (r *run) sessionID() string {
	if r.script.Harness == ClaudeCode {
		return r.uuid()
	}
	return "sess-" + r.hex(8) + "-" + r.script.Name
}

// pass lets the clock go on by something between lo and hi and returns the time before and after.
func (r *run) pass(lo, hi time.Duration) (start, end int64) {
	start = r.now - r.now%int64(time.Millisecond) // JavaScript clients start spans on whole milliseconds
	r.now += int64(r.between(lo, hi))
	return start, r.now
}

func (r *run) modelCall() (start, end int64) { return r.pass(900*time.Millisecond, 6*time.Second) }

func (r *run) toolCall() (start, end int64) {
	return r.pass(20*time.Millisecond, 1500*time.Millisecond)
}

// turns calls f for each turn, with a pause and a new trace before each.
func (r *run) turns(f func(i int, t *Turn)) {
	for i := range r.script.Turns {
		if i > 0 {
			pause := r.script.Pause
			if pause == 0 {
				pause = 90 * time.Second
			}
			r.now += int64(r.between(pause, pause+20*time.Second))
		}
		r.trace = r.traceID()
		r.history = append(r.history, message{role: "user", text: r.script.Turns[i].Prompt})
		f(i, &r.script.Turns[i])
	}
}

// ask gives the calls of a step their ids and adds the step to the conversation.
func (r *run) ask(s *Step, prefix string, n int) []asked {
	calls := make([]asked, len(s.Calls))
	for i := range s.Calls {
		calls[i] = asked{Call: &s.Calls[i], id: r.token(prefix, n)}
	}
	r.history = append(r.history, message{role: "assistant", text: s.Say, think: s.Think, calls: calls})
	return calls
}

func (r *run) answered(c asked) {
	r.history = append(r.history, message{role: "tool", answer: &c})
}

// usage estimates tokens the way they grow in real sessions: all of the conversation in, the step out.
type usage struct{ in, out, cached int64 }

func (r *run) usage(s *Step) usage {
	size := len(r.script.Team.System)
	for _, m := range r.history {
		size += len(m.text)
		if m.answer != nil {
			size += len(m.answer.Result)
		}
	}
	out := len(s.Say) + len(s.Think)
	for _, c := range s.Calls {
		out += len(c.Cmd) + len(c.Content) + len(c.Input) + 40
	}
	in := int64(620 + size/4)
	return usage{in: in, out: int64(8 + out/4), cached: in / 2}
}

func (u *usage) add(v usage) { u.in += v.in; u.out += v.out; u.cached += v.cached }

// skill finds an entry of the team's catalogue.
func (t *Team) skill(name string) Skill {
	for _, s := range t.Skills {
		if s.Name == name {
			return s
		}
	}
	return Skill{}
}

// noSuchSkill is the text with which loaders refuse a name.
func (t *Team) noSuchSkill(name string) string {
	text := "Skill '" + name + "' not found. Available skills: "
	for i, s := range t.Skills {
		if i > 0 {
			text += ", "
		}
		text += s.Name
	}
	return text
}

// file is the SKILL.md that defines s.
func (s Skill) file() string {
	return "---\nname: " + s.Name + "\ndescription: " + s.Description + "\n---\n\n" + s.Body
}

// sdkTool is a call as the three SDK harnesses name it: run_shell, read_file, write_file, a loader, an MCP tool.
func (c *Call) sdkTool(t *Team, loader string, mcpPrefix bool) (name string, args raw) {
	switch c.Kind {
	case KindShell:
		return "run_shell", jobj("command", c.Cmd)
	case KindRead:
		return "read_file", jobj("path", c.Path)
	case KindWrite:
		return "write_file", jobj("path", c.Path, "content", c.Content)
	case KindSkill:
		return loader, jobj("skill_name", c.Name)
	case KindAgent:
		return c.Name, jobj("task", c.Prompt)
	}
	if mcpPrefix {
		return "mcp__" + t.Server + "__" + c.Name, c.Input
	}
	return c.Name, c.Input
}

// sdkResult is what a tool of the SDK harnesses returns: a JSON value, or text when the raw is empty.
func (c *Call) sdkResult(t *Team) (value raw, text string) {
	switch {
	case c.Outcome == Refused:
		return "", t.noSuchSkill(c.Name)
	case c.Outcome != OK:
		return "", c.Result
	case c.Kind == KindShell:
		return jobj("exit_code", raw(decimal(c.Exit)), "stdout", c.Result), ""
	case c.Kind == KindSkill:
		return "", t.skill(c.Name).file()
	}
	return "", c.Result
}

// sdkTools are the definitions that the SDK harnesses send along.
func (t *Team) sdkTools(loader string, mcpPrefix bool) []ToolDef {
	defs := []ToolDef{
		{Name: loader, Description: "Load the instructions of one skill by its name.", Params: []string{"skill_name"}},
		{Name: "run_shell", Description: "Run a shell command in the sandbox and return its exit code and output.", Params: []string{"command"}},
		{Name: "read_file", Description: "Read a text file below the working directory.", Params: []string{"path"}},
		{Name: "write_file", Description: "Write a text file below the working directory. Replaces what is there.", Params: []string{"path", "content"}},
	}
	for _, d := range t.Tools {
		if mcpPrefix {
			d.Name = "mcp__" + t.Server + "__" + d.Name
		}
		defs = append(defs, d)
	}
	return defs
}

// schema is the JSON schema of the tool's arguments.
func (d ToolDef) schema() raw {
	var props []any
	var required []raw
	for _, p := range d.Params {
		props = append(props, p, jobj("type", "string"))
		required = append(required, jstr(p))
	}
	return jobj("$schema", "http://json-schema.org/draft-07/schema#", "type", "object", "properties", jobj(props...),
		"required", jarr(required...), "additionalProperties", raw("false"))
}

func decimal(n int) string {
	return strconv.Itoa(n)
}

func chars(s string) int64 { return int64(utf8.RuneCountInString(s)) }

func stamp(t int64) string { return time.Unix(0, t).UTC().Format("2006-01-02T15:04:05.000Z") }

func resource(kvs ...KeyValue) *Resource { return &Resource{Attributes: kvs} }

// exception is the event with which JavaScript clients record an error.
func exception(at int64, text, where string) SpanEvent {
	return SpanEvent{Name: "exception", At: at, Attributes: []KeyValue{
		str("exception.type", "Error"),
		str("exception.message", text),
		str("exception.stacktrace", "Error: "+text+"\n    at "+where+" (file:///srv/app/tools.mjs:41:11)"),
	}}
}
