// Package toolselection owns the evaluator of an agent's choice of tools: for each call, whether calling that tool was appropriate,
// Yes or No. It judges the choice and not its arguments or its outcome: a judge is shown what came before it.
//
// It does not know which judge answers, nor how calls are told in telemetry.
package toolselection

import (
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// Name of the evaluator and of its rubric.
const Name = "tool_selection"

// The verdicts of a reply. Unclear is no answer in compatibility with other products.
const (
	LabelYes = "Yes"
	LabelNo  = "No"
	unclear  = "Unclear"
)

const passAt = 1.0

// FindingNothingCalled says that a session has no call to judge.
const FindingNothingCalled = "nothing_called"

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator]. Mode has no use here: every call is a subject.
type Options = invocation.Options

// Evaluator asks about calls of tools.
type Evaluator struct {
	opts      Options
	criterion judge.Criterion
	version   evaluator.Version
	prompts   *prompt.Set
	system    string
	schema    string
	choices   []string
}

var (
	_ evaluator.Evaluator = (*Evaluator)(nil)
	_ evaluator.Splitter  = (*Evaluator)(nil)
)

// New makes an evaluator for a rubric of one criterion with the scale yes_no.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	if len(rubric.Criteria) != 1 || rubric.Criteria[0].Scale != judge.ScaleYesNo {
		return nil, fmt.Errorf("tool selection evaluator: rubric %s: want one criterion of the scale %s", rubric.Name, judge.ScaleYesNo)
	}
	opts.Mode = "" // of skills
	e := &Evaluator{opts: opts, criterion: rubric.Criteria[0], choices: []string{LabelYes, LabelNo}}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 4096)
	anchors := map[string]string{}
	for _, label := range e.choices {
		if anchors[label] = e.criterion.Anchors[label]; strings.TrimSpace(anchors[label]) == "" {
			return nil, fmt.Errorf("tool selection evaluator: criterion %s has no anchor %s", e.criterion.ID, label)
		}
	}
	if !opts.Compat {
		e.choices = append(e.choices, unclear)
		anchors[unclear] = cmp.Or(e.criterion.Anchors[unclear], "What would tell what the tool is for, or what was asked, is not recorded.")
	}
	e.schema = `{"type":"object","additionalProperties":false,"required":["evidence_steps","reason","verdict"],"properties":{` +
		`"evidence_steps":{"type":"array","items":{"type":"integer"}},"reason":{"type":"string"},` +
		`"verdict":{"type":"string","enum":["` + strings.Join(e.choices, `","`) + `"]}}}`
	var err error
	if e.prompts, err = prompt.Load(prompts, "", opts.Prompts); err != nil {
		return nil, fmt.Errorf("tool selection evaluator: %w", err)
	}
	e.system, err = prompt.Fill(e.prompts.System, map[string]any{
		"Rubric": rubric, "Compat": opts.Compat, "Labels": e.choices, "Anchors": anchors, "Schema": e.schema, "Choices": prompt.Or(e.choices),
	})
	if err != nil {
		return nil, fmt.Errorf("tool selection evaluator: %w", err)
	}
	e.version = e.prompts.Identify(Name, Kind, rubric, e.schema, e.opts.SHA256())
	return e, nil
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Split names the calls of a session. One that loads a skill is left to skill selection.
func (e *Evaluator) Split(session evaluator.Subject) []evaluator.Subject { return split(session) }

// Item asks about one call. Where nothing was called, or nothing of the session is recorded, nothing is asked.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	d, err := look(&s)
	if err != nil {
		return nil, nil, fmt.Errorf("tool selection evaluator: %w", err)
	}
	if d == nil {
		return nil, e.nothingCalled(&s), nil
	}
	task := invocation.Request(s.Steps, d.at)
	if !e.opts.Compat && len(task) == 0 {
		finding, why := invocation.FindingRequestMissing, "What the user asked before this call is not recorded."
		if invocation.Withheld(&s) {
			finding, why = invocation.FindingContentMissing, "The harness exported no text of this session."
		}
		return nil, evaluator.Unclear(e.criterion.ID, finding, why), nil
	}
	item, err := e.question(&s, d, task, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("tool selection evaluator: subject %s: %w", s.ID, err)
	}
	return item, nil, nil
}

