package agentcore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func TestTarget_Check_Refuses(t *testing.T) {
	for name, test := range map[string]struct {
		target Target
		edit   func(*exports.Input)
		field  string
	}{
		"a placeholder in a question":   {edit: func(in *exports.Input) { in.Rubric.Criteria[0].Question = "Was {assertions} met?" }, field: "dimensionInstruction"},
		"a placeholder when it applies": {edit: func(in *exports.Input) { in.Rubric.Criteria[0].AppliesWhen = "{ context }" }, field: "dimensionInstruction"},
		"a placeholder in an anchor":    {edit: func(in *exports.Input) { in.Rubric.Criteria[0].Anchors = map[string]string{"met": "as {tool_turn}"} }, field: "categorical[0].definition"},
		"a placeholder for a level": {edit: func(in *exports.Input) {
			in.Rubric = exporttest.WeightedRubric()
			in.Rubric.Criteria[0].Anchors["1"] = "{x}"
		}, field: "numerical[4].definition"},
		"a long question": {edit: func(in *exports.Input) { in.Rubric.Criteria[0].Question = strings.Repeat("ü", 4001) }, field: "dimensionInstruction"},
		"no question":     {edit: func(in *exports.Input) { in.Rubric.Criteria[2].Question = "" }, field: "dimensionInstruction"},
		"eleven dimensions": {edit: func(in *exports.Input) {
			for i := range 8 {
				c := in.Rubric.Criteria[2]
				c.ID = "c" + string(rune('a'+i))
				in.Rubric.Criteria = append(in.Rubric.Criteria, c)
			}
		}, field: "ratingScale.multiDimensional"},
		"a model of another vendor": {target: Target{JudgeModel: "openai:http://localhost#m"}, edit: func(*exports.Input) {}, field: "modelId"},
	} {
		in := exporttest.Small()
		test.edit(in)
		err := test.target.Check(context.Background(), in)
		r, ok := errors.AsType[*exports.Refusal](err)
		if !ok || r.File != EvaluatorFile || !strings.Contains(r.Field, test.field) || r.Rule == "" {
			t.Errorf("%s: got %v, want a refusal of %s", name, err, test.field)
		}
	}
}

func TestTarget_Check_Allows(t *testing.T) {
	in := exporttest.Small()
	in.Rubric.Criteria[0].Question = `Did it write {"a": 1} and set {} and {1}?`
	in.Rubric.Criteria[1].Question = strings.Repeat("ü", 3900)
	in.Rubric.Title = strings.Repeat("long ", 100)
	if err := (Target{}).Check(context.Background(), in); err != nil {
		t.Error(err)
	}
}

