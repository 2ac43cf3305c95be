package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// exportInput gathers what goes out: a rubric alone, or what every evaluator of a run found. Whoever asks for it closes it, when all is
// written.
func exportInput(ctx context.Context, cfg *Config, log *slog.Logger) (in *exports.Input, closeInput func() error, err error) {
	x := &exportJoin{cfg: cfg}
	if in, err = x.gather(ctx, log); err != nil {
		return nil, nil, errors.Join(err, x.close())
	}
	return in, x.close, nil
}

func (x *exportJoin) gather(ctx context.Context, log *slog.Logger) (*exports.Input, error) {
	cfg := x.cfg
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	e := &cfg.Export
	in := &exports.Input{AsOf: cfg.asOf, WithExplanations: e.WithExplanations, Mask: func(s string) string { return m.String(s, nil) }}
	if e.Rubric != "" {
		if e.Run != "latest" {
			return nil, usagef("--rubric %s goes out without a run: leave out --run %s, or --rubric", e.Rubric, e.Run)
		}
		if in.Rubric, err = loadRubric(e.Rubric); err != nil || e.Tools == "" {
			return in, err
		}
	}
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	if in.Tools, err = exportTools(ctx, cfg, root); err != nil || e.Rubric != "" {
		return in, err
	}
	runs, err := exportRuns(ctx, root, e.Run, cfg.latestUntil())
	if err != nil {
		return nil, err
	}
	for i, run := range runs {
		if isCalibration(&run) {
			return nil, notAnEvaluation(&run)
		}
		if runs[i].Calibration, err = calibrationOf(ctx, root.Store, &run); err != nil {
			return nil, err
		}
		if err := mayExport(run, e.AllowPartial); err != nil {
			return nil, err
		}
	}
	x.root, x.in = root, in
	for _, run := range runs {
		if err := x.part(ctx, run); err != nil {
			return nil, fmt.Errorf("evaluator %s: %w", run.Evaluator, err)
		}
	}
	in.Run = runs[0]
	if cfg.AsOf == "" { // so that the same run gives the same bytes whenever it is exported
		in.AsOf = asOfRun(runs[0])
	}
	if x.packages != nil {
		in.Packages = x.packages.exported()
	}
	return in, nil
}

// exportRuns finds the parts of the run to export, that of sessions first. The latest is that of aggregate; if it graded no session,
// the newest that did, where there is one.
func exportRuns(ctx context.Context, root *Root, id, until string) ([]schema.Run, error) {
	ofSessions := func(r schema.Run) bool { return r.Evaluator == mainEvaluator }
	runs, err := findRun(ctx, root.Store, id, until)
	if err != nil {
		return nil, err
	}
	if id == "latest" && !slices.ContainsFunc(runs, ofSessions) {
		if run, err := findPart(ctx, root.Store, id, until, "session", ofSessions); err == nil {
			if runs, err = findRun(ctx, root.Store, run.RunID, until); err != nil {
				return nil, err
			}
		}
	}
	if len(runs) == 0 {
		return nil, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no run", root.Store.URI()), Hint: "run evaluate with the same --data first"}
	}
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b schema.Run) int {
		last := func(r schema.Run) int {
			if r.Evaluator == mainEvaluator {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.Evaluator, b.Evaluator))
	})
	return runs, nil
}

// exportJoin joins the parts of a run with what they are about.
type exportJoin struct {
	cfg      *Config
	root     *Root
	in       *exports.Input
	open     []*storedPart
	packages *packageJoin
}

func (x *exportJoin) part(ctx context.Context, run schema.Run) error {
	rubric, err := loadRunRubric(ctx, x.root.Store, run)
	if err != nil {
		return err
	}
	explain := x.in.WithExplanations
	rows, err := openStoredPart(ctx, x.root, run, &rubric, explain)
	if err != nil {
		return err
	}
	x.open = append(x.open, rows)
	if run.Evaluator == mainEvaluator {
		x.in.Rubric, x.in.Sessions = rubric, rows.subjects(rememberedVerdicts)
		return nil
	}
	x.in.Parts = append(x.in.Parts, exports.Part{Run: run, Rubric: rubric, Subjects: rows.subjects(rememberedVerdicts)})
	if run.Kind != evaluator.OfTools && run.Kind != evaluator.OfPackages {
		return nil
	}
	d, err := loadRun(ctx, x.root.Store, run) // what tools and packages there are is known: few
	if err != nil {
		return err
	}
	switch {
	case run.Kind == evaluator.OfTools && x.in.Tools == nil:
		x.in.Tools, err = runTools(ctx, x.root, d, x.cfg.Export.Server, explain)
	case run.Kind == evaluator.OfPackages:
		if x.packages == nil {
			x.packages = &packageJoin{of: map[string]*exports.Package{}}
		}
		err = x.packages.add(ctx, x.root, d, explain)
	}
	return err
}

// close lets the tables of the run go.
func (x *exportJoin) close() error {
	var errs []error
	for _, r := range x.open {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// packageJoin joins the grades of skill packages, which several evaluators give, with the texts that were judged.
type packageJoin struct {
	rubric judge.Rubric
	of     map[string]*exports.Package // by subject
}

func (p *packageJoin) add(ctx context.Context, root *Root, d *runData, explain bool) error {
	if p.rubric.Name == "" {
		p.rubric = judge.Rubric{Name: "skill_package", Version: 1, Title: "Skill packages", Description: "The criteria of every evaluator of skill packages of this run."}
	}
	p.rubric.Criteria = append(p.rubric.Criteria, d.rubric.Criteria...)
	verdicts := verdictsBySubject(d)
	for _, g := range d.grades {
		pkg := p.of[g.Subject]
		if pkg == nil {
			rows, _, err := table.Read[schema.Material](ctx, root.Store, materialKey(g.SubjectRevision))
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("the text of skill package %s is missing: %s/%s", g.Subject, root.Store.URI(), materialKey(g.SubjectRevision))
			}
			var told evaluator.SkillPackage
			if err := json.Unmarshal([]byte(rows[0].Text), &told); err != nil {
				return fmt.Errorf("read skill package %s: %w", g.Subject, err)
			}
			pkg = &exports.Package{Name: told.Name, Manifest: told.Manifest, Body: told.Body, Task: told.Task}
			p.of[g.Subject] = pkg
		}
		for _, v := range verdicts[subjectID(g.Subject, g.Arm)] {
			pkg.Criteria = append(pkg.Criteria, exportCriterion(d, v, explain))
		}
	}
	return nil
}

// exported yields the packages by name. One that an evaluator could not be asked about, for want of text, has no place in a set.
func (p *packageJoin) exported() *exports.Packages {
	var list []exports.Package
	for _, id := range slices.Sorted(maps.Keys(p.of)) {
		pkg := p.of[id]
		if pkg.Name != "" && pkg.Body != "" {
			list = append(list, *pkg)
		}
	}
	slices.SortStableFunc(list, func(a, b exports.Package) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Task, b.Task), strings.Compare(a.Body, b.Body), strings.Compare(a.Manifest, b.Manifest))
	})
	return &exports.Packages{Rubric: p.rubric, All: func(ctx context.Context) iter.Seq2[exports.Package, error] {
		return func(yield func(exports.Package, error) bool) {
			for _, pkg := range list {
				if err := ctx.Err(); err != nil {
					yield(exports.Package{}, err)
					return
				}
				pkg.Criteria = slices.Clone(pkg.Criteria)
				if !yield(pkg, nil) {
					return
				}
			}
		}
	}}
}
