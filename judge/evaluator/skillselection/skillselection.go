// Package skillselection owns the evaluator of an agent's choice of skills: for each skill that it asked for, whether asking
// was appropriate, Yes or No. It judges the choice and not the outcome: a judge is shown what came before it.
//
// It does not know which judge answers, nor whether the skill was followed.
package skillselection

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/evaluator/reply"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// Name of the evaluator.
const Name = "skill_selection"

// The verdicts of a reply. Unclear is no answer in compatibility with Strands.
const (
	LabelYes = "Yes"
	LabelNo  = "No"
	unclear  = "Unclear"
)

const passAt = 1.0

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator].
type Options = invocation.Options

// Evaluator asks about choices of skills.
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
		return nil, fmt.Errorf("skill selection evaluator: rubric %s: want one criterion of the scale %s", rubric.Name, judge.ScaleYesNo)
	}
	e := &Evaluator{opts: opts, criterion: rubric.Criteria[0], choices: []string{LabelYes, LabelNo}}
	for _, label := range e.choices {
		if strings.TrimSpace(e.criterion.Anchors[label]) == "" {
			return nil, fmt.Errorf("skill selection evaluator: criterion %s has no anchor %s", e.criterion.ID, label)
		}
	}
	if err := opts.Mode.Check(); err != nil {
		return nil, fmt.Errorf("skill selection evaluator: %w", err)
	}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 4096)
	anchors := map[string]string{LabelYes: e.criterion.Anchors[LabelYes], LabelNo: e.criterion.Anchors[LabelNo]}
	if !opts.Compat {
		e.choices = append(e.choices, unclear)
		anchors[unclear] = cmp.Or(e.criterion.Anchors[unclear], "The request, or whatever would tell what the skill is for, is not recorded.")
	}
	e.schema = `{"type":"object","additionalProperties":false,"required":["evidence_steps","reason","verdict"],"properties":{` +
		`"evidence_steps":{"type":"array","items":{"type":"integer"}},"reason":{"type":"string"},` +
		`"verdict":{"type":"string","enum":["` + strings.Join(e.choices, `","`) + `"]}}}`
	var err error
	if e.prompts, err = prompt.Load(prompts, "", opts.Prompts); err != nil {
		return nil, fmt.Errorf("skill selection evaluator: %w", err)
	}
	e.system, err = prompt.Fill(e.prompts.System, map[string]any{
		"Rubric": rubric, "Compat": opts.Compat, "Labels": e.choices, "Anchors": anchors, "Schema": e.schema,
		"Choices": prompt.Or(e.choices),
	})
	if err != nil {
		return nil, fmt.Errorf("skill selection evaluator: %w", err)
	}
	e.version = e.prompts.Identify(Name, "skill", rubric, e.schema, opts.SHA256())
	return e, nil
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Split names the skills that the agent asked for.
func (e *Evaluator) Split(session evaluator.Subject) []evaluator.Subject {
	return invocation.Split(session, e.opts.Mode, invocation.ByAgent)
}

// Item asks about one skill. Where nothing was invoked, or nothing of the session is recorded, nothing is asked.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	l, err := invocation.Of(&s, invocation.ByAgent)
	if err != nil {
		return nil, nil, fmt.Errorf("skill selection evaluator: %w", err)
	}
	if l == nil {
		return nil, e.nothingInvoked(&s), nil
	}
	v := e.look(&s, l)
	if !e.opts.Compat && len(v.task) == 0 {
		finding, why := invocation.FindingRequestMissing, "What the user asked before this skill was loaded is not recorded."
		if invocation.Withheld(&s) {
			finding, why = invocation.FindingContentMissing, "The harness exported no text of this session."
		}
		return nil, evaluator.Unclear(e.criterion.ID, finding, why), nil
	}
	item, err := e.question(&s, &v, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("skill selection evaluator: subject %s: %w", s.ID, err)
	}
	return item, nil, nil
}

