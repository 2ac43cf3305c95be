package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/paired"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// PairedOptions says which tasks an agent model answers twice, and with which skills the second time.
type PairedOptions struct {
	DryRun      bool
	Suite       string   // a built-in suite, or a file
	Skills      []string // 1 to 20 folders with a SKILL.md, or such files
	AgentModel  string   // as --judge names models; asked for plain answers
	AgentTokens int      // of an answer; 0 means 8192
	Seed        string   // any text: another one is another run of the same tasks
}

// MaxTaskSkills is how many skills a paired run takes.
const MaxTaskSkills = 20

const defaultAgentTokens = 8192

// PairedSummary is what a paired run reports.
type PairedSummary struct {
	*EvaluateSummary
	Paired *PairedResult `json:"paired,omitempty"` // nil with --dry-run
}

// givenTasks is what a paired run is made of beside its tasks.
type givenTasks struct {
	suite     suite.Suite // masked
	sha256    string      // of the suite as its file has it
	skills    []evaluator.TaskSkill
	agent     string
	maxTokens int
}

// taskIdentity is what of it makes a run another run.
type taskIdentity struct {
	SuiteSHA256 string         `json:"suite_sha256"`
	Skills      []string       `json:"skills"` // names and hashes of their texts, in the order given
	Agent       judge.Identity `json:"agent"`
	AgentTokens int            `json:"agent_tokens"`
}

// EvaluatePaired has an agent model answer the tasks of a suite twice, alone and with skills, and a judge say of each answer which
// reference items it meets.
func EvaluatePaired(ctx context.Context, cfg *Config, opts PairedOptions, log *slog.Logger) (*PairedSummary, error) {
	c := &cfg.Evaluate
	c.Evaluators, c.Service, c.Agent, c.Per, c.Compat, c.Seed = []string{"paired"}, "", "", "", "", opts.Seed
	tasks, err := opts.read(cfg)
	if err != nil {
		return nil, err
	}
	g := &given{of: evaluator.OfTasks, noun: "task", again: true, tasks: tasks, candidates: tasks.candidates(cfg)}
	sum, err := Evaluate(ctx, cfg, EvaluateOptions{DryRun: opts.DryRun, given: g}, log)
	if sum == nil {
		return nil, err
	}
	out := &PairedSummary{EvaluateSummary: sum}
	if !opts.DryRun {
		var rerr error
		if out.Paired, rerr = readPaired(ctx, cfg, sum.RunID, log); rerr != nil {
			err = errors.Join(err, rerr)
		}
	}
	return out, err
}

