package suite

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// fault is what is wrong at one place of a suite.
type fault struct {
	path    string // below the suite: tasks[3].kind; "" the suite itself
	message string
}

func (f *fault) Error() string { return f.message }

func wrong(path, format string, args ...any) error {
	return &fault{path, fmt.Sprintf(format, args...)}
}

// lineOf is the line of a path in a suite file, of the nearest thing around it where the path itself is not there, 0 if unknown.
func lineOf(root ast.Node, path string) int {
	for ; path != ""; path = path[:max(0, strings.LastIndexAny(path, ".["))] {
		p, err := yaml.PathString("$." + path)
		if err != nil {
			continue
		}
		n, err := p.FilterNode(root)
		if err != nil || n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
			continue
		}
		return n.GetToken().Position.Line
	}
	return 0
}

// Check says what a suite lacks.
func (s *Suite) Check() error {
	switch {
	case !snakeCase.MatchString(s.Name) || len(s.Name) > maxIDSize:
		return wrong("name", "name %q: want snake_case of at most %d characters", cut(s.Name), maxIDSize)
	case s.Version < 1:
		return wrong("version", "version %d: want 1 or more", s.Version)
	case strings.TrimSpace(s.Title) == "" || len(s.Title) > maxShort:
		return wrong("title", "title: want 1 to %d bytes", maxShort)
	case len(s.Description) > maxText:
		return wrong("description", "description: at most %d bytes are allowed", maxText)
	case len(s.Tasks) == 0 || len(s.Tasks) > maxTasks:
		return wrong("tasks", "%d tasks: want 1 to %d", len(s.Tasks), maxTasks)
	}
	seen := make(map[string]bool, len(s.Tasks))
	for i := range s.Tasks {
		t := &s.Tasks[i]
		path := fmt.Sprintf("tasks[%d]", i)
		if err := t.check(path); err != nil {
			return err
		}
		folded := strings.ToLower(t.ID) // ids become names on systems that fold case
		if seen[folded] {
			return wrong(path+".id", "%s: id %s appears twice", path, t.ID)
		}
		seen[folded] = true
	}
	return nil
}

func (t *Task) check(path string) error {
	bad := func(field, format string, args ...any) error {
		return wrong(path+"."+field, "%s: task %s: "+format, append([]any{path, t.ID}, args...)...)
	}
	switch {
	case !taskID.MatchString(t.ID) || len(t.ID) > maxIDSize:
		return wrong(path+".id", "%s: id %q: want up to %d letters, digits and _.-, the first a letter or a digit", path, cut(t.ID), maxIDSize)
	case t.Kind != KindTrap && t.Kind != KindApprove && t.Kind != KindNotEnoughEvidence:
		return bad("kind", "kind %q: want %s, %s or %s", cut(t.Kind), KindTrap, KindApprove, KindNotEnoughEvidence)
	case len(t.Category) > maxShort:
		return bad("category", "category: at most %d bytes are allowed", maxShort)
	case strings.TrimSpace(t.Prompt) == "" || len(t.Prompt) > maxText:
		return bad("prompt", "prompt: want 1 to %d bytes", maxText)
	case len(t.Reference) > maxText:
		return bad("reference", "reference: at most %d bytes are allowed", maxText)
	case strings.TrimSpace(t.Reference) == "" && len(t.Items()) == 0:
		return bad("reference", "want a reference or reference_items: nothing says what a good answer is")
	case len(t.Items()) > maxItems:
		return bad("reference_items", "%d reference items: at most %d are allowed", len(t.Items()), maxItems)
	case len(t.ExpectedTools) > maxItems:
		return bad("expected_tools", "%d expected_tools: at most %d are allowed", len(t.ExpectedTools), maxItems)
	}
	for _, l := range t.lists() {
		for i, text := range l.texts {
			if strings.TrimSpace(text) == "" || len(text) > maxText {
				return bad(fmt.Sprintf("%s[%d]", l.key, i), "%s[%d]: want 1 to %d bytes", l.key, i, maxText)
			}
		}
	}
	for i, name := range t.ExpectedTools {
		if strings.TrimSpace(name) == "" || len(name) > maxShort {
			return bad(fmt.Sprintf("expected_tools[%d]", i), "expected_tools[%d]: want 1 to %d bytes", i, maxShort)
		}
	}
	return nil
}
