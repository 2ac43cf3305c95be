package outcomes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/platformtest"
)

func target(s *platformtest.Claude) Target {
	return Target{Endpoint: s.URL, Key: platformtest.ClaudeKey, Task: &Task{SessionID: platformtest.ClaudeSession, Description: "Free space on db-2 and report."}}
}

func trial(t testing.TB) platformtest.Trial {
	s := platformtest.NewClaude(t)
	files := exporttest.Files(t, exporttest.Small(), Target{})
	return platformtest.Trial{Server: &s.Server, SetLag: s.SetLag, Push: func(ctx context.Context, box *exports.Outbox) error { return target(s).Push(ctx, files, box) },
		Check: func(t testing.TB) {
			t.Helper()
			if len(s.Files) != 1 || !bytes.Equal(s.Files[0].Content, files[RubricFile].Data) || len(s.Outcomes) != 1 || s.Outcomes[0].Rubric["content"] != string(files[RubricFile].Data) {
				t.Errorf("%d files, %d outcomes", len(s.Files), len(s.Outcomes))
			}
		}}
}

func TestPush_Twice(t *testing.T)  { platformtest.Repeat(t, trial) }
func TestPush_Faults(t *testing.T) { platformtest.Faults(t, trial) }
func TestPush_Killed(t *testing.T) { platformtest.Crash(t, trial) }

// Paid work starts only where someone said yes; the rubric goes up all the same, as it costs nothing.
func TestPush_WantsConsent(t *testing.T) {
	s := platformtest.NewClaude(t)
	files := exporttest.Files(t, exporttest.Small(), Target{})
	box, results := platformtest.Outbox(exports.NewLedger())
	box.Yes = false
	err := target(s).Push(t.Context(), files, box)
	if !errors.Is(err, exports.ErrConsent) || !strings.Contains(err.Error(), "paid work") || len(s.Outcomes) != 0 || len(s.Files) != 1 {
		t.Errorf("%v, %d outcomes, %d files", err, len(s.Outcomes), len(s.Files))
	}
	if r := *results; len(r) != 2 || r[0].State != exports.Created || r[1].State != exports.Failed {
		t.Errorf("results %+v", r)
	}
	idle := target(s)
	idle.Task = nil
	if err := idle.Push(t.Context(), files, box); err != nil {
		t.Errorf("a rubric alone: %v", err)
	}
	box.Yes = true
	if err := target(s).Push(t.Context(), files, box); err != nil || len(s.Outcomes) != 1 {
		t.Errorf("%v, %d outcomes", err, len(s.Outcomes))
	}
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestPush_Refused(t *testing.T) {
	s := platformtest.NewClaude(t)
	files := exporttest.Files(t, exporttest.Small(), Target{})
	for name, damage := range map[string]func(*Target){
		"no key":            func(x *Target) { x.Key = "" },
		"a wrong key":       func(x *Target) { x.Key = "sk-ant-wrong-value" },
		"no https":          func(x *Target) { x.Endpoint = "http://example.com" },
		"a path as session": func(x *Target) { x.Task.SessionID = "../files" },
		"no task":           func(x *Target) { x.Task.Description = " " },
		"no such session":   func(x *Target) { x.Task.SessionID = "sesn_9" },
	} {
		x := target(s)
		damage(&x)
		box, results := platformtest.Outbox(exports.NewLedger())
		err := x.Push(t.Context(), files, box)
		if said := fmt.Sprint(err, *results); err == nil || strings.Contains(said, "sk-ant-") {
			t.Errorf("%s: %s", name, said)
		}
	}
	if len(s.Outcomes) != 0 {
		t.Error("work was started")
	}
}

// What a dry run shows is what a push then sends but for ids, and a dry run needs no key and sends nothing.
func TestPush_DryRun(t *testing.T) {
	s := platformtest.NewClaude(t)
	files := exporttest.Files(t, exporttest.Small(), Target{})
	var shown []exports.Call
	box, _ := platformtest.Outbox(exports.NewLedger())
	box.DryRun, box.Yes, box.Tap = true, false, &exports.Tap{Show: func(c exports.Call) { shown = append(shown, c) }}
	keyless := target(s)
	keyless.Key = ""
	if err := keyless.Push(t.Context(), files, box); err != nil || len(s.Calls()) != 0 {
		t.Fatalf("%v, %d calls", err, len(s.Calls()))
	}
	box, _ = platformtest.Outbox(exports.NewLedger())
	if err := target(s).Push(t.Context(), files, box); err != nil {
		t.Fatal(err)
	}
	sent := s.Calls()
	if len(sent) != len(shown) {
		t.Fatalf("%d calls shown, %d sent", len(shown), len(sent))
	}
	for i, c := range sent {
		got, want := strings.ReplaceAll(string(c.Body), "file_000001", "file_DRY_RUN"), string(shown[i].Body)
		if c.Method != shown[i].Method || !strings.HasPrefix(shown[i].URL, s.URL+c.Path) || got != want {
			t.Errorf("call %d: %s %s sends\n%s\nshown %s %s\n%s", i+1, c.Method, c.Path, got, shown[i].Method, shown[i].URL, want)
		}
	}
}
