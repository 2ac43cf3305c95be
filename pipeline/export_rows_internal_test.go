package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// runTables are the tables of one run, small enough to be joined by looking through all of them.
type runTables struct {
	grades       []schema.Grade
	verdicts     []schema.Verdict
	explanations []schema.Explanation
	sessions     []schema.Session
}

var joinRubric = judge.Rubric{Name: "join", Version: 1, Criteria: []judge.Criterion{{ID: "z_first"}, {ID: "a_second"}, {ID: "m_third"}}}

// drawTables draws subjects of two evaluators, some in two arms, some without verdicts or without a session row, and verdicts and
// explanations of subjects that nobody graded.
func drawTables(mix *rand.Rand) (x runTables) {
	ids, sources := []string{"00", "0f", "70", "7f", "c0", "ff"}, []string{"session.id", "trace"}
	for _, evaluator := range []string{"session", "skill_following"} {
		for i := range mix.IntN(13) {
			key := ids[mix.IntN(len(ids))] + fmt.Sprintf("%030x", i*7919%10)
			g := schema.Grade{RunID: "r", Evaluator: evaluator, Subject: key, SubjectKind: "session", SessionKey: key, Dt: dayOf(key),
				Service: "desk", State: "graded", Pass: new(i%2 == 0), SubjectRevision: "rev"}
			if evaluator != "session" {
				g.Subject, g.SubjectKind, g.Skill = key+"/1", "skill", "deploy"
			}
			for _, arm := range []string{"", "with"}[:1+mix.IntN(2)] {
				g.Arm = arm
				if mix.IntN(6) > 0 {
					x.grades = append(x.grades, g)
				}
				for _, c := range joinRubric.Criteria[:mix.IntN(4)] {
					for _, vote := range []string{"final", "one"} {
						x.verdicts = append(x.verdicts, schema.Verdict{RunID: "r", Evaluator: evaluator, Subject: g.Subject, Arm: arm, Criterion: c.ID, Vote: vote, Verdict: "met", Item: fmt.Sprint(i % 2),
							SpanID: "span-" + c.ID, EvidenceSteps: []int32{int32(i)}, Label: vote})
						x.explanations = append(x.explanations, schema.Explanation{RunID: "r", Evaluator: evaluator, Subject: g.Subject, Arm: arm, Criterion: c.ID, Item: fmt.Sprint(i % 2), Vote: vote,
							Explanation: vote + " of " + g.Subject + arm + c.ID})
					}
				}
			}
			if mix.IntN(5) > 0 {
				x.sessions = append(x.sessions, schema.Session{Tenant: "default", SessionKey: key, SessionID: "id-" + key, SessionIDSource: sources[mix.IntN(2)],
					StartedUnixNano: int64(i + 1), TraceIDs: []string{"first", "second"}, LastRecordUnixNano: 1})
			}
		}
	}
	table.Sort(x.grades)
	table.Sort(x.verdicts)
	table.Sort(x.explanations)
	x.grades = slices.CompactFunc(x.grades, func(a, b schema.Grade) bool { return a.Compare(b) == 0 })
	x.verdicts = slices.CompactFunc(x.verdicts, func(a, b schema.Verdict) bool { return a.Compare(b) == 0 })
	x.explanations = slices.CompactFunc(x.explanations, func(a, b schema.Explanation) bool { return a.Compare(b) == 0 })
	return x
}

// subjects joins by looking through everything.
func (x *runTables) subjects(evaluator string, explain bool) (out []exports.Session) {
	for _, g := range x.grades {
		if g.Evaluator != evaluator {
			continue
		}
		s := exports.Session{Key: g.SessionKey, Service: g.Service, Revision: g.SubjectRevision, Graded: true, Pass: g.Pass}
		if g.SubjectKind != "session" {
			s.Subject = &exports.Subject{ID: g.Subject, Kind: g.SubjectKind, Skill: g.Skill, Arm: g.Arm}
		}
		for _, row := range x.sessions {
			if row.SessionKey == g.SessionKey && row.TraceIDs != nil {
				s.ID, s.StartedUnixNano, s.TraceID = row.SessionID, row.StartedUnixNano, "first"
				if row.SessionIDSource == "trace" {
					s.ID = ""
				}
			}
		}
		for _, c := range joinRubric.Criteria {
			for _, v := range x.verdicts {
				if v.Evaluator != evaluator || v.Subject != g.Subject || v.Arm != g.Arm || v.Criterion != c.ID || v.Vote != "final" {
					continue
				}
				if s.Subject != nil && s.Subject.SpanID == "" {
					s.Subject.SpanID = v.SpanID
				}
				o := exports.Criterion{ID: v.Criterion, Item: v.Item, Verdict: judge.Verdict(v.Verdict), Label: v.Label, EvidenceSteps: v.EvidenceSteps}
				if explain {
					o.Explanation = "final of " + g.Subject + g.Arm + v.Criterion
				}
				s.Criteria = append(s.Criteria, o)
			}
		}
		out = append(out, s)
	}
	return out
}

