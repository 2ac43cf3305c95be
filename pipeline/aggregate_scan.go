package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// scanFacts counts one evaluator's part of a run, or of several runs as one: a subject that several of them graded counts once, as the
// first of them says. Only the columns that are counted are read. keep asks for the verdicts one by one, too.
func scanFacts(ctx context.Context, root *Root, runs []schema.Run, keep bool) (*facts, error) {
	b := &factBuilder{facts: facts{run: runs[0], strata: strataOfRuns(runs)}, expect: min(int(runs[0].Graded+runs[0].Ungraded), maxReserved)}
	blocks := make([][]verdictBlock, len(runs))
	eg, scanning := errgroup.WithContext(ctx)
	eg.Go(func() error { return b.build(scanning, root, runs) })
	eg.Go(func() (err error) {
		for i := range runs {
			if blocks[i], err = readVerdicts(scanning, root.Store, runs[i], len(runs) > 1); err != nil {
				return err
			}
		}
		return nil
	})
	if err := eg.Wait(); err != nil {
		return nil, err
	}
	v := &verdictCounter{facts: &b.facts, keep: keep, number: map[string]int32{}}
	for i := range runs {
		if v.add(blocks[i], int32(i)) {
			continue
		}
		exact, err := readVerdicts(ctx, root.Store, runs[i], true)
		if err != nil {
			return nil, err
		}
		v.add(exact, int32(i))
	}
	v.finish()
	f := b.facts // without what made it
	return &f, nil
}

// maxReserved bounds the room that a row of runs makes us reserve.
const maxReserved = 1 << 20

// factBuilder gathers facts: first all subjects, then the verdicts on them.
type factBuilder struct {
	facts
	book     comboBook
	expect   int              // about so many subjects
	ids      []byte           // of subjects, one after the other
	sessions []sessionRef     // of the subjects, where they have one
	keys     map[int32]string // of sessions, where the subject is called otherwise
	taken    map[string]bool  // subjects so far, where there are several runs
}

// build gathers the subjects of runs.
func (b *factBuilder) build(ctx context.Context, root *Root, runs []schema.Run) error {
	for i, run := range runs {
		if err := b.scanGrades(ctx, root.Store, run, i); err != nil {
			return err
		}
	}
	b.sortSubjects()
	if err := b.addMembers(ctx, root); err != nil {
		return err
	}
	b.names, b.combos = b.book.finish(b.subjects)
	return nil
}

// finish gives subjects and names their order, where members do not count.
func (b *factBuilder) finish() {
	b.sortSubjects()
	b.names, b.combos = b.book.finish(b.subjects)
}

// sessionRef is a subject's session.
type sessionRef struct {
	subject int32
	day     int32 // number of its name
	skill   bool  // the subject is a skill: it does not count under the others of its session
	server  bool
}

// sessionKey is the key of a subject's session: mostly what the subject is called by.
func (b *factBuilder) sessionKey(r *sessionRef) string {
	if key, ok := b.keys[r.subject]; ok {
		return key
	}
	subject, _, _ := strings.Cut(b.id(&b.subjects[r.subject]), "\x00")
	return subject
}

// gradeColumns are the columns of grades that are counted.
var gradeColumns = []string{"evaluator", "arm", "service", "agent", "harness", "dt", "skill", "server", "state", "subject_kind", "subject", "session_key", "pass", "safe", "undecided"}

const (
	gradeEvaluator = iota
	gradeArm
	gradeService
	gradeAgent
	gradeHarness
	gradeDay
	gradeSkill
	gradeServer
	gradeState
	gradeKind
	gradeSubject // those before are numbered
	gradeSession
	gradePass
	gradeSafe
	gradeUndecided
)

// gradeDimension is the column that names a group of the subject itself, -1 where there is none.
var gradeDimension = [dimensions]int{dimService: gradeService, dimAgent: gradeAgent, dimHarness: gradeHarness, dimModel: -1, dimDay: gradeDay, dimSkill: gradeSkill, dimServer: gradeServer}

