package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator/paired"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/schema"
)

// SuitesOptions says which suites are listed.
type SuitesOptions struct {
	Files []string // beside the built-in ones
}

// SuitesSummary is a list of suites.
type SuitesSummary struct {
	Suites []SuiteInfo `json:"suites"`
}

// SuiteInfo is what may be told of a suite, also of a sealed one: no task.
type SuiteInfo struct {
	Name        string              `json:"name"`
	Version     int                 `json:"version"`
	Title       string              `json:"title"`
	Sealed      bool                `json:"sealed"`
	Source      string              `json:"source"` // built-in, or the file
	SHA256      string              `json:"sha256"`
	Tasks       int                 `json:"tasks"`
	Kinds       map[string]int      `json:"kinds"`      // tasks
	Categories  map[string]int      `json:"categories"` // tasks
	Items       map[string]int      `json:"items"`      // reference items by criterion
	Unjudged    int                 `json:"unjudged"`   // tasks without a reference item: they cannot be run
	Rubric      SuiteRubric         `json:"rubric"`
	Calibration []CalibrationStatus `json:"calibration"` // by judge model and rendering; empty: not calibrated yet
}

// SuiteRubric is how answers to a suite's tasks are scored.
type SuiteRubric struct {
	Name     string           `json:"name"`
	Version  int              `json:"version"`
	SHA256   string           `json:"sha256"`
	MinScore float64          `json:"min_score"`
	Criteria []SuiteCriterion `json:"criteria"`
}

// SuiteCriterion is a criterion with its share of the score.
type SuiteCriterion struct {
	ID    string  `json:"id"`
	Share float64 `json:"share"` // of 1
	Gate  bool    `json:"gate"`  // must be met by itself
}

// CalibrationStatus is how far the five checks have come for one judge model and rendering.
type CalibrationStatus struct {
	JudgeModel      string `json:"judge_model"`
	RenderingSHA256 string `json:"rendering_sha256"`
	Status          string `json:"status"` // not_calibrated, in_progress, passed, not_passed
}

// builtIn is the source of a suite that comes with the program.
const builtIn = "built-in"

// ListSuites tells of the built-in suites and of those in files what may be told of a sealed one.
func ListSuites(ctx context.Context, cfg *Config, opts SuitesOptions, log *slog.Logger) (*SuitesSummary, error) {
	rubric, err := taskRubric(cfg)
	if err != nil {
		return nil, err
	}
	out := &SuitesSummary{Suites: []SuiteInfo{}}
	var runs []schema.Run
	if cfg.Data != "" {
		root, err := openRoot(ctx, cfg, log)
		if err != nil {
			return nil, err
		}
		if runs, err = allRuns(ctx, root.Store); err != nil {
			return nil, err
		}
	}
	for _, name := range suite.BuiltinNames() {
		s, err := suite.Load(name)
		if err != nil {
			return nil, err
		}
		out.Suites = append(out.Suites, suiteInfo(&s, builtIn, rubric, runs))
	}
	for _, file := range opts.Files {
		s, err := suite.Load(file)
		if err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: err}
		}
		out.Suites = append(out.Suites, suiteInfo(&s, file, rubric, runs))
	}
	return out, nil
}

// taskRubric is the rubric of tasks: the one of --rubric, else the built-in one.
func taskRubric(cfg *Config) (judge.Rubric, error) {
	for name := range strings.SplitSeq(cfg.Evaluate.Rubric, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		r, err := loadRubric(name)
		if err != nil || r.Evaluator == paired.Name {
			return r, err
		}
	}
	return judge.Builtin("task")
}

