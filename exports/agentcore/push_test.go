package agentcore

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/platformtest"
)

type account struct{ *platformtest.AWS }

func (a account) Config(context.Context) (aws.Config, error) { return a.AWS.Config(), nil }

func target(s *platformtest.AWS) Target { return Target{Account: account{s}} }

// twoServices is a run over two services, one of whose names no log group can have.
func twoServices() *exports.Input {
	in := exporttest.Small()
	good := in.Sessions
	var list []exports.Session
	for s := range good(context.Background()) {
		if len(list)%2 == 1 {
			s.Service = "billing: eu"
		}
		list = append(list, s)
	}
	in.Sessions = exporttest.Sessions(list...)
	return in
}

// checkSame holds what the streams have against the file.
func checkSame(t testing.TB, s *platformtest.AWS, files fs.FS) {
	t.Helper()
	data, err := fs.ReadFile(files, SessionsFile)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	got := s.Messages()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d records arrived, %d of them different; the file has %d", len(got), len(slices.Compact(got)), len(want))
	}
}

func trial(t testing.TB) platformtest.Trial {
	s := platformtest.NewAWS(t, platformtest.Now())
	files := exporttest.Files(t, twoServices(), Target{})
	return platformtest.Trial{Server: &s.Server, SetLag: s.SetLag, Push: func(ctx context.Context, box *exports.Outbox) error { return target(s).Push(ctx, files, box) },
		Check: func(t testing.TB) {
			t.Helper()
			checkSame(t, s, files)
			if len(s.Evaluators) != 1 {
				t.Errorf("%d evaluators", len(s.Evaluators))
			}
			for _, e := range s.Evaluators {
				if e.Status != "ACTIVE" || e.Versions != 1 {
					t.Errorf("evaluator is %s in version %d", e.Status, e.Versions)
				}
			}
			if len(s.Groups) != 2 {
				t.Errorf("%d log groups", len(s.Groups))
			}
		}}
}

func TestPush_Twice(t *testing.T)  { platformtest.Repeat(t, trial) }
func TestPush_Faults(t *testing.T) { platformtest.Faults(t, trial) }
func TestPush_Killed(t *testing.T) { platformtest.Crash(t, trial) }

// An export made anew, an hour later or with a session more, sends what is new and nothing else.
func TestPush_ExportedAnew(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	box, results := platformtest.Outbox(exports.NewLedger())
	push := func(in *exports.Input) {
		t.Helper()
		if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err != nil {
			t.Fatal(err)
		}
	}
	in := twoServices()
	push(in)
	before := len(s.Messages())
	in.AsOf = in.AsOf.Add(time.Hour)
	in.WithExplanations = false
	push(in)
	if n := len(s.Messages()); n != before {
		t.Errorf("%d records became %d", before, n)
	}
	sessions := in.Sessions
	more := exporttest.Session(99, "met", "met", "met")
	in.Sessions = exporttest.Sessions(append(slices.Collect(func(yield func(exports.Session) bool) {
		for x := range sessions(context.Background()) {
			if !yield(x) {
				return
			}
		}
	}), more)...)
	push(in)
	if n := len(s.Messages()); n != before+3 {
		t.Errorf("%d records became %d, want 3 more", before, n)
	}
	if last := (*results)[len(*results)-2:]; last[0].State != exports.Unchanged || last[1].State != exports.Sent || last[1].Count != 3 {
		t.Errorf("results %+v", last)
	}
}