// dayOf is the day on which a session's row lies.
func dayOf(key string) string { return "2026-11-2" + key[len(key)-1:] }

func (x *runTables) write(t *testing.T, st store.Store, layout schema.Layout) {
	ctx := context.Background()
	must := func(_ store.Object, err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(table.Write(ctx, st, schema.Grades, schema.Grades.RunKey("r"), x.grades, ""))
	must(table.Write(ctx, st, schema.Verdicts, schema.Verdicts.RunKey("r"), x.verdicts, ""))
	must(table.Write(ctx, st, schema.Explanations, schema.Explanations.RunKey("r"), x.explanations, ""))
	objects := map[string][]schema.Session{}
	for _, s := range x.sessions {
		b, err := layout.Bucket(s.SessionKey)
		if err != nil {
			t.Fatal(err)
		}
		key := schema.Sessions.DayKey(dayOf(s.SessionKey), b)
		objects[key] = append(objects[key], s)
	}
	for key, rows := range objects {
		table.Sort(rows)
		must(table.Write(ctx, st, schema.Sessions, key, rows, ""))
	}
}

// Subjects that are joined while the tables are read are those that a look through everything gives, for any number that is joined at a
// time, and whether or not they are remembered.
func TestStoredPart(t *testing.T) {
	ctx := t.Context()
	layout := schema.Layout{SchemaVersion: schema.Version, Buckets: 4}
	seeds := uint64(30)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		mix := rand.New(rand.NewPCG(seed, 2))
		x := drawTables(mix)
		for i := range x.sessions { // one row a session
			for j := range x.sessions[:i] {
				if x.sessions[j].SessionKey == x.sessions[i].SessionKey {
					x.sessions[i].SessionKey, x.sessions[i].TraceIDs = strings.Repeat("e", 32), nil
				}
			}
		}
		st, err := store.Open(ctx, t.TempDir(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		x.write(t, st, layout)
		explain := mix.IntN(2) == 0
		for _, evaluator := range []string{"session", "skill_following"} {
			part, err := openStoredPart(ctx, &Root{Store: st, Layout: layout}, schema.Run{RunID: "r", Evaluator: evaluator}, &joinRubric, explain)
			if err != nil {
				t.Fatal(err)
			}
			part.atOnce = 1 + mix.IntN(9)
			all := part.subjects(mix.IntN(31))
			want := x.subjects(evaluator, explain)
			for range 3 {
				var got []exports.Session
				for s, err := range all(ctx) {
					if err != nil {
						t.Fatal(err)
					}
					s.Criteria = slices.Clone(s.Criteria)
					got = append(got, s)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, %s: got\n%+v\nwant\n%+v", seed, evaluator, got, want)
				}
				for s := range all(ctx) { // who stops early spoils nothing, nor who scribbles
					for i := range s.Criteria {
						s.Criteria[i].ID = "scribble"
					}
					break
				}
			}
			if err := part.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Rows that are not in the order of their keys would leave verdicts out without a word: they are an error.
func TestStoredPart_OutOfOrder(t *testing.T) {
	at := 0
	rows := []verdictRow{{Evaluator: "session", Subject: "b"}, {Evaluator: "session", Subject: "a"}}
	o := &ordered[verdictRow]{evaluator: "session", id: func(v *verdictRow) (string, subjectKey) { return v.Evaluator, subjectKey{v.Subject, v.Arm} }}
	o.next = func() (*verdictRow, error) { at++; return &rows[at-1], nil }
	if got, err := o.of(subjectKey{"c", ""}); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("%v %v", got, err)
	}
}

// An error comes once, last, and is not remembered.
func TestRemember_Errors(t *testing.T) {
	fail := true
	broken := errors.New("the table is gone")
	all := remember(10, func(context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			if !yield(exports.Session{Key: "a"}, nil) || !fail {
				return
			}
			yield(exports.Session{}, broken)
		}
	})
	count := func(ctx context.Context) (n int, last error) {
		for _, err := range all(ctx) {
			n, last = n+1, err
		}
		return n, last
	}
	if n, err := count(t.Context()); n != 2 || !errors.Is(err, broken) {
		t.Errorf("%d %v", n, err)
	}
	fail = false
	for range 2 {
		if n, err := count(t.Context()); n != 1 || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := count(ctx); n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d %v", n, err)
	}
}
