package pipeline

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// verdictColumns are the columns of verdicts that are counted.
var verdictColumns = []string{"evaluator", "vote", "arm", "criterion", "verdict", "subject", "safety", "pass", "score"}

const (
	verdictEvaluator = iota
	verdictVote
	verdictArm
	verdictCriterion
	verdictVerdict
	verdictSubject // those before are numbered
	verdictSafety
	verdictPass
	verdictScore
)

// readVerdicts reads the final verdicts of a run's part, row group by row group. Its subjects need not be known yet.
func readVerdicts(ctx context.Context, st store.Store, run schema.Run, exact bool) ([]verdictBlock, error) {
	q := table.Query{Columns: verdictColumns, Where: [2]string{"evaluator", run.Evaluator}}
	var mu sync.Mutex
	var out []verdictBlock
	err := table.Scan(ctx, st, schema.Verdicts.RunKey(run.RunID), q, func(g *table.Group) error {
		r := verdictRows{exact: exact}
		if err := r.read(g, run.Evaluator); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		out = append(out, r.block)
		return nil
	})
	return out, err
}

// verdictBlock is the final verdicts of a row group, those on one subject after the other.
type verdictBlock struct {
	criteria []string
	safety   []bool          // of criteria
	verdicts []packedVerdict // in order
	starts   []int32         // of subjects, in verdicts
	scores   []blockScore
	// ids are the subjects, where they were read. Else the first and the last are known, as the statistics say.
	ids         []string
	first, last string
}

// packedVerdict is the number of a criterion of the block and a result: there may be very many.
type packedVerdict uint32

func pack(criterion int32, r result) packedVerdict {
	return packedVerdict(criterion)<<8 | packedVerdict(r)
}

func (p packedVerdict) criterion() int32 { return int32(p >> 8) }
func (p packedVerdict) result() result   { return result(p) }

type blockScore struct {
	subject, criterion int32 // of the block
	score              float64
}

// verdictRows reads a row group.
type verdictRows struct {
	exact        bool // read the subjects
	block        verdictBlock
	text         [verdictSubject]table.Text
	subject      []int32 // in subjects
	subjects     *table.Strings
	safety, pass []int8
	score        []float64
}

func (r *verdictRows) read(g *table.Group, evaluator string) (err error) {
	for i := range r.text {
		if r.text[i], err = g.Text(i); err != nil {
			return err
		}
		if i == verdictVote && !(slices.Contains(r.text[verdictEvaluator].Words, evaluator) && slices.Contains(r.text[verdictVote].Words, "final")) {
			return nil
		}
	}
	if r.safety, err = g.Flags(verdictSafety); err != nil {
		return err
	}
	if slices.Contains(r.text[verdictVerdict].Words, string(judge.Scored)) {
		if r.pass, err = g.Flags(verdictPass); err != nil {
			return err
		}
		if r.score, err = g.Floats(verdictScore); err != nil {
			return err
		}
	}
	if !r.exact && r.countSubjects(g, evaluator) {
		return nil
	}
	if r.subject, r.subjects, err = g.Codes(verdictSubject); err != nil {
		return err
	}
	r.gather(g.Rows(), evaluator, nil)
	return nil
}

// countSubjects tells subjects apart without their names, which are most of the bytes: rows lie in the order of subjects and, below, of
// criteria, so that where a criterion is smaller than the one before another subject begins. It answers false where that is no proof:
// unless all have the same first criterion and as many verdicts, but for the first and the last of the row group, which may be cut.
func (r *verdictRows) countSubjects(g *table.Group, evaluator string) bool {
	first, last, ok := g.Bounds(verdictSubject)
	words := r.text[verdictCriterion].Words
	if !ok || len(r.text[verdictEvaluator].Words) != 1 || slices.ContainsFunc(r.text[verdictArm].Words, func(arm string) bool { return arm != "" }) {
		return false
	}
	rank := make([]int32, len(words))
	sorted := slices.Sorted(slices.Values(words))
	for i, w := range words {
		at, _ := slices.BinarySearch(sorted, w)
		rank[i] = int32(at)
	}
	r.gather(g.Rows(), evaluator, rank)
	b := &r.block
	for i := 1; i < len(b.starts); i++ {
		if b.verdicts[b.starts[i]].criterion() != b.verdicts[b.starts[1]].criterion() {
			return false
		}
		size := b.starts[i] - b.starts[i-1]
		if usual := b.starts[min(2, len(b.starts)-1)] - b.starts[1]; len(b.starts) > 2 && (i > 1 && size != usual || i == 1 && size > usual) {
			return false
		}
	}
	b.first, b.last = first, last
	return true
}

