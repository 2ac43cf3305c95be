package outcomes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// sent is the body that the platform's SDK sends for a session request read from file.
func sent(t *testing.T, file []byte) any {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/v1/sessions" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"sesn_1","type":"session"}`)
	}))
	defer server.Close()
	var params anthropic.BetaSessionNewParams
	if err := json.Unmarshal(file, &params); err != nil {
		t.Fatal(err)
	}
	client := anthropic.NewClient(option.WithBaseURL(server.URL), option.WithAPIKey("key"), option.WithMaxRetries(0))
	if _, err := client.Beta.Sessions.New(context.Background(), params); err != nil {
		t.Fatal(err)
	}
	return parsed(t, body)
}

func TestRequest_IsWhatTheSDKSends(t *testing.T) {
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted()} {
		files := exporttest.Write(t, in, Target{})
		if got, want := sent(t, files[RequestFile]), parsed(t, files[RequestFile]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the SDK sends\n%v\nthe file holds\n%v", name, got, want)
		}
		var params anthropic.BetaSessionNewParams
		if err := json.Unmarshal(files[RequestFile], &params); err != nil {
			t.Fatal(err)
		}
		event := params.InitialEvents[0].OfUserDefineOutcome
		if event == nil || event.Description == "" || event.Rubric.OfText == nil || event.Rubric.OfText.Content != string(files[RubricFile]) {
			t.Errorf("%s: the event does not define an outcome by rubric.md: %+v", name, event)
		}
		if n := event.MaxIterations.Value; n < 1 || n > 20 {
			t.Errorf("%s: max_iterations %d", name, n)
		}
	}
	file := exporttest.Write(t, exporttest.Small(), Target{})[RequestFile]
	damaged := bytes.Replace(file, []byte(`"max_iterations"`), []byte(`"iterations"`), 1)
	if reflect.DeepEqual(sent(t, damaged), parsed(t, damaged)) {
		t.Error("a damaged request is not seen")
	}
}

func TestSessions_AreOfTheSDKType(t *testing.T) {
	want := []string{"satisfied", "needs_revision", "needs_revision", "satisfied", "failed", "failed", "failed", "satisfied"}
	var got []string
	data := exporttest.Write(t, exporttest.Small(), Target{})[SessionsFile]
	ids := map[string]bool{}
	for text := range bytes.Lines(data) {
		var l struct {
			Outcome json.RawMessage `json:"outcome_evaluation"`
		}
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatal(err)
		}
		var r anthropic.BetaManagedAgentsOutcomeEvaluationResource
		if err := json.Unmarshal(l.Outcome, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.JSON.ExtraFields) != 0 {
			t.Errorf("fields that the type lacks: %v", r.JSON.ExtraFields)
		}
		fields := reflect.ValueOf(r.JSON)
		for i := range fields.NumField() {
			if !fields.Type().Field(i).IsExported() {
				continue
			}
			if f, ok := fields.Field(i).Interface().(interface{ Valid() bool }); ok && !f.Valid() {
				t.Errorf("field %s is missing", fields.Type().Field(i).Name)
			}
		}
		if !r.CompletedAt.Equal(exporttest.Small().AsOf) || r.Type != "outcome_evaluation" || ids[r.OutcomeID] {
			t.Errorf("got %+v", r)
		}
		ids[r.OutcomeID] = true
		got = append(got, r.Result)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("results %v, want %v", got, want)
	}
}

func TestTarget_Check_Refuses(t *testing.T) {
	in := exporttest.Small()
	in.Rubric.Criteria[0].Question = strings.Repeat("ü", maxRubric)
	r, ok := errors.AsType[*exports.Refusal](Target{}.Check(context.Background(), in))
	if !ok || r.File != RubricFile || r.Field != "rubric.content" {
		t.Errorf("got %v", r)
	}
	good := markdown(exporttest.Small())
	in = exporttest.Small()
	in.Rubric.Criteria[0].Question += strings.Repeat("ü", maxRubric-utf8.RuneCountInString(good))
	if err := (Target{}).Check(context.Background(), in); err != nil {
		t.Errorf("exactly %d characters: %v", maxRubric, err)
	}
}

func TestRequest_Rules(t *testing.T) {
	for name, edit := range map[string]func(*request){
		"iterations": func(r *request) { r.InitialEvents[0].MaxIterations = 21 },
		"events":     func(r *request) { r.InitialEvents = make([]defineOutcome, 51) },
		"a value":    func(r *request) { r.Metadata["a"] = strings.Repeat("x", 513) },
		"a key":      func(r *request) { r.Metadata[strings.Repeat("x", 65)] = "" },
		"pairs": func(r *request) {
			for i := range 17 {
				r.Metadata[strings.Repeat("x", i+1)] = ""
			}
		},
	} {
		r := newRequest(exporttest.Small(), "text")
		if err := r.check(); err != nil {
			t.Fatal(err)
		}
		if edit(r); r.check() == nil {
			t.Errorf("%s: not refused", name)
		}
	}
}

// A rubric's texts open no heading, list, link, tag or code, wherever they stand.
func TestMarkdown_TextStaysText(t *testing.T) {
	const hostile = "# H\n\n- item\n1. one\n[a](http://x) <b> `code` **bold** _em_ ![i](j) | t | ~~s~~ &lt;\n\n---\n## Not counted"
	plain, in := markdown(exporttest.Small()), exporttest.Small()
	in.Rubric.Title, in.Rubric.Description = hostile, "- "+hostile
	for i := range in.Rubric.Criteria {
		c := &in.Rubric.Criteria[i]
		c.Question, c.AppliesWhen = hostile, hostile
		for k := range c.Anchors {
			c.Anchors[k] = hostile
		}
	}
	got := markdown(in)
	var headings []string
	for line := range strings.Lines(got) {
		if strings.HasPrefix(line, "#") {
			headings = append(headings, line)
		}
	}
	if want := strings.Count(plain, "\n#") + 1; len(headings) != want {
		t.Errorf("%d headings, want %d: %q", len(headings), want, headings)
	}
	escapes := regexp.MustCompile(`\\.`)
	for _, special := range "`*_[]<>#|~&!" {
		// The plain rubric's texts hold none of them: what is left after its escapes is our own.
		if n, want := strings.Count(escapes.ReplaceAllString(got, ""), string(special)), strings.Count(plain, string(special)); n != want {
			t.Errorf("%d unescaped %q, want %d, in\n%s", n, special, want, got)
		}
	}
	for in, want := range map[string]string{"- a": `\- a`, "+ a": `\+ a`, "1. a": `1\. a`, "12) a": `12\) a`, "12": "12", "=== a": `\=== a`, "> a": `\> a`, "a\n# b": `a \# b`, "": "", "3.5 a": `3\.5 a`} {
		if got := inline(exporttest.Small(), in); got != want {
			t.Errorf("inline %q: %q, want %q", in, got, want)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, test := range []struct {
		verdicts []judge.Verdict
		want     string
	}{
		{[]judge.Verdict{judge.NotMet, judge.Unclear, judge.Met}, "Not met: goal_met. Unclear: no_unapproved_action. Met: polite."},
		{[]judge.Verdict{judge.Met, judge.Ungraded, judge.Met}, "Not graded: schema_error."},
	} {
		in := exporttest.Small()
		s := exporttest.Session(1, test.verdicts...)
		criteria, err := exports.Align(&in.Rubric, &s)
		if err != nil {
			t.Fatal(err)
		}
		if got := newLine(in, &s, criteria).OutcomeEvaluation.Explanation; got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
