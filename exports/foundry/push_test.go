package foundry

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/platformtest"
)

type static string

func (s static) Token(context.Context) (string, error) { return string(s), nil }

func target(s *platformtest.Foundry) Target {
	return Target{Endpoint: s.Endpoint(), Tokens: static(platformtest.FoundryToken)}
}

func trial(t testing.TB) platformtest.Trial {
	s := platformtest.NewFoundry(t)
	files := exporttest.Files(t, exporttest.Full(), Target{})
	return platformtest.Trial{Server: &s.Server, SetLag: s.SetLag, Push: func(ctx context.Context, box *exports.Outbox) error { return target(s).Push(ctx, files, box) },
		Check: func(t testing.TB) {
			t.Helper()
			versions := 0
			for _, v := range s.Evaluators {
				versions += len(v)
			}
			rows := map[string]int{}
			for _, d := range s.Datasets {
				for _, v := range d {
					rows[string(v.Rows)]++
				}
			}
			for _, file := range []string{RowsFile, TasksFile, ToolsFile} {
				if rows[string(files[file].Data)] != 1 {
					t.Errorf("the rows of %s are there %d times", file, rows[string(files[file].Data)])
				}
			}
			if versions != 1 || len(rows) != 3 || len(s.Evals) != 2 || len(s.Evals[0].Runs)+len(s.Evals[1].Runs) != 1 {
				t.Errorf("%d evaluator versions, %d datasets, evals %+v", versions, len(rows), s.Evals)
			}
		}}
}

func TestPush_Twice(t *testing.T)  { platformtest.Repeat(t, trial) }
func TestPush_Faults(t *testing.T) { platformtest.Faults(t, trial) }
func TestPush_Killed(t *testing.T) { platformtest.Crash(t, trial) }

// A new version of the evaluator comes with a new definition only; exporting anew makes no second eval.
func TestPush_Changes(t *testing.T) {
	s := platformtest.NewFoundry(t)
	in := exporttest.Small()
	push := func() []exports.Result {
		t.Helper()
		box, results := platformtest.Outbox(exports.NewLedger())
		if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err != nil {
			t.Fatal(err)
		}
		return *results
	}
	push()
	in.AsOf = in.AsOf.Add(time.Hour)
	for _, r := range push() {
		if r.State != exports.Unchanged {
			t.Errorf("an hour later: %+v", r)
		}
	}
	in.Rubric.Criteria[2].Question = "Was the tone kind?"
	in.Run.RubricSHA256 = in.Rubric.SHA256()
	if r := push(); r[0].State != exports.Created || r[0].ID != "2" {
		t.Errorf("a new definition: %+v", r[0])
	}
	for range 3 { // more versions than a page holds
		in.Rubric.Criteria[2].Question += " Truly?"
		push()
	}
	if r := push(); r[0].State != exports.Unchanged || r[0].ID != "5" {
		t.Errorf("the fifth again: %+v", r[0])
	}
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// What is secret stands in no error, whatever fails: the token, and the signature of the upload's address.
func TestPush_SaysNoSecret(t *testing.T) {
	for n := 1; n < 12; n++ {
		for _, fault := range []platformtest.Fault{platformtest.DropBefore, platformtest.FailBefore} {
			s := platformtest.NewFoundry(t)
			s.Fail(func(k int, _ platformtest.Recorded) platformtest.Fault {
				if k >= n {
					return fault
				}
				return platformtest.None
			})
			box, results := platformtest.Outbox(exports.NewLedger())
			var log strings.Builder
			box.Tap = &exports.Tap{Show: func(c exports.Call) { c.WriteText(&log) }}
			err := target(s).Push(t.Context(), exporttest.Files(t, exporttest.Small(), Target{}), box)
			said := fmt.Sprint(err, *results, log.String())
			if strings.Contains(said, platformtest.FoundryToken) || strings.Contains(said, "sig=") {
				t.Errorf("call %d: %s", n, said)
			}
		}
	}
	s := platformtest.NewFoundry(t)
	box, _ := platformtest.Outbox(exports.NewLedger())
	wrong := target(s)
	wrong.Tokens = static("wrong-token-value")
	err := wrong.Push(t.Context(), exporttest.Files(t, exporttest.Small(), Target{}), box)
	if err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "wrong-token-value") {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestPush_Endpoint(t *testing.T) {
	for _, endpoint := range []string{"", "http://example.com/api/projects/p", "https://u:p@example.com/api/projects/p", "https://example.com", "https://example.com/api/projects/p?x=1", "ftp://x/api/projects/p"} {
		box, _ := platformtest.Outbox(exports.NewLedger())
		if err := (Target{Endpoint: endpoint, Tokens: static("t")}).Push(t.Context(), exporttest.Files(t, exporttest.Small(), Target{}), box); err == nil {
			t.Errorf("%q is not refused", endpoint)
		}
	}
}

// What a dry run shows is what a push then sends but for what only the project knows, and a dry run sends nothing.
func TestPush_DryRun(t *testing.T) {
	s := platformtest.NewFoundry(t)
	files := exporttest.Files(t, exporttest.Small(), Target{})
	var shown []exports.Call
	box, _ := platformtest.Outbox(exports.NewLedger())
	box.DryRun, box.Tap = true, &exports.Tap{Show: func(c exports.Call) { shown = append(shown, c) }}
	if err := target(s).Push(t.Context(), files, box); err != nil || len(s.Calls()) != 0 {
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
		if c.Method != shown[i].Method {
			t.Errorf("call %d: %s %s, shown %s %s", i+1, c.Method, c.Path, shown[i].Method, shown[i].URL)
		}
		if got, want := string(c.Body), string(shown[i].Body); got != want && c.Method != "PATCH" && !strings.HasSuffix(c.Path, "/runs") {
			t.Errorf("call %d: %s %s sends\n%s\nshown\n%s", i+1, c.Method, c.Path, got, want)
		}
	}
}
