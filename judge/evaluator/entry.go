package evaluator

import "github.com/tracejury/tracejury/judge"

// What a run grades: the kinds of subjects that an evaluator is given. Parts of sessions are made of sessions by its Splitter.
const (
	OfSessions = "session"
	OfTools    = "tool"
	OfPackages = "skill_package"
	OfTasks    = "task"
	OfControls = "task_control" // planted answers to tasks

	OfSessionControls = "session_control" // sessions in several variants
)

// Entry is an evaluator as a run finds it. Each evaluator's package has one function that returns its entries, and one line in
// package registry that calls it: nothing else knows an evaluator by its name.
type Entry struct {
	Name    string   // on the command line: skill-selection
	Of      string   // what it is given: one of the constants above
	Rubrics []string // the built-in rubrics that it takes, the default first
	Help    string   // what it grades, in some words
	Takes   []string // options that it has a use for beside those of all: expect, rows, compat
	New     func(judge.Rubric, Options) (Evaluator, error)
}

// Options is what a run tells every evaluator. One takes of it what it has a use for; the zero value is right.
type Options struct {
	Mask        func(string) string // nil shows text as it was stored
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a reply; 0 leaves it to the evaluator
	Rows        string              // of parts of sessions: "skill" folds the attempts of a skill, "invocation" does not; "" means skill
	Compat      bool                // as the product that the evaluator comes from: no way to say unclear, its own context
	Prompts     Prompts
	Expected    []Expectation
	Judge       string // what the judge is called, for the variant that signs with its name
}

// Prompts overrides the prompts of an evaluator. The zero value means the built-in ones of the newest version.
type Prompts struct {
	Version string // of the built-in ones: v0
	System  string // template in place of the system prompt; "" is the built-in one
	User    string // template in place of the user prompt; "" is the built-in one
}

// Expectation is what one task should have made an agent do, as its author wrote it down. At least one of Session, Input and
// Task says which sessions it is about.
type Expectation struct {
	Task    string // a name for people
	Session string // id or key of a session
	Input   string // the first request of a session, whole
	Skill   string // that must have been invoked; "" none is expected
	Tool    string // that must have been called; "" none is expected
}

// Coded is implemented by evaluators that ask no judge: all their answers come from code.
type Coded interface{ Coded() }
