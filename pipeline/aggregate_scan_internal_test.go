package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// memory is a store of a few objects; what it lacks a scan does not call.
type memory struct {
	store.Store
	objects map[string][]byte
}

func (m *memory) URI() string { return "memory://" }

func (m *memory) Get(_ context.Context, key, _ string) ([]byte, store.Object, error) {
	o, err := m.Stat(context.Background(), key)
	return m.objects[key], o, err
}

func (m *memory) Stat(_ context.Context, key string) (store.Object, error) {
	data, ok := m.objects[key]
	if !ok {
		return store.Object{}, fs.ErrNotExist
	}
	return store.Object{Key: key, Size: int64(len(data))}, nil
}

func (m *memory) GetRange(_ context.Context, key string, off, n int64, _ string) ([]byte, error) {
	return m.objects[key][off : off+n], nil
}

func (m *memory) Put(_ context.Context, key string, body io.ReadSeeker, _ store.PutOptions) (store.Object, error) {
	data, err := io.ReadAll(body)
	m.objects[key] = data
	return store.Object{Key: key}, err
}

// store holds the rows of nights as evaluate writes them.
func (n *night) store(tb rapid.TB, more ...*night) store.Store {
	ctx := context.Background()
	st := &memory{objects: map[string][]byte{}}
	for _, x := range append(more, n) {
		verdicts, grades := slices.Clone(x.verdicts), slices.Clone(x.grades)
		if err := putRows(ctx, st, schema.Verdicts, schema.Verdicts.RunKey(x.run.RunID), verdicts); err != nil {
			tb.Fatal(err)
		}
		if err := putRows(ctx, st, schema.Grades, schema.Grades.RunKey(x.run.RunID), grades); err != nil {
			tb.Fatal(err)
		}
	}
	n.putMembers(tb, st)
	return st
}

// putMembers writes what the session tables say of the members of a night's sessions.
func (n *night) putMembers(tb rapid.TB, st store.Store) {
	type place struct {
		dt     string
		bucket int
	}
	sessions, skills, tools := map[place][]schema.Session{}, map[place][]schema.Skill{}, map[place][]schema.Tool{}
	for i := range n.grades {
		g := &n.grades[i]
		bucket, err := testLayout.Bucket(g.SessionKey)
		if err != nil {
			tb.Fatal(err)
		}
		at, m := place{g.Dt, bucket}, n.members[g.SessionKey]
		sessions[at] = append(sessions[at], schema.Session{Tenant: "default", SessionKey: g.SessionKey, Models: m.models})
		for j, s := range m.skills {
			skills[at] = append(skills[at], schema.Skill{Tenant: "default", SessionKey: g.SessionKey, Attempt: int32(j), Skill: s, SkillKey: s, Outcome: "loaded"})
		}
		for _, s := range m.servers {
			tools[at] = append(tools[at], schema.Tool{Tenant: "default", SessionKey: g.SessionKey, Server: s, Tool: "t"})
		}
	}
	ctx := context.Background()
	var err error
	for at, rows := range sessions {
		err = errors.Join(err, putRows(ctx, st, schema.Sessions, schema.Sessions.DayKey(at.dt, at.bucket), rows))
	}
	for at, rows := range skills {
		err = errors.Join(err, putRows(ctx, st, schema.Skills, schema.Skills.DayKey(at.dt, at.bucket), rows))
	}
	for at, rows := range tools {
		err = errors.Join(err, putRows(ctx, st, schema.Tools, schema.Tools.DayKey(at.dt, at.bucket), rows))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

var testLayout = schema.Layout{SchemaVersion: schema.Version, Buckets: 1}

// sameFacts fails unless both count the same in every group.
func sameFacts(t *rapid.T, got, want *facts) {
	t.Helper()
	for _, pair := range [][2]any{{got.names, want.names}, {got.criteria, want.criteria}, {got.scores, want.scores}, {got.verdicts, want.verdicts}} {
		if fmt.Sprint(pair[0]) != fmt.Sprint(pair[1]) {
			t.Fatalf("got %v, want %v", pair[0], pair[1])
		}
	}
	gs, err := chosenGroupings([]string{"criterion+model+skill", "server+day+agent"})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range gs {
		if a, b := got.tallies(g, got.bySubject()), want.tallies(g, want.bySubject()); !reflect.DeepEqual(a, b) {
			t.Fatalf("%v: groups differ", g)
		}
	}
}

// What a scan counts is what rows count, whatever else lies in the files.
func TestScanCountsWhatRowsCount(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := drawNight(rt)
		if rapid.Bool().Draw(rt, "disturbed") {
			n.disturb(rt)
		}
		want := newFacts(n.run, n.grades, n.verdicts, n.members)
		written := *n
		written.verdicts = slices.Clone(n.verdicts)
		if rapid.Bool().Draw(rt, "other evaluator") {
			written.verdicts = append(written.verdicts, schema.Verdict{RunID: n.run.RunID, Evaluator: "other", Subject: "x", Criterion: "zz", Verdict: "met", Vote: "final"})
		}
		if rapid.Bool().Draw(rt, "no grade") {
			written.verdicts = append(written.verdicts, schema.Verdict{RunID: n.run.RunID, Evaluator: "session", Subject: rapid.SampledFrom([]string{"0", "010", "zz"}).Draw(rt, "subject"), Criterion: "goal_met", Verdict: "unclear", Vote: "final"})
		}
		for _, v := range n.verdicts {
			v.Vote = "one"
			written.verdicts = append(written.verdicts, v)
		}
		st := written.store(rt)
		got, err := scanFacts(context.Background(), &Root{Store: st, Layout: testLayout}, []schema.Run{n.run}, true)
		if err != nil {
			rt.Fatal(err)
		}
		sameFacts(rt, got, want)
	})
}

