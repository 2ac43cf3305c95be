package pipeline

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// LabelAgreement is how the judge's verdicts stand beside those of people, on one criterion or, with "", on all.
type LabelAgreement struct {
	Criterion   string         `json:"criterion"`
	Items       int            `json:"items"`
	Categories  []string       `json:"categories"`
	Confusion   [][]int        `json:"confusion"` // [person][judge]
	Raw         *float64       `json:"raw_agreement"`
	AC1         *float64       `json:"ac1"`
	Kappa       *float64       `json:"kappa"` // null where it does not exist
	KappaNote   string         `json:"kappa_note,omitempty"`
	Accuracy    stats.Accuracy `json:"accuracy"` // of Met against Not met
	Corrected   *Corrected     `json:"corrected,omitempty"`
	CorrectNote string         `json:"corrected_note,omitempty"`
}

// Corrected is a rate that takes the judge's known errors into account: an extra, never the number of a report.
type Corrected struct {
	Rate   float64 `json:"rate"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Level  float64 `json:"level"`
	Method string  `json:"method"`
	N      int     `json:"n"`
}

// LabelSummary is what became of a file of labels.
type LabelSummary struct {
	File       string           `json:"file"`
	Labels     int              `json:"labels"`
	Used       int              `json:"used"`
	Unknown    int              `json:"unknown"`  // of sessions or criteria that the run did not judge
	Disputed   int              `json:"disputed"` // people disagree: not used
	Ungraded   int              `json:"ungraded"` // the judge gave no verdict
	Scored     int              `json:"scored"`   // of criteria with scores, which are not set beside the judge's
	Agreements []LabelAgreement `json:"agreements"`
}

// labelVerdicts are the categories of an agreement table, in its order.
var labelVerdicts = []string{string(judge.Met), string(judge.NotMet), string(judge.NotApplicable), string(judge.Unclear)}

// readLabels reads a file of labels: a filled sheet of export --to labels, or a person's own.
func readLabels(path string) ([]labels.Label, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--labels: %w", err)
	}
	defer f.Close()
	out, err := labels.Read(f)
	if err != nil {
		return nil, usagef("--labels %s: %w", path, err)
	}
	if len(out) == 0 {
		return nil, usagef("--labels %s: no label: no row has a verdict; fill in met, not_met, not_applicable or unclear in a sheet of export --to labels, or give lines of JSON or CSV with session, criterion and verdict", path)
	}
	return out, nil
}

// metricCorrected labels rates that were corrected for the judge's errors.
const metricCorrected = "met_rate_corrected"

// label sets the labels of people beside the verdicts of the main part.
func (a *aggregation) label(ctx context.Context) error {
	c := &a.cfg.Aggregate
	if c.Labels == "" {
		return nil
	}
	people, err := readLabels(c.Labels)
	if err != nil {
		return err
	}
	ids, err := sessionIDs(ctx, a.root, a.sum.main.run)
	if err != nil {
		return err
	}
	said, err := saidOf(ctx, a.root.Store, a.sum.main.run, people, ids)
	if err != nil {
		return err
	}
	if a.sum.Labels, err = agree(people, said, ids, a.sum.main.numbers, c.Level); err == nil {
		a.sum.Labels.File = c.Labels
	}
	return err
}

// sessionIDs are the keys of a run's sessions by their own ids. The same id in two services names neither.
func sessionIDs(ctx context.Context, root *Root, run schema.Run) (map[string]string, error) {
	type graded struct {
		Evaluator  string `parquet:"evaluator,dict"`
		SessionKey string `parquet:"session_key,optional"`
		Dt         string `parquet:"dt,optional,dict"`
	}
	grades, err := table.ReadWhere(ctx, root.Store, schema.Grades.RunKey(run.RunID), func(g *graded) bool { return g.Evaluator == run.Evaluator && g.SessionKey != "" })
	if err != nil {
		return nil, fmt.Errorf("read grades: %w", err)
	}
	wanted, objects := map[string]bool{}, map[string]bool{}
	for _, g := range grades {
		b, err := root.Layout.Bucket(g.SessionKey)
		if err != nil {
			return nil, err
		}
		wanted[g.SessionKey], objects[schema.Sessions.DayKey(g.Dt, b)] = true, true
	}
	ids, twice := map[string]string{}, map[string]bool{}
	for key := range objects {
		rows, err := table.ReadWhere(ctx, root.Store, key, func(s *sessionName) bool { return wanted[s.SessionKey] && s.SessionID != "" })
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		for _, r := range rows {
			_, seen := ids[r.SessionID]
			ids[r.SessionID], twice[r.SessionID] = r.SessionKey, seen || twice[r.SessionID]
		}
	}
	maps.DeleteFunc(ids, func(id, _ string) bool { return twice[id] })
	return ids, nil
}

// saidOf is what the run says of the sessions that labels name: verdicts by session key and criterion.
func saidOf(ctx context.Context, st store.Store, run schema.Run, list []labels.Label, ids map[string]string) (map[[2]string]string, error) {
	type verdict struct {
		Evaluator  string `parquet:"evaluator,dict"`
		Vote       string `parquet:"vote,dict"`
		Arm        string `parquet:"arm,dict"`
		Item       string `parquet:"item,dict"`
		SessionKey string `parquet:"session_key,optional"`
		Criterion  string `parquet:"criterion,dict"`
		Verdict    string `parquet:"verdict,dict"`
	}
	named := map[string]bool{}
	for _, l := range list {
		named[keyOr(ids, l.Subject)] = true
	}
	rows, err := table.ReadWhere(ctx, st, schema.Verdicts.RunKey(run.RunID), func(v *verdict) bool {
		return v.Evaluator == run.Evaluator && v.Vote == "final" && v.Item == "" && v.Arm == "" && named[v.SessionKey]
	})
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	out := make(map[[2]string]string, len(rows))
	for _, v := range rows {
		out[[2]string{v.SessionKey, v.Criterion}] = v.Verdict
	}
	return out, nil
}

// keyOr is the key of the session of this id, or the name itself, which may be a key.
func keyOr(ids map[string]string, name string) string {
	if key, ok := ids[name]; ok {
		return key
	}
	return name
}

// agree sets labels beside a part's final verdicts, which are by session key and criterion. ids names sessions by their own ids.
func agree(list []labels.Label, said map[[2]string]string, ids map[string]string, n *numbers, level float64) (*LabelSummary, error) {
	out := &LabelSummary{Labels: len(list)}
	people := map[[2]string]string{}
	disputed := map[[2]string]bool{}
	var order [][2]string
	for _, l := range list {
		key := [2]string{keyOr(ids, l.Subject), l.Criterion}
		if l.Verdict == judge.Scored {
			out.Scored++
			continue
		}
		if _, ok := said[key]; !ok {
			out.Unknown++
			continue
		}
		before, seen := people[key]
		switch {
		case !seen:
			people[key] = string(l.Verdict)
			order = append(order, key)
		case before != string(l.Verdict):
			disputed[key] = true
		}
	}
	rated := map[string][2][]int{} // by criterion
	for _, key := range order {
		j := slices.Index(labelVerdicts, said[key])
		switch {
		case disputed[key]:
			out.Disputed++
			continue
		case j < 0:
			out.Ungraded++
			continue
		}
		out.Used++
		p := slices.Index(labelVerdicts, people[key])
		for _, c := range []string{"", key[1]} {
			r := rated[c]
			r[0], r[1] = append(r[0], p), append(r[1], j)
			rated[c] = r
		}
	}
	var criteria []string
	for c := range rated {
		criteria = append(criteria, c)
	}
	slices.Sort(criteria)
	for _, c := range criteria {
		a, err := agreement(c, rated[c][0], rated[c][1])
		if err != nil {
			return nil, err
		}
		if t := n.find("criterion", c, metricMetRate); t != nil && c != "" {
			if err := a.correct(t, level); err != nil {
				return nil, err
			}
		}
		out.Agreements = append(out.Agreements, a)
	}
	return out, nil
}

func agreement(criterion string, people, judge []int) (LabelAgreement, error) {
	a := LabelAgreement{Criterion: criterion, Items: len(people), Categories: labelVerdicts}
	t, err := stats.Table(people, judge, len(labelVerdicts))
	if err != nil {
		return a, err
	}
	a.Confusion = t
	const yes, no = 0, 1
	a.Accuracy.Positives, a.Accuracy.Negatives = t[yes][yes]+t[yes][no], t[no][yes]+t[no][no]
	if a.Accuracy.Positives > 0 {
		a.Accuracy.Sensitivity = float64(t[yes][yes]) / float64(a.Accuracy.Positives)
	}
	if a.Accuracy.Negatives > 0 {
		a.Accuracy.Specificity = float64(t[no][no]) / float64(a.Accuracy.Negatives)
	}
	ac1, err := stats.GwetAC(stats.Used(t), stats.Nominal)
	if _, undefined := asUndefined(err); err != nil && !undefined {
		return a, err
	} else if err == nil {
		a.AC1 = &ac1.Coefficient
	}
	a.Raw = &ac1.Observed
	kappa, err := stats.CohenKappa(t, stats.Nominal)
	undefined, ok := asUndefined(err)
	switch {
	case ok:
		a.KappaNote, a.Raw = undefined.Reason, &kappa.Observed
	case err != nil:
		return a, err
	default:
		a.Kappa, a.Raw = &kappa.Coefficient, &kappa.Observed
	}
	return a, nil
}

// correct corrects the criterion's rate for the errors that the labels show. It needs labels of both kinds.
func (a *LabelAgreement) correct(t *tally, level float64) error {
	switch {
	case t.n() == 0:
		a.CorrectNote = "the criterion has no rate"
		return nil
	case a.Accuracy.Positives == 0 || a.Accuracy.Negatives == 0:
		a.CorrectNote = "needs labels of both kinds, met and not met"
		return nil
	}
	rate, n := float64(t.met)/float64(t.n()), t.n()
	if t.weighted { // the rate that is printed, with the observations that its sample amounts to
		est, err := t.estimate(level)
		if undefined, ok := asUndefined(err); ok {
			a.CorrectNote = undefined.Reason
			return nil
		}
		if err != nil {
			return err
		}
		rate, n = est.Value, max(1, min(n, int(est.Effective)))
	}
	e, err := stats.RoganGladen(rate, n, a.Accuracy, level)
	if undefined, ok := asUndefined(err); ok {
		a.CorrectNote = undefined.Reason
		return nil
	}
	if err != nil {
		return err
	}
	a.Corrected = &Corrected{e.Value, e.Interval.Low, e.Interval.High, level, e.Interval.Method, n}
	return nil
}

// correctedRows are the corrected rates as aggregates, beside the uncorrected ones and never primary.
func correctedRows(s *LabelSummary, aggs []schema.Aggregate) []schema.Aggregate {
	var out []schema.Aggregate
	for _, a := range s.Agreements {
		i := slices.IndexFunc(aggs, func(x schema.Aggregate) bool {
			return x.Primary && x.GroupBy == "criterion" && x.Metric == metricMetRate && x.Criterion == a.Criterion
		})
		if a.Corrected == nil || i < 0 {
			continue
		}
		row := aggs[i]
		row.Metric, row.Method, row.Primary, row.FallbackFrom = metricCorrected, a.Corrected.Method, false, ""
		row.Estimate, row.Low, row.High = new(a.Corrected.Rate), new(a.Corrected.Low), new(a.Corrected.High)
		row.Worst, row.Best, row.AdjustedP, row.BaselineRun, row.Change, row.ChangeLow, row.ChangeHigh, row.DetectableChange = nil, nil, nil, "", nil, nil, nil, nil
		weighted := ""
		if strings.HasPrefix(row.Reason, weightedReason) {
			weighted = weightedReason + "; "
		}
		row.Reason = weighted + fmt.Sprintf("corrected for judge errors seen in %d labels: sensitivity %.3f of %d, specificity %.3f of %d", a.Items, a.Accuracy.Sensitivity, a.Accuracy.Positives, a.Accuracy.Specificity, a.Accuracy.Negatives)
		out = append(out, row)
	}
	return out
}

// Flip is how often the judge changed its mind on the same question.
type Flip struct {
	Criterion string  `json:"criterion"` // "": all
	Between   string  `json:"between"`   // repeats: of one judge; judges: of a panel
	Items     int     `json:"items"`
	Repeats   int     `json:"repeats"` // answers to one question that were compared
	Rate      float64 `json:"rate"`    // share of pairs of them that differ
}

// What the answers of a Flip differ in.
const (
	betweenRepeats = "repeats"
	betweenJudges  = "judges"
)

// flips compares the repeats of a run with each other, and the judges of its panel.
func flips(ctx context.Context, st store.Store, run schema.Run) ([]Flip, error) {
	if run.Repeat < 2 && len(run.JudgeModels) < 2 {
		return nil, nil
	}
	votes, err := table.ReadWhere(ctx, st, schema.Verdicts.RunKey(run.RunID), func(v *oneVote) bool { return v.Vote == "one" && v.Evaluator == run.Evaluator })
	if err != nil {
		return nil, fmt.Errorf("read repeats: %w", err)
	}
	var out []Flip
	if run.Repeat > 1 {
		if out, err = flipsOf(betweenRepeats, int(run.Repeat), votes); err != nil {
			return nil, err
		}
	}
	if len(run.JudgeModels) < 2 {
		return out, nil
	}
	judges, err := flipsOf(betweenJudges, len(run.JudgeModels), votes)
	return append(out, judges...), err
}

// oneVote is what a flip rate needs of a verdict.
type oneVote struct {
	Evaluator string `parquet:"evaluator,dict"`
	Vote      string `parquet:"vote,dict"`
	Subject   string `parquet:"subject"`
	Arm       string `parquet:"arm,dict"`
	Item      string `parquet:"item,dict"`
	Criterion string `parquet:"criterion,dict"`
	Verdict   string `parquet:"verdict,dict"`
	Judge     string `parquet:"judge_model,dict"`
	Repeat    int32  `parquet:"repeat"`
}

// flipsOf compares the answers to each question that differ in nothing but what between names.
func flipsOf(between string, answers int, verdicts []oneVote) ([]Flip, error) {
	votes := map[[5]string][]int{}
	number := map[string]int{}
	for _, v := range verdicts {
		if v.Verdict == "ungraded" {
			continue
		}
		if _, ok := number[v.Verdict]; !ok {
			number[v.Verdict] = len(number)
		}
		key := [5]string{v.Criterion, v.Subject, v.Arm, v.Item, v.Judge}
		if between == betweenJudges {
			key[4] = strconv.Itoa(int(v.Repeat))
		}
		votes[key] = append(votes[key], number[v.Verdict])
	}
	type pile struct {
		first, second []int
		items         int
	}
	piles := map[string]*pile{}
	for key, v := range votes {
		if len(v) < 2 {
			continue
		}
		for _, c := range []string{"", key[0]} {
			p := piles[c]
			if p == nil {
				p = new(pile)
				piles[c] = p
			}
			p.items++
			for i := range v {
				for j := range i {
					p.first, p.second = append(p.first, v[j]), append(p.second, v[i])
				}
			}
		}
	}
	var out []Flip
	for c, p := range piles {
		rate, err := stats.FlipRate(p.first, p.second)
		if err != nil {
			return nil, err
		}
		out = append(out, Flip{c, between, p.items, answers, rate})
	}
	slices.SortFunc(out, func(a, b Flip) int { return strings.Compare(a.Criterion, b.Criterion) })
	return out, nil
}

// unused says which labels were not used, "" where all were.
func (s *LabelSummary) unused() string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{s.Unknown, "of sessions or criteria that this run did not judge"}, {s.Disputed, "where people disagree"}, {s.Ungraded, "without a verdict"}, {s.Scored, "scores, which are not compared"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	return strings.Join(parts, ", ")
}

func (s *LabelSummary) writeText(w io.Writer) {
	fmt.Fprintf(w, "\nJudge beside people: %d of %d labels used", s.Used, s.Labels)
	if unused := s.unused(); unused != "" {
		fmt.Fprintf(w, ", %s", unused)
	}
	fmt.Fprintln(w)
	num := func(p *float64) string {
		if p == nil {
			return "-"
		}
		return fmt.Sprintf("%.3f", *p)
	}
	for _, a := range s.Agreements {
		name := a.Criterion
		if name == "" {
			name = "all criteria"
		}
		fmt.Fprintf(w, "  %-32s %4d labels  agree %s  AC1 %s  kappa %s\n", printable(name, 48), a.Items, num(a.Raw), num(a.AC1), num(a.Kappa))
		for i, row := range a.Confusion {
			for j, n := range row {
				if n > 0 && i != j {
					fmt.Fprintf(w, "      %d: people %s, judge %s\n", n, a.Categories[i], a.Categories[j])
				}
			}
		}
		switch {
		case a.Corrected != nil:
			fmt.Fprintf(w, "      corrected for judge errors: %.1f%% (%.1f–%.1f%%), %s: an extra, not the rate above\n", 100*a.Corrected.Rate, 100*a.Corrected.Low, 100*a.Corrected.High, a.Corrected.Method)
		case a.CorrectNote != "":
			fmt.Fprintf(w, "      not corrected: %s\n", a.CorrectNote)
		}
	}
}
