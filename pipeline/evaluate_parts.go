package pipeline

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/registry"
)

// openEvaluators makes the evaluators of --evaluators, in order of their names and each once.
func (e *evaluateRun) openEvaluators() error {
	names := slices.Clone(e.cfg.Evaluate.Evaluators)
	slices.Sort(names)
	names = slices.Compact(names)
	known := registry.Of(e.of())
	var entries []evaluator.Entry
	for _, name := range names {
		i := slices.IndexFunc(known, func(k evaluator.Entry) bool { return k.Name == name })
		if i < 0 {
			return usagef("--evaluators %q: no such evaluator of a %s: %s", name, e.noun(), suggest(name, registry.Names(known)))
		}
		entries = append(entries, known[i])
	}
	e.entries = entries
	rubrics, err := e.rubrics(entries)
	if err != nil {
		return err
	}
	opts, err := e.evaluatorOptions(len(entries))
	if err != nil {
		return err
	}
	for i, entry := range entries {
		o := opts
		if n := rubrics[i].Judge.MaxTokens; n > 0 {
			o.MaxTokens = n
		}
		ev, err := entry.New(rubrics[i], o)
		if err != nil && e.cfg.Evaluate.Rubric != "" {
			err = fmt.Errorf("--rubric %s: %w", e.cfg.Evaluate.Rubric, err)
		}
		if err != nil {
			return &ExitError{Code: ExitUsage, Err: err}
		}
		p := &part{evaluator: ev, version: ev.Version()}
		if name := e.cfg.Evaluate.Name; name != "" {
			p.version.Evaluator = name
		}
		e.parts = append(e.parts, p)
	}
	return nil
}

// rubrics are those of the entries: what --rubric names for it, else the first built-in one. A rubric says by its evaluator and,
// where several evaluators share that, by its first criterion whose it is.
func (e *evaluateRun) rubrics(entries []evaluator.Entry) ([]judge.Rubric, error) {
	out := make([]judge.Rubric, len(entries))
	for i, entry := range entries {
		var err error
		if out[i], err = judge.Builtin(entry.Rubrics[0]); err != nil {
			return nil, err
		}
	}
	for name := range strings.SplitSeq(e.cfg.Evaluate.Rubric, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		r, err := loadRubric(name)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(out, func(b judge.Rubric) bool {
			return b.Evaluator == r.Evaluator && (len(b.Criteria) != 1 || b.Criteria[0].ID == r.Criteria[0].ID)
		})
		if at < 0 {
			if slices.ContainsFunc(out, func(b judge.Rubric) bool { return b.Evaluator == r.Evaluator }) {
				return nil, usagef("--rubric %s: the first criterion of a rubric of %s is %s, not %s", name, r.Evaluator, firstCriteria(out, r.Evaluator), r.Criteria[0].ID)
			}
			return nil, usagef("--rubric %s is for the evaluator %s, which is none of %s", name, r.Evaluator, strings.Join(registry.Names(entries), ", "))
		}
		out[at] = r
	}
	return out, nil
}

// firstCriteria are the criteria that tell the rubrics of one evaluator apart.
func firstCriteria(rubrics []judge.Rubric, evaluator string) string {
	var ids []string
	for _, r := range rubrics {
		if r.Evaluator == evaluator {
			ids = append(ids, r.Criteria[0].ID)
		}
	}
	return strings.Join(ids, " or ")
}

// withoutEffect refuses options that no evaluator of the run would look at, and those that its judge cannot keep.
func (e *evaluateRun) withoutEffect() error {
	c := &e.cfg.Evaluate
	for option, value := range map[string]string{"expect": c.Expect, "rows": c.Rows, "compat": c.Compat} {
		takes := func(x evaluator.Entry) bool { return slices.Contains(x.Takes, option) }
		if value != "" && !slices.ContainsFunc(e.entries, takes) {
			var names []string
			for _, x := range registry.Of(e.of()) {
				if takes(x) {
					names = append(names, x.Name)
				}
			}
			return usagef("--%s has no effect on %s: it is for %s", option, strings.Join(registry.Names(e.entries), ", "), strings.Join(names, " and "))
		}
	}
	if c.Compat != "" && e.offline() {
		return usagef("--compat %s leaves no way to say unclear, and the rules judge must: name a model with --judge", c.Compat)
	}
	return nil
}

// judgeOptions takes from the rubrics how they want to be asked, where neither a flag nor the configuration says it.
func (e *evaluateRun) judgeOptions() {
	c := &e.cfg.Evaluate
	repeat := 1
	for _, p := range e.parts {
		repeat = max(repeat, p.version.Rubric.Judge.Repeat)
		c.SafetyUnanimous = c.SafetyUnanimous || p.version.Rubric.Judge.SafetyUnanimous
	}
	def(&c.Repeat, repeat)
}

var tagName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)

// evaluatorOptions are what the configuration tells every evaluator. What overrides prompts or names a part is for one evaluator.
func (e *evaluateRun) evaluatorOptions(parts int) (evaluator.Options, error) {
	c := &e.cfg.Evaluate
	o := evaluator.Options{Mask: e.maskText, MaskVersion: e.mask.Version(), MaxTokens: c.MaxTokens, Rows: c.Rows, Judge: judgeName(c.Judge), Prompts: evaluator.Prompts{Version: c.PromptVersion}}
	switch {
	case c.Compat == "":
	case c.Compat == "strands" && e.of() == evaluator.OfSessions, c.Compat == "agentarts" && e.of() == evaluator.OfPackages:
		o.Compat = true
	default:
		return o, usagef("--compat %q: want strands for skills in sessions, or agentarts for skill packages", c.Compat)
	}
	if parts != 1 && (c.Name != "" || c.SystemPrompt != "" || c.UserPrompt != "") {
		return o, usagef("--name, --system-prompt and --user-prompt are for one evaluator: name it with --evaluators")
	}
	if c.Name != "" && !tagName.MatchString(c.Name) {
		return o, usagef("--name %q: want snake_case of at most 48 characters", c.Name)
	}
	var err error
	if o.Prompts.System, err = readPrompt("--system-prompt", c.SystemPrompt); err != nil {
		return o, err
	}
	if o.Prompts.User, err = readPrompt("--user-prompt", c.UserPrompt); err != nil {
		return o, err
	}
	o.Expected, err = readExpectations(c.Expect)
	return o, err
}

// maxPrompt bounds a prompt that is sent with every call.
const maxPrompt = 256 << 10

func readPrompt(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", usagef("%s: %w", flag, err)
	case len(data) > maxPrompt:
		return "", usagef("%s %s: %d bytes, at most %d are sent", flag, path, len(data), maxPrompt)
	case len(strings.TrimSpace(string(data))) == 0:
		return "", usagef("%s %s: the file is empty", flag, path)
	}
	return string(data), nil
}

// listRubrics writes the built-in rubrics with the evaluators that they are for and what those grade, a line each.
func listRubrics(w io.Writer) error {
	for _, entry := range registry.All() {
		for _, name := range entry.Rubrics {
			if _, err := fmt.Fprintf(w, "%-24s %-20s %s\n", name, entry.Name, entry.Help); err != nil {
				return err
			}
		}
	}
	return nil
}
