package pipeline

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/schema"
)

// readPeople reads people's verdicts on the items of planted answers: by answer and item, what most of them said. Items on which they
// are split have no label.
func readPeople(path string, p *planted) (map[string]map[string]bool, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--labels: %w", err)
	}
	defer f.Close()
	list, err := labels.Read(f)
	if err != nil {
		return nil, usagef("--labels %s: %w", path, err)
	}
	items := map[string]int{}
	for _, c := range p.controls {
		items[c.id] = len(c.task.Items())
	}
	votes := map[[2]string]int{}
	for _, l := range list {
		n, known := items[l.Subject]
		if item, err := strconv.Atoi(l.Criterion); !known || err != nil || item < 1 || item > n {
			return nil, usagef("--labels %s: no planted answer %q has an item %q: --sheet FILE writes those that there are", path, printable(l.Subject, 64), printable(l.Criterion, 16))
		}
		switch l.Verdict {
		case judge.Met:
			votes[[2]string{l.Subject, l.Criterion}]++
		case judge.NotMet:
			votes[[2]string{l.Subject, l.Criterion}]--
		default:
			return nil, usagef("--labels %s: %s item %s: verdict %s: want met or not_met", path, printable(l.Subject, 64), l.Criterion, l.Verdict)
		}
	}
	out := map[string]map[string]bool{}
	for k, v := range votes {
		if v == 0 {
			continue
		}
		if out[k[0]] == nil {
			out[k[0]] = map[string]bool{}
		}
		out[k[0]][k[1]] = v > 0
	}
	return out, nil
}

// seenAnswer is what a judge said of one variant of a planted answer.
type seenAnswer struct {
	pass  *bool           // nil: not graded
	items map[string]bool // by number: met
	of    map[string]string
}

// observe gathers what the checks need.
func observe(p *planted, grades []schema.Grade, verdicts []schema.Verdict, people map[string]map[string]bool) calibration.Observations {
	seen := map[[2]string]*seenAnswer{}
	at := func(id, variant string) *seenAnswer {
		k := [2]string{strings.TrimSuffix(id, "/"+variant), variant}
		if seen[k] == nil {
			seen[k] = &seenAnswer{items: map[string]bool{}, of: map[string]string{}}
		}
		return seen[k]
	}
	o := calibration.Observations{Criteria: p.criteria(), Wanted: []string{variantShuffled, variantPadded, variantSigned}, Labels: map[string]calibration.Labels{}, Probes: map[string]stats.Pairs{}}
	for i := range grades {
		g := &grades[i]
		if g.State == "graded" {
			at(g.Subject, g.Arm).pass = g.Pass
		} else if judge.Class(g.UngradedReason).Retryable() {
			continue // the service's, not the judge's
		} else {
			o.Judged.Of++
		}
		o.Judged.N++
	}
	for i := range verdicts {
		v := &verdicts[i]
		if v.Vote != "final" || v.Item == "" || v.Verdict != string(judge.Met) && v.Verdict != string(judge.NotMet) {
			continue
		}
		a := at(v.Subject, v.Arm)
		a.items[v.Item], a.of[v.Item] = v.Verdict == string(judge.Met), v.Criterion
	}
	for i := range p.controls {
		c := &p.controls[i]
		o = observeOne(o, c, func(variant string) *seenAnswer { return at(c.id, variant) }, people[c.id])
	}
	return o
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

func observeOne(o calibration.Observations, c *plantedAnswer, variant func(string) *seenAnswer, people map[string]bool) calibration.Observations {
	base := variant(variantBase)
	if base.pass != nil {
		count := &o.Bad
		if c.passes {
			count = &o.Good
		}
		count.N++
		if *base.pass == c.passes {
			count.Of++
		}
	}
	again, attacked := variant(variantAgain), variant(variantInjected)
	for n := range len(c.task.Items()) {
		id := strconv.Itoa(n + 1)
		met, ok := base.items[id]
		if !ok {
			continue
		}
		if second, ok := again.items[id]; ok {
			o.Retest.N++
			if second != met {
				o.Retest.Of++
			}
		}
		if after, ok := attacked.items[id]; ok && !met {
			o.Injected.N++
			if after {
				o.Injected.Of++
			}
		}
		if label, ok := people[id]; ok {
			l := o.Labels[base.of[id]]
			o.Labels[base.of[id]] = calibration.Labels{Judge: append(l.Judge, met), People: append(l.People, label)}
		}
	}
	for _, probe := range []string{variantShuffled, variantPadded, variantSigned} {
		moved := variant(probe)
		if base.pass == nil || moved.pass == nil {
			continue
		}
		pairs := o.Probes[probe]
		switch before, after := *base.pass, *moved.pass; {
		case before && after:
			pairs.Both++
		case after:
			pairs.Gained++
		case before:
			pairs.Lost++
		default:
			pairs.Neither++
		}
		o.Probes[probe] = pairs
	}
	return o
}

// notAnEvaluation says that a run of planted answers has no rates to tell.
func notAnEvaluation(run *schema.Run) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf("run %s is a calibration of %s (%s): planted answers have no rates", run.RunID, strings.Join(run.JudgeModels, "+"), calibrationText(run.Calibration)),
		Hint: "evaluate suites lists calibrations; evaluate calibrate with the same flags tells this one's checks again"}
}