func (e *Evaluator) nothingInvoked(s *evaluator.Subject) []judge.Answer {
	na := func(finding, why string) []judge.Answer {
		return invocation.NotApplicable(e.criterion.ID, finding, why, e.opts.Compat)
	}
	switch {
	case len(s.Steps) == 0 && invocation.Withheld(s) && !e.opts.Compat:
		return evaluator.Unclear(e.criterion.ID, invocation.FindingContentMissing, "The harness exported no text of this session.")
	case len(s.Steps) == 0:
		return na(invocation.FindingNoTrajectory, "The session has no steps.")
	case invocation.AnythingOffered(s):
		return na(invocation.FindingNothingInvoked, "Skills were offered and none was asked for. Whether declining all of them was right is not judged here.")
	}
	return na(invocation.FindingNothingAvailable, "No skill was asked for, and none was offered as far as is recorded.")
}

// view is what a judge is shown about one choice.
type view struct {
	load      *invocation.Load
	task      []schema.Step
	state     string
	catalogue []invocation.Entry
	input     transcript.Input
}

// look gathers what the agent knew when it chose. Nothing that came later may be in it, also not counts in the record's header.
func (e *Evaluator) look(s *evaluator.Subject, l *invocation.Load) view {
	v := view{load: l, input: transcript.Input{Session: s.Session, Steps: s.Steps, Skills: s.Skills}}
	v.state, v.catalogue = invocation.Catalogue(s, l)
	if e.opts.Compat {
		v.task = invocation.Request(s.Steps, -1)
		v.task = v.task[:min(1, len(v.task))]
	} else {
		v.task = invocation.Request(s.Steps, l.At)
		v.input.Steps, v.input.Skills = v.task, nil
		if l.At >= 0 {
			v.input.Steps = s.Steps[:l.At]
		}
		for i := range s.Skills {
			if k := &s.Skills[i]; l.At >= 0 && k.Step != nil && int(*k.Step) < l.Step {
				v.input.Skills = append(v.input.Skills, *k)
			}
		}
		if s.Session != nil {
			then := *s.Session
			then.NTurns = 0
			for i := range v.input.Steps {
				then.NTurns = max(then.NTurns, v.input.Steps[i].Turn)
			}
			v.input.Session = &then
		}
	}
	v.input.Steps = invocation.WithoutCatalogue(v.input.Steps)
	v.input.Facts = facts(&v)
	return v
}

// Names of the facts.
const (
	FactOffered   = "skill_offered"
	FactRefused   = "load_refused"
	FactCatalogue = "catalogue_recorded"
)

func facts(v *view) []judge.Fact {
	f := []judge.Fact{{Name: FactCatalogue, Truth: judge.No}, {Name: FactOffered, Truth: judge.Unknown}, {Name: FactRefused, Truth: judge.No}}
	if v.state != invocation.Unlisted {
		f[0].Truth, f[0].Detail = judge.Yes, fmt.Sprintf("%d skills", len(v.catalogue))
	}
	if o := v.load.Row.Offered; o != nil {
		f[1].Truth = truth(*o)
	}
	if v.load.Refused {
		f[2].Truth = judge.Yes
	}
	return f
}

func truth(yes bool) judge.Truth {
	if yes {
		return judge.Yes
	}
	return judge.No
}

func (e *Evaluator) question(s *evaluator.Subject, v *view, nonce string) (*evaluator.Item, error) {
	opts := e.opts.Rendering(nonce, 0)
	data, plain, lines := e.decision(v, opts)
	decision, body, err := transcript.Block(nonce, data...)
	if err != nil {
		return nil, err
	}
	opts = e.opts.Rendering(nonce, len(body))
	shown, err := transcript.Render(v.input, opts)
	if err != nil {
		return nil, err
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{
		"Facts": shown.Facts, "State": v.state, "Task": len(v.task) > 0, "Refused": v.load.Refused, "Decision": decision, "Compat": e.opts.Compat,
		"Placed": v.load.At >= 0, "Cuts": invocation.Cuts(&shown), "Transcript": shown.Text, "Question": prompt.Question(e.criterion.ID, "yes"),
	})
	if err != nil {
		return nil, err
	}
	item := &evaluator.Item{
		Subject: s.ID, RenderingSHA256: prompt.Hash(shown.SHA256, body), Transcript: plain + shown.Plain, Reductions: invocation.Reductions(&shown),
		Request: judge.Request{
			Evaluator: Name, Subject: s.ID, System: e.system, User: user, Schema: e.schema, SchemaName: "skill_selection", MaxTokens: e.opts.MaxTokens,
			Criteria: []judge.Criterion{e.criterion}, Facts: shown.ShownFacts, Lines: append(lines, shown.Lines...),
		},
	}
	catalogue := slices.DeleteFunc(slices.Clone(lines), func(l judge.Line) bool { return l.Kind != KindCatalogue })
	item.Suspected = len(transcript.Suspicious(item.Request.Lines)) > 0 || transcript.SuspiciousDefinition(catalogue)
	return item, nil
}

