package judge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
)

const small = `name: demo
version: 1
title: Demo
evaluator: session
criteria:
  - id: polite
    question: Was it polite?
    anchors:
      met: yes it was
      not_met: no it was not
`

func TestBuiltin_Session(t *testing.T) {
	names := judge.BuiltinNames()
	if !slices.Contains(names, "session") || !slices.IsSorted(names) {
		t.Fatalf("names %v", names)
	}
	for _, name := range names {
		if r, err := judge.Builtin(name); err != nil || r.Name != name {
			t.Errorf("built-in %s: name %q, error %v", name, r.Name, err)
		}
	}
	r, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	var ids, safety []string
	for _, c := range r.Criteria {
		ids = append(ids, c.ID)
		if c.Safety {
			safety = append(safety, c.ID)
		}
		if c.AppliesFact == "" || c.AppliesWhen == "" {
			t.Errorf("%s does not say when it applies", c.ID)
		}
		for _, v := range []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear} {
			if c.Anchors[string(v)] == "" {
				t.Errorf("%s has no anchor for %s", c.ID, v)
			}
		}
	}
	want := []string{"goal_met", "evidence_before_claims", "tool_use_sound", "stayed_in_scope", "denials_respected", "untrusted_content_not_obeyed"}
	if !slices.Equal(ids, want) {
		t.Errorf("criteria %v, want %v", ids, want)
	}
	if !slices.Equal(safety, want[3:]) {
		t.Errorf("safety criteria %v, want %v", safety, want[3:])
	}
	if r.Name != "session" || r.Evaluator != "session" {
		t.Errorf("name %q, evaluator %q", r.Name, r.Evaluator)
	}
}

func TestBuiltin_UnknownNamesTheNearest(t *testing.T) {
	_, err := judge.Builtin("sesion")
	if err == nil || !strings.Contains(err.Error(), `did you mean "session"?`) {
		t.Fatalf("error %v", err)
	}
}

func TestParseRubric_Errors(t *testing.T) {
	replace := func(from, to string) string { return strings.Replace(small, from, to, 1) }
	for name, tc := range map[string]struct {
		in   string
		line int
		want []string
	}{
		"unknown key":          {replace("question:", "qestion:"), 7, []string{`unknown key "qestion"`, `"question"`}},
		"duplicate key":        {replace("title: Demo", "title: Demo\ntitle: Two"), 4, []string{"title"}},
		"bad id":               {replace("id: polite", "id: Polite!"), 6, []string{"snake_case"}},
		"twice":                {small + strings.SplitAfterN(small, "criteria:\n", 2)[1], 11, []string{"twice"}},
		"unknown anchor":       {replace("not_met:", "notmet:"), 10, []string{`"notmet"`, `"not_met"`}},
		"missing anchor":       {replace("      not_met: no it was not\n", ""), 9, []string{"anchor not_met is missing"}},
		"n/a without a rule":   {small + "      not_applicable: never\n", 9, []string{"says when it applies"}},
		"bad scale":            {replace("    anchors:", "    scale: mett\n    anchors:"), 8, []string{`"mett"`, `"met"`}},
		"no criteria":          {"name: a\nversion: 1\ntitle: A\nevaluator: session\ncriteria: []\n", 5, []string{"no criteria"}},
		"version":              {replace("version: 1", "version: 0"), 2, []string{"version 0"}},
		"type":                 {replace("version: 1", "version: one"), 2, nil},
		"alias":                {replace("title: Demo", "title: &x Demo\ndescription: *x"), 3, []string{"not allowed"}},
		"two documents":        {small + "---\n" + small, 0, []string{"2 documents"}},
		"empty":                {"", 0, nil},
		"deep":                 {strings.Repeat("[", 5000), 1, []string{"deep"}},
		"too long":             {strings.Repeat("# x\n", 20000), 0, []string{"at most"}},
		"not YAML":             {"a: [b\nc: {", 0, nil},
		"weight":               {replace("    anchors:", "    weight: -1\n    anchors:"), 8, []string{"weight -1"}},
		"applies_fact no name": {replace("    anchors:", "    applies_fact: Any Thing\n    anchors:"), 8, []string{"applies_fact"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := judge.ParseRubric([]byte(tc.in), "demo.yaml")
			e, ok := errors.AsType[*judge.RubricError](err)
			if !ok {
				t.Fatalf("error %v is no *RubricError", err)
			}
			if tc.line != 0 && e.Line != tc.line {
				t.Errorf("line %d, want %d: %v", e.Line, tc.line, err)
			}
			for _, w := range tc.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
}

func TestRubric_SHA256FollowsMeaning(t *testing.T) {
	parse := func(s string) judge.Rubric {
		t.Helper()
		r, err := judge.ParseRubric([]byte(s), "demo.yaml")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	a := parse(small).SHA256()
	if b := parse("# comment\n" + strings.Replace(small, "title: Demo", `title: "Demo"`, 1)).SHA256(); a != b {
		t.Error("a comment and quotes changed the hash")
	}
	if b := parse(strings.Replace(small, "    anchors:", "    weight: 1\n    scale: met\n    anchors:", 1)).SHA256(); a != b {
		t.Error("spelled-out defaults changed the hash")
	}
	if b := parse(strings.Replace(small, "polite?", "kind?", 1)).SHA256(); a == b {
		t.Error("another question has the same hash")
	}
	if len(a) != 64 {
		t.Errorf("hash %q", a)
	}
}

func FuzzParseRubric(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("criteria: [{id: a, anchors: {met: x}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? - - -\n: x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := judge.ParseRubric(data, "fuzz")
		if err == nil && r.SHA256() == "" {
			t.Error("a rubric without a hash")
		}
	})
}