func (e *Evaluator) nothingCalled(s *evaluator.Subject) []judge.Answer {
	switch {
	case len(s.Steps) == 0 && invocation.Withheld(s) && !e.opts.Compat:
		return evaluator.Unclear(e.criterion.ID, invocation.FindingContentMissing, "The harness exported no text of this session.")
	case len(s.Steps) == 0:
		return invocation.NotApplicable(e.criterion.ID, invocation.FindingNoTrajectory, "The session has no steps.", e.opts.Compat)
	}
	return invocation.NotApplicable(e.criterion.ID, FindingNothingCalled, "No tool was called. Whether one should have been is not judged here.", e.opts.Compat)
}

// Names of the facts.
const (
	FactRecorded = "tools_recorded"
	FactOffered  = "tool_offered"
	FactNeverRan = "call_never_ran"
	FactRepeated = "same_call_answered_before"
)

func facts(s *evaluator.Subject, d *decision) []judge.Fact {
	truth := func(yes bool) judge.Truth {
		if yes {
			return judge.Yes
		}
		return judge.No
	}
	f := []judge.Fact{
		{Name: FactRecorded, Truth: truth(len(s.Tools) > 0)}, {Name: FactOffered, Truth: judge.Unknown},
		{Name: FactNeverRan, Truth: truth(d.never)}, {Name: FactRepeated, Truth: truth(d.repeats > 0)},
	}
	if n := len(s.Tools); n > 0 {
		f[0].Detail, f[1].Truth = fmt.Sprintf("%d definitions", n), truth(d.offered != nil)
	}
	switch {
	case d.repeats == 1:
		f[3].Detail = "once"
	case d.repeats > 1:
		f[3].Detail = fmt.Sprintf("%d times", d.repeats)
	}
	return f
}

func (e *Evaluator) question(s *evaluator.Subject, d *decision, task []schema.Step, nonce string) (*evaluator.Item, error) {
	opts := e.opts.Rendering(nonce, 0)
	data, plain, lines := e.block(s, d, task, opts)
	shownDecision, body, err := transcript.Block(nonce, data...)
	if err != nil {
		return nil, err
	}
	session, steps, skills := before(s, d.at)
	shown, err := transcript.Render(transcript.Input{Session: session, Steps: steps, Skills: skills, Facts: facts(s, d)}, e.opts.Rendering(nonce, len(body)))
	if err != nil {
		return nil, err
	}
	state := invocation.Unlisted
	if len(s.Tools) > 0 {
		state = invocation.Listed
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{
		"Facts": shown.Facts, "State": state, "Task": len(task) > 0, "Refused": d.never, "Decision": shownDecision, "Cuts": invocation.Cuts(&shown),
		"Transcript": shown.Text, "Question": prompt.Question(e.criterion.ID, "yes"),
	})
	if err != nil {
		return nil, err
	}
	item := &evaluator.Item{
		Subject: s.ID, RenderingSHA256: prompt.Hash(shown.SHA256, body), Transcript: plain + shown.Plain, Reductions: invocation.Reductions(&shown),
		Request: judge.Request{
			Evaluator: Name, Subject: s.ID, System: e.system, User: user, Schema: e.schema, SchemaName: Name, MaxTokens: e.opts.MaxTokens,
			Criteria: []judge.Criterion{e.criterion}, Facts: shown.ShownFacts, Lines: append(lines, shown.Lines...), ByCode: byCode(s, d, task, invocation.Shown(shown.Lines)),
		},
	}
	var definitions []judge.Line
	for _, l := range lines {
		if l.Kind == KindTool {
			definitions = append(definitions, l)
		}
	}
	item.Suspected = len(transcript.Suspicious(item.Request.Lines)) > 0 || transcript.SuspiciousDefinition(definitions)
	return item, nil
}

// byCode is the answer that needs no model: there is no such tool, or the user named it.
func byCode(s *evaluator.Subject, d *decision, task []schema.Step, shown map[int]bool) string {
	answer := struct {
		Evidence []int  `json:"evidence_steps"`
		Reason   string `json:"reason"`
		Verdict  string `json:"verdict"`
	}{Evidence: []int{}}
	for _, t := range task {
		if shown[int(t.Step)] && len(answer.Evidence) < reply.MaxEvidence {
			answer.Evidence = append(answer.Evidence, int(t.Step))
		}
	}
	switch {
	case d.unknown(s):
		answer.Reason, answer.Verdict = "There is no such tool: it is not among those offered, and the harness knows none of that name.", LabelNo
	case d.offered != nil && d.repeats == 0 && d.named(task):
		answer.Reason, answer.Verdict = "The user named the tool.", LabelYes
	default:
		return ""
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return ""
	}
	return string(text)
}

