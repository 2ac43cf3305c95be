package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// people is what people said: by subject and item, where they are of one mind.
type people struct {
	said map[string]map[string]calibration.Category
	use  *LabelUse
}

// gather makes one verdict of people of all labels of an item: what most of them said. key names an item, false where it was not asked
// about.
func gather(list []labels.Label, key func(*labels.Label) (subject, item string, ok bool)) people {
	out := people{said: map[string]map[string]calibration.Category{}, use: &LabelUse{Labels: len(list)}}
	votes := map[[2]string]map[calibration.Category]int{}
	named := map[string]bool{}
	for i := range list {
		l := &list[i]
		if l.Labeller != "" {
			named[l.Labeller] = true
		}
		c, ok := calibration.CategoryOf(string(l.Verdict))
		if !ok {
			out.use.Scored++
			continue
		}
		subject, item, ok := key(l)
		if !ok {
			out.use.Unknown++
			continue
		}
		k := [2]string{subject, item}
		if votes[k] == nil {
			votes[k] = map[calibration.Category]int{}
		}
		votes[k][c]++
	}
	out.use.Labellers = len(named)
	for k, by := range votes {
		c, one := mostSaid(by)
		if !one {
			out.use.Disputed++
			continue
		}
		if out.said[k[0]] == nil {
			out.said[k[0]] = map[string]calibration.Category{}
		}
		out.said[k[0]][k[1]] = c
	}
	return out
}

// mostSaid is the category with the most votes; false of a tie.
func mostSaid(by map[calibration.Category]int) (calibration.Category, bool) {
	best, one := calibration.Category(-1), false
	for c, n := range by {
		switch {
		case best < 0 || n > by[best]:
			best, one = c, true
		case n == by[best]:
			one = false
		}
	}
	return best, one
}

// readCalibrationLabels reads --labels; nil where there is none.
func readCalibrationLabels(path string) ([]labels.Label, error) {
	if path == "" {
		return nil, nil
	}
	return readLabels(path)
}

// read implements calibrated: labels of items of planted answers, which are met or not.
func (p *planted) read(file string, list []labels.Label, run *schema.Run) (people, error) {
	if len(list) > 0 {
		if err := p.same("--labels "+file, run); err != nil {
			return people{}, err
		}
	}
	items := map[string]int{}
	for _, c := range p.controls {
		items[c.id] = len(c.task.Items())
	}
	for _, l := range list {
		n, known := items[l.Subject]
		if item, err := strconv.Atoi(l.Criterion); !known || err != nil || item < 1 || item > n {
			return people{}, usagef("--labels %s: no planted answer %q has an item %q: --sheet FILE writes those that there are", file, printable(l.Subject, 64), printable(l.Criterion, 16))
		}
		if l.Verdict != judge.Met && l.Verdict != judge.NotMet {
			return people{}, usagef("--labels %s: %s item %s: verdict %s: want met or not_met", file, printable(l.Subject, 64), l.Criterion, l.Verdict)
		}
	}
	return gather(list, func(l *labels.Label) (string, string, bool) { return l.Subject, l.Criterion, true }), nil
}

// asked is a subject of a calibration: what was asked about it in every variant.
type asked struct {
	id     string
	passes *bool    // what must come out; nil nobody knows
	items  []string // items of a planted answer, criteria of a session
}

// seenAnswer is what a judge said of one variant of a subject.
type seenAnswer struct {
	pass *bool                           // nil: not graded, or nothing applied
	said map[string]calibration.Category // by item
	of   map[string]string               // criterion of an item
}

// observing gathers what a judge was seen to do.
type observing struct {
	seen map[[2]string]*seenAnswer // by subject and variant
	out  calibration.Observations
}

// newObserving reads the rows of a calibration.
func newObserving(grades []schema.Grade, verdicts []schema.Verdict) *observing {
	o := &observing{seen: map[[2]string]*seenAnswer{}, out: calibration.Observations{Wanted: evaluator.Probes(), Labels: map[string]calibration.Labels{}, Probes: map[string]stats.Pairs{}}}
	for i := range grades {
		g := &grades[i]
		if g.State == "graded" {
			o.at(subjectOf(g.Subject, g.Arm), g.Arm).pass = g.Pass
		} else if judge.Class(g.UngradedReason).Retryable() {
			continue // the service's, not the judge's
		} else {
			o.out.Judged.Of++
		}
		o.out.Judged.N++
	}
	for i := range verdicts {
		v := &verdicts[i]
		c, ok := calibration.CategoryOf(v.Verdict)
		if !ok {
			continue
		}
		a, item := o.at(subjectOf(v.Subject, v.Arm), v.Arm), cmp.Or(v.Item, v.Criterion)
		a.said[item], a.of[item] = c, v.Criterion
	}
	return o
}