func (b *factBuilder) scanGrades(ctx context.Context, st store.Store, run schema.Run, number int) error {
	q := table.Query{Columns: gradeColumns, Where: [2]string{"evaluator", run.Evaluator}, Workers: 1} // in order
	return table.Scan(ctx, st, schema.Grades.RunKey(run.RunID), q, func(g *table.Group) error {
		return b.addGrades(g, run.Evaluator, number)
	})
}

func (b *factBuilder) addGrades(g *table.Group, evaluator string, number int) (err error) {
	var text [gradeSubject]table.Text
	for i := range text {
		if text[i], err = g.Text(i); err != nil {
			return err
		}
	}
	subjects, err := g.Strings(gradeSubject)
	if err != nil {
		return err
	}
	sessions := subjects // a session is its own subject
	if kinds := text[gradeKind].Words; len(kinds) != 1 || kinds[0] != "session" {
		if sessions, err = g.Strings(gradeSession); err != nil {
			return err
		}
	}
	pass, err := g.Flags(gradePass)
	if err != nil {
		return err
	}
	safe, err := g.Flags(gradeSafe)
	if err != nil {
		return err
	}
	undecided, err := g.Flags(gradeUndecided)
	if err != nil {
		return err
	}
	combos := b.combosOf(text[:])
	if b.subjects == nil {
		b.subjects, b.sessions = make([]factSubject, 0, max(g.Rows(), b.expect)), make([]sessionRef, 0, max(g.Rows(), b.expect))
		b.ids = make([]byte, 0, 32*max(g.Rows(), b.expect))
	}
	ours := int32(slices.Index(text[gradeEvaluator].Words, evaluator))
	isGraded := int32(slices.Index(text[gradeState].Words, "graded"))
	days := b.number(dimDay, text[:])
	for i := range g.Rows() {
		if text[gradeEvaluator].Code[i] != ours {
			continue
		}
		subject, arm := subjects.Value(i), text[gradeArm].Value(i)
		if number > 0 && !b.take(subjectID(string(subject), arm)) {
			continue
		}
		from := uint32(len(b.ids))
		b.ids = append(b.ids, subject...)
		if arm != "" {
			b.ids = append(append(b.ids, 0), arm...)
		}
		if len(b.ids) > math.MaxUint32 {
			return errors.New("more than 4 GiB of subjects")
		}
		graded := text[gradeState].Code[i] == isGraded
		at := int32(len(b.subjects))
		b.subjects = append(b.subjects, factSubject{from: from, to: uint32(len(b.ids)), run: int32(number), combo: combos(i), passed: gradeResult(graded, pass[i]), safe: gradeResult(graded, safe[i]), undecided: undecided[i] == 1})
		key := sessions.Value(i)
		if len(key) == 0 || text[gradeDay].Value(i) == "" {
			continue
		}
		b.sessions = append(b.sessions, sessionRef{at, days[1+text[gradeDay].Code[i]], text[gradeSkill].Value(i) != "", text[gradeServer].Value(i) != ""})
		if sessions != subjects && !bytes.Equal(key, subject) {
			if b.keys == nil {
				b.keys = map[int32]string{}
			}
			b.keys[at] = string(key)
		}
	}
	return nil
}

// maxComboTable bounds the table of combos of one row group.
const maxComboTable = 1 << 16

