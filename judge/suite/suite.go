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
	// Reference is a good answer, and ReferenceItems what an answer must do, each to be checked alone. They count for the
	// correctness of an answer; the lists after them hold those that count for another criterion.
	Reference       string   `json:"reference,omitempty" yaml:"reference"`
	ReferenceItems  []string `json:"reference_items,omitempty" yaml:"reference_items"`
	SafetyItems     []string `json:"safety_items,omitempty" yaml:"safety_items"`
	EvidenceItems   []string `json:"evidence_items,omitempty" yaml:"evidence_items"`
	EfficiencyItems []string `json:"efficiency_items,omitempty" yaml:"efficiency_items"`
	ExpectedTools   []string `json:"expected_tools,omitempty" yaml:"expected_tools"` // in order
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
	root, err := judge.ReadYAML(data, file, maxBytes, &s, nil)
	if err != nil {
		if e, ok := errors.AsType[*judge.RubricError](err); ok {
			err = fmt.Errorf("suite %s: %s", place(file, e.Line), e.Message)
		}
		return Suite{}, err
	}
	if err := s.Check(); err != nil {
		line := 0
		if f, ok := errors.AsType[*fault](err); ok {
			line = lineOf(root, f.path)
		}
		return Suite{}, fmt.Errorf("suite %s: %w", place(file, line), err)
	}
	return s, nil
}

func place(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
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
