// Package session owns the evaluator of whole sessions: a rubric of criteria with met, not met, not applicable and unclear,
// asked about one session in one call.
//
// It computes facts by code, renders the session, asks, checks that the answer is of the form asked for and contradicts no
// fact, and computes pass and safe. It does not know which judge answers.
package session

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/transcript"
)

// Name of the evaluator.
const Name = "session"

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator]. The zero value is right for models with a window of 200,000 tokens.
type Options struct {
	Budget      int                 // tokens of the transcript; 0 means transcript.DefaultBudget
	Tokens      func(string) int    // nil means a token per 3 bytes
	Mask        func(string) string // nil shows text as it was stored
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a reply; 0 means 8192: room for thinking
	Prompts     evaluator.Prompts
}

// Evaluator asks a rubric about sessions.
type Evaluator struct {
	rubric  judge.Rubric
	opts    Options
	version evaluator.Version
	system  string
	schema  string
	user    *template.Template
}

var _ evaluator.Evaluator = (*Evaluator)(nil)

// New makes an evaluator for a rubric whose criteria have the scale met.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	if len(rubric.Criteria) == 0 {
		return nil, fmt.Errorf("session evaluator: rubric %s has no criteria", rubric.Name)
	}
	for _, c := range rubric.Criteria {
		if c.Scale != judge.ScaleMet {
			return nil, fmt.Errorf("session evaluator: criterion %s has scale %q: want %q", c.ID, c.Scale, judge.ScaleMet)
		}
		if c.AppliesFact != "" && !slices.Contains(FactNames(), c.AppliesFact) {
			msg := fmt.Sprintf("session evaluator: criterion %s: there is no fact %q", c.ID, c.AppliesFact)
			if near := judge.Nearest(c.AppliesFact, FactNames()); near != "" {
				msg += fmt.Sprintf(" (did you mean %q?)", near)
			}
			return nil, fmt.Errorf("%s; facts are %s", msg, strings.Join(FactNames(), ", "))
		}
	}
	opts.MaxTokens = cmp.Or(opts.MaxTokens, 8192)
	e := &Evaluator{rubric: rubric, opts: opts, schema: replySchema(rubric)}
	set, err := prompt.Load(prompts, "", opts.Prompts)
	if err != nil {
		return nil, fmt.Errorf("session evaluator: %w", err)
	}
	e.user = set.User
	if e.system, err = execute(set.System, struct {
		Schema string
		Rubric judge.Rubric
	}{e.schema, rubric}); err != nil {
		return nil, err
	}
	e.version = set.Identify(Name, "session", rubric, e.schema, e.rendering("").SettingsSHA256())
	return e, nil
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

func (e *Evaluator) rendering(nonce string) transcript.Options {
	return transcript.Options{Nonce: nonce, Budget: e.opts.Budget, Tokens: e.opts.Tokens, Mask: e.opts.Mask, MaskVersion: e.opts.MaskVersion}
}

// Labels of sessions that no judge is asked about.
const (
	LabelNoSteps        = "no_steps"
	LabelContentMissing = "content_missing"
	LabelForOthers      = "for_other_services" // the criterion is for other services or agents
)

// Item renders a session and asks the rubric about it. A session without steps is not asked about: not applicable, or
// unclear where its content was never exported.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	return e.itemInOrder(s, nonce, false)
}

// itemInOrder is Item with the criteria in the order in which this session is always asked, or the other way round.
func (e *Evaluator) itemInOrder(s evaluator.Subject, nonce string, reversed bool) (*evaluator.Item, []judge.Answer, error) {
	if len(s.Steps) == 0 {
		return nil, e.withoutSteps(s), nil
	}
	in := transcript.Input{Session: s.Session, Steps: s.Steps, Skills: s.Skills}
	opts := e.rendering(nonce)
	lines := transcript.Lines(in, opts)
	parts, err := transcript.RenderParts(lines, in, opts, func(lines []judge.Line) []judge.Fact { return Facts(lines, s.Session) })
	if err != nil {
		return nil, nil, fmt.Errorf("session evaluator: subject %s: %w", s.ID, err)
	}
	criteria, elsewhere := e.asked(&s)
	if len(criteria) == 0 {
		return nil, elsewhere, nil
	}
	if reversed {
		slices.Reverse(criteria)
	}
	items := make([]evaluator.Item, len(parts))
	for i := range parts {
		if items[i], err = e.item(s.ID, &parts[i], criteria); err != nil {
			return nil, nil, err
		}
	}
	first := &items[0]
	first.More = items[1:]
	first.Suspected = len(transcript.Suspicious(lines)) > 0 || suspiciousNames(&s, opts)
	return first, nil, nil
}

// suspiciousNames looks at the names that are shown beside the steps.
func suspiciousNames(s *evaluator.Subject, opts transcript.Options) bool {
	var names []string
	if s.Session != nil {
		names = append(names, s.Session.Service, s.Session.Agent)
	}
	for i := range s.Skills {
		k := &s.Skills[i]
		names = append(names, k.Skill, k.Description, k.Body)
	}
	return slices.ContainsFunc(names, func(n string) bool { return transcript.SuspiciousText(transcript.Text(n, opts)) })
}