// disturb makes some verdicts scores, drops some and lets a subject have two arms.
func (n *night) disturb(t *rapid.T) {
	score := rapid.SampledFrom([]float64{0, 0.25, 0.5, 1})
	var kept []schema.Verdict
	for _, v := range n.verdicts {
		switch rapid.IntRange(0, 12).Draw(t, "disturbance") {
		case 0:
			v.Verdict, v.Score = "scored", new(score.Draw(t, "score"))
		case 1:
			v.Verdict, v.Score, v.Pass = "scored", new(score.Draw(t, "score")), new(rapid.Bool().Draw(t, "pass"))
		case 2:
			continue
		}
		kept = append(kept, v)
	}
	n.verdicts = kept
	if len(n.grades) > 0 && rapid.Bool().Draw(t, "arms") {
		g := n.grades[0]
		g.Arm, g.Skill = "with", "own"
		n.grades = append(n.grades, g)
		for _, v := range kept {
			if v.Subject == g.Subject {
				v.Arm = "with"
				n.verdicts = append(n.verdicts, v)
			}
		}
	}
}

// Several runs count as one in which a subject stands once, as the first of them says.
func TestScanOfSeveralRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		newer, older := drawNight(rt), drawNight(rt)
		older.run.RunID = "2026-11-29-000000000000"
		whole := night{run: newer.run, grades: slices.Clone(newer.grades), verdicts: slices.Clone(newer.verdicts), members: map[string]members{}}
		taken := map[string]bool{}
		for i := range newer.grades {
			taken[newer.grades[i].Subject] = true
		}
		for i := range older.grades {
			older.grades[i].RunID = older.run.RunID
			if !taken[older.grades[i].Subject] {
				whole.grades = append(whole.grades, older.grades[i])
			}
		}
		for i := range older.verdicts {
			older.verdicts[i].RunID = older.run.RunID
			if !taken[older.verdicts[i].Subject] {
				whole.verdicts = append(whole.verdicts, older.verdicts[i])
			}
		}
		clear(newer.members)
		st := newer.store(rt, older)
		got, err := scanFacts(context.Background(), &Root{Store: st, Layout: testLayout}, []schema.Run{newer.run, older.run}, true)
		if err != nil {
			rt.Fatal(err)
		}
		sameFacts(rt, got, newFacts(whole.run, whole.grades, whole.verdicts, nil))
	})
}

// Of a run whose sessions all have the same criteria the subjects are not read; of any other they are.
func TestSubjectsAreReadWhereTheyMustBe(t *testing.T) {
	regular := newNight("2026-11-30-000000000000")
	for i := range 50 {
		regular.add(fmt.Sprintf("1%02x", i), "ops", "", members{}, met, unclear, met, notMet)
	}
	gap := *regular
	gap.verdicts = slices.Delete(slices.Clone(regular.verdicts), 40, 41)
	more := *regular
	more.verdicts = append(slices.Clone(regular.verdicts), schema.Verdict{RunID: regular.run.RunID, Evaluator: "other", Subject: "x", Criterion: "c", Verdict: "met", Vote: "final"})
	for name, c := range map[string]struct {
		night *night
		read  bool
	}{"regular": {regular, false}, "a verdict is missing": {&gap, true}, "two evaluators": {&more, true}} {
		blocks, err := readVerdicts(t.Context(), c.night.store(t), c.night.run, false)
		if err != nil || len(blocks) != 1 {
			t.Fatalf("%s: %d blocks, %v", name, len(blocks), err)
		}
		if b := blocks[0]; (b.ids != nil) != c.read || len(b.starts) != 50 {
			t.Errorf("%s: %d subjects, %d of them read", name, len(b.starts), len(b.ids))
		}
	}
	// Subjects that were not read and are not those of the grades are read after all.
	fewer := *regular
	fewer.grades = regular.grades[:49]
	got, err := scanFacts(t.Context(), &Root{Store: fewer.store(t), Layout: testLayout}, []schema.Run{fewer.run}, true)
	if err != nil || len(got.verdicts) != 49*4 {
		t.Errorf("%d verdicts, %v", len(got.verdicts), err)
	}
}
