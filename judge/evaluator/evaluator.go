// Package evaluator owns what every evaluator must answer: how a subject becomes questions and how replies become
// answers. Each evaluator lives in a package of its own below this one.
//
// It does not know which judge is asked or how its calls are made.
package evaluator

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Subject is what is judged: one session with its steps and skills. Other kinds leave Session nil.
type Subject struct {
	Kind     string // session, and of its parts skill or tool_call; tool, skill_package, task
	ID       string // subject column: the session key, or the evaluator's own id
	Revision string
	Session  *schema.Session
	Steps    []schema.Step
	Skills   []schema.Skill
	Tools    []schema.Tool // definitions that the session was given, by name

	// Of a subject that is a part of a session: what it is about, "" or nil otherwise.
	Skill  string // folded name of the skill
	SpanID string // span of the load
	Focus  []int  // places in Skills of the attempts that are judged
	Tool   *schema.Tool

	Variant string        // of a session that a calibration asks about: how it differs from what was recorded
	Package *SkillPackage // of the kind skill_package
	Task    *Task         // of the kind task
}

// Splitter is implemented by evaluators whose subjects are parts of a session: it names them, at least one. A session without
// any part gives one subject whose Item has no question and a not applicable answer that says why.
type Splitter interface {
	Split(session Subject) []Subject
}

// Merger is implemented by evaluators that ask about a long subject part by part: it makes one list of answers of the lists of
// the parts.
type Merger interface {
	Merge(parts [][]judge.Answer) []judge.Answer
}

// Version is what of an evaluator enters the run id and every row.
type Version struct {
	Evaluator     string // session
	Kind          string // subject kind
	PromptVersion string // v0
	PromptSHA256  string // of the prompt templates
	Rubric        judge.Rubric
	RubricSHA256  string
	SchemaSHA256  string // of the reply schema
	Rendering     string // sha256 of rendering version and settings
}

// Item is one question about one subject, ready to be asked and safe to be stored below _work: masked, reduced, fenced.
type Item struct {
	Subject         string        `json:"subject"`
	Request         judge.Request `json:"request"`
	RenderingSHA256 string        `json:"rendering_sha256"` // of this subject's rendered transcript, without the nonce
	Reductions      []string      `json:"reductions"`       // what the ladder cut, in order
	Transcript      string        `json:"transcript"`       // plain text of what the judge was shown, to check explanations for quotation
	Suspected       bool          `json:"suspected"`        // holds what looks written for a judge; changes no verdict
	More            []Item        `json:"more,omitempty"`   // further parts of a subject that is too long for one question: see Merger
	Materials       []Material    `json:"materials,omitempty"`
}

// Material is a text that is sent to a judge and is no part of any session: it is kept under its hash.
type Material struct {
	Kind string `json:"kind"` // skill, tool_list
	Text string `json:"text"`
}

// Evaluator turns subjects into questions and replies into answers. Implementations are safe for concurrent use.
type Evaluator interface {
	Version() Version
	// Item renders the subject. A subject with nothing to judge returns no item and its answers (not applicable, with a label
	// that says why). nonce fences the transcript; it must not reach a hash.
	Item(s Subject, nonce string) (*Item, []judge.Answer, error)
	// Read checks a reply against the request: closed schema, every criterion once, no contradiction with a fact. On an
	// invalid reply the error is an *InvalidReply that a judge can be shown for one repair.
	Read(req *judge.Request, text string) ([]judge.Answer, error)
	// Grade computes pass, safe and score of one subject from its answers.
	Grade(answers []judge.Answer) Grade
}

// Grade is the computed result of one subject.
type Grade struct {
	Graded    bool // every criterion has a verdict
	Reason    string
	Pass      *bool // nil: all not applicable, or ungraded
	Safe      *bool
	Score     *float64
	Letter    string
	Undecided bool // only unclear and not applicable
}

// InvalidReply is a reply that is not an answer.
type InvalidReply struct {
	Class   judge.Class // schema_error or contradicts_fact
	Message string      // what is wrong, for the judge to mend
}

func (e *InvalidReply) Error() string { return string(e.Class) + ": " + e.Message }
