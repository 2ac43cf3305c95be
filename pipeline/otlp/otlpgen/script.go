package otlpgen

import (
	"fmt"
	"time"
)

// Harness names the client whose exports a session is rendered in.
type Harness string

// The harnesses, one renderer each.
const (
	ClaudeCode    Harness = "claude_code"   // logs and spans, content flags on
	Strands       Harness = "strands"       // Strands TS: content in span events
	GenAI         Harness = "otel_genai"    // AI SDK 7: OTel GenAI attributes
	OpenInference Harness = "openinference" // LangChain under the application's own AGENT span
)

// Script is one session: everything that happened in it, in no harness's words.
type Script struct {
	Name    string // unique; ids are derived from it
	Service string
	Harness Harness
	Start   time.Time
	Team    *Team
	Turns   []Turn
	Pause   time.Duration // between two turns; 0 means 90 seconds

	ContentOff bool // the client's content flags are off: metadata only
	NoID       bool // the client exports no session id
	Unfinished bool // still running at the as-of of the demo
	Sink       sink // how its exports reached the bucket

	Expect Expect
	Story  string // one sentence for the truth file
	Tags   []string
}

// Team is what the sessions of one service share: the agent's instructions, its skills and its MCP server.
type Team struct {
	Agent  string // agent's name
	System string // system prompt without the skill catalogue
	Skills []Skill
	Server string // MCP server's name
	Tools  []ToolDef
}

// Skill is an entry of a catalogue with the body that loading it returns.
type Skill struct{ Name, Description, Body string }

// ToolDef is a tool definition as the model sees it.
type ToolDef struct {
	Name, Description string
	Params            []string // required string parameters
}

// Turn is what a user asked and what the agent did about it.
type Turn struct {
	Prompt string
	Steps  []Step
}

// Step is one model call: what it thought and said and which tools it asked for. A turn's last step asks for none.
type Step struct {
	Think, Say string
	Calls      []Call
}

// Kind is the tool behind a call; each harness has its own name for it.
type Kind uint8

// The kinds of call.
const (
	KindShell Kind = iota
	KindRead
	KindWrite
	KindSkill
	KindMCP
	KindAgent
)

// Outcome says what became of a call. Values are those of the outcome columns.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"
	Error   Outcome = "error"
	Denied  Outcome = "denied"  // a rule or a person said no
	Refused Outcome = "refused" // no such skill
)

// Call is a call of a tool.
type Call struct {
	Kind    Kind
	Name    string // skill, MCP tool or sub-agent
	Cmd     string // shell
	Path    string // read, write
	Content string // write
	Input   raw    // MCP tool's arguments
	Prompt  string // sub-agent's task
	Steps   []Step // what the sub-agent did

	Outcome Outcome
	Result  string // or the error text
	Exit    int    // shell
}

// Verdict is what a careful reader says about one criterion.
type Verdict string

// The verdicts of the truth file.
const (
	Met           Verdict = "met"
	NotMet        Verdict = "not_met"
	NotApplicable Verdict = "not_applicable"
	Unclear       Verdict = "unclear"
)

// Expect is the expected verdict of each criterion of the session evaluation.
type Expect struct {
	Goal      Verdict `json:"goal_met"`
	Evidence  Verdict `json:"evidence_before_claims"`
	Tools     Verdict `json:"tool_use_sound"`
	Scope     Verdict `json:"stayed_in_scope"`
	Denials   Verdict `json:"denials_respected"`
	Untrusted Verdict `json:"untrusted_content_not_obeyed"`
}

// expect reads six letters, one a criterion in the order of Expect: y met, n not met, - not applicable, ? unclear.
func expect(letters string) Expect {
	v := make([]Verdict, 6)
	for i := range v {
		switch letters[i] {
		case 'y':
			v[i] = Met
		case 'n':
			v[i] = NotMet
		case '-':
			v[i] = NotApplicable
		default:
			v[i] = Unclear
		}
	}
	return Expect{v[0], v[1], v[2], v[3], v[4], v[5]}
}

// The words of a script.

func ask(prompt string, steps ...Step) Turn { return Turn{Prompt: prompt, Steps: steps} }

func say(text string, calls ...Call) Step { return Step{Say: text, Calls: calls} }

func think(thought string, s Step) Step { s.Think = thought; return s }

func sh(cmd, out string) Call { return Call{Kind: KindShell, Cmd: cmd, Result: out, Outcome: OK} }

func shFails(cmd, out string, exit int) Call {
	return Call{Kind: KindShell, Cmd: cmd, Result: out, Outcome: OK, Exit: exit}
}

func rd(path, content string) Call {
	return Call{Kind: KindRead, Path: path, Result: content, Outcome: OK}
}

func wr(path, content string) Call {
	return Call{Kind: KindWrite, Path: path, Content: content, Result: fmt.Sprintf("wrote %d bytes to %s", len(content), path), Outcome: OK}
}

func load(skill string) Call { return Call{Kind: KindSkill, Name: skill, Outcome: OK} }

func unknown(skill string) Call { return Call{Kind: KindSkill, Name: skill, Outcome: Refused} }

// mcp calls a tool of the team's server; args are keys and values by turns.
func mcp(tool string, args []any, result string) Call {
	return Call{Kind: KindMCP, Name: tool, Input: jobj(args...), Result: result, Outcome: OK}
}

func in(pairs ...any) []any { return pairs }

func subagent(name, prompt, result string, steps ...Step) Call {
	return Call{Kind: KindAgent, Name: name, Prompt: prompt, Result: result, Steps: steps, Outcome: OK}
}

func fails(c Call, text string) Call { c.Outcome, c.Result = Error, text; return c }

func denied(c Call, reason string) Call {
	c.Outcome, c.Result = Denied, "Permission denied: "+reason
	return c
}
