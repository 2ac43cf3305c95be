package evaluator

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/suite"
)

// Arms of a paired task: the agent model alone, and with skills.
const (
	ArmWithout = "without"
	ArmWith    = "with"
)

// Task is one task of a suite in one of its arms.
type Task struct {
	Suite  string // name of the suite
	Sealed bool   // nothing of the task may be repeated, its items neither
	Task   suite.Task
	Arm    string // ArmWithout, ArmWith; "" before the evaluator split it
	Skills []TaskSkill
	Answer string // the agent model's, masked; "" before it was asked
	Order  []int  // places of the items in the order in which they are asked; nil as the suite has them
}

// TaskSkill is a SKILL.md that an agent model is given.
type TaskSkill struct {
	Name string
	Text string // masked
}

// Answered is implemented by evaluators that judge what another model, the agent model, answers first.
type Answered interface {
	// Prompt is what the agent model is asked, and the hash of what it is shown. Its reply is plain text: the answer of the subject's
	// task, with which Item then makes the question to the judge.
	Prompt(s Subject) (req judge.Request, rendering string, err error)
}
