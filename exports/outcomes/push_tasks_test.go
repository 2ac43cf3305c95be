package outcomes

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/platformtest"
)

func tasksTarget(s *platformtest.Claude) Target {
	return Target{Endpoint: s.URL, Key: platformtest.ClaudeKey, Agent: platformtest.ClaudeAgent, Environment: platformtest.ClaudeEnvironment}
}

func tasksTrial(t testing.TB) platformtest.Trial {
	s := platformtest.NewClaude(t)
	in := exporttest.Full()
	files := exporttest.Files(t, in, Target{})
	return platformtest.Trial{Server: &s.Server, SetLag: s.SetLag, Push: func(ctx context.Context, box *exports.Outbox) error { return tasksTarget(s).Push(ctx, files, box) },
		Check: func(t testing.TB) {
			t.Helper()
			if len(s.Sessions) != len(in.Suite.Tasks) || len(s.Files) != 1 || len(s.Outcomes) != 0 {
				t.Fatalf("%d sessions, %d files, %d outcomes", len(s.Sessions), len(s.Files), len(s.Outcomes))
			}
			for i, x := range s.Sessions {
				task := in.Suite.Tasks[i]
				if x.Title != task.ID || x.Outcome != task.Prompt || len(task.ReferenceItems) > 0 && !strings.Contains(x.Rubric, "T1. ") || task.Reference != "" && strings.Contains(x.Rubric, task.Reference) {
					t.Errorf("session %+v", x)
				}
			}
		}}
}

func TestPushTasks_Twice(t *testing.T)  { platformtest.Repeat(t, tasksTrial) }
func TestPushTasks_Faults(t *testing.T) { platformtest.Faults(t, tasksTrial) }
func TestPushTasks_Killed(t *testing.T) { platformtest.Crash(t, tasksTrial) }

// Paid work starts only where someone said yes, who was told how much it is.
func TestPushTasks_WantsConsent(t *testing.T) {
	s := platformtest.NewClaude(t)
	files := exporttest.Files(t, exporttest.Full(), Target{})
	box, _ := platformtest.Outbox(exports.NewLedger())
	box.Yes = false
	err := tasksTarget(s).Push(t.Context(), files, box)
	if !errors.Is(err, exports.ErrConsent) || !strings.Contains(err.Error(), "3 outcomes with up to 3 rounds each of paid work") || len(s.Sessions) != 0 {
		t.Errorf("%v, %d sessions", err, len(s.Sessions))
	}
	var shown bytes.Buffer
	box.DryRun, box.Tap = true, &exports.Tap{Show: func(c exports.Call) { c.WriteText(&shown) }}
	if err := tasksTarget(s).Push(t.Context(), files, box); err != nil || strings.Count(shown.String(), "/v1/sessions\n") != 3 || len(s.Sessions) != 0 {
		t.Errorf("dry run: %v\n%s", err, shown.String())
	}
}

func TestPushTasks_Refused(t *testing.T) {
	full := exporttest.Files(t, exporttest.Full(), Target{})
	for name, c := range map[string]struct {
		agent, environment string
		edit               [2]string
		want               string
	}{
		"a path as agent": {"../files", platformtest.ClaudeEnvironment, [2]string{}, "agent"}, "no environment": {platformtest.ClaudeAgent, "", [2]string{}, "environment"},
		"another agent": {"agent_9", platformtest.ClaudeEnvironment, [2]string{}, "agent_id"}, "a damaged line": {platformtest.ClaudeAgent, platformtest.ClaudeEnvironment, [2]string{`"task_id"`, `"task"`}, TasksFile + ":1"},
		"too many rounds": {platformtest.ClaudeAgent, platformtest.ClaudeEnvironment, [2]string{`"max_iterations":3`, `"max_iterations":21`}, "max_iterations"},
	} {
		s := platformtest.NewClaude(t)
		files := exporttest.Files(t, exporttest.Full(), Target{})
		files[TasksFile].Data = bytes.Replace(full[TasksFile].Data, []byte(c.edit[0]), []byte(c.edit[1]), 1)
		x := tasksTarget(s)
		x.Agent, x.Environment = c.agent, c.environment
		box, _ := platformtest.Outbox(exports.NewLedger())
		if err := x.Push(t.Context(), files, box); err == nil || !strings.Contains(err.Error(), c.want) || len(s.Sessions) != 0 {
			t.Errorf("%s: %v, %d sessions", name, err, len(s.Sessions))
		}
	}
	s := platformtest.NewClaude(t)
	box, _ := platformtest.Outbox(exports.NewLedger())
	if err := tasksTarget(s).Push(t.Context(), exporttest.Files(t, exporttest.Small(), Target{}), box); err == nil || !strings.Contains(err.Error(), "--suite") {
		t.Errorf("no tasks: %v", err)
	}
}
