package integration

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

const (
	soakRun      = "2026-11-30-0123456789ab"
	soakCriteria = 10
)

// rowsFile writes one object of a table, row by row.
type rowsFile[T schema.Row[T]] struct {
	t testing.TB
	f *os.File
	w *table.Writer[T]
}

func newRowsFile[T schema.Row[T]](t testing.TB, dir string, tab schema.Table, key string) *rowsFile[T] {
	t.Helper()
	name := filepath.Join(dir, filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	return &rowsFile[T]{t, f, table.NewWriter[T](f, tab)}
}

func (r *rowsFile[T]) add(row T) {
	if err := r.w.Write(&row); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rowsFile[T]) close() {
	r.t.Helper()
	if err := r.w.Close(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.f.Close(); err != nil {
		r.t.Fatal(err)
	}
}

// gradedLake writes a data root with one run that graded sessions by two evaluators: soakCriteria verdicts of each session, and as
// many of what it did with its skills.
func gradedLake(t testing.TB, dir string, sessions int) {
	t.Helper()
	rubric := func(name, evaluator string) judge.Rubric {
		r := judge.Rubric{Name: name, Version: 1, Title: "Soak", Evaluator: evaluator}
		for j := range soakCriteria {
			r.Criteria = append(r.Criteria, judge.Criterion{ID: fmt.Sprintf("c_%02d", j), Question: "Was it so?", Scale: judge.ScaleMet, Safety: j == 0})
		}
		return r
	}
	rubrics := []judge.Rubric{rubric("soak", "session"), rubric("soak_skills", "skill_following")}
	runs := newRowsFile[schema.Run](t, dir, schema.Runs, schema.Runs.RunKey(soakRun))
	for i, kind := range []string{"session", "skill"} {
		text, err := json.Marshal(rubrics[i])
		if err != nil {
			t.Fatal(err)
		}
		sum := rubrics[i].SHA256()
		m := newRowsFile[schema.Material](t, dir, schema.Materials, "materials/prefix="+sum[:2]+"/"+sum+".parquet")
		m.add(schema.Material{SHA256: sum, Kind: "rubric", Text: string(text)})
		m.close()
		runs.add(schema.Run{RunID: soakRun, Evaluator: rubrics[i].Evaluator, Kind: kind, State: "finished", JudgeModels: []string{"rules"}, JudgeMode: "single", Rubric: rubrics[i].Name,
			RubricSHA256: sum, Sampled: int32(sessions), Graded: int32(sessions), Eligible: int32(sessions), SchemaVersion: schema.Version,
			AsOfUnixNano: time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC).UnixNano()})
	}
	runs.close()
	keys := make([]string, sessions)
	for i := range keys {
		sum := sha256.Sum256(fmt.Append(nil, i))
		keys[i] = hex.EncodeToString(sum[:16])
	}
	slices.Sort(keys)
	days := []string{"2026-11-28", "2026-11-29", "2026-11-30"}
	day := func(i int) int { return i * 7 % len(days) }
	for bucket := range 16 {
		for d, dt := range days {
			rows := newRowsFile[schema.Session](t, dir, schema.Sessions, schema.Sessions.DayKey(dt, bucket))
			for i, key := range keys {
				if b, _ := strconv.ParseInt(key[:1], 16, 8); int(b) == bucket && day(i) == d {
					rows.add(schema.Session{Tenant: "default", SessionKey: key, Service: "desk", SessionID: "s-" + key[:12], SessionIDSource: "session.id", Agent: "agent", Harness: "codex",
						StartedUnixNano: time.Date(2026, 11, 28+d, 8, 0, i%60, 0, time.UTC).UnixNano(), Revision: key + key, TraceIDs: []string{key}, ContentState: "full"})
				}
			}
			rows.close()
		}
	}
	verdicts := newRowsFile[schema.Verdict](t, dir, schema.Verdicts, schema.Verdicts.RunKey(soakRun))
	grades := newRowsFile[schema.Grade](t, dir, schema.Grades, schema.Grades.RunKey(soakRun))
	texts := newRowsFile[schema.Explanation](t, dir, schema.Explanations, schema.Explanations.RunKey(soakRun))
	words := []string{"met", "met", "met", "not_met", "not_applicable", "unclear"}
	yes := true
	for _, r := range rubrics {
		kind, attempt, skill, sum := "session", "", "", r.SHA256()
		if r.Evaluator != "session" {
			kind, attempt, skill = "skill", "/1", "deploy"
		}
		for i, key := range keys {
			subject := key + attempt
			grades.add(schema.Grade{RunID: soakRun, Evaluator: r.Evaluator, Subject: subject, Tenant: "default", SubjectKind: kind, SessionKey: key, SubjectRevision: key + key, Dt: days[day(i)],
				Service: "desk", Agent: "agent", Harness: "codex", Skill: skill, State: "graded", Pass: &yes, Safe: &yes})
			for j, c := range r.Criteria {
				verdicts.add(schema.Verdict{RunID: soakRun, Evaluator: r.Evaluator, Subject: subject, Criterion: c.ID, JudgeModel: "rules", Vote: "final", Tenant: "default", SubjectKind: kind,
					SessionKey: key, SubjectRevision: key + key, Service: "desk", Agent: "agent", Harness: "codex", Skill: skill, Safety: c.Safety,
					Verdict: words[(int(key[j])+j)%len(words)], EvidenceSteps: []int32{1, int32(j)}, RubricSHA256: sum})
				texts.add(schema.Explanation{RunID: soakRun, Evaluator: r.Evaluator, Subject: subject, Criterion: c.ID, JudgeModel: "rules", Vote: "final",
					Explanation: "Step " + key[:8] + " shows it: " + key[8:] + "."})
			}
		}
	}
	verdicts.close()
	grades.close()
	texts.close()
	if err := os.WriteFile(filepath.Join(dir, schema.LayoutKey), schema.Layout{SchemaVersion: schema.Version, Buckets: 16}.Marshal(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestExportInConstantMemory exports runs of a size and of ten times that size with the command itself, to every target of files: the
// peak of its memory is the same.
func TestExportInConstantMemory(t *testing.T) {
	small, large, targets := 500, 5000, []string{"agentcore", "jsonl", "parquet"} // sessions, of soakCriteria verdicts twice
	if os.Getenv("TRACEJURY_SOAK") != "" {
		small, large, targets = 10_000, 100_000, []string{"agentcore", "csv", "foundry", "jsonl", "labels", "otlp", "outcomes", "parquet"}
	} else if testing.Short() {
		t.Skip("exports 100,000 verdicts to each target; TRACEJURY_SOAK=1 exports two millions")
	}
	commands, err := buildCommands()
	if err != nil {
		t.Fatal(err)
	}
	export := filepath.Join(commands, "export")
	lakes := map[int]string{}
	for _, n := range []int{small, large} {
		lakes[n] = filepath.Join(t.TempDir(), fmt.Sprint(n))
		gradedLake(t, lakes[n], n)
	}
	for _, target := range targets {
		t.Run(target, func(t *testing.T) {
			peak := map[int]int64{}
			for _, n := range []int{small, large} {
				cmd := exec.Command(export, "--data", lakes[n], "--to", target, "--out", t.TempDir(), "--with-explanations", "--quiet")
				cmd.Env = append(os.Environ(), "GOMEMLIMIT=off", "GOGC=100")
				start := time.Now()
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
				peak[n] = used.Maxrss >> 10
				files, size := 0, int64(0)
				for line := range bytes.Lines(out) {
					var n int64
					if _, err := fmt.Sscan(string(line), &n); err == nil {
						files, size = files+1, size+n
					}
				}
				t.Logf("%9d verdicts: %4d MiB peak, %6.1f s, %5.1f s of CPU, %d files of %d MiB", n*soakCriteria, peak[n], time.Since(start).Seconds(),
					(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), files, size>>20)
			}
			if peak[large] > peak[small]*3/2+24 {
				t.Errorf("ten times the verdicts take %d MiB in place of %d", peak[large], peak[small])
			}
		})
	}
}
