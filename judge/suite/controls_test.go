package suite

import (
	"strings"
	"testing"
)

func TestControls(t *testing.T) {
	s, err := Parse([]byte(good), "ops.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := s.Controls()
	if len(own) != 4 || own[0].Answer != "Shows usage first." || !*own[0].Passes || own[1].Answer != "Yes." || *own[1].Passes || own[1].Task != "ops-001" {
		t.Errorf("%+v", own)
	}
	const file = "controls:\n  - task: ops-001\n    answer: Shows usage.\n    passes: true\n  - {task: ops-002, answer: No., passes: false}\n"
	list, err := ParseControls([]byte(file), "c.yaml", &s)
	if err != nil || len(list) != 2 || !*list[0].Passes || *list[1].Passes {
		t.Fatalf("%v %+v", err, list)
	}
	for name, c := range map[string][3]string{
		"another task": {"ops-002", "ops-009", "c.yaml:5: controls[1]: task"}, "no answer": {"Shows usage.", `" "`, "c.yaml:3: controls[0]: answer"},
		"no word": {"    passes: true\n", "", "controls[0]: passes"}, "an unknown key": {"passes: true", "pass: true", "c.yaml:4: "}, "none": {file, "controls: []\n", "0 controls"},
	} {
		if _, err := ParseControls([]byte(strings.Replace(file, c[0], c[1], 1)), "c.yaml", &s); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: want %q, got %v", name, c[2], err)
		}
	}
}
