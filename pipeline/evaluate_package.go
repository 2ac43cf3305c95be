package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/registry"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// PackageOptions says which skill packages are graded, and against what.
type PackageOptions struct {
	DryRun     bool
	Files      []string // skill_package as JSON, evaluation sets as JSONL or CSV, folders with a SKILL.md
	Task       string   // what the packages are measured against; one that brings its own keeps it
	Evaluators []string // skill-relevance, skill-completeness, skill-threat; nil means all three
	Language   string   // en, zh; "" means en
	Compat     bool     // as AgentArts: no way to say unclear
	Out        string   // evaluation set to write with score and reason: .jsonl or .csv; "" none
	Again      bool     // also packages that an earlier run graded
}

// PackageSummary is what an evaluation of skill packages reports.
type PackageSummary struct {
	*EvaluateSummary
	Unchanged int               `json:"unchanged"` // answers that an earlier run had given
	Criteria  []PackageCriteria `json:"criteria"`
	Files     []string          `json:"files,omitempty"` // evaluation sets that were written
}

// PackageCriteria is how packages stand by one criterion: ranked for each task.
type PackageCriteria struct {
	Criterion string        `json:"criterion"`
	Tasks     []PackageTask `json:"tasks"`
}

// PackageTask is the packages that were measured against one task, the best first.
type PackageTask struct {
	Task     string         `json:"task"`
	Packages []PackageGrade `json:"packages"`
}

// PackageGrade is the place of one package.
type PackageGrade struct {
	Place    int      `json:"place"` // from 1, equal for equals; 0 without a score
	Skill    string   `json:"skill"`
	Subject  string   `json:"subject"`
	Score    *float64 `json:"score"`
	Label    string   `json:"label"`
	Findings []string `json:"findings,omitempty"`
	Reason   string   `json:"reason,omitempty"`
}

// Limits of one evaluation of packages.
const (
	maxPackages = 1000
	maxSetBytes = 256 << 20
	maxTask     = 100_000
)

