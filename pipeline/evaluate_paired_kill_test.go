package pipeline_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/pipeline"
)

const killedPaired = "TRACEJURY_TEST_KILLED_PAIRED" // data root, suite and skill, separated as in PATH

// TestKilledPairedChild is the process that is killed.
func TestKilledPairedChild(t *testing.T) {
	list := filepath.SplitList(os.Getenv(killedPaired))
	if len(list) != 3 {
		t.Skip("runs as a child of TestEvaluatePaired_KilledGoesOn")
	}
	if _, err := evaluatePaired(t, list[0], pipeline.PairedOptions{Suite: list[1], Skills: []string{list[2]}, AgentModel: "bedrock:" + agentModel}); err != nil {
		t.Fatal(err)
	}
	os.Exit(0) // its idle connections are nobody's leak
}

// A paired run that is killed ends in the tables of one that was not, and makes twice at most what was in flight.
func TestEvaluatePaired_KilledGoesOn(t *testing.T) {
	suite, skill := pairedSuite(t, 20, false), skillDir(t, "runbook", runbookSkill)
	opts := pipeline.PairedOptions{Suite: suite, Skills: []string{skill}, AgentModel: "bedrock:" + agentModel}
	undisturbed := filepath.Join(t.TempDir(), "whole")
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	if _, err := evaluatePaired(t, undisturbed, opts); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "lake")
	srv := bedrock(t, judgetest.Options{Plain: true, Latency: 20 * time.Millisecond, Script: pairedScript(fivePairs, nil)})
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledPairedChild$", "-test.count=1")
		cmd.Env = append(os.Environ(), killedPaired+"="+data+string(filepath.ListSeparator)+suite+string(filepath.ListSeparator)+skill)
		return cmd
	}
	const kills = 3
	for range kills {
		cmd, before := child(), srv.Calls()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(10 * time.Second); srv.Calls() < before+15 && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
	}
	if out, err := child().CombinedOutput(); err != nil {
		t.Fatalf("last round: %v\n%s", err, out)
	}
	for srv.InFlight() > 0 {
		time.Sleep(10 * time.Millisecond)
	}
	tables := append(slices.Clone(runTables), "answers/")
	diffTrees(t, tree(t, data, tables...), tree(t, undisturbed, tables...))
	if twice := srv.Calls() - 80; twice < 0 || twice > kills*4 {
		t.Errorf("%d calls made twice; %d kills of at most 4 calls in flight", twice, kills)
	}
	if left, err := filepath.Glob(filepath.Join(data, "_work", "*", "*")); err != nil || len(left) > 0 {
		t.Error("left behind: ", left, err)
	}
}
