package report

import (
	"crypto/sha256"
	"encoding/base64"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// TestEveryFormatSays holds what must be said wherever a report is read.
func TestEveryFormatSays(t *testing.T) {
	offline := small(t)
	offline.Run.Offline = true
	failed := small(t)
	failed.Run.State = "failed"
	notPassed := small(t)
	notPassed.Run.Calibration = "not_passed"
	adjusted := small(t)
	p := 0.0123
	adjusted.Aggregates[0].AdjustedP = &p
	if page := render(t, "html", adjusted); !strings.Contains(page, "adjusted p 0.012") {
		t.Error("the page does not say the adjusted p")
	}
	census := allPass(t)
	census.Aggregates[0].Reason = "census: all 20 eligible sessions were graded"
	for name, c := range map[string]struct {
		m            *Model
		says, hasNot []string
	}{
		"small": {
			small(t),
			[]string{"15 of 19", "78.9%", "56.7–91.5%", "95%", "Wilson", "Clopper–Pearson", "66.9–98.7%", "Informational: not calibrated", "+5.3 points"},
			[]string{"NO RESULT", "PARTIAL", "Offline", "NaN"},
		},
		"offline":    {offline, []string{"Offline: verdicts come from code, not from a model"}, nil},
		"failed":     {failed, []string{"FAILED"}, nil},
		"not passed": {notPassed, []string{"calibration not passed"}, []string{"not calibrated."}},
		"no result": {
			noResult(t), []string{"NO RESULT", "3 of 20 sessions could not be graded", "15.0%", "no result"},
			[]string{"100.0%", "83.9", "81.6–"},
		},
		"partial":  {partial(t), []string{"PARTIAL", "30 of 50 sessions were not attempted", "calibration in progress"}, []string{"NO RESULT"}},
		"all pass": {allPass(t), []string{"20 of 20", "83.9–100.0%", "the exact bootstrap could not be used", "Calibrated"}, []string{"Informational"}},
		"census":   {census, []string{"census: all 20 eligible sessions were graded"}, nil},
		"empty":    {empty(t), []string{"0 of 0", "Informational: not calibrated"}, []string{"100.0%", "NaN"}},
		"bare":     {&Model{}, []string{"Informational: not calibrated"}, []string{"NaN", "0001"}},
	} {
		for format := range formats {
			text := render(t, format, c.m)
			if format == "html" {
				// The guide at the end of the page is the same for all runs.
				text, _, _ = strings.Cut(text, `<section id="reading"`)
				_, text, _ = strings.Cut(text, "<body>")
				text = strings.NewReplacer("&#39;", "'", "&#43;", "+").Replace(text)
			}
			text = strings.Join(strings.Fields(text), " ")
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("%s: %s does not say %q", name, format, s)
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(text, s) {
					t.Errorf("%s: %s says %q", name, format, s)
				}
			}
		}
	}
}

func TestPolicyMatchesThePage(t *testing.T) {
	page := render(t, "html", small(t))
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if policy == nil {
		t.Fatal("the page has no policy")
	}
	for element, directive := range map[string]string{"style": "style-src", "script": "script-src"} {
		inline := regexp.MustCompile(`(?s)<` + element + `>(.*)</` + element + `>`).FindStringSubmatch(page)
		sum := sha256.Sum256([]byte(inline[1]))
		want := directive + " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		if !strings.Contains(policy[1], want) {
			t.Errorf("the policy %q has no %s", policy[1], want)
		}
	}
	if !strings.HasPrefix(policy[1], "default-src 'none';") || strings.Contains(policy[1], "unsafe") || strings.Contains(policy[1], "*") {
		t.Errorf("the policy is loose: %s", policy[1])
	}
	if i, j := strings.Index(page, "Content-Security-Policy"), strings.Index(page, "<style>"); i > j {
		t.Error("the policy stands after what it is to bind")
	}
}

