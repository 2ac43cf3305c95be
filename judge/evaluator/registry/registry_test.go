package registry_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/registry"
)

// Every evaluator can be made from each built-in rubric that it names, and every built-in rubric is some evaluator's.
func TestEveryEntryIsWhole(t *testing.T) {
	names, used, tags := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, e := range registry.All() {
		if names[e.Name] || !regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`).MatchString(e.Name) || e.Help == "" || len(e.Rubrics) == 0 {
			t.Errorf("entry %q is not whole, or there twice", e.Name)
		}
		names[e.Name] = true
		switch e.Of {
		case evaluator.OfSessions, evaluator.OfTools, evaluator.OfPackages, evaluator.OfTasks, evaluator.OfControls, evaluator.OfSessionControls:
		default:
			t.Errorf("%s is given %q", e.Name, e.Of)
		}
		for i, name := range e.Rubrics {
			r, err := judge.Builtin(name)
			if err != nil {
				t.Fatal(err)
			}
			used[name] = true
			ev, err := e.New(r, evaluator.Options{})
			if err != nil {
				t.Fatalf("%s by %s: %v", e.Name, name, err)
			}
			v := ev.Version()
			if v.RubricSHA256 != r.SHA256() || v.Evaluator == "" || i == 0 && tags[v.Evaluator] {
				t.Errorf("%s by %s: version %+v", e.Name, name, v)
			}
			tags[v.Evaluator] = true
		}
	}
	for _, name := range judge.BuiltinNames() {
		if !used[name] {
			t.Errorf("no evaluator takes the built-in rubric %s", name)
		}
	}
}

// A schema goes with every question beside its prompt: one that the prompt holds, too, is paid for twice.
func TestNoPromptHoldsItsSchema(t *testing.T) {
	files, err := filepath.Glob("../*/prompts/*/*.tmpl")
	if err != nil || len(files) < 12 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), ".Schema") {
			t.Errorf("%s holds the schema", file)
		}
	}
}
