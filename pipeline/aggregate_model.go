package pipeline

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/schema"
)

// maxReportSessions is how many sessions a page names one by one. Of more, those that did not pass go first.
const maxReportSessions = 2000

// reportModel gathers what a report shows. Sessions are read only where a page is asked for.
func (a *aggregation) reportModel(ctx context.Context, aggs []schema.Aggregate) (*report.Model, error) {
	p := a.sum.main
	m := &report.Model{Data: a.root.Store.URI(), AsOf: asOfRun(p.run), Run: p.run, Rubric: p.rubric, Aggregates: aggs}
	for _, part := range a.parts {
		if part != p {
			m.Parts = append(m.Parts, report.Part{Run: part.run, Rubric: part.rubric})
		}
	}
	var err error
	if m.Servers, m.Rankings, err = a.catalogue(ctx); err != nil {
		return nil, err
	}
	if p.isPaired() {
		m.Tasks = a.sum.pairedOf(p.run.Evaluator).report()
	} else if a.cfg.Aggregate.Report != "" && m.Servers == nil && m.Rankings == nil {
		if err := a.reportSessions(ctx, m); err != nil {
			return nil, err
		}
	}
	m.Agreement = a.sum.agreement()
	m.Commit, err = ingestTotals(ctx, a.root.Store)
	return m, err
}

func (a *aggregation) reportSessions(ctx context.Context, m *report.Model) error {
	p := a.sum.main
	chosen := p.numbers.facts.toLookAt(maxReportSessions)
	m.SessionsLeft = len(p.numbers.facts.subjects) - len(chosen)
	d, err := loadSubjects(ctx, a.root.Store, p.run, func(subject string) bool { return chosen[subject] })
	if err != nil {
		return err
	}
	d.rubric = p.rubric
	rows, err := sessionRows(ctx, a.root, d.grades)
	if err != nil {
		return err
	}
	verdicts := verdictsBySubject(d)
	words := map[string]map[[2]string]string{}
	for _, x := range d.explanations {
		if words[x.Subject] == nil {
			words[x.Subject] = map[[2]string]string{}
		}
		words[x.Subject][[2]string{x.Criterion, x.Item}] = x.Explanation // masked when written
	}
	for _, g := range d.grades {
		m.Sessions = append(m.Sessions, report.Session{Grade: g, Row: rows[g.SessionKey], Verdicts: verdicts[g.Subject], Words: words[g.Subject]})
	}
	slices.SortStableFunc(m.Sessions, func(a, b report.Session) int {
		return cmp.Or(strings.Compare(a.Grade.Service, b.Grade.Service), cmp.Compare(a.Row.StartedUnixNano, b.Row.StartedUnixNano), strings.Compare(a.Grade.Subject, b.Grade.Subject))
	})
	return a.reportPages(ctx, m)
}

// toLookAt are the subjects that a reader looks at first, at most most of them: not safe, not passed, not graded, and the others in
// the order of their keys, which says nothing of them.
func (f *facts) toLookAt(most int) map[string]bool {
	rank := func(s *factSubject) int {
		switch {
		case s.safe == resultNotMet:
			return 0
		case s.passed == resultNotMet:
			return 1
		case s.passed == resultUngraded:
			return 2
		}
		return 3
	}
	out := map[string]bool{}
	for want := range 4 {
		for i := range f.subjects {
			if len(out) == most {
				return out
			}
			if s := &f.subjects[i]; rank(s) == want {
				subject, _, _ := strings.Cut(f.id(s), "\x00")
				out[subject] = true
			}
		}
	}
	return out
}