func TestIDsAreUnique(t *testing.T) {
	for _, m := range []*Model{small(t), hostile(t)} {
		page := render(t, "html", m)
		ids := map[string]bool{}
		for _, id := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			if ids[id[1]] {
				t.Errorf("id %s is used twice", id[1])
			}
			ids[id[1]] = true
		}
		for _, refs := range regexp.MustCompile(`aria-labelledby="([^"]*)"`).FindAllStringSubmatch(page, -1) {
			for id := range strings.FieldsSeq(refs[1]) {
				if !ids[id] {
					t.Errorf("a label points to %s, which is nowhere", id)
				}
			}
		}
	}
}

func TestPercentIsHonestAtTheEnds(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0%", 1: "100.0%", 0.9996: "99.9%", 0.0001: "0.1%", 0.5: "50.0%", 17.0 / 20: "85.0%", 2.0 / 3: "66.7%"} {
		if got := percent(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(0, 1).Draw(t, "v")
		if s := percent(v); s == "100.0%" && v != 1 || s == "0.0%" && v != 0 {
			t.Fatalf("%v prints as %s", v, s)
		}
	})
}

func TestPick(t *testing.T) {
	verdicts := []schema.Verdict{
		{Criterion: "a", Vote: "one", Repeat: 0, Verdict: "met"},
		{Criterion: "a", Vote: "final", Repeat: 1, Verdict: "unclear"},
		{Criterion: "a", Vote: "final", Repeat: 0, Verdict: "not_met"},
		{Criterion: "b", Vote: "one", Repeat: 2, Verdict: "met"},
	}
	if got := pick(verdicts, "a"); got == nil || got.Verdict != "not_met" {
		t.Errorf("a: %+v, want the final vote of the first repeat", got)
	}
	if got := pick(verdicts, "b"); got == nil || got.Verdict != "met" {
		t.Errorf("b: %+v", got)
	}
	if got := pick(verdicts, "c"); got != nil {
		t.Errorf("c: %+v, want none", got)
	}
}

func TestPrimaryLeadsWhateverTheOrder(t *testing.T) {
	p := 0.5
	rows := []schema.Aggregate{
		{GroupBy: byOverall, Metric: metricSafe, Method: "clopper_pearson", N: 2, Met: 1, Estimate: &p},
		{GroupBy: byOverall, Metric: metricSafe, Method: "bootstrap_percentile_exact", N: 2, Met: 1, Estimate: &p},
		{GroupBy: byOverall, Metric: metricSafe, Method: "wilson", N: 2, Met: 1, Estimate: &p, Primary: true},
		{GroupBy: byOverall, Metric: metricSafe, Method: "wilson", N: 9, Met: 9, Evaluator: "another", Primary: true},
	}
	f := collect(rows, "session")[figureKey{metric: metricSafe, groupBy: byOverall}]
	if f.Method != "Wilson" || f.N != 2 || len(f.others) != 2 || f.others[0].Method != "Clopper–Pearson" {
		t.Errorf("%+v", f)
	}
}

