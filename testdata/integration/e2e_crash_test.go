package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/judge/judgetest"
)

// copyLake copies a data root, to spoil it.
func copyLake(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// TestKilledEvaluateGoesOn kills evaluate again and again while the judge is slow. The tables come out as if nothing had happened,
// and only what was in flight at a kill is asked again.
func TestKilledEvaluateGoesOn(t *testing.T) {
	const inFlight = 3
	w := newWorld(t)
	w.ingest()
	judge := w.withBedrock(judgetest.Options{Latency: 40 * time.Millisecond, Script: leakyJudge})
	killed := w.with("killed")
	copyLake(t, w.data, killed.data)
	want := w.evaluate(nil)
	calls := judge.Calls()
	if want.Calls != calls || want.State != "finished" {
		t.Fatalf("undisturbed: %+v, %d calls", want, calls)
	}

	kills := 0
	for _, moment := range []int{2, 9, 17, 26, 33} { // calls that have arrived since the first command
		r := killed.start("evaluate", "--sample", "50", "--concurrency", fmt.Sprint(inFlight))
		deadline := time.Now().Add(30 * time.Second)
		for judge.Calls()-calls < moment && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if o := r.kill(); o.code == -1 {
			kills++
		} else {
			t.Logf("ended by itself before %d calls: exit %d", moment, o.code)
		}
		if runs, _ := filepath.Glob(filepath.Join(killed.data, "runs", "*", "*")); len(runs) > 0 {
			t.Errorf("a run exists that was killed: %v", runs)
		}
	}
	got := killed.evaluate(nil, "--concurrency", fmt.Sprint(inFlight))
	if got.RunID != want.RunID || got.State != "finished" || got.Graded != want.Graded {
		t.Errorf("after %d kills: %+v, want %+v", kills, got, want)
	}
	again := judge.Calls() - calls - want.Calls
	t.Logf("%d kills, %d of %d calls made again, %d answers from the ledger at the end", kills, again, want.Calls, got.FromLedger)
	if kills < 4 {
		t.Errorf("%d kills hit, want at least 4", kills)
	}
	if again > kills*inFlight {
		t.Errorf("%d calls were made again after %d kills with %d in flight", again, kills, inFlight)
	}
	if got.FromLedger == 0 {
		t.Error("nothing came from the ledger")
	}
	for _, v := range []*world{w, killed} {
		v.run(nil, "aggregate")
	}
	same(t, "killed and undisturbed", hashes(t, w.data), hashes(t, killed.data), byteIdentical...)
	openLake(t, killed.data).check() // also that no transcript is left below _work
}

// TestInterruptedEvaluate: asked to stop, evaluate keeps what it has, says that it is partial, and goes on when asked again.
func TestInterruptedEvaluate(t *testing.T) {
	const inFlight = 3
	w := newWorld(t)
	w.ingest()
	plain := w.with("plain")
	copyLake(t, w.data, plain.data)
	judge := w.withBedrock(judgetest.Options{Latency: 40 * time.Millisecond, Script: leakyJudge})
	plain.judge, plain.env = w.judge, w.env
	want := plain.evaluate(nil)
	for i, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		before := judge.Calls()
		r := w.start("evaluate", "--sample", "50", "--concurrency", fmt.Sprint(inFlight))
		for deadline := time.Now().Add(30 * time.Second); judge.Calls()-before < 8 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		if err := r.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		o := r.wait()
		s := summaryOf[evaluateSummary](t, o)
		if o.code != exitPartial || s.State != "partial" || s.Graded == 0 || s.Graded+s.NotAttempted != want.Graded || !strings.Contains(o.stderr, "hint: run the same command again") {
			t.Errorf("%v: exit %d, %+v, %s", signal, o.code, s, o.stderr)
		}
		openLake(t, w.data).check()
		if i > 0 && s.FromLedger == 0 {
			t.Error("nothing came from the ledger")
		}
	}
	if end := w.evaluate(nil); end.State != "finished" || end.Graded != want.Graded {
		t.Errorf("%+v", end)
	}
	if again := judge.Calls() - 2*want.Calls; again > 2*inFlight {
		t.Errorf("%d calls were made again after two interrupts with %d in flight", again, inFlight)
	}
	w.run(nil, "aggregate")
	plain.run(nil, "aggregate")
	same(t, "interrupted and not", hashes(t, plain.data), hashes(t, w.data), byteIdentical...)
}

