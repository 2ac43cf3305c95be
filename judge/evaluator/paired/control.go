package paired

import (
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// ControlName tags the rows of planted answers.
const ControlName = "task_control"

// Control asks about answers that are planted, to find out how far a judge can be trusted: the very questions that [Evaluator] asks.
type Control struct {
	ev      *Evaluator
	version evaluator.Version
}

var _ evaluator.Evaluator = (*Control)(nil)

// NewControl makes the evaluator of planted answers for a rubric that New takes.
func NewControl(rubric judge.Rubric, opts Options) (*Control, error) {
	ev, err := New(rubric, opts)
	if err != nil {
		return nil, err
	}
	c := &Control{ev: ev, version: ev.version}
	c.version.Evaluator, c.version.Kind = ControlName, evaluator.OfControls
	return c, nil
}

// Version is that of [Evaluator] under another name.
func (c *Control) Version() evaluator.Version { return c.version }

// Item asks which items a planted answer meets.
func (c *Control) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	item, answers, err := c.ev.Item(s, nonce)
	if item != nil {
		item.Request.Evaluator = ControlName
	}
	return item, answers, err
}

// Read checks a reply.
func (c *Control) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	return c.ev.Read(req, text)
}

// Grade scores an answer.
func (c *Control) Grade(answers []judge.Answer) evaluator.Grade { return c.ev.Grade(answers) }