// anyModel draws models that no job would write, too: the report must stand whatever the tables hold.
func anyModel(t *rapid.T, rubric judge.Rubric) *Model {
	text := rapid.OneOf(rapid.SampledFrom(hostileNames), rapid.String(), rapid.SampledFrom([]string{"goal_met", "session", "a", "met"}))
	number := rapid.OneOf(rapid.Just(math.NaN()), rapid.Just(math.Inf(1)), rapid.Float64(), rapid.Float64Range(0, 1))
	pointer := func(label string) *float64 {
		if rapid.Bool().Draw(t, label) {
			return nil
		}
		v := number.Draw(t, label)
		return &v
	}
	count := rapid.OneOf(rapid.Int32(), rapid.Int32Range(0, 40))
	m := &Model{Data: text.Draw(t, "data"), AsOf: asOf}
	if rapid.Bool().Draw(t, "rubric") {
		m.Rubric = rubric
	}
	m.Run = schema.Run{
		RunID: text.Draw(t, "run"), Evaluator: "session", Kind: text.Draw(t, "kind"), State: rapid.SampledFrom([]string{"finished", "no_result", "partial", "failed", "x"}).Draw(t, "state"),
		Eligible: count.Draw(t, "n"), Sampled: count.Draw(t, "n"), Graded: count.Draw(t, "n"), Ungraded: count.Draw(t, "n"), NotAttempted: count.Draw(t, "n"),
		Label: text.Draw(t, "label"), FilterService: text.Draw(t, "filter"), Calibration: text.Draw(t, "calibration"), AsOfUnixNano: rapid.Int64().Draw(t, "at"),
	}
	for range rapid.IntRange(0, 12).Draw(t, "aggregates") {
		m.Aggregates = append(m.Aggregates, schema.Aggregate{
			GroupBy: rapid.SampledFrom([]string{byOverall, byService, byCriterion, byCriterionService, "x"}).Draw(t, "by"), Group: text.Draw(t, "group"),
			Criterion: text.Draw(t, "criterion"), Metric: rapid.SampledFrom([]string{metricPassed, metricSafe, metricMet, "x"}).Draw(t, "metric"),
			Method: text.Draw(t, "method"), Primary: rapid.Bool().Draw(t, "primary"), N: count.Draw(t, "n"), Met: count.Draw(t, "n"), NotMet: count.Draw(t, "n"),
			Unclear: count.Draw(t, "n"), Ungraded: count.Draw(t, "n"), Estimate: pointer("e"), Low: pointer("l"), High: pointer("h"), Worst: pointer("w"), Best: pointer("b"),
			Change: pointer("c"), DetectableChange: pointer("d"), Level: number.Draw(t, "level"), Reason: text.Draw(t, "reason"), FallbackFrom: text.Draw(t, "from"),
			NoResult: rapid.Bool().Draw(t, "no result"),
		})
	}
	for range rapid.IntRange(0, 4).Draw(t, "sessions") {
		m.Sessions = append(m.Sessions, Session{
			Grade:    schema.Grade{Subject: text.Draw(t, "subject"), Service: text.Draw(t, "service"), State: text.Draw(t, "state"), UngradedReason: text.Draw(t, "reason")},
			Row:      schema.Session{SessionID: text.Draw(t, "id"), StartedUnixNano: rapid.Int64().Draw(t, "started"), NTurns: count.Draw(t, "n"), SessionKey: text.Draw(t, "key")},
			Verdicts: []schema.Verdict{{Criterion: text.Draw(t, "criterion"), Verdict: text.Draw(t, "verdict"), Score: pointer("score"), Label: text.Draw(t, "label")}},
		})
	}
	if rapid.Bool().Draw(t, "commit") {
		m.Commit = &Ingest{Records: rapid.Int64().Draw(t, "records"), Masked: rapid.MapOfN(text, rapid.Int64(), 0, 3).Draw(t, "masked")}
	}
	return m
}

func TestAnyModel(t *testing.T) {
	rubric := testRubric(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := anyModel(rt, rubric)
		for format := range formats {
			first := render(t, format, m)
			if first != render(t, format, m) {
				rt.Fatalf("%s: the same model gave other bytes", format)
			}
			noControls(t, first)
			switch format {
			case "html":
				if n := strings.Count(first, "<script") - len(blocks(t, first)); n != 1 {
					rt.Fatalf("%d scripts", n)
				}
			case "txt":
				for line := range strings.Lines(first) {
					if w := width(strings.TrimSuffix(line, "\n")); w > textColumns {
						rt.Fatalf("%d columns: %s", w, line)
					}
				}
			case "md":
				for line := range strings.Lines(first) {
					rest := outsideCode(line)
					if strings.Contains(rest, "<script") || strings.Contains(rest, "](") || strings.Contains(rest, "`") {
						rt.Fatalf("markup outside code: %s", line)
					}
				}
			}
		}
	})
}
