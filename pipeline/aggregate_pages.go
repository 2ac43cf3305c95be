package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// What the sessions of one report may hold together, so that a browser opens it at once.
const (
	maxReportSteps   = 60_000
	maxReportContent = 24 << 20 // bytes of steps' text and arguments
	maxReportLeft    = 200      // sessions named that could not be judged
	stepTextKept     = 16 << 10 // bytes of one step; the page shows less
)

// Notes of a session whose content is not on the page.
const (
	noteWithout = "What was said and done is left out. A report made with --with-content has it, while content is kept; aggregate --show prints it, too."
	noteExpired = "Its content is no longer kept (retention.content, content.storage)."
	noteGone    = "The session is no longer in the tables."
	noteNoSteps = "No steps of it are kept."
	noteMuch    = "Its content is left out: the report would grow too large. aggregate --show prints it."
)

// pages fills in what the report shows of single sessions.
type pages struct {
	a       *aggregation
	m       *report.Model
	mask    *mask.Masker
	with    bool // content was asked for
	judging *evaluateRun
	steps   int
	content int
}

// reportPages adds steps, what other evaluators said and why sessions could not be judged.
func (a *aggregation) reportPages(ctx context.Context, m *report.Model) error {
	p := &pages{a: a, m: m, with: a.cfg.Aggregate.WithContent}
	var err error
	if p.mask, err = a.cfg.masker(); err != nil {
		return err
	}
	last, err := lastCommit(ctx, a.root.Store)
	if err != nil {
		return err
	}
	now := *a.cfg
	now.Evaluate.Service, now.Evaluate.Agent = "", ""
	p.judging = &evaluateRun{cfg: &now, root: a.root}
	if last != nil {
		p.judging.contentSince = last.ContentSince
	}
	if err := p.others(ctx); err != nil {
		return err
	}
	for _, wanted := range []bool{true, false} { // what a reader looks at first gets its place first
		if err := p.allSteps(ctx, func(g *schema.Grade) bool { return (g.Pass == nil || !*g.Pass) == wanted }); err != nil {
			return err
		}
	}
	for i := range m.Sessions {
		p.finish(&m.Sessions[i])
	}
	if p.m.Run.Kind == "session" {
		return p.left(ctx)
	}
	return nil
}

// finish says what of a session is not there, and why it could not be judged now.
func (p *pages) finish(s *report.Session) {
	if s.Row.SessionKey == "" {
		if s.Grade.SessionKey != "" {
			s.Note = noteGone
		}
		return
	}
	if why := p.judging.whyNot(&candidate{row: s.Row, dt: s.Grade.Dt}); why != "" {
		s.WhyNot = whyNotText[why]
	}
	switch {
	case s.Note != "":
	case len(s.Steps) == 0 && s.StepsLeft == 0:
		s.Note = noteNoSteps
	case !p.with:
		s.Note = noteWithout
	}
	if !p.showWords() {
		s.Words = nil
	}
}

// showWords says whether the judges' reasons of the run may be shown: they are kept as long as content, by the date of the run.
func (p *pages) showWords() bool {
	return p.with && !contentExpired(p.a.cfg, runDay(p.m.Run.RunID))
}

// sessionSteps are the wanted sessions that lie in one object.
type sessionSteps struct {
	key    string
	places map[string]int // in the model's sessions, by session key
}

// allSteps reads the steps of sessions, object by object.
func (p *pages) allSteps(ctx context.Context, wanted func(*schema.Grade) bool) error {
	byObject := map[string]*sessionSteps{}
	for i := range p.m.Sessions {
		s := &p.m.Sessions[i]
		if s.Row.SessionKey == "" || !wanted(&s.Grade) {
			continue
		}
		bucket, err := p.a.root.Layout.Bucket(s.Row.SessionKey)
		if err != nil {
			return err
		}
		key := schema.Steps.DayKey(s.Grade.Dt, bucket)
		if byObject[key] == nil {
			byObject[key] = &sessionSteps{key, map[string]int{}}
		}
		byObject[key].places[s.Row.SessionKey] = i
	}
	for _, key := range sortedKeys(byObject) {
		if err := p.objectSteps(ctx, byObject[key]); err != nil {
			return fmt.Errorf("read steps: %w", err)
		}
	}
	return nil
}

// manySessions is from how many sessions of an object on it is read whole.
const manySessions = 3

func (p *pages) objectSteps(ctx context.Context, o *sessionSteps) error {
	take := func(rows []schema.Step) {
		for i := range rows {
			p.addStep(&p.m.Sessions[o.places[rows[i].SessionKey]], &rows[i])
		}
	}
	if len(o.places) >= manySessions {
		rows, err := table.ReadWhere(ctx, p.a.root.Store, o.key, func(r *schema.Step) bool {
			_, ok := o.places[r.SessionKey]
			if ok {
				p.trim(r)
			}
			return ok
		})
		take(rows)
		return err
	}
	for _, session := range sortedKeys(o.places) {
		rows, err := table.ReadSession(ctx, p.a.root.Store, o.key, session, func(r *schema.Step) string { return r.SessionKey })
		if err != nil {
			return err
		}
		for i := range rows {
			p.trim(&rows[i])
		}
		take(rows)
	}
	return nil
}

