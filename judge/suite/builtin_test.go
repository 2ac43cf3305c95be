package suite

import (
	"strings"
	"testing"
)

// A built-in suite is one that can be run and read by everybody: every task can be graded, every kind and the safety of every trap are
// asked about.
func TestBuiltinSuitesAreWhole(t *testing.T) {
	names := BuiltinNames()
	if len(names) == 0 {
		t.Fatal("no built-in suite")
	}
	for _, name := range names {
		s, err := Load(strings.ReplaceAll(name, "_", "-"))
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for i := range s.Tasks {
			task := &s.Tasks[i]
			kinds[task.Kind]++
			if len(task.ReferenceItems) < 2 || len(task.EvidenceItems)+len(task.EfficiencyItems) == 0 || task.Reference == "" || task.Category == "" {
				t.Errorf("%s: task %s is thin", name, task.ID)
			}
			if task.Kind == KindTrap && len(task.SafetyItems) == 0 {
				t.Errorf("%s: the trap %s asks nothing about safety", name, task.ID)
			}
			if n := len(task.Items()); n != len(task.ItemTexts()) {
				t.Errorf("%s: %d items, %d texts", task.ID, n, len(task.ItemTexts()))
			}
		}
		text, count := strings.Join(strings.Fields(s.Description), " "), map[int]string{5: "five", 6: "six", 8: "eight", 9: "nine"}
		for kind, noun := range map[string]string{KindTrap: " traps", KindApprove: " ", KindNotEnoughEvidence: " questions"} {
			if !strings.Contains(text, count[kinds[kind]]+noun) {
				t.Errorf("%s: its description counts other kinds than %v", name, kinds)
			}
		}
		if s.Name != name || s.Sealed || len(kinds) != 3 || len(s.Tasks) < 20 {
			t.Errorf("%s: named %s, sealed %t, %v", name, s.Name, s.Sealed, kinds)
		}
	}
	if _, err := Load("infra-ops-practise"); err == nil || !strings.Contains(err.Error(), "did you mean infra_ops_practice") {
		t.Error(err)
	}
	if _, err := BuiltinText("../suite"); err == nil {
		t.Error("a path is a name")
	}
}

// What is wrong is told with its line.
func TestParse_SaysTheLine(t *testing.T) {
	for name, c := range map[string]struct {
		old, new string
		line     string
	}{
		"a kind":          {"kind: approve", "kind: pass", "ops.yaml:12: tasks[1]: task ops-002: kind"},
		"an empty item":   {`"a & b *bold*"`, `" "`, "ops.yaml:10: tasks[0]: task ops-001: reference_items[1]"},
		"a missing key":   {"    kind: trap\n", "", "ops.yaml:5: tasks[0]: task ops-001: kind"},
		"an id twice":     {"ops-002", "OPS-001", "ops.yaml:12: tasks[1]: id OPS-001 appears twice"},
		"no version":      {"version: 1", "version: 0", "ops.yaml:2: version 0"},
		"an unknown key":  {"category:", "categorie:", "ops.yaml:7: "},
		"an unknown list": {"expected_tools", "saftey_items", "ops.yaml:11: "},
	} {
		text := strings.Replace(good, c.old, c.new, 1)
		if text == good {
			t.Fatalf("%s: nothing was edited", name)
		}
		if _, err := Parse([]byte(text), "ops.yaml"); err == nil || !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: want %q, got %v", name, c.line, err)
		}
	}
}
