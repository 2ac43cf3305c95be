package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// Rates computes the aggregates of a run from the few columns that they need, and writes nothing.
func Rates(ctx context.Context, cfg *Config, runID string, log *slog.Logger) ([]schema.Aggregate, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	runs, err := findRun(ctx, root.Store, runID)
	if err != nil {
		return nil, err
	}
	gs, err := chosenGroupings(cfg.Aggregate.GroupBy)
	if err != nil {
		return nil, err
	}
	var out []schema.Aggregate
	for _, run := range runs {
		f, err := scanFacts(ctx, root, run)
		if err != nil {
			return nil, fmt.Errorf("scan run %s: %w", run.RunID, err)
		}
		rows, err := count(f, gs).rows(ctx, cfg.Aggregate.Level)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// scanFacts makes the facts of a run's part from columns of grades and verdicts.
func scanFacts(ctx context.Context, root *Root, run schema.Run) (*facts, error) {
	grades, err := scanGrades(ctx, root.Store, run)
	if err != nil {
		return nil, err
	}
	bySession, err := loadMembers(ctx, root, grades)
	if err != nil {
		return nil, err
	}
	f := factsOfGrades(run, grades, bySession)
	ok, err := f.scanVerdicts(ctx, root.Store, false)
	if err == nil && !ok {
		_, err = f.scanVerdicts(ctx, root.Store, true)
	}
	return f, err
}

// scanGrades reads the columns of grades that are counted.
func scanGrades(ctx context.Context, st store.Store, run schema.Run) ([]schema.Grade, error) {
	columns := []string{"evaluator", "subject", "arm", "session_key", "dt", "service", "agent", "harness", "skill", "server", "state", "pass", "safe", "undecided"}
	out := make([]schema.Grade, 0, run.Graded+run.Ungraded)
	err := table.Scan(ctx, st, schema.Grades.RunKey(run.RunID), columns, func(n int, batch []arrow.Array) error {
		var text [11]table.Text
		for i := range text {
			var err error
			if text[i], err = table.TextOf(batch[i]); err != nil {
				return fmt.Errorf("column %s: %w", columns[i], err)
			}
		}
		pass, safe, undecided := flags(batch[11]), flags(batch[12]), flags(batch[13])
		yes, no := new(true), new(false) // shared: nobody writes to them
		result := func(f *array.Boolean, i int) *bool {
			switch {
			case f == nil || f.IsNull(i):
				return nil
			case f.Value(i):
				return yes
			}
			return no
		}
		for i := range n {
			if text[0].Value(i) != run.Evaluator {
				continue
			}
			// The texts of plain columns lie in the batch, which is only lent.
			out = append(out, schema.Grade{Evaluator: run.Evaluator, Subject: text[1].Own(i), Arm: text[2].Own(i), SessionKey: text[3].Own(i), Dt: text[4].Own(i), Service: text[5].Own(i),
				Agent: text[6].Own(i), Harness: text[7].Own(i), Skill: text[8].Own(i), Server: text[9].Own(i), State: text[10].Own(i),
				Pass: result(pass, i), Safe: result(safe, i), Undecided: undecided != nil && undecided.Value(i)})
		}
		return nil
	})
	return out, err
}

func flags(a arrow.Array) *array.Boolean {
	b, _ := a.(*array.Boolean)
	return b
}

// scanVerdicts reads the final verdicts. Rows lie in order of subject, arm and criterion, so a criterion that is smaller than the
// one before begins another subject. When that finds as many subjects as there are grades it has found all of them, and the
// longest column need not be read. Otherwise it answers false, and wants to be asked again with subjects.
func (f *facts) scanVerdicts(ctx context.Context, st store.Store, subjects bool) (bool, error) {
	columns := []string{"evaluator", "vote", "criterion", "verdict", "safety", "pass", "score"}
	if subjects {
		columns = append(columns, "subject", "arm")
	}
	place := map[string]int32{}
	if subjects {
		for i := range f.subjects {
			place[f.subjects[i].id] = int32(i)
		}
	}
	f.verdicts, f.scores, f.criteria = make([]factVerdict, 0, 8*len(f.subjects)), nil, nil
	ids := []string{}              // criteria in order of appearance
	known := map[string]int32{}    // their numbers
	safety := map[string]bool{}    //
	last, subject := "", int32(-1) // criterion and number of the row before
	var buf [4][]int32
	err := table.Scan(ctx, st, schema.Verdicts.RunKey(f.run.RunID), columns, func(n int, batch []arrow.Array) error {
		var text [4]table.Text
		for i := range text {
			var err error
			if text[i], err = table.TextOf(batch[i]); err != nil {
				return fmt.Errorf("column %s: %w", columns[i], err)
			}
		}
		is := func(want string) func(string) int32 {
			return func(s string) int32 {
				if s == want {
					return 1
				}
				return 0
			}
		}
		buf[0] = text[0].Numbers(n, buf[0], is(f.run.Evaluator))
		buf[1] = text[1].Numbers(n, buf[1], is("final"))
		buf[2] = text[2].Numbers(n, buf[2], func(s string) int32 {
			number, ok := known[s]
			if !ok {
				number = int32(len(ids))
				known[s] = number
				ids = append(ids, s)
			}
			return number
		})
		verdicts := []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded, judge.Scored}
		buf[3] = text[3].Numbers(n, buf[3], func(s string) int32 { return int32(slices.Index(verdicts, judge.Verdict(s))) })
		byNumber := make([]result, len(verdicts))
		for i, v := range verdicts {
			byNumber[i] = resultOf(v, nil)
		}
		safe, pass := flags(batch[4]), flags(batch[5])
		score, _ := batch[6].(*array.Float64)
		var name, arm table.Text
		if subjects {
			var err error
			if name, err = table.TextOf(batch[7]); err != nil {
				return err
			}
			if arm, err = table.TextOf(batch[8]); err != nil {
				return err
			}
		}
		seen := make([]bool, len(ids))
		before := int32(-1)
		for i := range n {
			if buf[0][i] == 0 || buf[1][i] == 0 {
				continue
			}
			c := buf[2][i]
			if subjects {
				at, ok := place[subjectID(name.Value(i), arm.Value(i))]
				if !ok {
					continue
				}
				subject = at
			} else if c != before {
				if id := ids[c]; id < last || subject < 0 {
					subject++
				}
				last, before = ids[c], c
			}
			if !seen[c] || safe != nil && safe.Value(i) {
				seen[c] = true
				safety[ids[c]] = safety[ids[c]] || safe != nil && safe.Value(i)
			}
			r := resultOther
			if v := buf[3][i]; v >= 0 {
				if r = byNumber[v]; verdicts[v] == judge.Scored {
					if pass != nil && !pass.IsNull(i) {
						r = resultOf(judge.Scored, new(pass.Value(i)))
					}
					if score != nil && !score.IsNull(i) {
						f.scores = append(f.scores, factScore{subject, c, score.Value(i)})
					}
				}
			}
			f.verdicts = append(f.verdicts, factVerdict{subject, c, r})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if !subjects && int(subject)+1 != len(f.subjects) {
		return false, nil
	}
	f.renumberCriteria(ids, safety)
	return true, nil
}

// renumberCriteria gives criteria that were numbered as they came their numbers in order of their ids.
func (f *facts) renumberCriteria(ids []string, safety map[string]bool) {
	used := map[string]bool{}
	for id := range safety {
		used[id] = safety[id]
	}
	number := f.setCriteria(used)
	to := make([]int32, len(ids))
	for i, id := range ids {
		to[i] = number[id]
	}
	for i := range f.verdicts {
		f.verdicts[i].criterion = to[f.verdicts[i].criterion]
	}
	for i := range f.scores {
		f.scores[i].criterion = to[f.scores[i].criterion]
	}
}