func (e *Evaluator) item(subject string, shown *transcript.Rendering, criteria []judge.Criterion) (evaluator.Item, error) {
	user, err := e.question(shown, criteria)
	if err != nil {
		return evaluator.Item{}, err
	}
	item := evaluator.Item{
		Subject: subject, RenderingSHA256: shown.SHA256, Transcript: shown.Plain, Reductions: []string{},
		Request: judge.Request{
			Evaluator: Name, Subject: subject, System: e.system, User: user, Schema: e.schema, SchemaName: "session_verdicts",
			MaxTokens: e.opts.MaxTokens, Criteria: criteria, Facts: shown.ShownFacts, Lines: shown.Lines,
		},
	}
	for _, r := range shown.Reductions {
		item.Reductions = append(item.Reductions, r.String())
	}
	return item, nil
}

func (e *Evaluator) withoutSteps(s evaluator.Subject) []judge.Answer {
	verdict, label := judge.NotApplicable, LabelNoSteps
	if s.Session != nil && s.Session.ContentState != "" && s.Session.ContentState != "full" {
		verdict, label = judge.Unclear, LabelContentMissing
	}
	out := make([]judge.Answer, len(e.rubric.Criteria))
	for i, c := range e.rubric.Criteria {
		out[i] = judge.Answer{Criterion: c.ID, Verdict: verdict, Label: label}
	}
	return out
}

// asked are the criteria that are asked of a session, and the answers to those that are for other services or agents only.
func (e *Evaluator) asked(s *evaluator.Subject) (criteria []judge.Criterion, elsewhere []judge.Answer) {
	service, agent := "", ""
	if s.Session != nil {
		service, agent = s.Session.Service, s.Session.Agent
	}
	for _, c := range e.rubric.Criteria {
		if c.AppliesTo(service, agent) {
			criteria = append(criteria, c)
		} else {
			elsewhere = append(elsewhere, forOthers(c.ID))
		}
	}
	return e.shuffled(s.ID, criteria), elsewhere
}

func forOthers(criterion string) judge.Answer {
	return judge.Answer{Criterion: criterion, Verdict: judge.NotApplicable, Label: LabelForOthers}
}

// shuffled is the order in which a subject's criteria are asked: by hash, so that no criterion is always first and the
// same session is always asked in the same order.
func (e *Evaluator) shuffled(subject string, out []judge.Criterion) []judge.Criterion {
	key := make(map[string]string, len(out))
	for _, c := range out {
		key[c.ID] = prompt.Hash("criteria order", e.version.RubricSHA256, subject, c.ID)
	}
	slices.SortFunc(out, func(a, b judge.Criterion) int { return cmp.Compare(key[a.ID], key[b.ID]) })
	return out
}

// question is one line of the question: which criterion, and what its fact already decides.
type question struct {
	Criterion string `json:"criterion"`
	Applies   string `json:"applies"` // yes, no, judge
}

func (e *Evaluator) question(shown *transcript.Rendering, criteria []judge.Criterion) (string, error) {
	facts := factMap(shown.ShownFacts)
	lines := make([]string, len(criteria))
	for i, c := range criteria {
		q := question{Criterion: c.ID, Applies: "judge"}
		switch truth := facts[c.AppliesFact].Truth; {
		case c.AppliesFact == "" && c.AppliesWhen == "":
			q.Applies = "yes"
		case truth == judge.Yes || truth == judge.No:
			q.Applies = string(truth)
		}
		b, err := json.Marshal(q)
		if err != nil {
			return "", fmt.Errorf("session evaluator: encode a question: %w", err)
		}
		lines[i] = string(b)
	}
	var cuts []string
	for _, r := range shown.Reductions {
		cuts = append(cuts, r.Rung)
	}
	if n := len(shown.Gaps); n > 0 {
		cuts = append(cuts, fmt.Sprintf("%d gaps", n))
	}
	return execute(e.user, struct {
		Part, Facts, Missing, Cuts, Transcript string
		Questions                              []string
	}{shown.Part.String(), shown.Facts, NeverExported(shown.ShownFacts), strings.Join(cuts, ", "), shown.Text, lines})
}

// replySchema is the closed schema of a reply. The order of its keys is the order in which a model writes: evidence, then
// reason, then verdict. It uses only keywords that every structured-output mode takes.
func replySchema(r judge.Rubric) string {
	ids := make([]string, len(r.Criteria))
	for i, c := range r.Criteria {
		ids[i] = `"` + c.ID + `"` // snake_case: nothing to escape
	}
	return `{"type":"object","additionalProperties":false,"required":["criteria","transcript_gaps_matter"],"properties":{` +
		`"criteria":{"type":"array","items":{"type":"object","additionalProperties":false,` +
		`"required":["id","evidence_steps","applicable","reason","verdict"],"properties":{` +
		`"id":{"type":"string","enum":[` + strings.Join(ids, ",") + `]},` +
		`"evidence_steps":{"type":"array","items":{"type":"integer"}},` +
		`"applicable":{"type":"boolean"},` +
		`"reason":{"type":"string"},` +
		`"verdict":{"type":"string","enum":["met","not_met","not_applicable","unclear"]}}}},` +
		`"transcript_gaps_matter":{"type":"boolean"}}}`
}

func execute(t *template.Template, data any) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("session evaluator: fill prompt %s: %w", t.Name(), err)
	}
	return b.String(), nil
}