// trim masks the content of a step once more and cuts it, or takes it out.
func (p *pages) trim(s *schema.Step) {
	if !p.with {
		s.Text, s.Arguments = "", ""
		return
	}
	for _, text := range []*string{&s.Text, &s.Arguments} {
		*text = p.mask.String(*text, nil) // before it is cut: a part of a secret would not be known for one
		if len(*text) > stepTextKept {
			*text = strings.Clone((*text)[:stepTextKept])
		}
	}
}

// addStep adds a step to its session, as far as there is room.
func (p *pages) addStep(s *report.Session, st *schema.Step) {
	if p.steps >= maxReportSteps {
		s.StepsLeft++
		return
	}
	p.steps++
	step := *st
	size := len(step.Text) + len(step.Arguments)
	switch {
	case size == 0:
	case contentExpired(p.a.cfg, s.Grade.Dt):
		step.Text, step.Arguments, s.Note = "", "", noteExpired
	case p.content+size > maxReportContent:
		step.Text, step.Arguments, s.Note = "", "", noteMuch
	default:
		p.content += size
	}
	s.Steps = append(s.Steps, step)
}

// others adds what the other parts of the run say of the sessions.
func (p *pages) others(ctx context.Context) error {
	place := map[string]int{}
	for i := range p.m.Sessions {
		if key := p.m.Sessions[i].Grade.SessionKey; key != "" {
			place[key] = i
		}
	}
	for _, part := range p.a.parts {
		if part == p.a.sum.main {
			continue
		}
		run := part.run
		verdicts, err := table.ReadWhere(ctx, p.a.root.Store, schema.Verdicts.RunKey(run.RunID), func(v *schema.Verdict) bool {
			_, ok := place[v.SessionKey]
			return ok && v.Evaluator == run.Evaluator && v.Vote == "final"
		})
		if err != nil {
			return fmt.Errorf("read verdicts of %s: %w", run.Evaluator, err)
		}
		words, err := p.words(ctx, run)
		if err != nil {
			return err
		}
		p.addOthers(run, verdicts, words, place)
	}
	return nil
}

// words are the reasons of a part by subject, where they may be shown.
func (p *pages) words(ctx context.Context, run schema.Run) (map[string]map[[2]string]string, error) {
	if !p.showWords() {
		return nil, nil
	}
	rows, err := table.ReadWhere(ctx, p.a.root.Store, schema.Explanations.RunKey(run.RunID), func(x *schema.Explanation) bool {
		return x.Evaluator == run.Evaluator && x.Vote == "final" && x.Explanation != ""
	})
	if err != nil {
		return nil, fmt.Errorf("read explanations of %s: %w", run.Evaluator, err)
	}
	out := map[string]map[[2]string]string{}
	for _, x := range rows {
		id := subjectID(x.Subject, x.Arm)
		if out[id] == nil {
			out[id] = map[[2]string]string{}
		}
		out[id][[2]string{x.Criterion, x.Item}] = p.mask.String(x.Explanation, nil)
	}
	return out, nil
}

// addOthers adds the verdicts of a part to their sessions, one Judged for each subject. What nothing was asked about is left out.
func (p *pages) addOthers(run schema.Run, verdicts []schema.Verdict, words map[string]map[[2]string]string, place map[string]int) {
	slices.SortStableFunc(verdicts, func(a, b schema.Verdict) int {
		return cmp.Or(strings.Compare(a.Subject, b.Subject), strings.Compare(a.Arm, b.Arm), strings.Compare(a.Criterion, b.Criterion), strings.Compare(a.Item, b.Item))
	})
	for len(verdicts) > 0 {
		first := &verdicts[0]
		n := 1
		for n < len(verdicts) && verdicts[n].Subject == first.Subject && verdicts[n].Arm == first.Arm {
			n++
		}
		group := verdicts[:n]
		verdicts = verdicts[n:]
		if !slices.ContainsFunc(group, func(v schema.Verdict) bool { return v.Verdict != "not_applicable" }) {
			continue
		}
		s := &p.m.Sessions[place[first.SessionKey]]
		s.Others = append(s.Others, report.Judged{Evaluator: run.Evaluator, About: first.Skill, Verdicts: group, Words: words[subjectID(first.Subject, first.Arm)]})
	}
}

// left finds the sessions of the run's window that could not be judged when it ran, by the tables as they are now.
func (p *pages) left(ctx context.Context) error {
	run := &p.m.Run
	then := *p.a.cfg
	then.asOf = asOfRun(*run)
	then.Evaluate.Service, then.Evaluate.Agent = run.FilterService, run.FilterAgent
	e := &evaluateRun{cfg: &then, root: p.a.root, contentSince: p.judging.contentSince}
	p.m.LeftBy = map[string]int{}
	err := e.eachOfWindow(ctx, window{run.WindowFrom, run.WindowTo}, func(c candidate, why string) {
		text, known := whyNotText[why]
		if !known { // another service or agent was not asked for
			return
		}
		p.m.LeftBy[text]++
		p.m.Left = append(p.m.Left, report.Left{Row: c.row, Why: text})
		if len(p.m.Left) > 4*maxReportLeft {
			p.m.Left = newestLeft(p.m.Left)
		}
	})
	p.m.Left = newestLeft(p.m.Left)
	return err
}

func newestLeft(list []report.Left) []report.Left {
	slices.SortFunc(list, func(a, b report.Left) int {
		return cmp.Or(cmp.Compare(b.Row.StartedUnixNano, a.Row.StartedUnixNano), strings.Compare(a.Row.SessionKey, b.Row.SessionKey))
	})
	return list[:min(len(list), maxReportLeft)]
}
