// Package paired owns the evaluator of answers to the tasks of a suite, which an agent model gives twice: alone and with skills. The
// judge says which reference items an answer meets; score and pass are computed.
//
// It does not know which models are asked, nor what comes of the two arms of a task.
package paired

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/judge/transcript"
)

// Name of the evaluator.
const Name = "paired"

// The words of a judge.
const (
	wordMet    = "Met"
	wordNotMet = "Not met"
)

// maxAnswer is how many bytes of an answer a judge is shown.
const maxAnswer = 200_000

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator].
type Options struct {
	Mask        func(string) string // nil shows text as it was stored
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a judge's reply; 0 means 4096
	Prompts     evaluator.Prompts
}

// Evaluator asks about answers to tasks.
type Evaluator struct {
	opts    Options
	version evaluator.Version
	prompts *prompt.Set
	agent   *template.Template
	system  string
}

var (
	_ evaluator.Evaluator = (*Evaluator)(nil)
	_ evaluator.Splitter  = (*Evaluator)(nil)
	_ evaluator.Answered  = (*Evaluator)(nil)
)

// New makes an evaluator for a rubric of the four criteria of reference items, with a pass rule.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	for i, c := range rubric.Criteria {
		if len(rubric.Criteria) != len(suite.Criteria()) || c.ID != suite.Criteria()[i] || c.Scale != judge.ScaleMet {
			return nil, fmt.Errorf("paired evaluator: criterion %d of rubric %s is %s on the scale %s: want %s, each on the scale met", i+1, rubric.Name, c.ID, c.Scale, strings.Join(suite.Criteria(), ", "))
		}
	}
	if rubric.Pass.MinScore == nil {
		return nil, fmt.Errorf("paired evaluator: rubric %s has no pass rule: want pass.min_score", rubric.Name)
	}
	e := &Evaluator{opts: opts}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 4096)
	var err error
	if e.prompts, err = prompt.Load(prompts, "", opts.Prompts); err != nil {
		return nil, fmt.Errorf("paired evaluator: %w", err)
	}
	text, err := prompts.ReadFile("prompts/v0/agent.tmpl")
	if err != nil {
		return nil, fmt.Errorf("paired evaluator: read the agent's prompt: %w", err)
	}
	if e.agent, err = template.New("agent").Parse(string(text)); err != nil {
		return nil, fmt.Errorf("paired evaluator: the agent's prompt: %w", err)
	}
	if e.system, err = prompt.Fill(e.prompts.System, map[string]any{"Rubric": rubric}); err != nil {
		return nil, fmt.Errorf("paired evaluator: %w", err)
	}
	rendering := prompt.Hash(transcript.Options{MaskVersion: opts.MaskVersion}.SettingsSHA256(), fmt.Sprint("most ", maxAnswer))
	e.version = e.prompts.Identify(Name, evaluator.OfTasks, rubric, replySchema(2), rendering)
	e.version.PromptSHA256 = prompt.Hash(e.version.PromptSHA256, string(text))
	return e, nil
}

// replySchema is the form of a reply about n items. Suites have few different n, so that a service compiles few schemas.
func replySchema(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Quote(strconv.Itoa(i + 1))
	}
	return `{"type":"object","additionalProperties":false,"required":["items"],"properties":{` +
		`"items":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","reason","verdict"],"properties":{` +
		`"id":{"type":"string","enum":[` + strings.Join(ids, ",") + `]},"reason":{"type":"string"},` +
		`"verdict":{"type":"string","enum":["` + wordMet + `","` + wordNotMet + `"]}}}}}}`
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Split makes the two arms of a task.
func (e *Evaluator) Split(s evaluator.Subject) []evaluator.Subject {
	out := []evaluator.Subject{s, s}
	for i, arm := range []string{evaluator.ArmWithout, evaluator.ArmWith} {
		t := *s.Task
		t.Arm = arm
		if arm == evaluator.ArmWithout {
			t.Skills = nil
		}
		out[i].Task = &t
	}
	return out
}

// Prompt is what the agent model is asked: the task, and before it the skills of the arm.
func (e *Evaluator) Prompt(s evaluator.Subject) (judge.Request, string, error) {
	if s.Task == nil {
		return judge.Request{}, "", fmt.Errorf("paired evaluator: subject %s holds no task", s.ID)
	}
	system, err := prompt.Fill(e.agent, map[string]any{"Skills": s.Task.Skills})
	if err != nil {
		return judge.Request{}, "", fmt.Errorf("paired evaluator: task %s: %w", s.ID, err)
	}
	req := judge.Request{Evaluator: Name, Subject: s.ID, System: strings.TrimSpace(system), User: e.masked(s.Task.Task.Prompt), Criteria: e.version.Rubric.Criteria}
	return req, prompt.Hash("agent", req.System, req.User), nil
}

