package judge

import (
	"errors"
	"strings"
	"testing"
)

// What a person gets wrong in a rubric file is said in the words of the file, with its line.
func TestParseRubric_WrongTypes(t *testing.T) {
	const head = "name: x\nversion: 1\ntitle: t\nevaluator: session\n"
	for name, tc := range map[string]struct {
		in   string
		line int
		want string
	}{
		"empty":             {"", 0, "is empty: evaluate --print-rubric"},
		"comments only":     {"# nothing\n", 0, "is empty"},
		"null":              {"null\n", 0, "is empty"},
		"two documents":     {head + "---\n" + head, 0, "2 documents"},
		"text":              {"just text\n", 1, "want a mapping with name, version, title, evaluator and criteria, found text"},
		"list":              {"- a\n- b\n", 1, "found a list"},
		"version in words":  {"name: x\nversion: one\n", 2, "version: want a whole number, found text"},
		"version with dot":  {"name: x\nversion: 1.5\n", 2, "version: want a whole number, found a number"},
		"name a list":       {"name: [a]\nversion: 1\n", 1, "name: want text, found a list"},
		"title nothing":     {"name: x\nversion: 1\ntitle:\n", 3, "title: want text, found nothing"},
		"criteria a text":   {head + "criteria: five\n", 5, "criteria: want a list of criteria, found text"},
		"criterion a text":  {head + "criteria:\n  - five\n", 6, "criteria[0]: want a mapping with id, question and anchors, found text"},
		"safety in words":   {head + "criteria:\n  - id: a\n    safety: maybe\n", 7, "criteria[0].safety: want true or false, found text"},
		"anchors a list":    {head + "criteria:\n  - id: a\n    anchors: [met]\n", 7, "criteria[0].anchors: want a mapping of verdicts to texts, found a list"},
		"anchor a list":     {head + "criteria:\n  - id: a\n    anchors:\n      met: [a]\n", 8, "criteria[0].anchors.met: want text, found a list"},
		"services a text":   {head + "criteria:\n  - id: a\n    services: shop\n", 7, "criteria[0].services: want a list of texts, found text"},
		"pass a number":     {head + "pass: 0.8\n", 5, "pass: want a mapping with a rule, found a number"},
		"min score in text": {head + "pass:\n  min_score: high\n", 6, "pass.min_score: want a number, found text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRubric([]byte(tc.in), "f.yaml")
			re, ok := errors.AsType[*RubricError](err)
			if !ok || re.Line != tc.line || !strings.Contains(re.Message, tc.want) {
				t.Errorf("error %v, want line %d and %q", err, tc.line, tc.want)
			}
		})
	}
}

func TestParseRubric_Options(t *testing.T) {
	const whole = `
name: shop
version: 1
title: Shop
evaluator: session
judge: {max_tokens: 2000, repeat: 3, safety_unanimous: true}
pass: {min_score: 0.75}
criteria:
  - id: polite
    question: Was it polite?
    weight: 2
    gate: true
    services: [shop]
    anchors: {met: Yes., not_met: No.}
`
	r, err := ParseRubric([]byte(whole), "f.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if r.Judge != (JudgeOptions{2000, 3, true}) || r.Pass.MinScore == nil || *r.Pass.MinScore != 0.75 || !r.Criteria[0].Gate || !r.Criteria[0].AppliesTo("shop", "x") || r.Criteria[0].AppliesTo("other", "") {
		t.Errorf("%+v", r)
	}
	for bad, want := range map[string]string{
		"max_tokens: 2000": "max_tokens: 2", "repeat: 3": "repeat: 30", "min_score: 0.75": "min_score: 75", "repeat: 3,": "repeats: 3,",
	} {
		if _, err := ParseRubric([]byte(strings.Replace(whole, bad, want, 1)), "f.yaml"); err == nil || !strings.Contains(err.Error(), "f.yaml:") {
			t.Errorf("%s: %v", want, err)
		}
	}
	// What is not said does not change the hash of rubrics that were there before.
	if b, err := CanonicalJSON(Rubric{Name: "a"}); err != nil || strings.Contains(string(b), "judge") || strings.Contains(string(b), "pass") {
		t.Errorf("%s %v", b, err)
	}
}