// EvaluatePackages grades skill packages. With several for one task they are ranked.
func EvaluatePackages(ctx context.Context, cfg *Config, opts PackageOptions, log *slog.Logger) (*PackageSummary, error) {
	if err := opts.complete(cfg); err != nil {
		return nil, err
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	rows, err := opts.read(m)
	if err != nil {
		return nil, err
	}
	g := &given{of: evaluator.OfPackages, noun: "skill package", again: opts.Again}
	subjects := make([]evaluator.Subject, len(rows))
	seen := map[string]bool{}
	for i := range rows {
		if subjects[i], err = skillpackage.Subject(rows[i].Package); err != nil {
			return nil, err
		}
		if id := subjects[i].ID; !seen[id] {
			seen[id] = true
			g.candidates = append(g.candidates, candidate{dt: cfg.asOf.Format("2006-01-02"), row: schema.Session{Tenant: "default"}, given: &subjects[i]})
		}
	}
	if len(g.candidates) > maxPackages {
		return nil, usagef("%d skill packages: at most %d are graded at once", len(g.candidates), maxPackages)
	}
	sum, err := Evaluate(ctx, cfg, EvaluateOptions{DryRun: opts.DryRun, given: g}, log)
	if sum == nil {
		return nil, err
	}
	if opts.DryRun {
		return &PackageSummary{EvaluateSummary: sum, Unchanged: g.taken}, err
	}
	out := &PackageSummary{EvaluateSummary: sum, Unchanged: g.taken}
	return out, errors.Join(err, out.results(ctx, cfg, &opts, rows, subjects, log))
}

// complete checks the options and lays them over the configuration.
func (o *PackageOptions) complete(cfg *Config) error {
	c := &cfg.Evaluate
	c.Service, c.Agent, c.Seed, c.Compat, c.Evaluators = "", "", "", "", o.Evaluators
	if o.Compat {
		c.Compat = "agentarts"
	}
	known := registry.Of(evaluator.OfPackages)
	if len(c.Evaluators) == 0 {
		c.Evaluators = registry.Names(known)
	}
	switch lang := cmp.Or(o.Language, skillpackage.English); {
	case lang == skillpackage.English:
	case lang != skillpackage.Chinese:
		return usagef("--language %q: want %s or %s", lang, skillpackage.English, skillpackage.Chinese)
	case c.Rubric == "":
		var rubrics []string
		for _, k := range known {
			if slices.Contains(c.Evaluators, k.Name) {
				rubrics = append(rubrics, k.Rubrics[len(k.Rubrics)-1])
			}
		}
		c.Rubric = strings.Join(rubrics, ",")
	}
	switch {
	case len(o.Files) == 0:
		return usagef("no skill package: name a folder with a SKILL.md, or --file with a skill_package as JSON, or an evaluation set as .jsonl or .csv")
	case len(o.Task) > maxTask:
		return usagef("--task: %d bytes, at most %d", len(o.Task), maxTask)
	case o.Out != "" && !slices.Contains([]string{".jsonl", ".csv"}, strings.ToLower(filepath.Ext(o.Out))):
		return usagef("--out %s: want a name that ends in .jsonl or .csv", o.Out)
	}
	return nil
}

// read reads every package, masks it, and gives it the task if it has none.
func (o *PackageOptions) read(m *mask.Masker) ([]skillpackage.Row, error) {
	var out []skillpackage.Row
	for _, path := range o.Files {
		rows, err := readPackages(path)
		if err != nil {
			return nil, usagef("%s: %w", path, err)
		}
		for _, r := range rows {
			p := &r.Package
			p.Task = cmp.Or(strings.TrimSpace(p.Task), strings.TrimSpace(o.Task))
			if p.Name == "" {
				p.Name = filepath.Base(filepath.Clean(path))
			}
			for _, s := range []*string{&p.Name, &p.Manifest, &p.Body, &p.Task} {
				*s = m.String(*s, nil)
			}
			for i := range p.Files {
				p.Files[i].Path, p.Files[i].Text = m.String(p.Files[i].Path, nil), m.String(p.Files[i].Text, nil)
			}
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return nil, usagef("%s holds no skill package", strings.Join(o.Files, ", "))
	}
	return out, nil
}

func readPackages(path string) ([]skillpackage.Row, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(path) // a link inside the folder leads nowhere out of it
		if err != nil {
			return nil, err
		}
		defer root.Close()
		p, err := skillpackage.FromFolder(root.FS(), "")
		return []skillpackage.Row{{Package: p}}, err
	}
	if info.Size() > maxSetBytes {
		return nil, fmt.Errorf("%d bytes, at most %d are read", info.Size(), maxSetBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl", ".ndjson":
		return skillpackage.ReadJSONL(bytes.NewReader(data))
	case ".csv":
		return skillpackage.ReadCSV(bytes.NewReader(data))
	}
	p, err := skillpackage.ParsePackage(string(data))
	return []skillpackage.Row{{Package: p}}, err
}

// results reads what the run said, ranks the packages and writes the evaluation sets.
func (s *PackageSummary) results(ctx context.Context, cfg *Config, o *PackageOptions, rows []skillpackage.Row, subjects []evaluator.Subject, log *slog.Logger) error {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return err
	}
	byCriterion, err := packageAnswers(ctx, root, s.RunID)
	if err != nil {
		return err
	}
	for _, criterion := range sortedKeys(byCriterion) {
		answers := byCriterion[criterion]
		s.Criteria = append(s.Criteria, PackageCriteria{criterion, rankByTask(answers, subjects)})
		if o.Out == "" {
			continue
		}
		path := o.Out
		if len(byCriterion) > 1 {
			ext := filepath.Ext(path)
			path = strings.TrimSuffix(path, ext) + "-" + criterion + ext
		}
		done := slices.Clone(rows)
		for i := range done {
			if a, ok := answers[subjects[i].ID]; ok {
				done[i].Take(a)
			}
		}
		if err := writeSet(path, done); err != nil {
			return err
		}
		s.Files = append(s.Files, path)
	}
	return nil
}

// packageAnswers are the final answers of a run by criterion and subject.
func packageAnswers(ctx context.Context, root *Root, runID string) (map[string]map[string]judge.Answer, error) {
	verdicts, _, err := table.Read[schema.Verdict](ctx, root.Store, schema.Verdicts.RunKey(runID))
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	expl, _, err := table.Read[schema.Explanation](ctx, root.Store, schema.Explanations.RunKey(runID))
	if err != nil {
		return nil, fmt.Errorf("read explanations: %w", err)
	}
	why := map[[2]string]string{}
	for _, x := range expl {
		if x.Vote == "final" {
			why[[2]string{x.Criterion, x.Subject}] = x.Explanation
		}
	}
	out := map[string]map[string]judge.Answer{}
	for _, v := range verdicts {
		if v.Vote != "final" {
			continue
		}
		if out[v.Criterion] == nil {
			out[v.Criterion] = map[string]judge.Answer{}
		}
		out[v.Criterion][v.Subject] = judge.Answer{Criterion: v.Criterion, Verdict: judge.Verdict(v.Verdict), Label: cmp.Or(v.Label, v.Verdict), Score: v.Score,
			Findings: v.Findings, Reason: v.UngradedReason, Explanation: cmp.Or(why[[2]string{v.Criterion, v.Subject}], v.UngradedReason)}
	}
	return out, nil
}

// rankByTask ranks the packages of each task, tasks in the order in which they came.
func rankByTask(answers map[string]judge.Answer, subjects []evaluator.Subject) []PackageTask {
	var tasks []string
	byTask := map[string]map[string]judge.Answer{}
	names := map[string]string{}
	for _, s := range subjects {
		a, ok := answers[s.ID]
		if !ok {
			continue
		}
		task := s.Package.Task
		if byTask[task] == nil {
			byTask[task] = map[string]judge.Answer{}
			tasks = append(tasks, task)
		}
		byTask[task][s.ID] = a
		names[s.ID] = s.Package.Name
	}
	out := make([]PackageTask, len(tasks))
	for i, task := range tasks {
		out[i].Task = task
		for _, r := range skillpackage.Rank(byTask[task]) {
			a := byTask[task][r.Subject]
			out[i].Packages = append(out[i].Packages, PackageGrade{r.Place, names[r.Subject], r.Subject, r.Score, a.Label, r.Findings, a.Explanation})
		}
	}
	return out
}

func writeSet(path string, rows []skillpackage.Row) error {
	var buf bytes.Buffer
	write := skillpackage.WriteJSONL
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		write = skillpackage.WriteCSV
	}
	err := write(&buf, rows)
	if err == nil {
		err = os.WriteFile(path, buf.Bytes(), 0o600) // skills may be as secret as code
	}
	if err != nil {
		return fmt.Errorf("write --out: %w", err)
	}
	return nil
}