func (e *Evaluator) masked(s string) string {
	if e.opts.Mask == nil {
		return s
	}
	return e.opts.Mask(s)
}

// Item asks which items the answer meets. The judge is not told the arm.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	if s.Task == nil {
		return nil, nil, fmt.Errorf("paired evaluator: subject %s holds no task", s.ID)
	}
	item, err := e.question(s, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("paired evaluator: task %s: %w", s.ID, err)
	}
	return item, nil, nil
}

func (e *Evaluator) question(s evaluator.Subject, nonce string) (*evaluator.Item, error) {
	t := &s.Task.Task
	opts := transcript.Options{Mask: e.opts.Mask, MaskVersion: e.opts.MaskVersion}
	shown := transcript.Text(s.Task.Answer, opts)
	answer, truncated := cutAnswer(shown)
	task := transcript.Text(t.Prompt, opts)
	data, body, err := transcript.Block(nonce, struct {
		Task string `json:"task"`
	}{task}, struct {
		Answer string `json:"answer"`
	}{answer})
	if err != nil {
		return nil, err
	}
	var reference string
	if t.Reference != "" {
		if reference, err = line(struct {
			Reference string `json:"reference"`
		}{transcript.Text(t.Reference, opts)}); err != nil {
			return nil, err
		}
	}
	items := inOrder(t.Items(), s.Task.Order)
	if len(items) == 0 {
		return nil, fmt.Errorf("it has no reference items: a judge would have nothing to check")
	}
	questions := make([]string, len(items))
	for i, it := range items {
		if questions[i], err = line(struct {
			Criterion string   `json:"criterion"`
			Applies   string   `json:"applies"`
			Verdicts  []string `json:"verdicts"`
			Item      string   `json:"item"`
		}{strconv.Itoa(i + 1), "yes", []string{wordMet, wordNotMet}, transcript.Text(it.Text, opts)}); err != nil {
			return nil, err
		}
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{"Data": data, "Truncated": truncated, "Reference": reference, "Questions": questions})
	if err != nil {
		return nil, err
	}
	out := &evaluator.Item{
		Subject: s.ID, Transcript: task + "\n" + answer, Reductions: []string{}, Suspected: transcript.SuspiciousText(shown),
		RenderingSHA256: prompt.Hash(e.version.Rendering, body, reference, strings.Join(questions, "\n")),
		Request: judge.Request{
			Evaluator: Name, Subject: s.ID, System: e.system, User: user, Schema: replySchema(len(items)), SchemaName: Name, MaxTokens: e.opts.MaxTokens,
			Criteria: e.version.Rubric.Criteria, Lines: itemLines(items),
		},
	}
	if s.Task.Sealed { // what is withheld as a quotation is withheld of the items, too
		out.Transcript += "\n" + t.Reference + "\n" + strings.Join(t.ItemTexts(), "\n")
	}
	if truncated {
		out.Reductions = append(out.Reductions, "answer_cap")
	}
	return out, nil
}

// inOrder gives items another order; one that does not name each once leaves them as they are.
func inOrder(items []suite.Item, order []int) []suite.Item {
	sorted := slices.Sorted(slices.Values(order))
	for i := range items {
		if len(sorted) != len(items) || sorted[i] != i {
			return items
		}
	}
	out := make([]suite.Item, len(items))
	for i, at := range order {
		out[i] = items[at]
	}
	return out
}

// itemLines carry the items to Read: their number and the criterion that each counts for.
func itemLines(items []suite.Item) []judge.Line {
	out := make([]judge.Line, len(items))
	for i, it := range items {
		out[i] = judge.Line{Step: i + 1, Kind: it.Criterion}
	}
	return out
}

func line(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode a question: %w", err)
	}
	return string(b), nil
}

func cutAnswer(s string) (string, bool) {
	if len(s) <= maxAnswer {
		return s, false
	}
	head := strings.ToValidUTF8(s[:maxAnswer/2], "")
	tail := strings.ToValidUTF8(s[len(s)-maxAnswer/2:], "")
	return head + fmt.Sprintf("\n[%d bytes were cut here]\n", len(s)-len(head)-len(tail)) + tail, true
}

// criterion of an item by the criteria's order.
func place(id string) int { return slices.Index(suite.Criteria(), id) }
