package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// SessionShow is what aggregate --show session:… reports: everything that the tables say of one session. Text is masked, and
// there only while content is kept.
type SessionShow struct {
	AsOf     time.Time      `json:"as_of"`
	Day      string         `json:"dt"`
	Session  schema.Session `json:"session"`
	Eligible bool           `json:"eligible"`
	WhyNot   string         `json:"why_not,omitempty"` // as evaluate counts it in left_out
	Steps    []schema.Step  `json:"steps"`
	Skills   []schema.Skill `json:"skills"`
	Judged   []JudgedIn     `json:"judged"` // newest run first
	MoreRuns int            `json:"more_runs"`
}

// JudgedIn is what one run said of a session, or of a part of it.
type JudgedIn struct {
	Run      schema.Run     `json:"run"`
	Grade    schema.Grade   `json:"grade"`
	Outdated bool           `json:"outdated"` // the session has changed since
	Verdicts []ShownVerdict `json:"verdicts"`
}

// ShownVerdict is a verdict with the judge's words.
type ShownVerdict struct {
	schema.Verdict
	Explanation string `json:"explanation,omitempty"`
	Withheld    string `json:"withheld,omitempty"`
}

// maxShownRuns is how many runs are shown of one session.
const maxShownRuns = 10

// ShowSession gathers everything about the session of a key, an id or the beginning of either.
func ShowSession(ctx context.Context, cfg *Config, name string, log *slog.Logger) (*SessionShow, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	found, err := findSession(ctx, root.Store, name)
	if err != nil {
		return nil, err
	}
	out := &SessionShow{AsOf: cfg.asOf, Day: found.dt}
	if err := out.load(ctx, root, found, m); err != nil {
		return nil, err
	}
	last, err := lastCommit(ctx, root.Store)
	if err != nil {
		return nil, err
	}
	any := *cfg // eligible for a run without filters
	any.Evaluate.Service, any.Evaluate.Agent = "", ""
	e := &evaluateRun{cfg: &any}
	if last != nil {
		e.contentSince = last.ContentSince
	}
	out.WhyNot = e.whyNot(&candidate{row: out.Session, dt: found.dt, key: found.key})
	out.Eligible = out.WhyNot == ""
	return out, out.loadJudged(ctx, root, m)
}

// load reads the session's rows, and masks their text once more.
func (s *SessionShow) load(ctx context.Context, root *Root, found foundSession, m *mask.Masker) error {
	sessions, _, err := table.Read[schema.Session](ctx, root.Store, found.key)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	for _, r := range sessions {
		if r.SessionKey == found.SessionKey {
			s.Session = r
		}
	}
	rest := strings.TrimPrefix(found.key, schema.Sessions.Name)
	s.Steps, err = table.ReadSession(ctx, root.Store, schema.Steps.Name+rest, found.SessionKey, func(r *schema.Step) string { return r.SessionKey })
	if err != nil {
		return fmt.Errorf("read steps: %w", err)
	}
	for i := range s.Steps {
		s.Steps[i].Text, s.Steps[i].Arguments = m.String(s.Steps[i].Text, nil), m.String(s.Steps[i].Arguments, nil)
	}
	skills, _, err := table.Read[schema.Skill](ctx, root.Store, schema.Skills.Name+rest)
	if err != nil {
		return fmt.Errorf("read skills: %w", err)
	}
	s.Skills = slices.DeleteFunc(skills, func(r schema.Skill) bool { return r.SessionKey != found.SessionKey })
	for i := range s.Skills {
		k := &s.Skills[i]
		k.Refusal, k.Description, k.Body = m.String(k.Refusal, nil), m.String(k.Description, nil), ""
	}
	return nil
}

// loadJudged finds what runs said of the session.
func (s *SessionShow) loadJudged(ctx context.Context, root *Root, m *mask.Masker) error {
	runs, err := allRuns(ctx, root.Store)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, run := range runs {
		if isCalibration(&run) {
			continue // of sessions that were changed
		}
		grades, err := table.ReadWhere(ctx, root.Store, schema.Grades.RunKey(run.RunID), func(g *schema.Grade) bool {
			return g.SessionKey == s.Session.SessionKey && g.Evaluator == run.Evaluator
		})
		if err != nil {
			return fmt.Errorf("read grades of run %s: %w", run.RunID, err)
		}
		if len(grades) == 0 {
			continue
		}
		if !seen[run.RunID] && len(seen) == maxShownRuns {
			s.MoreRuns++
			continue
		}
		seen[run.RunID] = true
		judged, err := loadJudgedIn(ctx, root, run, grades, m)
		if err != nil {
			return err
		}
		for i := range judged {
			judged[i].Outdated = judged[i].Grade.SubjectRevision != "" && judged[i].Grade.SubjectKind == "session" && judged[i].Grade.SubjectRevision != s.Session.Revision
		}
		s.Judged = append(s.Judged, judged...)
	}
	return nil
}

func loadJudgedIn(ctx context.Context, root *Root, run schema.Run, grades []schema.Grade, m *mask.Masker) ([]JudgedIn, error) {
	subjects := map[string]bool{}
	for i := range grades {
		subjects[grades[i].Subject] = true
	}
	verdicts, err := table.ReadWhere(ctx, root.Store, schema.Verdicts.RunKey(run.RunID), func(v *schema.Verdict) bool { return v.Vote == "final" && subjects[v.Subject] })
	if err != nil {
		return nil, fmt.Errorf("read verdicts of run %s: %w", run.RunID, err)
	}
	words, err := table.ReadWhere(ctx, root.Store, schema.Explanations.RunKey(run.RunID), func(x *schema.Explanation) bool { return x.Vote == "final" && subjects[x.Subject] })
	if err != nil {
		return nil, fmt.Errorf("read explanations of run %s: %w", run.RunID, err)
	}
	said := map[[4]string]schema.Explanation{}
	for _, x := range words {
		if x.Evaluator == run.Evaluator {
			said[[4]string{x.Subject, x.Arm, x.Criterion, x.Item}] = x
		}
	}
	var out []JudgedIn
	for _, g := range grades {
		j := JudgedIn{Run: run, Grade: g}
		for _, v := range verdicts {
			if v.Evaluator == run.Evaluator && v.Subject == g.Subject && v.Arm == g.Arm {
				x := said[[4]string{v.Subject, v.Arm, v.Criterion, v.Item}]
				j.Verdicts = append(j.Verdicts, ShownVerdict{v, m.String(x.Explanation, nil), x.Withheld})
			}
		}
		slices.SortFunc(j.Verdicts, func(a, b ShownVerdict) int {
			return cmp.Or(cmp.Compare(showRank(a.Verdict.Verdict), showRank(b.Verdict.Verdict)), strings.Compare(a.Criterion, b.Criterion), strings.Compare(a.Item, b.Item))
		})
		out = append(out, j)
	}
	return out, nil
}

// showRank puts what went wrong first.
func showRank(verdict string) int {
	return slices.Index([]string{"not_met", "ungraded", "unclear", "scored", "met", "not_applicable"}, verdict)
}

// evidence is the steps that any verdict points at.
func (s *SessionShow) evidence() map[int32]bool {
	out := map[int32]bool{}
	for _, j := range s.Judged {
		for _, v := range j.Verdicts {
			for _, n := range v.EvidenceSteps {
				out[n] = true
			}
		}
	}
	return out
}
