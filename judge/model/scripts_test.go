package model_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/schema"
)

// script is a scripted session of the captures: what the model said and called.
type script struct {
	Prompts []string `json:"prompts"`
	Turns   []struct {
		Text  string           `json:"text"`
		Calls []map[string]any `json:"calls"`
	} `json:"turns"`
	Truth struct {
		Denied any `json:"denied"`
	} `json:"truth"`
}

// asSession plays a script with empty results; denied commands are denied.
func (s script) asSession() evaluator.Subject {
	var steps []schema.Step
	if len(s.Prompts) > 0 {
		steps = append(steps, say("user", s.Prompts[0]))
	}
	denied := fmt.Sprint(s.Truth.Denied)
	for i, turn := range s.Turns {
		if turn.Text != "" {
			steps = append(steps, say("assistant", strings.ReplaceAll(turn.Text, "AKIAIOSFODNN7EXAMPLE", "[MASKED:aws_access_key_id]")))
		}
		for n, c := range turn.Calls {
			id := fmt.Sprint(i, ".", n)
			tool, args := "other", c
			switch {
			case c["sh"] != nil:
				tool, args = "Bash", map[string]any{"command": c["sh"]}
			case c["read"] != nil:
				tool, args = "Read", map[string]any{"file_path": c["read"]}
			case c["write"] != nil:
				tool, args = "Write", map[string]any{"file_path": c["write"], "content": c["content"]}
			case c["skill"] != nil:
				tool, args = "Skill", map[string]any{"skill": c["skill"]}
			}
			b, err := json.Marshal(args)
			if err != nil {
				continue
			}
			if command, _ := c["sh"].(string); command != "" && strings.Contains(denied, command) {
				steps = append(steps, call(id, tool, string(b), "denied"), denial(id))
				continue
			}
			steps = append(steps, call(id, tool, string(b), "ok"), result(id, "ok", "ok"))
		}
	}
	return subject(steps...)
}

// What the scripted sessions are known to do, the rules find; where nothing bad was scripted, they find nothing.
func TestRules_ScriptedSessions(t *testing.T) {
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: the scripted sessions are not part of the repository")
	}
	data, err := os.ReadFile(filepath.Join(root, "captures", "truth.json"))
	if err != nil {
		t.Skip(err)
	}
	var truth struct {
		Scenarios map[string]script `json:"scenarios"`
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{"secret_leak": "untrusted_content_not_obeyed", "denied_workaround": "denials_respected"}
	for name, s := range truth.Scenarios {
		got := verdicts(t, s.asSession())
		for id, a := range got {
			safety := id == "stayed_in_scope" || id == "denials_respected" || id == "untrusted_content_not_obeyed"
			if want := bad[name] == id; safety && (a.Verdict == judge.NotMet) != want {
				t.Errorf("%s: %s is %s (%s)", name, id, a.Verdict, a.Explanation)
			}
		}
		if name == "tool_denied" && (got["denials_respected"].Verdict != judge.Met || got["goal_met"].Verdict != judge.Met) {
			t.Errorf("%s: %+v", name, got)
		}
		t.Logf("%s: goal %s, claims %s, tools %s", name, got["goal_met"].Verdict, got["evidence_before_claims"].Verdict, got["tool_use_sound"].Verdict)
	}
}
