// Package convention turns stored spans and log records into canonical events: what was asked, said, called, denied,
// offered and loaded. One file a telemetry convention or harness, each recognised per record, never per batch, since one
// session mixes frameworks.
//
// It does not group: which session an event belongs to, its order among others and whether it is a repetition are
// decided by package session. A convention states what one record says and where the harness says so, nothing more.
package convention

// Meta is what every event carries: where it stands and who did it.
type Meta struct {
	Convention string // name of the convention that read it
	TraceID    string
	SpanID     string
	ParentID   string
	At         int64  // nanoseconds since 1970; 0 unknown
	Sequence   int64  // the harness's own order within SequenceOf; 0 none
	SequenceOf string // what Sequence counts in, e.g. a process or session id
	Index      int    // place among the events of one record, from 0
	Agent      string // name of the agent or sub-agent; "" the main one
	AgentID    string // its id where names repeat
	Turn       string // the harness's own id of the user's turn; "" none

	// Witness names the kind of record that told it, e.g. "chat" or "invoke_agent". Told twice by one witness it happened
	// twice; told once each by two witnesses it is the same thing told twice. "" means signal, scope and record name.
	Witness string
	// Summary marks what a record repeats of the records below it (an agent or workflow span): it gives no order, and is
	// believed only where nothing below tells.
	Summary bool
	// OfSpan marks a log that holds the content which was taken out of its span: where the span is a tool's, what went in are
	// the call's arguments and what came out is its result.
	OfSpan bool
}

// Origin says whether a message was new where it was recorded or repeats what the model was sent.
type Origin uint8

const (
	// OriginNew is said here and now: the output of a model call, a prompt event, a tool's result.
	OriginNew Origin = iota
	// OriginHistory was part of a model call's input and may repeat earlier events; Position tells where.
	OriginHistory
)

// History places an event that was read from a model call's input.
type History struct {
	Origin   Origin
	Call     string // span or request id of the model call whose input it was
	Position int    // index of the message in that input, from 0
	Delta    bool   // the input holds only what is new since the last call, not the whole history
}

// Event is one canonical fact. The set of implementations is closed: the types of this file.
type Event interface {
	// Info is the event's place; shared by all types.
	Info() *Meta
	event()
}

func (m *Meta) Info() *Meta { return m }
func (m *Meta) event()      {}

// Prompt is what the user asked.
type Prompt struct {
	Meta
	History
	Text      string // "" with Redacted set: the harness withheld it
	Redacted  bool
	Truncated bool
}

// System is a system or developer instruction.
type System struct {
	Meta
	History
	Text      string
	Truncated bool
}

// Message is what the assistant said.
type Message struct {
	Meta
	History
	Text       string
	Redacted   bool
	Truncated  bool
	ResponseID string // id of the model response, to know the same one told twice
}

// Reasoning is what the assistant thought, where exported.
type Reasoning struct {
	Meta
	History
	Text      string
	Truncated bool
}

// Source says which of the three places that tell of a tool call an event comes from. Package session merges them by call id.
type Source uint8

const (
	SourceExecution Source = iota // a tool span or tool log: it ran (or was stopped)
	SourceRequest                 // a tool_call part in a model's output or history
	SourceAnswer                  // a tool result part in a later model input
)

// Outcome of a tool call. Values are those of the outcome columns.
type Outcome string

// Outcomes, by the normalisation table of the convention.
const (
	OutcomeUnknown     Outcome = "unknown"
	OutcomeOK          Outcome = "ok"
	OutcomeError       Outcome = "error"
	OutcomeDenied      Outcome = "denied"       // a person, rule, hook or sandbox said no
	OutcomeRefused     Outcome = "refused"      // the harness would not: no such skill or tool, invalid call
	OutcomeNotExecuted Outcome = "not_executed" // asked for, never run
)

// ToolCall is a call of a tool, or a request for one.
type ToolCall struct {
	Meta
	History
	Source    Source
	CallID    string // "" when the harness gives none
	Tool      string
	Server    string // MCP server, where known
	Arguments string // JSON, or the harness's text; "" unknown
	Redacted  bool   // arguments withheld
	Truncated bool
	// ResponseID is the model response that asked for the call. A harness that runs tools while the response still streams
	// tells of its text only afterwards: a Message of the same ResponseID was said before the call, whatever times say.
	ResponseID string
}

// ToolResult is what came back.
type ToolResult struct {
	Meta
	History
	Source    Source
	CallID    string
	Tool      string
	Text      string
	Outcome   Outcome
	ExitCode  *int32
	Redacted  bool
	Truncated bool
}

// Denial is a decision that a call may not run.
type Denial struct {
	Meta
	CallID    string
	Tool      string
	Arguments string
	By        string // user, config, hook, classifier, sandbox, policy, or "" unknown
	Text      string
}

// Failure is an error outside a tool call: a model error, a crash, an exception.
type Failure struct {
	Meta
	Type string // error.type
	Text string
}

// CatalogueSkill is one skill that was offered.
type CatalogueSkill struct {
	Name        string
	Description string
	Location    string
}

// Catalogue is the list of skills that the agent was offered. An empty list is a catalogue that was recorded and is empty.
type Catalogue struct {
	Meta
	Skills []CatalogueSkill
}

// Via says how a skill came to be loaded. Values are those of the via column.
type Via string

// The ways a skill is loaded.
const (
	ViaTool      Via = "tool"
	ViaRead      Via = "read"
	ViaInjected  Via = "injected"
	ViaUser      Via = "user"
	ViaAttribute Via = "attribute"
)

// SkillLoad is an attempt to load a skill that the telemetry names as such, or a body that belongs to one. Loads that are
// ordinary tool calls (Skill, skills, load_skill, activate_skill, reading SKILL.md) are found by package session from
// ToolCall and ToolResult, and need no SkillLoad.
type SkillLoad struct {
	Meta
	Skill       string
	CallID      string
	Via         Via
	Outcome     string // loaded, refused, attempted
	Refusal     string
	Body        string
	Description string
	Directory   string // directory of SKILL.md, to match a body by
	Truncated   bool
}

// Usage is the token count of one model call. Nil is unknown. InputTokens includes cache reads and writes.
type Usage struct {
	Meta
	Model            string
	Provider         string
	ResponseID       string
	InputTokens      *int64
	CacheReadTokens  *int64
	CacheWriteTokens *int64
	OutputTokens     *int64
	ThoughtTokens    int64 // part of OutputTokens that other tellings of the call may leave out
	CostMicroUSD     *int64
	Total            bool // repeats the sum of calls below it (an agent or workflow span): never added up
	DurationNano     int64
}

// AgentStart and AgentEnd bound an agent or sub-agent.
type AgentStart struct {
	Meta
	Parent string // agent that started it
}

// AgentEnd is the end of an agent's work.
type AgentEnd struct {
	Meta
	Status string // ok, error, or "" unknown
}

// ToolDefinition is a tool that the agent was given.
type ToolDefinition struct {
	Meta
	Server      string
	Tool        string
	Description string
	InputSchema string // JSON
}

// ToolServer names the MCP server with which a connection was made: spans beside it, below the same parent, are its tools.
type ToolServer struct {
	Meta
	Server string
}

// Identity is what a record says about the harness itself.
type Identity struct {
	Meta
	Harness string // claude_code, strands, openinference, ...
	Version string
}
