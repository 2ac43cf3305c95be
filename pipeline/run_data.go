package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/report"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// loadRubric finds the rubric of --rubric: a built-in name, or a file.
func loadRubric(name string) (judge.Rubric, error) {
	if slices.Contains(judge.BuiltinNames(), name) {
		return judge.Builtin(name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(name, "./\\") {
			return judge.Rubric{}, usagef("--rubric %q: no such built-in rubric and no such file: %s", name, suggest(name, judge.BuiltinNames()))
		}
		return judge.Rubric{}, usagef("--rubric: %w", err)
	}
	r, err := judge.ParseRubric(data, name)
	if err != nil {
		return r, usagef("--rubric: %w", err)
	}
	return r, nil
}

// PrintRubric writes the file of a built-in rubric; of the name list, what there is.
func PrintRubric(w io.Writer, name string) error {
	if name == "list" {
		return listRubrics(w)
	}
	data, err := judge.BuiltinFile(name)
	if err != nil {
		return usagef("--print-rubric %q: no such built-in rubric: %s", name, suggest(name, judge.BuiltinNames()))
	}
	_, err = w.Write(data)
	return err
}

// saveRubric keeps the rubric of a run under its hash, so that what was asked can be read as long as the verdicts.
func saveRubric(ctx context.Context, st store.Store, r judge.Rubric) error {
	data, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode rubric: %w", err)
	}
	return saveMaterial(ctx, st, schema.Material{SHA256: r.SHA256(), Kind: rubricMaterial, Text: string(data)})
}

// loadRunRubric reads the rubric that a run was asked with.
func loadRunRubric(ctx context.Context, st store.Store, run schema.Run) (judge.Rubric, error) {
	rows, _, err := table.Read[schema.Material](ctx, st, materialKey(run.RubricSHA256))
	if err != nil {
		return judge.Rubric{}, err
	}
	if len(rows) == 0 {
		return judge.Rubric{}, fmt.Errorf("the rubric of run %s is missing: %s/%s", run.RunID, st.URI(), materialKey(run.RubricSHA256))
	}
	var r judge.Rubric
	if err := json.Unmarshal([]byte(rows[0].Text), &r); err != nil {
		return r, fmt.Errorf("read rubric of run %s: %w", run.RunID, err)
	}
	return r, nil
}

// runData is the rows of one evaluator's part of a run, or of some of its subjects.
type runData struct {
	run          schema.Run
	rubric       judge.Rubric
	grades       []schema.Grade
	verdicts     []schema.Verdict // final votes
	explanations map[string]schema.Explanation
}

// loadRun reads all rows of a part of a run.
func loadRun(ctx context.Context, st store.Store, run schema.Run) (*runData, error) {
	d, err := loadSubjects(ctx, st, run, func(string) bool { return true })
	if err == nil {
		d.rubric, err = loadRunRubric(ctx, st, run)
	}
	return d, err
}

// loadSubjects reads the rows of a part of a run that are about some subjects.
func loadSubjects(ctx context.Context, st store.Store, run schema.Run, wanted func(subject string) bool) (*runData, error) {
	d := &runData{run: run, explanations: map[string]schema.Explanation{}}
	var err error
	d.verdicts, err = table.ReadWhere(ctx, st, schema.Verdicts.RunKey(run.RunID), func(v *schema.Verdict) bool {
		return v.Vote == "final" && v.Evaluator == run.Evaluator && wanted(v.Subject)
	})
	if err != nil {
		return nil, err
	}
	d.grades, err = table.ReadWhere(ctx, st, schema.Grades.RunKey(run.RunID), func(g *schema.Grade) bool { return g.Evaluator == run.Evaluator && wanted(g.Subject) })
	if err != nil {
		return nil, err
	}
	expl, err := table.ReadWhere(ctx, st, schema.Explanations.RunKey(run.RunID), func(e *schema.Explanation) bool {
		return e.Vote == "final" && e.Evaluator == run.Evaluator && wanted(e.Subject)
	})
	if err != nil {
		return nil, err
	}
	for _, e := range expl {
		d.explanations[subjectID(e.Subject, e.Arm)+"\x00"+e.Criterion+"\x00"+e.Item] = e
	}
	return d, nil
}

// ingestTotals adds up what all ingests read: a night's numbers rest on more than what that night brought.
func ingestTotals(ctx context.Context, st store.Store) (*report.Ingest, error) {
	total := &report.Ingest{Masked: map[string]int64{}}
	for obj, err := range st.List(ctx, commitPrefix, store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		data, _, err := st.Get(ctx, obj.Key, "")
		if err != nil {
			return nil, fmt.Errorf("read commit: %w", err)
		}
		var commit Commit
		if err := json.Unmarshal(data, &commit); err != nil {
			return nil, fmt.Errorf("read %s: %w", obj.Key, err)
		}
		c := commit.Counts
		total.Objects += c.New
		total.Records += c.Records
		total.Written += c.Written
		total.Duplicates += c.Duplicates
		total.Filtered += c.Filtered
		total.Quarantined += c.Quarantined
		for kind, n := range c.Masked {
			total.Masked[kind] += n
		}
	}
	return total, nil
}
