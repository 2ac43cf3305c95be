// Package suite owns task suites: the form of their files, and the mark that keeps a suite's tasks from leaving.
//
// It does not know who runs the tasks or where they are exported to.
package suite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
)

// Kinds of tasks: one that must be refused or asked about first, one that is to be done, and one that cannot be decided.
const (
	KindTrap              = "trap"
	KindApprove           = "approve"
	KindNotEnoughEvidence = "not_enough_evidence"
)

// Limits of a suite file.
const (
	maxBytes  = 16 << 20
	maxTasks  = 10_000
	maxItems  = 100 // reference items, and tools, of a task
	maxText   = 100_000
	maxShort  = 256
	maxIDSize = 64
)

// Suite is a set of tasks.
type Suite struct {
	Name        string `json:"name" yaml:"name"` // snake_case
	Version     int    `json:"version" yaml:"version"`
	Title       string `json:"title" yaml:"title"`
	Description string `json:"description,omitempty" yaml:"description"`
	// Sealed says that no task may leave: a suite that everybody knows measures nothing. Its name, its rubric and the numbers of
	// its kinds and categories may.
	Sealed bool   `json:"sealed" yaml:"sealed"`
	Tasks  []Task `json:"tasks" yaml:"tasks"`
}

// Task is one task of a suite.
type Task struct {
	ID       string `json:"id" yaml:"id"`     // letters, digits and _.- ; unique in the suite
	Kind     string `json:"kind" yaml:"kind"` // one of the Kind constants
	Category string `json:"category,omitempty" yaml:"category"`
	Prompt   string `json:"prompt" yaml:"prompt"` // what the agent is asked
	// Reference is a good answer, and ReferenceItems what an answer must do, each to be checked alone.
	Reference      string   `json:"reference,omitempty" yaml:"reference"`
	ReferenceItems []string `json:"reference_items,omitempty" yaml:"reference_items"`
	ExpectedTools  []string `json:"expected_tools,omitempty" yaml:"expected_tools"` // in order
}

var (
	snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	taskID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
)

// Parse reads a suite file, YAML or JSON. Unknown keys, two keys of one name, aliases and a second document are errors. File
// stands in errors only.
func Parse(data []byte, file string) (Suite, error) {
	var s Suite
	if !utf8.Valid(data) {
		return s, fmt.Errorf("suite %s: not UTF-8", file)
	}
	if _, err := judge.ReadYAML(data, file, maxBytes, &s, nil); err != nil {
		if e, ok := errors.AsType[*judge.RubricError](err); ok {
			err = fmt.Errorf("suite %s: %s", place(file, e.Line), e.Message)
		}
		return Suite{}, err
	}
	if err := s.Check(); err != nil {
		return Suite{}, fmt.Errorf("suite %s: %w", file, err)
	}
	return s, nil
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Check says what a suite lacks.
func (s *Suite) Check() error {
	switch {
	case !snakeCase.MatchString(s.Name) || len(s.Name) > maxIDSize:
		return fmt.Errorf("name %q: want snake_case of at most %d characters", cut(s.Name), maxIDSize)
	case s.Version < 1:
		return fmt.Errorf("version %d: want 1 or more", s.Version)
	case strings.TrimSpace(s.Title) == "" || len(s.Title) > maxShort:
		return fmt.Errorf("title: want 1 to %d bytes", maxShort)
	case len(s.Description) > maxText:
		return fmt.Errorf("description: at most %d bytes are allowed", maxText)
	case len(s.Tasks) == 0 || len(s.Tasks) > maxTasks:
		return fmt.Errorf("%d tasks: want 1 to %d", len(s.Tasks), maxTasks)
	}
	seen := make(map[string]bool, len(s.Tasks))
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("tasks[%d]: %w", i, err)
		}
		folded := strings.ToLower(t.ID) // ids become names on systems that fold case
		if seen[folded] {
			return fmt.Errorf("tasks[%d]: id %s appears twice", i, t.ID)
		}
		seen[folded] = true
	}
	return nil
}

func (t *Task) check() error {
	switch {
	case !taskID.MatchString(t.ID) || len(t.ID) > maxIDSize:
		return fmt.Errorf("id %q: want up to %d letters, digits and _.-, the first a letter or a digit", cut(t.ID), maxIDSize)
	case t.Kind != KindTrap && t.Kind != KindApprove && t.Kind != KindNotEnoughEvidence:
		return fmt.Errorf("task %s: kind %q: want %s, %s or %s", t.ID, cut(t.Kind), KindTrap, KindApprove, KindNotEnoughEvidence)
	case len(t.Category) > maxShort:
		return fmt.Errorf("task %s: category: at most %d bytes are allowed", t.ID, maxShort)
	case strings.TrimSpace(t.Prompt) == "" || len(t.Prompt) > maxText:
		return fmt.Errorf("task %s: prompt: want 1 to %d bytes", t.ID, maxText)
	case len(t.Reference) > maxText:
		return fmt.Errorf("task %s: reference: at most %d bytes are allowed", t.ID, maxText)
	case strings.TrimSpace(t.Reference) == "" && len(t.ReferenceItems) == 0:
		return fmt.Errorf("task %s: want a reference or reference_items: nothing says what a good answer is", t.ID)
	case len(t.ReferenceItems) > maxItems || len(t.ExpectedTools) > maxItems:
		return fmt.Errorf("task %s: at most %d reference_items and expected_tools are allowed", t.ID, maxItems)
	}
	for _, text := range t.ReferenceItems {
		if strings.TrimSpace(text) == "" || len(text) > maxText {
			return fmt.Errorf("task %s: reference_items: want 1 to %d bytes each", t.ID, maxText)
		}
	}
	for _, name := range t.ExpectedTools {
		if strings.TrimSpace(name) == "" || len(name) > maxShort {
			return fmt.Errorf("task %s: expected_tools: want 1 to %d bytes each", t.ID, maxShort)
		}
	}
	return nil
}

func cut(s string) string {
	if len(s) <= 100 {
		return s
	}
	return strings.ToValidUTF8(s[:100], "") + "…"
}

// SHA256 is the hash of what the suite says: of its canonical JSON, not of how its file is written.
func (s Suite) SHA256() string {
	data, err := judge.CanonicalJSON(s)
	if err != nil { // a Suite holds strings, numbers and lists of them: it always encodes
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Counts says how many tasks there are of each kind and category, in order of their names: what may be told of a sealed suite.
func (s *Suite) Counts() string {
	count := func(of func(*Task) string) string {
		n := map[string]int{}
		for i := range s.Tasks {
			if name := of(&s.Tasks[i]); name != "" {
				n[name]++
			}
		}
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(n)) {
			parts = append(parts, fmt.Sprintf("%s %d", name, n[name]))
		}
		return strings.Join(parts, ", ")
	}
	out := fmt.Sprintf("%d tasks: %s", len(s.Tasks), count(func(t *Task) string { return t.Kind }))
	if categories := count(func(t *Task) string { return t.Category }); categories != "" {
		out += "; " + categories
	}
	return out
}
