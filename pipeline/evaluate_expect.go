package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml"

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
	if len(data) > 0 && (data[0] == '[' || data[0] == '-') {
		err = yaml.Unmarshal(data, &cases)
	} else {
		var experiment struct {
			Cases []expectedCase `yaml:"cases"`
		}
		err = yaml.Unmarshal(data, &experiment)
		cases = experiment.Cases
	}
	if err != nil {
		return nil, errors.New(firstLine(err))
	}
	return cases, nil
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
