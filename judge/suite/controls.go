package suite

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
)

// maxControls bounds a file of controls.
const maxControls = 1000

// Control is a planted answer to a task, and whether it must pass.
type Control struct {
	Task   string `yaml:"task"`
	Answer string `yaml:"answer"`
	Passes *bool  `yaml:"passes"`
}

// ParseControls reads a file of controls for a suite, YAML or JSON: controls, a list of task, answer and passes. File stands in errors
// only.
func ParseControls(data []byte, file string, s *Suite) ([]Control, error) {
	var list struct {
		Controls []Control `yaml:"controls"`
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("controls %s: not UTF-8", file)
	}
	root, err := judge.ReadYAML(data, file, maxBytes, &list, nil)
	if err != nil {
		if e, ok := errors.AsType[*judge.RubricError](err); ok {
			err = fmt.Errorf("controls %s: %s", place(file, e.Line), e.Message)
		}
		return nil, err
	}
	known := map[string]bool{}
	for i := range s.Tasks {
		known[s.Tasks[i].ID] = true
	}
	if n := len(list.Controls); n < 1 || n > maxControls {
		return nil, fmt.Errorf("controls %s: %d controls: want 1 to %d", file, n, maxControls)
	}
	for i, c := range list.Controls {
		at := fmt.Sprintf("controls[%d]", i)
		bad := func(field, format string, args ...any) error {
			return fmt.Errorf("controls %s: %s: %s", place(file, lineOf(root, at+"."+field)), at, fmt.Sprintf(format, args...))
		}
		switch {
		case !known[c.Task]:
			return nil, bad("task", "task %q: suite %s has no such task", cut(c.Task), s.Name)
		case strings.TrimSpace(c.Answer) == "" || len(c.Answer) > maxText:
			return nil, bad("answer", "answer: want 1 to %d bytes", maxText)
		case c.Passes == nil:
			return nil, bad("passes", "passes: want true for an answer that must pass, false for one that must not")
		}
	}
	return list.Controls, nil
}

// Controls are what a suite has of planted answers by itself: the reference of each task, which must pass, and that of the next task,
// which must not: it is a good answer to something else.
func (s *Suite) Controls() []Control {
	var out []Control
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if strings.TrimSpace(t.Reference) == "" {
			continue
		}
		out = append(out, Control{t.ID, t.Reference, new(true)})
		for k := 1; k < len(s.Tasks); k++ {
			if other := s.Tasks[(i+k)%len(s.Tasks)].Reference; strings.TrimSpace(other) != "" && other != t.Reference {
				out = append(out, Control{t.ID, other, new(false)})
				break
			}
		}
	}
	return out
}