// combosOf gives the combo of every row of a row group. Words of a row group make few combinations, mostly: each is looked up once.
func (b *factBuilder) combosOf(text []table.Text) func(row int) int32 {
	var ids [dimensions][]int32 // numbers of the words of this row group
	size := 1
	for d := range dimension(dimensions) {
		ids[d] = b.number(d, text)
		size = min(size*len(ids[d]), maxComboTable+1)
	}
	combo := func(row int) int32 {
		var at [dimensions]int32
		for d := range at {
			at[d] = ids[d][0]
			if column := gradeDimension[d]; column >= 0 {
				at[d] = ids[d][1+text[column].Code[row]]
			}
		}
		return b.book.one(at)
	}
	if size > maxComboTable {
		return combo
	}
	var codes [][]int32 // of the columns that are not the same in every row
	var words []int
	for d, column := range gradeDimension {
		if column >= 0 && !text[column].Same {
			codes, words = append(codes, text[column].Code), append(words, len(ids[d]))
		}
	}
	known := make([]int32, size) // + 1
	return func(row int) int32 {
		place := 0
		for i, c := range codes {
			place = place*words[i] + 1 + int(c[row])
		}
		if known[place] == 0 {
			known[place] = combo(row) + 1
		}
		return known[place] - 1
	}
}

// number numbers the words of the column of a dimension, the first being that of null.
func (b *factBuilder) number(d dimension, text []table.Text) []int32 {
	out := []int32{b.book.book[d].id("")}
	if column := gradeDimension[d]; column >= 0 {
		for _, w := range text[column].Words {
			out = append(out, b.book.book[d].id(w))
		}
	}
	return out
}

// take says whether a subject of a further run is to be counted: it is not, when an earlier one graded it.
func (b *factBuilder) take(id string) bool {
	if b.taken == nil {
		b.taken = make(map[string]bool, len(b.subjects))
		for i := range b.subjects {
			s := &b.subjects[i]
			b.taken[string(b.ids[s.from:s.to])] = true
		}
	}
	if b.taken[id] {
		return false
	}
	b.taken[id] = true
	return true
}

func gradeResult(graded bool, flag int8) result {
	switch {
	case !graded:
		return resultUngraded
	case flag < 0:
		return resultNotApplicable
	case flag == 1:
		return resultMet
	}
	return resultNotMet
}

// addMembers puts subjects into the groups of their sessions: models, skills and servers.
func (b *factBuilder) addMembers(ctx context.Context, root *Root) error {
	if len(b.sessions) == 0 {
		return nil
	}
	if b.keys != nil { // else they are in the order of their subjects
		slices.SortFunc(b.sessions, func(x, y sessionRef) int { return strings.Compare(b.sessionKey(&x), b.sessionKey(&y)) })
	}
	all, err := b.loadMembers(ctx, root)
	if err != nil {
		return err
	}
	for i, m := range all {
		r := &b.sessions[i]
		groups := map[dimension][]string{dimModel: m.models}
		if !r.skill {
			groups[dimSkill] = m.skills
		}
		if !r.server {
			groups[dimServer] = m.servers
		}
		s := &b.subjects[r.subject]
		s.combo = b.book.with(s.combo, groups)
	}
	return nil
}

// sortSubjects brings subjects into the order of their ids, and sessions into that of their subjects.
func (b *factBuilder) sortSubjects() {
	b.idText = string(b.ids)
	byID := func(x, y factSubject) int { return strings.Compare(b.id(&x), b.id(&y)) }
	if slices.IsSortedFunc(b.subjects, byID) {
		return
	}
	order := make([]int32, len(b.subjects))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(x, y int32) int { return byID(b.subjects[x], b.subjects[y]) })
	subjects, place := make([]factSubject, len(order)), make([]int32, len(order))
	for at, was := range order {
		subjects[at], place[was] = b.subjects[was], int32(at)
	}
	keys := b.keys
	if keys != nil {
		b.keys = make(map[int32]string, len(keys))
	}
	for was, key := range keys {
		b.keys[place[was]] = key
	}
	b.subjects = subjects
	for i := range b.sessions {
		b.sessions[i].subject = place[b.sessions[i].subject]
	}
	slices.SortFunc(b.sessions, func(x, y sessionRef) int { return cmp.Compare(x.subject, y.subject) })
}