// read reads and masks suite and skills.
func (o *PairedOptions) read(cfg *Config) (*givenTasks, error) {
	switch {
	case o.Suite == "":
		return nil, usagef("--suite: name a built-in suite (%s) or a file", strings.Join(suite.BuiltinNames(), ", "))
	case o.AgentModel == "":
		return nil, usagef("--agent-model: name the model that answers the tasks, such as bedrock:<model id> or openai:http://host/v1#<model>")
	case len(o.Skills) < 1 || len(o.Skills) > MaxTaskSkills:
		return nil, usagef("--skill: %d skills: want 1 to %d folders with a SKILL.md", len(o.Skills), MaxTaskSkills)
	}
	s, err := suite.Load(o.Suite)
	if err != nil {
		return nil, usagef("--suite: %w", err)
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	t := &givenTasks{sha256: s.SHA256(), suite: maskSuite(m, s), agent: o.AgentModel, maxTokens: o.AgentTokens}
	def(&t.maxTokens, defaultAgentTokens)
	for i := range s.Tasks {
		if len(s.Tasks[i].Items()) == 0 {
			return nil, usagef("--suite %s: task %s has no reference items: nothing of an answer could be checked", o.Suite, s.Tasks[i].ID)
		}
	}
	seen := map[string]string{}
	for _, path := range o.Skills {
		skill, err := readTaskSkill(m, path)
		if err != nil {
			return nil, usagef("--skill %s: %w", path, err)
		}
		if seen[skill.Name] != "" {
			return nil, usagef("--skill %s: a skill named %s was given before, by %s", path, skill.Name, seen[skill.Name])
		}
		seen[skill.Name] = path
		t.skills = append(t.skills, skill)
	}
	return t, nil
}

// readTaskSkill reads a SKILL.md whole, with its frontmatter.
func readTaskSkill(m *mask.Masker, path string) (evaluator.TaskSkill, error) {
	dir := path
	info, err := os.Stat(path)
	if err != nil {
		return evaluator.TaskSkill{}, err
	}
	if !info.IsDir() {
		if !strings.EqualFold(filepath.Base(path), "SKILL.md") {
			return evaluator.TaskSkill{}, errors.New("want a folder with a SKILL.md, or a file of that name")
		}
		dir = filepath.Dir(path)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return evaluator.TaskSkill{}, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return evaluator.TaskSkill{}, err
	}
	defer root.Close()
	name, text, err := skillpackage.SkillText(root.FS())
	if err != nil {
		return evaluator.TaskSkill{}, err
	}
	if name == "" {
		name = filepath.Base(abs)
	}
	return evaluator.TaskSkill{Name: m.String(name, nil), Text: m.String(text, nil)}, nil
}

func maskSuite(m *mask.Masker, s suite.Suite) suite.Suite {
	out := s
	out.Title, out.Description = m.String(s.Title, nil), m.String(s.Description, nil)
	out.Tasks = make([]suite.Task, len(s.Tasks))
	list := func(texts []string) []string {
		var masked []string
		for _, t := range texts {
			masked = append(masked, m.String(t, nil))
		}
		return masked
	}
	for i, t := range s.Tasks {
		t.Category, t.Prompt, t.Reference = m.String(t.Category, nil), m.String(t.Prompt, nil), m.String(t.Reference, nil)
		t.ReferenceItems, t.SafetyItems, t.EvidenceItems, t.EfficiencyItems = list(t.ReferenceItems), list(t.SafetyItems), list(t.EvidenceItems), list(t.EfficiencyItems)
		out.Tasks[i] = t
	}
	return out
}

// candidates are the tasks in the order of the suite.
func (t *givenTasks) candidates(cfg *Config) []candidate {
	skill := "" // of several skills the result is none's
	if len(t.skills) == 1 {
		skill = t.skills[0].Name
	}
	out := make([]candidate, len(t.suite.Tasks))
	for i := range t.suite.Tasks {
		task := &t.suite.Tasks[i]
		s := &evaluator.Subject{Kind: evaluator.OfTasks, ID: task.ID, Revision: hashJSON(task), Skill: skill,
			Task: &evaluator.Task{Suite: t.suite.Name, Sealed: t.suite.Sealed, Task: *task, Skills: t.skills}}
		out[i] = candidate{dt: cfg.asOf.Format("2006-01-02"), row: schema.Session{Tenant: "default"}, given: s}
	}
	return out
}

// materials are what a run sends: its skills, and a suite that is not sealed. The texts of a sealed one stay in its file.
func (t *givenTasks) materials() []evaluator.Material {
	if t == nil {
		return nil
	}
	var out []evaluator.Material
	for _, s := range t.skills {
		out = append(out, evaluator.Material{Kind: skillMaterial, Text: s.Text})
	}
	if !t.suite.Sealed {
		if b, err := json.Marshal(t.suite); err == nil { // strings, numbers and lists of them: it always encodes
			out = append(out, evaluator.Material{Kind: suiteMaterial, Text: string(b)})
		}
	}
	return out
}

func (e *evaluateRun) taskIdentity() *taskIdentity {
	if e.opts.given == nil || e.opts.given.tasks == nil {
		return nil
	}
	t := e.opts.given.tasks
	out := &taskIdentity{SuiteSHA256: t.sha256, AgentTokens: t.maxTokens}
	if e.agent != nil {
		out.Agent = e.agent.identity
	}
	for _, s := range t.skills {
		out.Skills = append(out.Skills, s.Name+" "+sha256Hex([]byte(s.Text)))
	}
	return out
}

// describeTasks says in the row of a run which suite it was on, who answered and with which skills.
func (e *evaluateRun) describeTasks(run *schema.Run) {
	if e.opts.given == nil || e.opts.given.tasks == nil {
		return
	}
	t := e.opts.given.tasks
	run.Suite, run.SuiteVersion, run.SuiteSHA256, run.SuiteSealed = t.suite.Name, int32(t.suite.Version), t.sha256, t.suite.Sealed
	if e.agent != nil {
		run.AgentModel = e.agent.identity.Model
	}
	for _, s := range t.skills {
		run.TaskSkills = append(run.TaskSkills, s.Name)
	}
}

// readPaired reads what came of a paired run.
func readPaired(ctx context.Context, cfg *Config, runID string, log *slog.Logger) (*PairedResult, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	runs, _, err := table.Read[schema.Run](ctx, root.Store, schema.Runs.RunKey(runID))
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	for _, run := range runs {
		if run.Kind != evaluator.OfTasks {
			continue
		}
		if run.Calibration, err = calibrationOf(ctx, root.Store, &run); err != nil {
			return nil, err
		}
		grades, _, err := table.Read[schema.Grade](ctx, root.Store, schema.Grades.RunKey(runID))
		if err != nil {
			return nil, fmt.Errorf("read grades: %w", err)
		}
		return pairedResult(&run, grades, cfg.Aggregate.Level)
	}
	return nil, fmt.Errorf("run %s has no part on tasks", runID)
}

// WriteText prints the summary for a person.
func (s *PairedSummary) WriteText(w io.Writer) {
	s.EvaluateSummary.WriteText(w)
	if s.Paired != nil {
		s.Paired.writeText(w)
	}
}

// evaluatorOfTasks is the name that the rubric of a paired run gives its evaluator.
const evaluatorOfTasks = paired.Name