// gather packs the rows of the evaluator. A row is about another subject than the row before that counts where its subject or arm is
// another or, with ranks of the criteria, where its criterion comes before that of the other.
func (r *verdictRows) gather(n int, evaluator string, rank []int32) {
	words := r.text[verdictVerdict].Words
	results, scored := make([]result, len(words)), make([]bool, len(words))
	for i, w := range words {
		results[i], scored[i] = resultOf(judge.Verdict(w)), w == string(judge.Scored)
	}
	b := &r.block
	*b = verdictBlock{criteria: r.text[verdictCriterion].Words, safety: make([]bool, len(r.text[verdictCriterion].Words)), verdicts: make([]packedVerdict, 0, n)}
	ours, final := int32(slices.Index(r.text[verdictEvaluator].Words, evaluator)), int32(slices.Index(r.text[verdictVote].Words, "final"))
	evaluators, votes, verdicts, criteria := r.text[verdictEvaluator].Code, r.text[verdictVote].Code, r.text[verdictVerdict].Code, r.text[verdictCriterion].Code
	whole := r.text[verdictEvaluator].Same && r.text[verdictVote].Same && ours == 0 && final == 0 // every row counts
	if whole && rank != nil && !slices.Contains(scored, true) {
		r.gatherAll(n, rank, results)
		return
	}
	arms, before := r.text[verdictArm].Code, -1
	for i := range n {
		if !whole && (evaluators[i] != ours || votes[i] != final) {
			continue
		}
		begins := before < 0
		switch {
		case begins:
		case rank != nil:
			begins = rank[criteria[i]] < rank[criteria[before]]
		default:
			begins = r.subject[i] != r.subject[before] || arms[i] != arms[before]
		}
		if begins {
			b.starts = append(b.starts, int32(len(b.verdicts)))
			if r.subjects != nil {
				b.ids = append(b.ids, subjectID(string(r.subjects.Value(int(r.subject[i]))), r.text[verdictArm].Value(i)))
			}
		}
		before = i
		out := results[verdicts[i]]
		if scored[verdicts[i]] {
			out = r.addScore(i)
		}
		if r.safety[i] == 1 {
			b.safety[criteria[i]] = true
		}
		b.verdicts = append(b.verdicts, pack(criteria[i], out))
	}
}

// gatherAll is gather where every row counts, none has a score and subjects are told apart by their criteria: the rule for large runs.
func (r *verdictRows) gatherAll(n int, rank []int32, results []result) {
	b := &r.block
	criteria, verdicts, safety := r.text[verdictCriterion].Code[:n], r.text[verdictVerdict].Code[:n], r.safety[:n]
	packed := make([]packedVerdict, len(results)) // by verdict, without the criterion
	for i, x := range results {
		packed[i] = pack(0, x)
	}
	b.verdicts = b.verdicts[:n]
	before := int32(len(rank)) // after all of them: the first row begins a subject
	for i, c := range criteria {
		at := rank[c]
		if at < before {
			b.starts = append(b.starts, int32(i))
		}
		before = at
		if safety[i] == 1 {
			b.safety[c] = true
		}
		b.verdicts[i] = pack(c, 0) | packed[verdicts[i]]
	}
}

func (r *verdictRows) addScore(row int) result {
	if s := r.score[row]; !math.IsNaN(s) {
		b := &r.block
		b.scores = append(b.scores, blockScore{int32(len(b.starts) - 1), r.text[verdictCriterion].Code[row], s})
	}
	switch r.pass[row] {
	case 1:
		return resultMet
	case 0:
		return resultNotMet
	}
	return resultOther
}
