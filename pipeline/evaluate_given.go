package pipeline

import (
	"context"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/schema"
)

// given is what a run grades that is not drawn from the sessions: tools of servers, skill packages.
type given struct {
	of         string // evaluator.OfTools, evaluator.OfPackages
	noun       string
	candidates []candidate
	left       map[string]int // left out, by reason
	tables     bool           // the candidates come from tables: there must be some
	windowed   bool           // they are those of a window of days
	again      bool           // what an earlier run graded is graded again
	taken      int            // subjects whose answers were taken over from earlier runs
	tasks      *givenTasks    // of a run on a suite
}

// candidates are what may be graded and what of it will be.
func (e *evaluateRun) candidates(ctx context.Context) (eligible, sample []candidate, left map[string]int, err error) {
	if g := e.opts.given; g != nil {
		return g.candidates, g.candidates, g.left, nil
	}
	all, left, err := e.findEligible(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	c := &e.cfg.Evaluate
	if e.opts.controls {
		return all, drawProportional(all, c.Seed, c.Sample), left, nil
	}
	if c.Per == perService {
		return all, drawPerService(all, c.Seed, c.Sample), left, nil
	}
	return all, drawSample(all, c.Seed, c.Sample), left, nil
}

// of is the kind of subjects that the run's evaluators are given.
func (e *evaluateRun) of() string {
	if g := e.opts.given; g != nil {
		return g.of
	}
	if e.opts.controls {
		return evaluator.OfSessionControls
	}
	return evaluator.OfSessions
}

// maxSample is how many sessions may be drawn: more to calibrate, since that needs people's labels of each criterion.
func (e *evaluateRun) maxSample() int {
	if e.opts.controls {
		return 10 * e.cfg.Limits.MaxSample
	}
	return e.cfg.Limits.MaxSample
}

func (e *evaluateRun) sampleLimit() string {
	if e.opts.controls {
		return "10 times limits.max_sample"
	}
	return "limits.max_sample"
}

func (e *evaluateRun) noun() string {
	if g := e.opts.given; g != nil {
		return g.noun
	}
	return "session"
}

func plural(noun string) string { return noun + "s" }

// newRoot opens the data root of a run that needs no ingest before it.
func (e *evaluateRun) newRoot(ctx context.Context) (*Root, error) {
	if e.opts.DryRun {
		return planRoot(ctx, e.cfg, e.log)
	}
	return createRoot(ctx, e.cfg, e.log)
}

// visitGiven visits what was given all at once.
func visitGiven(sample []candidate, visit func(places []int, subjects []evaluator.Subject) error) error {
	places, subjects := make([]int, len(sample)), make([]evaluator.Subject, len(sample))
	for i := range sample {
		places[i], subjects[i] = i, *sample[i].given
	}
	return visit(places, subjects)
}

// withoutContent is a subject without what only its question needs.
func withoutContent(s evaluator.Subject) evaluator.Subject {
	s.Session, s.Steps, s.Skills, s.Tools, s.Package = nil, nil, nil, nil, nil
	if s.Tool != nil {
		s.Tool = &schema.Tool{Server: s.Tool.Server, Tool: s.Tool.Tool}
	}
	return s
}

func server(s *evaluator.Subject) string {
	if s.Tool == nil {
		return ""
	}
	return s.Tool.Server
}

func tool(s *evaluator.Subject) string {
	if s.Tool == nil {
		return ""
	}
	return s.Tool.Tool
}
