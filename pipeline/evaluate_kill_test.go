package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/pipeline"
)

const killedData = "TRACEJURY_TEST_KILLED_DATA"

func killedConfig(tb testing.TB, data string) *pipeline.Config {
	cfg := evaluateConfig(tb, data)
	cfg.Evaluate.Sample, cfg.Evaluate.Repeat, cfg.Evaluate.Concurrency = 37, 5, inFlight
	return cfg
}

// TestKilledChild is the process that is killed: it grades until it is done.
func TestKilledChild(t *testing.T) {
	data := os.Getenv(killedData)
	if data == "" {
		t.Skip("runs as a child of TestKilledRunGoesOn")
	}
	if _, err := pipeline.Evaluate(context.Background(), killedConfig(t, data), pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // its idle connections are nobody's leak
}

// settled waits for what killed processes left at the server.
func settled(srv *judgetest.Server) {
	for srv.InFlight() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// durable is the number of calls in the log of a run that was killed.
func durable(t *testing.T, cfg *pipeline.Config) int {
	t.Helper()
	n := 0
	files, err := filepath.Glob(filepath.Join(cfg.StateDir, "ledger", "*", "*.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		records, err := ledger.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		n += len(records)
	}
	return n
}

// inFlight is how many calls killedConfig may have on their way: from being sent until the reply is on disk. A server sees less: to it a
// call is over when the reply is written to the connection, and to the run only when it is in the log.
const inFlight = 4

// A run that is killed at random moments, again and again, ends in the tables of a run that was not, and asks again at most what was
// in flight.
func TestKilledRunGoesOn(t *testing.T) {
	kills := 4
	if os.Getenv("TRACEJURY_SOAK") != "" {
		kills = 50
	}
	undisturbed, srv := demoLake(t), bedrock(t, judgetest.Options{})
	if _, err := pipeline.Evaluate(context.Background(), killedConfig(t, undisturbed), pipeline.EvaluateOptions{}, quiet()); err != nil {
		t.Fatal(err)
	}
	want, asked := tree(t, undisturbed, runTables...), srv.Calls()

	data := demoLake(t)
	srv = bedrock(t, judgetest.Options{Latency: time.Duration(2+kills) * 3 * time.Millisecond})
	flying, done, rounds := 0, false, 0
	r := rand.New(rand.NewPCG(1, 2))
	begin := time.Now()
	for rounds = 0; rounds < kills; rounds++ {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), killedData+"="+data)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waited := make(chan error, 1)
		go func() { waited <- cmd.Wait() }()
		// Half of the kills wait for calls, so that they do not all hit the start.
		until := time.Now().Add(10 * time.Second)
		for calls := srv.Calls(); rounds%2 == 0 && srv.Calls() == calls && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		select {
		case err := <-waited:
			if err != nil {
				t.Fatalf("round %d: %v", rounds, err)
			}
			done = true
		case <-time.After(time.Duration(r.IntN(400)) * time.Millisecond):
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Fatal(err)
			}
			<-waited
		}
		if done {
			break
		}
		settled(srv)
		lost := srv.Calls() - durable(t, killedConfig(t, data)) - flying
		if flying += lost; lost > inFlight {
			t.Errorf("kill %d: %d calls had reached the service and were not in the log, with at most %d in flight", rounds, lost, inFlight)
		}
	}
	killed := rounds
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), killedData+"="+data)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("last round: %v\n%s", err, out)
	}
	settled(srv)
	diffTrees(t, tree(t, data, runTables...), want)
	twice := srv.Calls() - asked
	t.Logf("%d kills in %.0f s; %d calls in flight at them; %d calls of %d made twice", killed, time.Since(begin).Seconds(), flying, twice, asked)
	if twice != flying {
		t.Errorf("%d calls made twice, want the %d that were in flight at %d kills, each once", twice, flying, killed)
	}
	if left, err := filepath.Glob(filepath.Join(data, "_work", "*", "*")); err != nil || len(left) > 0 {
		t.Error(fmt.Sprint("left behind: ", left, err))
	}
}
