package pipeline

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// onSessions is a calibration by the rubric of sessions.
type onSessions struct {
	mask   func(string) string
	rubric judge.Rubric      // that of the run
	ids    map[string]string // session keys by their own ids
	keys   []string          // of the sessions that the run asked about
}

// onSessions checks that the rubric can be calibrated, and says how many sessions are drawn.
func (o *CalibrateOptions) onSessions(cfg *Config) (*onSessions, error) {
	c := &cfg.Evaluate
	if name := strings.TrimSpace(c.Rubric); name != "" {
		if strings.Contains(name, ",") {
			return nil, usagef("--rubric %s: one rubric is calibrated at a time", name)
		}
		r, err := loadRubric(name)
		if err != nil {
			return nil, err
		}
		if r.Evaluator != session.Name {
			return nil, usagef("--rubric %s is for the evaluator %s: what can be calibrated is a rubric of session, or with --suite one of tasks", name, r.Evaluator)
		}
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	c.Evaluators = []string{"session-control"}
	c.Sample = cmp.Or(o.Sample, c.Calibration.WithDefaults().MinLabels)
	return &onSessions{mask: func(s string) string { return m.String(s, nil) }}, nil
}

func (o *onSessions) subject() string { return "sessions by rubric " + o.rubric.Name }

// read implements calibrated: labels of criteria of sessions, which may be named by their keys or their own ids.
func (o *onSessions) read(file string, list []labels.Label, _ *schema.Run) (people, error) {
	known := map[string]bool{}
	for _, key := range o.ids {
		known[key] = true
	}
	for _, key := range o.keys {
		known[key] = true
	}
	out := gather(list, func(l *labels.Label) (string, string, bool) {
		key := keyOr(o.ids, l.Subject)
		return key, l.Criterion, known[key] && slices.ContainsFunc(o.rubric.Criteria, func(c judge.Criterion) bool { return c.ID == l.Criterion })
	})
	if len(list) > 0 && len(out.said) == 0 && out.use.Disputed == 0 {
		return out, usagef("--labels %s: none of its %d labels is of a session and criterion that this calibration asks about: --sheet FILE writes those that it does", file, len(list))
	}
	return out, nil
}

// observe implements calibrated. Nothing was planted: what people labelled takes the place of known answers.
func (o *onSessions) observe(grades []schema.Grade, verdicts []schema.Verdict, said people) calibration.Observations {
	ob := newObserving(grades, verdicts)
	ob.out.ByPeople = true
	for _, c := range o.rubric.Criteria {
		ob.out.Criteria = append(ob.out.Criteria, c.ID)
	}
	for _, key := range o.keys {
		ob.add(asked{id: key, items: ob.out.Criteria}, said.said[key])
	}
	for criterion, l := range ob.out.Labels {
		l.Population = map[calibration.Category]int{}
		for _, key := range o.keys {
			if c, ok := ob.at(key, evaluator.VariantBase).said[criterion]; ok {
				l.Population[c]++
			}
		}
		ob.out.Labels[criterion] = l
	}
	return ob.done(said)
}

// asks notes which sessions the run asked about.
func (o *onSessions) asks(grades []schema.Grade) {
	for i := range grades {
		if g := &grades[i]; g.Arm == evaluator.VariantBase {
			o.keys = append(o.keys, subjectOf(g.Subject, g.Arm))
		}
	}
	slices.Sort(o.keys)
}

// sheet implements calibrated: of every criterion as many sessions as labels are wanted, of what the judge said rarely more than its share,
// so that people see both kinds. The rows are in the order of the sessions' keys, which tells nothing of what the judge said.
func (o *onSessions) sheet(run *schema.Run, file string, verdicts []schema.Verdict, want int) ([]labels.Row, error) {
	drawn := map[[2]string]bool{} // by session and criterion
	for i := range o.rubric.Criteria {
		criterion := o.rubric.Criteria[i].ID
		strata := make([][]string, calibration.Unclear+1)
		for k := range verdicts {
			v := &verdicts[k]
			if c, ok := calibration.CategoryOf(v.Verdict); ok && v.Criterion == criterion && v.Arm == evaluator.VariantBase {
				strata[c] = append(strata[c], subjectOf(v.Subject, v.Arm))
			}
		}
		shares, err := sheetShares(strata, want)
		if err != nil {
			return nil, err
		}
		for c, n := range shares {
			for _, key := range stats.SampleSmallest(run.RunID+" "+criterion, strata[c], n) {
				drawn[[2]string{key, criterion}] = true
			}
		}
	}
	var rows []labels.Row
	for _, key := range o.keys {
		for i := range o.rubric.Criteria {
			c := &o.rubric.Criteria[i]
			if drawn[[2]string{key, c.ID}] {
				rows = append(rows, labels.Row{RunID: run.RunID, Subject: key, Transcript: labels.Shown(key), Criterion: c.ID, Question: o.mask(c.Question), AppliesWhen: o.mask(c.AppliesWhen)})
			}
		}
	}
	guide := strings.TrimSuffix(file, filepath.Ext(file)) + ".guide.md"
	return rows, writeOnce("--sheet: its guide", guide, []byte(labels.Guide(&o.rubric, o.mask, "evaluate calibrate --labels")))
}

// sheetShares says how many of each category are labelled: met and not met alike, half as many unclear, and beside them a tenth of what
// does not apply, to see whether people think so too.
func sheetShares(strata [][]string, want int) ([]int, error) {
	weights, caps := make([]int, len(strata)), make([]int, len(strata))
	for c := range strata {
		weights[c], caps[c] = 2, len(strata[c])
	}
	weights[calibration.Unclear] = 1
	aside := calibration.NotApplicable
	none := min(caps[aside], max(2, want/10))
	weights[aside], caps[aside] = 0, 0
	shares, err := stats.AllocateCapped(weights, caps, want)
	if err != nil {
		return nil, fmt.Errorf("draw what people label: %w", err)
	}
	shares[aside] = none
	return shares, nil
}