// Kinds of the lines, all of step 0, by which a judge that is code learns what stands outside of the record.
const (
	KindTask     = "task"
	KindTool     = "tool_definition"
	KindDecision = "decision"
)

const (
	maxTools = 200
	maxField = 2000
)

// block is the first block: the task, what was offered, what was called.
func (e *Evaluator) block(s *evaluator.Subject, d *decision, task []schema.Step, opts transcript.Options) (data []any, plain string, lines []judge.Line) {
	text := func(s string, most int) string { return invocation.Clip(transcript.Text(s, opts), most) }
	var asked *string
	var steps []int32
	var words []string
	for _, t := range task {
		words, steps = append(words, t.Text), append(steps, t.Step)
	}
	if len(words) > 0 {
		t := text(strings.Join(words, "\n\n"), 10*maxField)
		asked, plain = &t, t+"\n"
		lines = append(lines, judge.Line{Role: "user", Kind: KindTask, Text: t})
	}
	state := invocation.Unlisted
	if len(s.Tools) > 0 {
		state = invocation.Listed
	}
	data = append(data, struct {
		Task  *string `json:"task"`
		Steps []int32 `json:"steps,omitempty"`
	}{asked, steps}, struct {
		Offered string `json:"offered"`
		Tools   int    `json:"tools"`
		More    int    `json:"not_shown,omitempty"`
	}{state, len(s.Tools), max(0, len(s.Tools)-maxTools)})
	for i := range s.Tools {
		t := &s.Tools[i]
		if i >= maxTools && t != d.offered {
			continue
		}
		entry := struct {
			Tool        string  `json:"tool"`
			Server      string  `json:"server,omitempty"`
			Description *string `json:"description"`
		}{Tool: text(t.Tool, 200), Server: text(t.Server, 200)}
		if words := text(t.Description, maxField); words != "" {
			entry.Description = &words
			plain += words + "\n"
		}
		data = append(data, entry)
		lines = append(lines, judge.Line{Role: "system", Kind: KindTool, Tool: entry.Tool, Text: text(t.Description, maxField)})
	}
	c := struct {
		Called    string `json:"tool_called"`
		Arguments string `json:"arguments,omitempty"`
		Step      int32  `json:"step"`
		Agent     string `json:"agent,omitempty"`
		Refused   bool   `json:"refused"`
		Message   string `json:"harness_message,omitempty"`
	}{Called: text(d.step.Tool, 200), Arguments: text(d.step.Arguments, 2*maxField), Step: d.step.Step, Agent: text(d.step.Agent, 200), Refused: d.never, Message: text(d.message, maxField)}
	outcome := ""
	if d.never {
		outcome = d.step.Outcome
	}
	lines = append(lines, judge.Line{Role: "assistant", Kind: KindDecision, Tool: c.Called, Arguments: c.Arguments, Outcome: outcome, Text: c.Message})
	return append(data, struct {
		Decision any `json:"decision"`
	}{c}), plain + c.Arguments + "\n" + c.Message + "\n", lines
}

// Read checks a reply.
func (e *Evaluator) Read(req *judge.Request, text string) ([]judge.Answer, error) {
	return reply.One(text, func(o reply.Object) (judge.Answer, error) { return e.answer(req, o) }, "evidence_steps", "reason", "verdict")
}

func (e *Evaluator) answer(req *judge.Request, o reply.Object) (judge.Answer, error) {
	var a judge.Answer
	verdict, err := o.Enum("the reply", "verdict", e.choices)
	if err != nil {
		return a, err
	}
	steps, err := o.Evidence("the reply", "evidence_steps", reply.MaxEvidence, invocation.Shown(req.Lines))
	if err != nil {
		return a, err
	}
	why, err := o.Text("the reply", "reason", reply.MaxReason)
	if err != nil {
		return a, err
	}
	switch verdict {
	case LabelYes:
		a = evaluator.Scored(e.criterion.ID, LabelYes, 1, evaluator.PassAt(passAt))
	case LabelNo:
		a = evaluator.Scored(e.criterion.ID, LabelNo, 0, evaluator.PassAt(passAt))
	default:
		a = judge.Answer{Criterion: e.criterion.ID, Verdict: judge.Unclear, Label: evaluator.LabelUnclear}
	}
	a.EvidenceSteps, a.Explanation = steps, why
	return a, nil
}

// Grade is the answer's own score and pass.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade { return evaluator.Alone(answers) }
