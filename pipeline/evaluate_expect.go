package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Limits of a file of expectations.
const (
	maxExpectBytes = 16 << 20
	maxExpected    = 10_000
)

// expectedCase is one case of a file of expectations: ours, or a case of a Strands experiment, which keeps its expectations
// below metadata.
type expectedCase struct {
	Name      string `yaml:"name"`
	Session   string `yaml:"session"`
	SessionID string `yaml:"session_id"`
	Input     string `yaml:"input"`
	Skill     string `yaml:"expected_skill"`
	Tool      string `yaml:"expected_tool"`
	Metadata  struct {
		Skill string `yaml:"expected_skill"`
		Tool  string `yaml:"expected_tool"`
	} `yaml:"metadata"`
}

// readExpectations reads what tasks should have made agents do: YAML or JSON, a list of cases or an object with the list cases, or
// JSON a line. Cases that expect nothing are passed over; a file of which none expects anything is an error.
func readExpectations(path string) ([]evaluator.Expectation, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--expect: %w", err)
	}
	if len(data) > maxExpectBytes {
		return nil, usagef("--expect %s: %d bytes, at most %d are read", path, len(data), maxExpectBytes)
	}
	cases, err := parseExpectations(data)
	if err != nil {
		return nil, usagef("--expect %s: %w", path, err)
	}
	if len(cases) > maxExpected {
		return nil, usagef("--expect %s: %d cases, at most %d are read", path, len(cases), maxExpected)
	}
	var out []evaluator.Expectation
	for i, c := range cases {
		x := evaluator.Expectation{Task: c.Name, Session: cmp.Or(c.Session, c.SessionID), Input: strings.TrimSpace(c.Input),
			Skill: cmp.Or(c.Skill, c.Metadata.Skill), Tool: cmp.Or(c.Tool, c.Metadata.Tool)}
		switch {
		case x.Skill == "" && x.Tool == "":
			continue
		case x.Session == "" && x.Input == "":
			return nil, usagef("--expect %s: case %d %q says neither session nor input: nobody could tell which sessions it is about", path, i+1, printable(c.Name, 60))
		}
		out = append(out, x)
	}
	if len(out) == 0 {
		return nil, usagef("--expect %s: none of %d cases has expected_skill or expected_tool", path, len(cases))
	}
	return out, nil
}

func parseExpectations(data []byte) (cases []expectedCase, err error) {
	defer func() { // the YAML library has met inputs that made it panic
		if recover() != nil {
			cases, err = nil, errors.New("not readable as YAML or JSON")
		}
	}()
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if lines := bytes.Split(data, []byte("\n")); len(lines) > 1 && data[0] == '{' && jsonLine(lines[0]) {
		for i, line := range lines {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			var c expectedCase
			if err := yaml.Unmarshal(line, &c); err != nil {
				return nil, fmt.Errorf("line %d: %s", i+1, firstLine(err))
			}
			cases = append(cases, c)
		}
		return cases, nil
	}
	var whole any
	if err := yaml.Unmarshal(data, &whole); err != nil {
		return nil, errors.New(firstLine(err))
	}
	switch top := whole.(type) {
	case []any:
		err = yaml.Unmarshal(data, &cases)
		return cases, cmp.Or(told(err), misspelled(top))
	case map[string]any:
		if list, ok := top["cases"].([]any); ok {
			var experiment struct {
				Cases []expectedCase `yaml:"cases"`
			}
			err = yaml.Unmarshal(data, &experiment)
			return experiment.Cases, cmp.Or(told(err), misspelled(list))
		}
		cases = make([]expectedCase, 1) // JSON lines with one line, or one case alone
		err = yaml.Unmarshal(data, &cases[0])
		return cases, cmp.Or(told(err), misspelled([]any{top}))
	}
	return nil, errors.New("want a list of cases, or an object with the list cases")
}

func told(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(firstLine(err))
}

// misspelled finds a key that was meant to say what is expected. Other keys are left alone: experiments hold more than we read.
func misspelled(cases []any) error {
	known := []string{"expected_skill", "expected_tool"}
	for i, c := range cases {
		m, _ := c.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if near := judge.Nearest(key, known); near != "" && near != key && strings.HasPrefix(key, "expect") && !strings.Contains(key, "output") && !strings.Contains(key, "trajectory") {
				return fmt.Errorf("case %d: unknown key %q: did you mean %q?", i+1, key, near)
			}
		}
	}
	return nil
}

// jsonLine says that a line is a whole JSON object: the file is one object a line.
func jsonLine(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}'
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
	return s
}
