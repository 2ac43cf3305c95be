package evaluator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// Point is one value of a scale with points.
type Point struct {
	Score float64
	Label string // the word that a judge answers with
	Text  string // when it is right
}

// Points reads the values of a criterion from its anchors, best first: each key is a score, each text "Label: when it is
// right". The scores must be those wanted.
func Points(c judge.Criterion, want ...float64) ([]Point, error) {
	if c.Scale != judge.ScaleFivePoint {
		return nil, fmt.Errorf("criterion %s has scale %q: want %q", c.ID, c.Scale, judge.ScaleFivePoint)
	}
	if len(c.Anchors) != len(want) {
		return nil, fmt.Errorf("criterion %s has %d anchors: want %d, one a score", c.ID, len(c.Anchors), len(want))
	}
	out := make([]Point, 0, len(want))
	for _, score := range want {
		key := strconv.FormatFloat(score, 'f', -1, 64)
		text, ok := c.Anchors[key]
		if !ok {
			return nil, fmt.Errorf("criterion %s has no anchor %s", c.ID, key)
		}
		label, text, ok := cutAny(text, ": ", "：")
		if !ok || strings.TrimSpace(label) == "" || strings.TrimSpace(text) == "" {
			return nil, fmt.Errorf("criterion %s: anchor %s: want \"Label: when it is right\"", c.ID, key)
		}
		out = append(out, Point{score, strings.TrimSpace(label), strings.TrimSpace(text)})
	}
	for i := range out {
		if slices.ContainsFunc(out[:i], func(p Point) bool { return strings.EqualFold(p.Label, out[i].Label) }) {
			return nil, fmt.Errorf("criterion %s: two anchors have the label %q", c.ID, out[i].Label)
		}
	}
	return out, nil
}

func cutAny(s string, separators ...string) (before, after string, found bool) {
	for _, sep := range separators {
		if before, after, found = strings.Cut(s, sep); found {
			return before, after, true
		}
	}
	return s, "", false
}

// Labels are the words of points, and those that are answers without a score.
func Labels(points []Point, more ...string) []string {
	out := make([]string, 0, len(points)+len(more))
	for _, p := range points {
		out = append(out, p.Label)
	}
	return append(out, more...)
}

// ScoreOf is the score of a label.
func ScoreOf(points []Point, label string) (float64, bool) {
	i := slices.IndexFunc(points, func(p Point) bool { return p.Label == label })
	if i < 0 {
		return 0, false
	}
	return points[i].Score, true
}