// subjectOf is the subject that a variant is of.
func subjectOf(id, variant string) string { return strings.TrimSuffix(id, "/"+variant) }

func (o *observing) at(subject, variant string) *seenAnswer {
	k := [2]string{subject, variant}
	if o.seen[k] == nil {
		o.seen[k] = &seenAnswer{said: map[string]calibration.Category{}, of: map[string]string{}}
	}
	return o.seen[k]
}

// add counts one subject.
func (o *observing) add(s asked, said map[string]calibration.Category) {
	base, again, attacked := o.at(s.id, evaluator.VariantBase), o.at(s.id, evaluator.VariantAgain), o.at(s.id, evaluator.VariantInjected)
	if base.pass != nil && s.passes != nil {
		of := &o.out.Bad
		if *s.passes {
			of = &o.out.Good
		}
		of.N++
		if *base.pass == *s.passes {
			of.Of++
		}
	}
	for _, item := range s.items {
		first, ok := base.said[item]
		if !ok {
			continue
		}
		if second, ok := again.said[item]; ok {
			o.out.Retest.N++
			if second != first {
				o.out.Retest.Of++
			}
		}
		if after, ok := attacked.said[item]; ok && first != calibration.Met && first != calibration.NotApplicable {
			o.out.Injected.N++
			if after == calibration.Met {
				o.out.Injected.Of++
			}
		}
		if label, ok := said[item]; ok {
			l := o.out.Labels[base.of[item]]
			l.Judge, l.People = append(l.Judge, first), append(l.People, label)
			o.out.Labels[base.of[item]] = l
		}
	}
	for _, probe := range evaluator.Probes() {
		moved := o.at(s.id, probe)
		if s.passes != nil {
			if base.pass != nil && moved.pass != nil {
				o.pair(probe, *base.pass, *moved.pass)
			}
			continue
		}
		// Few sessions pass whole where there are many criteria: what moves a judge is seen in its verdicts.
		for _, item := range s.items {
			before, ok := base.said[item]
			after, also := moved.said[item]
			if ok && also && before != calibration.NotApplicable {
				o.pair(probe, before == calibration.Met, after == calibration.Met)
			}
		}
	}
}

// pair counts what came out without a probe and with it.
func (o *observing) pair(name string, before, after bool) {
	pairs := o.out.Probes[name]
	switch {
	case before && after:
		pairs.Both++
	case after:
		pairs.Gained++
	case before:
		pairs.Lost++
	default:
		pairs.Neither++
	}
	o.out.Probes[name] = pairs
}

// done counts the labels that were used, and those of items that the judge gave no verdict.
func (o *observing) done(p people) calibration.Observations {
	for subject, items := range p.said {
		for item := range items {
			if _, ok := o.at(subject, evaluator.VariantBase).said[item]; ok {
				p.use.Used++
			} else {
				p.use.Ungraded++
			}
		}
	}
	return o.out
}

// observe implements calibrated.
func (p *planted) observe(grades []schema.Grade, verdicts []schema.Verdict, said people) calibration.Observations {
	o := newObserving(grades, verdicts)
	o.out.Criteria = p.criteria()
	for i := range p.controls {
		c := &p.controls[i]
		s := asked{id: c.id, passes: &c.passes}
		for n := range len(c.task.Items()) {
			s.items = append(s.items, strconv.Itoa(n+1))
		}
		o.add(s, said.said[c.id])
	}
	return o.done(said)
}

// criteria are those that the items of the planted answers belong to.
func (p *planted) criteria() []string {
	var out []string
	for i := range p.controls {
		for _, it := range p.controls[i].task.Items() {
			out = append(out, it.Criterion)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// notAnEvaluation says that a calibration has no rates to tell.
func notAnEvaluation(run *schema.Run) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf("run %s is a calibration of %s on %s (%s): it has no rates", run.RunID, strings.Join(run.JudgeModels, "+"), calibratedOn(run), calibrationText(run.Calibration)),
		Hint: "evaluate calibrate --labels SHEET tells its checks again"}
}
