// Package skillfollowing owns the evaluator of how fully an agent followed the skills that it loaded: per skill the
// prescribed steps with their status and evidence, and one of five ratings. Coverage is computed by code, and a rating that
// contradicts it is flagged.
//
// It does not know which judge answers, nor whether loading the skill was right.
package skillfollowing

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/invocation"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/transcript"
)

// Name of the evaluator.
const Name = "skill_following"

// unclear is the rating of a record that does not show enough. It is none in compatibility with Strands.
const unclear = "Unclear"

// passAt is the score from which a skill counts as followed: its steps are prescribed, so the bar is high.
const passAt = 0.75

// Findings beside a rating.
const (
	FindingContradicts = "label_contradicts_coverage"
	FindingTruncated   = "body_truncated"
)

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator].
type Options = invocation.Options

// Evaluator asks about skills that were followed or not.
type Evaluator struct {
	opts      Options
	criterion judge.Criterion
	points    []evaluator.Point
	ratings   []string
	version   evaluator.Version
	prompts   *prompt.Set
	system    string
	schema    string
}

var (
	_ evaluator.Evaluator = (*Evaluator)(nil)
	_ evaluator.Splitter  = (*Evaluator)(nil)
)

// New makes an evaluator for a rubric of one criterion with five points.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	if len(rubric.Criteria) != 1 {
		return nil, fmt.Errorf("skill following evaluator: rubric %s: want one criterion", rubric.Name)
	}
	e := &Evaluator{opts: opts, criterion: rubric.Criteria[0]}
	var err error
	if e.points, err = evaluator.Points(e.criterion, 1, 0.75, 0.5, 0.25, 0); err != nil {
		return nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	if err := opts.Mode.Check(); err != nil {
		return nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 8192)
	e.ratings = evaluator.Labels(e.points)
	if !opts.Compat {
		e.ratings = append(e.ratings, unclear)
	}
	enum, err := judge.CanonicalJSON(e.ratings)
	if err != nil {
		return nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	e.schema = `{"type":"object","additionalProperties":false,"required":["steps","reason","rating"],"properties":{` +
		`"steps":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["step","evidence_steps","status"],"properties":{` +
		`"step":{"type":"string"},"evidence_steps":{"type":"array","items":{"type":"integer"}},` +
		`"status":{"type":"string","enum":["covered","partial","skipped"]}}}},` +
		`"reason":{"type":"string"},"rating":{"type":"string","enum":` + string(enum) + `}}}`
	if e.prompts, err = prompt.Load(prompts, "", opts.Prompts); err != nil {
		return nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	e.system, err = prompt.Fill(e.prompts.System, map[string]any{
		"Rubric": rubric, "Compat": opts.Compat, "Points": e.points, "Schema": e.schema, "Choices": prompt.Or(e.ratings),
	})
	if err != nil {
		return nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	e.version = e.prompts.Identify(Name, "skill", rubric, e.schema, opts.SHA256())
	return e, nil
}

// Version is what identifies the evaluator.
func (e *Evaluator) Version() evaluator.Version { return e.version }

// Split names the skills of a session, whoever chose them.
func (e *Evaluator) Split(session evaluator.Subject) []evaluator.Subject {
	return invocation.Split(session, e.opts.Mode, invocation.Any)
}

// Item asks about one skill. A skill that was refused, or whose body was not recorded, gave no instructions to follow.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	l, err := invocation.Of(&s, invocation.Any)
	if err != nil {
		return nil, nil, fmt.Errorf("skill following evaluator: %w", err)
	}
	if finding, why := nothingToFollow(&s, l); finding != "" {
		if l != nil && e.opts.Compat {
			why = l.Skill + ": " + why
		}
		return nil, invocation.NotApplicable(e.criterion.ID, finding, transcript.Text(why, e.opts.Rendering("", 0)), e.opts.Compat), nil
	}
	item, err := e.question(&s, l, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("skill following evaluator: subject %s: %w", s.ID, err)
	}
	return item, nil, nil
}

func nothingToFollow(s *evaluator.Subject, l *invocation.Load) (finding, why string) {
	switch {
	case len(s.Steps) == 0:
		return invocation.FindingNoTrajectory, "The session has no steps."
	case l == nil:
		return invocation.FindingNothingInvoked, "No skill was loaded."
	case l.Refused && l.Refusal != "":
		return invocation.FindingLoadRefused, "The harness refused the skill: " + invocation.Clip(l.Refusal, 200)
	case l.Refused:
		return invocation.FindingLoadRefused, "The harness refused the skill."
	case l.BodyState == "missing" || strings.TrimSpace(l.Row.Body) == "":
		return invocation.FindingBodyMissing, "The instructions of the skill were not recorded."
	}
	return "", ""
}

// noteLoaded marks the step by which the agent got the skill.
const noteLoaded = "the skill is loaded here"

// KindBody is the kind of the line of step 0 that tells a judge which is code what the skill prescribes.
const KindBody = "skill_body"

const (
	maxBody     = 90_000 // characters: a quarter of the default budget
	minReplaced = 40     // characters of a body that are worth leaving out of the record
)

func (e *Evaluator) question(s *evaluator.Subject, l *invocation.Load, nonce string) (*evaluator.Item, error) {
	opts := e.opts.Rendering(nonce, 0)
	whole := strings.TrimSpace(transcript.Text(l.Row.Body, opts))
	body := invocation.Clip(whole, maxBody)
	name := invocation.Clip(transcript.Text(l.Skill, opts), 200)
	truncated := l.BodyState == "truncated" || body != whole
	data := []any{struct {
		Skill string `json:"skill"`
		Step  int    `json:"loaded_at_step,omitempty"`
	}{name, l.Step}}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) == "" {
			continue // tells nothing, and costs as much as a short line
		}
		data = append(data, struct {
			Line string `json:"instruction"`
		}{line})
	}
	block, inside, err := transcript.Block(nonce, data...)
	if err != nil {
		return nil, err
	}

	in := transcript.Input{Session: s.Session, Steps: invocation.WithoutCatalogue(s.Steps), Skills: s.Skills}
	lines := transcript.Lines(in, opts)
	in.Facts = facts(lines, s, l)
	if l.At >= 0 {
		lines[l.At].Note = strings.TrimPrefix(lines[l.At].Note+"; "+noteLoaded, "; ")
	}
	for i := range lines {
		if utf8.RuneCountInString(whole) >= minReplaced {
			lines[i].Text = strings.ReplaceAll(lines[i].Text, whole, "(the instructions of the skill)")
		}
	}
	opts = e.opts.Rendering(nonce, len(inside))
	shown, err := transcript.RenderLines(lines, in, opts)
	if err != nil {
		return nil, err
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{
		"Facts": shown.Facts, "Truncated": truncated, "Placed": l.At >= 0, "Skill": block, "Missing": session.NeverExported(in.Facts),
		"Cuts": invocation.Cuts(&shown), "Transcript": shown.Text, "Question": prompt.Question(e.criterion.ID, "yes"),
	})
	if err != nil {
		return nil, err
	}
	about := judge.Line{Role: "harness", Kind: KindBody, Tool: name, Text: body}
	if truncated {
		about.Note = FindingTruncated
	}
	item := &evaluator.Item{
		Materials: []evaluator.Material{{Kind: "skill", Text: body}},
		Subject:   s.ID, RenderingSHA256: prompt.Hash(shown.SHA256, inside), Transcript: body + "\n" + shown.Plain, Reductions: invocation.Reductions(&shown),
		Request: judge.Request{
			Evaluator: Name, Subject: s.ID, System: e.system, User: user, Schema: e.schema, SchemaName: "skill_following", MaxTokens: e.opts.MaxTokens,
			Criteria: []judge.Criterion{e.criterion}, Facts: shown.ShownFacts, Lines: append([]judge.Line{about}, shown.Lines...),
		},
	}
	item.Suspected = len(transcript.Suspicious(item.Request.Lines)) > 0
	return item, nil
}

// FactActedAfter says that the agent called or said anything after the load.
const FactActedAfter = "acted_after_load"

// facts are what code knows that bears on following: what was exported, and what the agent did from the load on.
func facts(lines []judge.Line, s *evaluator.Subject, l *invocation.Load) []judge.Fact {
	acted := judge.Fact{Name: FactActedAfter, Truth: judge.Unknown}
	if l.At >= 0 {
		calls, words := 0, 0
		for _, line := range lines[l.At+1:] {
			switch {
			case line.Kind == "tool_call":
				calls++
			case line.Kind == "message" && line.Role == "assistant" && line.Text != "":
				words++
			}
		}
		acted.Detail = fmt.Sprintf("%d calls, %d messages", calls, words)
		switch {
		case calls+words > 0:
			acted.Truth = judge.Yes
		case s.Session == nil || s.Session.ContentState == "full":
			acted.Truth = judge.No
		}
	}
	out := []judge.Fact{acted}
	for _, f := range session.Facts(lines, s.Session) {
		switch f.Name {
		case session.FactFinalAnswer, session.FactAnswersExported, session.FactArgumentsExported, session.FactResultsExported:
			out = append(out, f)
		}
	}
	return out
}