// A changed rubric of the same version updates the evaluator that has its name; a locked one is refused.
func TestPush_Update(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	for name, ledger := range map[string]*exports.Ledger{"known": exports.NewLedger(), "found by name": nil} {
		in := exporttest.Small()
		in.Rubric.Name = "x" + strings.ReplaceAll(name, " ", "_")
		push := func() ([]exports.Result, error) {
			l := ledger
			if l == nil {
				l = exports.NewLedger()
			}
			box, results := platformtest.Outbox(l)
			err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box)
			return *results, err
		}
		if r, err := push(); err != nil || r[0].State != exports.Created {
			t.Fatalf("%s: %v %v", name, r, err)
		}
		in.Rubric.Criteria[0].Question += " Really?"
		if r, err := push(); err != nil || r[0].State != exports.Updated {
			t.Fatalf("%s: %v %v", name, r, err)
		}
		if r, err := push(); err != nil || r[0].State != exports.Unchanged {
			t.Fatalf("%s: %v %v", name, r, err)
		}
		for _, e := range s.Evaluators {
			e.Locked = true
		}
		in.Rubric.Criteria[0].Question += " Truly?"
		if r, err := push(); err == nil || r[0].State != exports.Failed || !strings.Contains(r[0].Error, "locked") {
			t.Fatalf("%s: %v %v", name, r, err)
		}
		for _, e := range s.Evaluators {
			e.Locked = false
		}
	}
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// One log group that may not be written does not keep the other's records back, and the push is gone on with later.
func TestPush_Partial(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	denied := groupName("billing: eu")
	s.Deny[denied] = true
	files := exporttest.Files(t, twoServices(), Target{})
	box, results := platformtest.Outbox(exports.NewLedger())
	err := target(s).Push(t.Context(), files, box)
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || len(s.Messages()) != 12 {
		t.Fatalf("%v, %d records", err, len(s.Messages()))
	}
	states := map[string]string{}
	for _, r := range *results {
		states[r.Name] = r.State
	}
	if states[denied] != exports.Failed || states[groupName("helpdesk")] != exports.Sent {
		t.Errorf("states %v", states)
	}
	delete(s.Deny, denied)
	if err := target(s).Push(t.Context(), files, box); err != nil {
		t.Fatal(err)
	}
	checkSame(t, s, files)
}

// Batches keep to every limit of the service, which would refuse them, and lose nothing.
func TestPush_Batches(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 8,000 records")
	}
	s := platformtest.NewAWS(t, platformtest.Now())
	var buf bytes.Buffer
	base := exporttest.Files(t, exporttest.Small(), Target{})
	line := strings.SplitN(string(base[SessionsFile].Data), "\n", 2)[0]
	at := platformtest.Now().UnixNano()
	for i := range 8_000 {
		l := strings.Replace(line, "00000000000000000000000000000001", fmt.Sprintf("%032x", i), 1)
		l = strings.ReplaceAll(l, fmt.Sprint(exporttest.Small().AsOf.UnixNano()), fmt.Sprint(at-int64(i%13)*int64(9*time.Hour)))
		if i%1000 == 0 {
			l = strings.Replace(l, `"gen_ai.evaluation.explanation":"`, `"gen_ai.evaluation.explanation":"`+strings.Repeat("x", 700_000), 1)
		}
		buf.WriteString(strings.Replace(l, "tracejury.session_key\":\"", "tracejury.session_key\":\"", 1) + "\n")
	}
	base[SessionsFile].Data = buf.Bytes()
	box, _ := platformtest.Outbox(exports.NewLedger())
	if err := target(s).Push(t.Context(), base, box); err != nil {
		t.Fatal(err)
	}
	checkSame(t, s, base)
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

func TestPush_TooOld(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	in := exporttest.Small()
	in.AsOf = in.AsOf.AddDate(0, 0, -15)
	box, _ := platformtest.Outbox(exports.NewLedger())
	if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err == nil || !strings.Contains(err.Error(), "--as-of") {
		t.Errorf("got %v", err)
	}
	if len(s.Messages()) != 0 {
		t.Error("something was sent")
	}
}

// What a dry run shows is what a push then sends, and a dry run sends nothing.
func TestPush_DryRun(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	s.PollsToActive = 0
	files := exporttest.Files(t, twoServices(), Target{})
	shown := map[string]int{}
	box, _ := platformtest.Outbox(exports.NewLedger())
	box.DryRun = true
	box.Tap = &exports.Tap{Show: func(c exports.Call) { shown[c.Method+" "+c.Operation+" "+fmt.Sprint(parsed(t, c.Body))]++ }}
	if err := target(s).Push(t.Context(), files, box); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Calls()); n != 0 {
		t.Fatalf("a dry run made %d calls", n)
	}
	box, _ = platformtest.Outbox(exports.NewLedger())
	if err := target(s).Push(t.Context(), files, box); err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Calls() {
		if c.Method == "GET" || strings.HasPrefix(string(c.Body), "Action=") {
			continue
		}
		key := c.Method + " " + c.Operation + " " + fmt.Sprint(parsed(t, c.Body))
		if shown[key]--; shown[key] < 0 {
			t.Errorf("not shown: %s", exports.Cut(key, 300))
		}
	}
	for key, n := range shown {
		if n > 0 {
			t.Errorf("shown and not sent: %s", exports.Cut(key, 300))
		}
	}
}

func TestGroupName(t *testing.T) {
	a, b := groupName("billing: eu"), groupName("billing; eu")
	if a == b || groupName("helpdesk") != groupPrefix+"helpdesk" || len(groupName(strings.Repeat("a", 600))) > maxGroupName {
		t.Errorf("%s %s", a, b)
	}
}