// WriteText prints the summary for a person.
func (s *PackageSummary) WriteText(w io.Writer) {
	s.EvaluateSummary.WriteText(w)
	if s.Unchanged > 0 {
		fmt.Fprintf(w, "unchanged %d answers are those that an earlier run gave to the same package\n", s.Unchanged)
	}
	for _, c := range s.Criteria {
		for _, t := range c.Tasks {
			fmt.Fprintf(w, "\n%s", c.Criterion)
			if t.Task != "" {
				fmt.Fprintf(w, " for the task: %s", printable(t.Task, 80))
			}
			fmt.Fprintln(w)
			for _, p := range t.Packages {
				place, score := "-", "-"
				if p.Score != nil {
					score = fmt.Sprintf("%.2f", *p.Score)
				}
				if p.Place > 0 && len(t.Packages) > 1 {
					place = fmt.Sprint(p.Place)
				}
				fmt.Fprintf(w, "  %2s  %-4s  %s: %s%s\n", place, score, printable(p.Skill, 48), printable(p.Label, 32), parens(printable(strings.Join(p.Findings, ", "), 80)))
				if p.Reason != "" {
					fmt.Fprintf(w, "            %s\n", printable(p.Reason, 160))
				}
			}
		}
	}
	for _, f := range s.Files {
		fmt.Fprintln(w, "wrote    ", f)
	}
}