func TestRequest_Rules(t *testing.T) {
	good := func() *request {
		r, err := Target{}.evaluator(exporttest.Small())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, edit := range map[string]func(*request){
		"evaluatorName": func(r *request) { r.EvaluatorName = "a-b" },
		"description":   func(r *request) { r.Description = "" },
		"clientToken":   func(r *request) { r.ClientToken = strings.Repeat("a", 32) },
		"token of 257":  func(r *request) { r.ClientToken = strings.Repeat("a", 257) },
		"dimensionName": func(r *request) { r.EvaluatorConfig.LLMAsAJudge.RatingScale.MultiDimensional[0].Name = "1a" },
		"unique":        func(r *request) { r.EvaluatorConfig.LLMAsAJudge.RatingScale.MultiDimensional[0].Name = "polite" },
		"no dimension":  func(r *request) { r.EvaluatorConfig.LLMAsAJudge.RatingScale.MultiDimensional = nil },
		"label": func(r *request) {
			r.EvaluatorConfig.LLMAsAJudge.RatingScale.MultiDimensional[0].RatingScale.Categorical[1].Label = strings.Repeat("a", 101)
		},
		"label of a level": func(r *request) {
			r.EvaluatorConfig.LLMAsAJudge.RatingScale.MultiDimensional[0].RatingScale.Numerical = []level{{}}
		},
		"tag value": func(r *request) { r.Tags["a"] = "ü" },
		"tag key":   func(r *request) { r.Tags[strings.Repeat("a", 129)] = "" },
		"fifty-one tags": func(r *request) {
			for i := range 51 {
				r.Tags[strings.Repeat("a", i+1)] = ""
			}
		},
		"an unknown service": func(r *request) { r.EvaluatorConfig.LLMAsAJudge.ModelConfig.Bedrock.ModelID = "rules" },
	} {
		r := good()
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
		if edit(r); r.check() == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

// Only the two placeholders of the session level that need no ground truth stand in the instructions, and no word of a rubric.
func TestEvaluator_Placeholders(t *testing.T) {
	got := regexp.MustCompile(`\{[^}]*\}`).FindAllString(instructions, -1)
	if strings.Join(got, " ") != "{context} {available_tools}" {
		t.Errorf("placeholders %v", got)
	}
}

func TestTarget_Model(t *testing.T) {
	const sonnet = "global.anthropic.claude-sonnet-4-6"
	for name, test := range map[string]struct {
		target  Target
		judges  []string
		offline bool
		want    string
		same    bool
	}{
		"the run's":                  {judges: []string{sonnet}, want: sonnet, same: true},
		"asked for":                  {target: Target{JudgeModel: sonnet}, judges: []string{DefaultJudgeModel}, want: sonnet},
		"asked for and the run's":    {target: Target{JudgeModel: sonnet}, judges: []string{sonnet}, want: sonnet, same: true},
		"rules judged":               {judges: []string{"rules"}, offline: true, want: DefaultJudgeModel},
		"a local server judged":      {judges: []string{"llama3.1"}, want: DefaultJudgeModel},
		"a jury judged":              {judges: []string{sonnet, DefaultJudgeModel}, want: DefaultJudgeModel},
		"an inference profile's ARN": {judges: []string{"arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-6"}, want: "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-sonnet-4-6", same: true},
	} {
		in := exporttest.Small()
		in.Run.JudgeModels, in.Run.Offline = test.judges, test.offline
		if got, same := test.target.model(in); got != test.want || same != test.same {
			t.Errorf("%s: got %s, %v", name, got, same)
		}
		named := false
		for _, l := range test.target.Loss(in) {
			named = named || l.What == "judge_model"
		}
		if named == test.same {
			t.Errorf("%s: loss judge_model is named: %v", name, named)
		}
	}
}

// The token is the evaluator: it changes with it and with nothing else.
func TestEvaluator_ClientToken(t *testing.T) {
	token := func(edit func(*exports.Input)) string {
		in := exporttest.Small()
		edit(in)
		r, err := Target{}.evaluator(in)
		if err != nil {
			t.Fatal(err)
		}
		return r.ClientToken
	}
	want := token(func(*exports.Input) {})
	if got := token(func(in *exports.Input) { in.Run.RunID = "other"; in.AsOf = in.AsOf.AddDate(0, 0, 1) }); got != want {
		t.Error("another night, another token")
	}
	if got := token(func(in *exports.Input) { in.Rubric.Criteria[0].Question += "!" }); got == want {
		t.Error("another question, the same token")
	}
}

func TestRecords_Rules(t *testing.T) {
	var last int64
	labelsOf := map[string]bool{"Met": true, "Not met": true, "Not applicable": true, "Unclear": true}
	counts := map[string]int{}
	data := exporttest.Write(t, exporttest.Small(), Target{})[SessionsFile]
	for line := range bytes.Lines(data) {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		var r record
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		a := r.Attributes
		if (a.ErrorType == "") == (a.ScoreLabel == "") || a.ScoreValue != "" {
			t.Errorf("want a label or an error.type and no value: %s", line)
		}
		if a.ScoreLabel != "" && !labelsOf[a.ScoreLabel] {
			t.Errorf("label %q is none of the evaluator's", a.ScoreLabel)
		}
		if r.TimeUnixNano < last || r.TimeUnixNano <= 0 {
			t.Errorf("time %d after %d", r.TimeUnixNano, last)
		}
		if a.SessionID == "" || r.Resource.Attributes.ServiceName == "" {
			t.Errorf("a required attribute is empty: %s", line)
		}
		last = r.TimeUnixNano
		counts[a.ScoreLabel]++
	}
	if counts[""] != 4 || counts["Not met"] != 2 || counts["Unclear"] != 2 { // one verdict ungraded, three missing
		t.Errorf("counts %v", counts)
	}
}

func TestRecord_Score(t *testing.T) {
	for _, test := range []struct {
		scale        judge.Scale
		score        float64
		value, label string
	}{
		{judge.ScaleFivePoint, 0.25, "0.25", "2 - Poor"}, {judge.ScaleFivePoint, 0.3, "0.3", "own word"}, {judge.ScaleYesNo, 0, "0", "No"}, {judge.ScaleYesNo, 1, "1", "Yes"},
	} {
		r := newRecord(exporttest.Small(), &exports.Session{}, &exports.Criterion{Verdict: judge.Scored, Score: &test.score, Label: "own word"}, test.scale)
		if a := r.Attributes; a.ScoreValue != test.value || a.ScoreLabel != test.label {
			t.Errorf("%s %v: value %q, label %q", test.scale, test.score, a.ScoreValue, a.ScoreLabel)
		}
	}
}

func TestTraceID(t *testing.T) {
	for in, want := range map[string]string{"": "", strings.Repeat("a", 32): strings.Repeat("a", 32), strings.Repeat("A", 32): "", strings.Repeat("a", 31): "", strings.Repeat("g", 32): ""} {
		if got := traceID(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
}