// TestKilledIngestIsRepaired kills ingest at ten moments of its run. What is left is taken over at once on the same host and
// comes out as if nothing had happened.
func TestKilledIngestIsRepaired(t *testing.T) {
	w := newWorld(t)
	begin := time.Now()
	w.ingest()
	took := time.Since(begin)
	want := hashes(t, w.data)
	left := 0
	for i := range 10 {
		v := w.with(fmt.Sprintf("killed-%d", i))
		r := v.start("ingest")
		time.Sleep(took * time.Duration(i+1) / 11)
		if r.kill(); exists(filepath.Join(v.data, "_lock")) {
			left++
		}
		begin := time.Now()
		v.ingest()
		if d := time.Since(begin); d > 30*time.Second+10*took {
			t.Errorf("the lock of a dead process held for %v", d)
		}
		same(t, fmt.Sprintf("killed after %d/11 of %v", i+1, took.Round(time.Millisecond)), want, hashes(t, v.data), byteIdentical...)
	}
	t.Logf("%d of 10 kills left a lock behind", left)
	if left == 0 {
		t.Error("no kill hit a run that held the lock")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestIngestKilledBetweenWrites kills ingest after chosen writes to S3: between any two objects there is a state that the next
// run must understand.
func TestIngestKilledBetweenWrites(t *testing.T) {
	if testing.Short() {
		t.Skip("reads an archive from a real S3 server some twenty times")
	}
	var uploads []upload
	for _, u := range archiveUploads(t) {
		// A batch that was sent twice, the span that comes late, sessions of two traces, an unreadable object and an empty one.
		if strings.Contains(u.key, "day=25") || strings.Contains(u.key, "day=27") || strings.HasPrefix(u.key, "agents/README") {
			uploads = append(uploads, u)
		}
	}
	w, client := onS3(t, uploads)
	endpoint := os.Getenv("AWS_ENDPOINT_URL_S3")
	hook := func(*http.Request) {}
	proxy := startFaultProxy(t, endpoint, func(r *http.Request) fault {
		hook(r)
		return faultNone
	})
	w.setenv("AWS_ENDPOINT_URL_S3", proxy.URL)

	var puts []string
	hook = func(r *http.Request) {
		if r.Method == http.MethodPut {
			puts = append(puts, r.URL.Path)
		}
	}
	w.data = "s3://lake/undisturbed"
	w.ingest()
	want := below(etags(t, client, "lake"), "undisturbed/")
	total := len(puts)
	if total < 20 {
		t.Fatalf("%d writes: %v", total, puts)
	}

	moments := []int{1, 2, 3, total / 6, total / 3, total / 2, 2 * total / 3, 5 * total / 6, total - 2, total - 1, total}
	for i, moment := range moments {
		w.data = fmt.Sprintf("s3://lake/killed-%d", i)
		w.state = filepath.Join(w.dir, fmt.Sprint("state-", i))
		n, at := 0, ""
		started := make(chan *running, 1)
		hook = func(r *http.Request) {
			if r.Method != http.MethodPut {
				return
			}
			if n++; n == moment {
				at = r.URL.Path
				p := <-started
				_ = p.cmd.Process.Kill()
			}
		}
		r := w.start("ingest")
		started <- r
		if o := r.wait(); o.code != -1 {
			t.Errorf("write %d of %d: not killed, exit %d: %s", moment, total, o.code, o.stderr)
		}
		hook = func(*http.Request) {}
		w.ingest()
		same(t, fmt.Sprintf("killed at write %d of %d, %s", moment, total, at), want, below(etags(t, client, "lake"), fmt.Sprintf("killed-%d/", i)), byteIdentical...)
	}
	t.Logf("%d kills among %d writes", len(moments), total)
}

// below is the objects under a prefix, by what follows it.
func below(objects map[string]string, prefix string) map[string]string {
	out := map[string]string{}
	for key, etag := range objects {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			out[rest] = etag
		}
	}
	return out
}

// TestTwoIngests: while one ingest writes, a second one ends at once and says who is writing.
func TestTwoIngests(t *testing.T) {
	w, client := onS3(t, archiveUploads(t)[:6])
	endpoint := os.Getenv("AWS_ENDPOINT_URL_S3")
	holds, goOn := make(chan struct{}), make(chan struct{})
	proxy := startFaultProxy(t, endpoint, func(r *http.Request) fault {
		if r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/archive/") && len(r.URL.Path) > len("/archive/") {
			select {
			case <-holds:
			default:
				close(holds) // it reads, so it holds the lock
				<-goOn
			}
		}
		return faultNone
	})
	first := *w
	first.env = slices.Clone(w.env)
	first.setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	r := first.start("ingest")
	select {
	case <-holds:
	case <-time.After(30 * time.Second):
		close(goOn)
		t.Fatalf("the first ingest reads nothing: %+v", r.kill())
	}
	second := w.start("ingest").wait()
	close(goOn)
	host, _ := os.Hostname()
	if second.code != exitLocked || !strings.Contains(second.errorLine(), fmt.Sprintf("process %d on %s", r.cmd.Process.Pid, host)) {
		t.Errorf("second ingest: exit %d, %s", second.code, second.stderr)
	}
	if o := r.wait(); o.code != exitOK {
		t.Errorf("first ingest: exit %d, %s", o.code, o.stderr)
	}

	// A holder on another host that says nothing is waited for, one that has been silent for ten minutes is not.
	for _, tt := range []struct {
		age  time.Duration
		code int
	}{{time.Minute, exitLocked}, {11 * time.Minute, exitOK}} {
		age, code := tt.age, tt.code
		beat := time.Now().Add(-age).UTC()
		lock, err := json.Marshal(map[string]any{"host": "another-host", "pid": 4711, "started": beat, "beat": beat})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("lake"), Key: aws.String("tables/_lock"), Body: strings.NewReader(string(lock))}); err != nil {
			t.Fatal(err)
		}
		o := w.start("ingest").wait()
		if o.code != code || code == exitLocked && !strings.Contains(o.errorLine(), "process 4711 on another-host") {
			t.Errorf("lock of another host, silent for %v: exit %d, want %d: %s", age, o.code, code, o.stderr)
		}
	}
	if o := w.start("ingest").wait(); o.code != exitOK || etags(t, client, "lake")["tables/_lock"] != "" {
		t.Errorf("the lock was not given back: exit %d, %s", o.code, o.stderr)
	}
}