func suiteInfo(s *suite.Suite, source string, rubric judge.Rubric, runs []schema.Run) SuiteInfo {
	out := SuiteInfo{Name: s.Name, Version: s.Version, Title: s.Title, Sealed: s.Sealed, Source: source, SHA256: s.SHA256(), Tasks: len(s.Tasks),
		Kinds: map[string]int{}, Categories: map[string]int{}, Items: map[string]int{}, Rubric: suiteRubric(rubric), Calibration: calibrationsOf(runs, s.SHA256(), rubric.SHA256())}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		out.Kinds[t.Kind]++
		if t.Category != "" {
			out.Categories[t.Category]++
		}
		items := t.Items()
		if len(items) == 0 {
			out.Unjudged++
		}
		for _, it := range items {
			out.Items[it.Criterion]++
		}
	}
	return out
}

func suiteRubric(r judge.Rubric) SuiteRubric {
	out := SuiteRubric{Name: r.Name, Version: r.Version, SHA256: r.SHA256()}
	if r.Pass.MinScore != nil {
		out.MinScore = *r.Pass.MinScore
	}
	total := 0
	for _, c := range r.Criteria {
		total += max(c.Weight, 1)
	}
	for _, c := range r.Criteria {
		out.Criteria = append(out.Criteria, SuiteCriterion{c.ID, float64(max(c.Weight, 1)) / float64(total), c.Gate})
	}
	return out
}

// WriteText prints the list for a person.
func (s *SuitesSummary) WriteText(w io.Writer) {
	for i := range s.Suites {
		if i > 0 {
			fmt.Fprintln(w)
		}
		s.Suites[i].writeText(w)
	}
}

func (s *SuiteInfo) writeText(w io.Writer) {
	kind := "practice"
	if s.Sealed {
		kind = "sealed: its tasks are shown and exported nowhere"
	}
	fmt.Fprintf(w, "%s version %d, %s (%s)\n", printable(s.Name, 64), s.Version, printable(s.Source, 100), kind)
	fmt.Fprintf(w, "  %s\n", printable(s.Title, 100))
	fmt.Fprintf(w, "  tasks       %d: %s\n", s.Tasks, tasksBy(s.Kinds))
	if len(s.Categories) > 0 {
		fmt.Fprintf(w, "  categories  %s\n", tasksBy(s.Categories))
	}
	fmt.Fprintf(w, "  items       %s\n", dash(tasksBy(s.Items)))
	if s.Unjudged > 0 {
		fmt.Fprintf(w, "  warning     %d tasks have no reference item: nothing of an answer to them could be checked, and evaluate paired refuses the suite\n", s.Unjudged)
	}
	var parts []string
	for _, c := range s.Rubric.Criteria {
		gate := ""
		if c.Gate {
			gate = " (must be met by itself)"
		}
		parts = append(parts, fmt.Sprintf("%s %.0f %%%s", c.ID, 100*c.Share, gate))
	}
	fmt.Fprintf(w, "  rubric      %s version %d: %s; passes from %.2f\n", s.Rubric.Name, s.Rubric.Version, strings.Join(parts, ", "), s.Rubric.MinScore)
	if len(s.Calibration) == 0 {
		fmt.Fprintln(w, "  calibration Not calibrated yet: results are informational")
	}
	for _, c := range s.Calibration {
		fmt.Fprintf(w, "  calibration %s: %s, rendering %.12s\n", calibrationText(c.Status), printable(c.JudgeModel, 100), c.RenderingSHA256)
	}
}

// tasksBy lists counts by name: "trap 8, approve 6".
func tasksBy(m map[string]int) string {
	var parts []string
	for _, k := range sortedKeys(m) {
		parts = append(parts, fmt.Sprintf("%s %d", printable(strings.ReplaceAll(k, "_", " "), 64), m[k]))
	}
	return strings.Join(parts, ", ")
}

// calibrationText is a status of calibration in words.
func calibrationText(status string) string {
	switch status {
	case "in_progress":
		return "In progress"
	case "passed":
		return "Passed"
	case "not_passed":
		return "Not passed"
	}
	return "Not calibrated yet"
}

// PrintSuite writes the file of a built-in suite, to start one of your own from.
func PrintSuite(w io.Writer, name string) error {
	data, err := suite.BuiltinText(strings.ReplaceAll(name, "-", "_"))
	if err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	_, err = w.Write(data)
	return err
}
