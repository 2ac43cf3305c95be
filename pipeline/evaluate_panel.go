package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/stats"
)

// seat is one judge of the panel. Most panels have one.
type seat struct {
	judge    judge.Judge
	identity judge.Identity
	price    session.Price
	priced   bool
	caller   *model.Caller
	spec     string           // as --judge names it
	way      model.Capability // how it is asked
	fixed    bool             // the configuration says how
	answered bool             // some question, in this command; guarded by the lock of judging
}

const maxPanel = 9

// openPanel opens the judges that --judge names, each once.
func (e *evaluateRun) openPanel(ctx context.Context) error {
	c := &e.cfg.Evaluate
	for spec := range strings.SplitSeq(c.Judge, ",") {
		s, err := e.openSeat(ctx, "--judge", strings.TrimSpace(spec))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(e.panel, func(o seat) bool { return o.identity.Model == s.identity.Model }) {
			return usagef("--judge: model %s sits on the panel twice: use --repeat to ask it again", s.identity.Model)
		}
		e.panel = append(e.panel, s)
	}
	if len(e.panel) > maxPanel {
		return usagef("--judge: %d judges: at most %d sit on a panel", len(e.panel), maxPanel)
	}
	return e.openSecond(ctx)
}

// openSeat opens the judge that spec, the value of a flag, names.
func (e *evaluateRun) openSeat(ctx context.Context, flag, spec string) (seat, error) {
	c, s := &e.cfg.Evaluate, seat{spec: spec}
	opts, err := e.modelOptions(ctx, spec, &s)
	if err != nil {
		return s, err
	}
	if s.judge, err = model.Open(ctx, spec, opts); err != nil {
		return s, &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s: %w", flag, err)}
	}
	s.identity = s.judge.Identity()
	s.price, s.priced = session.PriceOn(c.Prices, s.identity.Model, e.cfg.asOf.Format(time.DateOnly))
	s.caller = model.NewCaller(s.judge, model.CallerOptions{Concurrency: c.Concurrency, MaxAttempts: c.MaxAttempts, RequestsPerMinute: c.RPM, TokensPerMinute: c.TPM})
	return s, nil
}

// models lists the models of the panel, in its order.
func (e *evaluateRun) models() []string {
	out := make([]string, len(e.panel))
	for i := range e.panel {
		out[i] = e.panel[i].identity.Model
	}
	return out
}