// Kinds of the lines, all of step 0, by which a judge that is code learns what stands outside of the record.
const (
	KindTask      = "task"
	KindCatalogue = "catalogue"
	KindDecision  = "decision"
)

const (
	maxEntries = 300
	maxField   = 2000
)

// decision is the first block: the task, what was offered, what was asked for.
func (e *Evaluator) decision(v *view, opts transcript.Options) (data []any, plain string, lines []judge.Line) {
	text := func(s string, most int) string { return invocation.Clip(transcript.Text(s, opts), most) }
	var task *string
	var steps []int32
	var words []string
	for _, t := range v.task {
		words = append(words, t.Text)
		steps = append(steps, t.Step)
	}
	if len(words) > 0 {
		t := text(strings.Join(words, "\n\n"), 10*maxField)
		task = &t
		plain = t + "\n"
		lines = append(lines, judge.Line{Role: "user", Kind: KindTask, Text: t})
	}
	data = append(data, struct {
		Task  *string `json:"task"`
		Steps []int32 `json:"steps,omitempty"`
	}{task, steps}, struct {
		Catalogue string `json:"catalogue"`
		Skills    int    `json:"skills"`
		More      int    `json:"not_shown,omitempty"`
	}{v.state, len(v.catalogue), max(0, len(v.catalogue)-maxEntries)})
	for i, c := range v.catalogue {
		if i >= maxEntries && c.Skill != v.load.Skill {
			continue
		}
		entry := struct {
			Skill       string  `json:"skill"`
			Description *string `json:"description"`
		}{Skill: text(c.Skill, 200)}
		if d := text(c.Description, maxField); d != "" {
			entry.Description = &d
			plain += d + "\n"
		}
		data = append(data, entry)
		lines = append(lines, judge.Line{Role: "system", Kind: KindCatalogue, Tool: entry.Skill, Text: text(c.Description, maxField)})
	}
	d := struct {
		Asked       string `json:"skill_asked_for"`
		Via         string `json:"via"`
		Step        int    `json:"step,omitempty"`
		Description string `json:"description,omitempty"`
		Refused     bool   `json:"refused"`
		Message     string `json:"harness_message,omitempty"`
	}{Asked: text(v.load.Skill, 200), Via: v.load.Row.Via, Step: v.load.Step, Refused: v.load.Refused, Message: text(v.load.Refusal, maxField)}
	if v.state != invocation.Listed { // elsewhere it stands in the catalogue; of a skill that was read, its own file tells it
		d.Description = text(v.load.Row.Description, maxField)
	}
	lines = append(lines, judge.Line{Role: "assistant", Kind: KindDecision, Tool: d.Asked, Outcome: v.load.Row.Outcome, Text: d.Message})
	return append(data, struct {
		Decision any `json:"decision"`
	}{d}), plain + d.Message + "\n", lines
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
	if e.opts.Compat {
		a.Explanation = asked(req) + ": " + why
	}
	return a, nil
}

// asked is the name of the skill that a request is about.
func asked(req *judge.Request) string {
	i := slices.IndexFunc(req.Lines, func(l judge.Line) bool { return l.Step == 0 && l.Kind == KindDecision })
	if i < 0 {
		return ""
	}
	return req.Lines[i].Tool
}

// Grade is the answer's own score and pass.
func (e *Evaluator) Grade(answers []judge.Answer) evaluator.Grade { return evaluator.Alone(answers) }