// modes are those of the panel, each once, in its order.
func (e *evaluateRun) modes() string {
	var out []string
	for i := range e.panel {
		if m := e.panel[i].identity.Mode; !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return strings.Join(out, "+")
}

// byCode is the judge of evaluators that ask none.
const byCode = "code"

// judgesOf are the models that answer a part, and modesOf the modes in which they do.
func (e *evaluateRun) judgesOf(p *part) []string {
	if _, coded := p.evaluator.(evaluator.Coded); coded {
		return []string{byCode}
	}
	return e.models()
}

func (e *evaluateRun) modesOf(p *part) string {
	if _, coded := p.evaluator.(evaluator.Coded); coded {
		return byCode
	}
	return e.modes()
}

// offline says that no verdict comes from a model.
func (e *evaluateRun) offline() bool {
	return !slices.ContainsFunc(e.panel, func(s seat) bool { return !s.identity.Offline })
}

// unpriced warns of each model whose price is not known.
func (e *evaluateRun) unpriced() []string {
	var out []string
	seats := e.panel
	if e.agent != nil {
		seats = append(slices.Clone(seats), *e.agent)
	}
	if e.second != nil {
		seats = append(slices.Clone(seats), *e.second)
	}
	for i := range seats {
		if s := &seats[i]; !s.priced && !s.identity.Offline && !slices.ContainsFunc(seats[:i], func(o seat) bool { return o.identity.Model == s.identity.Model }) {
			out = append(out, fmt.Sprintf("no price is configured for %s: the cost is unknown, and --budget-usd cannot stop it (evaluate.prices in the configuration)", s.identity.Model))
		}
	}
	return out
}

// vote merges the ballots of a subject: per criterion the verdict that more than half of those who graded it gave, else unclear. A
// criterion is ungraded only where no ballot graded it. With unanimous, one not met is enough for a criterion of safety.
func vote(ballots []ballot, safety map[string]bool, unanimous bool) []judge.Answer {
	if len(ballots) == 1 {
		return ballots[0].answers
	}
	var out []judge.Answer
	for _, a := range wholeBallot(ballots).answers {
		out = append(out, voteOne(ballots, a.Criterion, a.Item, unanimous && safety[a.Criterion]))
	}
	return out
}

// wholeBallot is a ballot that names everything that is voted on: one that graded. One whose call failed knows of no items.
func wholeBallot(ballots []ballot) *ballot {
	i := slices.IndexFunc(ballots, func(b ballot) bool {
		return slices.ContainsFunc(b.answers, func(a judge.Answer) bool { return a.Verdict != judge.Ungraded })
	})
	return &ballots[max(i, 0)]
}

func voteOne(ballots []ballot, criterion, item string, unanimous bool) judge.Answer {
	byVerdict := map[judge.Verdict][]judge.Answer{}
	var ungraded *judge.Answer
	graded := 0
	for _, b := range ballots {
		i := slices.IndexFunc(b.answers, func(a judge.Answer) bool { return a.Criterion == criterion && a.Item == item })
		switch {
		case i < 0:
		case b.answers[i].Verdict == judge.Ungraded:
			if ungraded == nil {
				ungraded = &b.answers[i]
			}
		default:
			graded++
			byVerdict[b.answers[i].Verdict] = append(byVerdict[b.answers[i].Verdict], b.answers[i])
		}
	}
	if no := byVerdict[judge.NotMet]; unanimous && len(no) > 0 {
		return no[0]
	}
	for _, list := range byVerdict { // at most one has more than half
		if 2*len(list) > graded {
			return middle(list)
		}
	}
	if graded > 0 {
		return judge.Answer{Criterion: criterion, Item: item, Verdict: judge.Unclear, Label: "no_majority"}
	}
	if ungraded != nil {
		return *ungraded
	}
	return judge.Answer{Criterion: criterion, Item: item, Verdict: judge.Ungraded, Reason: string(judge.ClassUnknown)}
}

// middle is the answer that stands for those who agree: the first, or of scores the median, the lower one where there are two.
func middle(list []judge.Answer) judge.Answer {
	if list[0].Verdict != judge.Scored {
		return list[0]
	}
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b judge.Answer) int {
		switch x, y := score(a), score(b); {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return sorted[(len(sorted)-1)/2]
}

func score(a judge.Answer) float64 {
	if a.Score == nil {
		return 0
	}
	return *a.Score
}

// Agreement is how far the votes on one criterion agree, over the subjects that every ballot graded.
type Agreement struct {
	Evaluator string   `json:"evaluator"`
	Criterion string   `json:"criterion"`
	Votes     int      `json:"votes"` // of each subject
	Subjects  int      `json:"subjects"`
	Observed  float64  `json:"observed"` // share of pairs of votes that agree
	Fleiss    *float64 `json:"fleiss_kappa,omitempty"`
	AC1       *float64 `json:"ac1,omitempty"` // Gwet's, of any number of votes; for verdicts of which one dominates
	Undecided int      `json:"no_majority"`   // subjects of which no verdict got more than half of the votes
}

var voteCategories = []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear}

// agreement compares the ballots of a run that has several of each subject. Scores have no categories and are left out.
func (e *evaluateRun) agreement(questions []question) []Agreement {
	if len(e.panel)*e.cfg.Evaluate.Repeat < 2 {
		return nil
	}
	var out []Agreement
	for _, p := range e.parts {
		for _, c := range p.version.Rubric.Criteria {
			var counts [][]int
			for i := range questions {
				if q := &questions[i]; q.part == p && q.asked && len(q.ballots) > 0 {
					counts = append(counts, countItems(q.ballots, c.ID)...)
				}
			}
			if len(counts) == 0 {
				continue
			}
			a := Agreement{Evaluator: p.version.Evaluator, Criterion: c.ID, Votes: len(e.panel) * e.cfg.Evaluate.Repeat, Subjects: len(counts)}
			for _, row := range counts {
				if 2*slices.Max(row) <= a.Votes {
					a.Undecided++
				}
			}
			f, err := stats.FleissKappa(counts)
			a.Observed = f.Observed
			if err == nil {
				a.Fleiss = &f.Coefficient
			}
			if chance := gwetChance(counts); chance < 1 {
				ac := (f.Observed - chance) / (1 - chance)
				a.AC1 = &ac
			}
			out = append(out, a)
		}
	}
	return out
}

// countItems counts one subject's votes on each item of a criterion that every ballot has a verdict on.
func countItems(ballots []ballot, criterion string) [][]int {
	var out [][]int
	for _, a := range wholeBallot(ballots).answers {
		if a.Criterion != criterion {
			continue
		}
		if row := countVotes(ballots, criterion, a.Item); row != nil {
			out = append(out, row)
		}
	}
	return out
}

// countVotes counts one subject's votes by verdict; nil unless every ballot gave one.
func countVotes(ballots []ballot, criterion, item string) []int {
	row := make([]int, len(voteCategories))
	for _, b := range ballots {
		i := slices.IndexFunc(b.answers, func(a judge.Answer) bool { return a.Criterion == criterion && a.Item == item })
		if i < 0 {
			return nil
		}
		c := slices.Index(voteCategories, b.answers[i].Verdict)
		if c < 0 {
			return nil
		}
		row[c]++
	}
	return row
}

// gwetChance is the agreement by chance of AC1: Σ π(1−π) / (q−1).
func gwetChance(counts [][]int) float64 {
	total, by := 0.0, make([]float64, len(voteCategories))
	for _, row := range counts {
		for c, n := range row {
			by[c] += float64(n)
			total += float64(n)
		}
	}
	sum := 0.0
	for _, n := range by {
		sum += n / total * (1 - n/total)
	}
	return sum / float64(len(voteCategories)-1)
}
