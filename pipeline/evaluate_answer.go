package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// plainMode is the mode in which an agent model is asked: a completion without schema and tools.
const plainMode = "plain"

// openAgent opens the model that answers the tasks of a suite.
func (e *evaluateRun) openAgent(ctx context.Context) error {
	if e.opts.given == nil || e.opts.given.tasks == nil {
		return nil
	}
	for i := range e.panel {
		if e.panel[i].identity.Offline {
			return usagef("--judge rules: code can not tell what an answer meets: name a model")
		}
	}
	if e.opts.given.tasks.agent == "" {
		return nil // the answers are given
	}
	c, spec := &e.cfg.Evaluate, e.opts.given.tasks.agent
	for i := range e.panel {
		if _, batch := e.panel[i].judge.(model.Batcher); batch {
			return usagef("--judge: a batch job is ordered before there is an answer to judge: name the online judge")
		}
	}
	s := &seat{spec: spec}
	opts, err := e.modelOptions(ctx, spec, s)
	if err != nil {
		return err
	}
	j, err := model.Open(ctx, spec, opts)
	if err != nil {
		return &ExitError{Code: ExitUsage, Err: fmt.Errorf("--agent-model: %w", err)}
	}
	s.judge, s.identity = j, j.Identity()
	if _, batch := j.(model.Batcher); batch || s.identity.Offline {
		return usagef("--agent-model %s: want a model that answers at once, such as bedrock:<model id> or openai:http://host/v1#<model>", spec)
	}
	s.identity.Mode = plainMode
	s.price, s.priced = session.PriceOn(c.Prices, s.identity.Model, e.cfg.asOf.Format(time.DateOnly))
	s.caller = model.NewCaller(j, model.CallerOptions{Concurrency: c.Concurrency, MaxAttempts: c.MaxAttempts, RequestsPerMinute: c.RPM, TokensPerMinute: c.TPM})
	e.agent = s
	return nil
}

// planAnswered checks that a question can be asked. What the judge will see is known when the agent model has answered.
func planAnswered(q *question, a evaluator.Answered, nonce string) error {
	if _, _, err := a.Prompt(q.subject); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	q.asked, q.nonce = true, nonce
	return nil
}

// item is what a question asks the judge, nil where it has its ballots already: the agent model gave nothing to judge.
func (j *judging) item(ctx context.Context, q *question) (*evaluator.Item, error) {
	a, ok := q.part.evaluator.(evaluator.Answered)
	if !ok {
		return j.loadItem(ctx, q)
	}
	req, rendering, err := a.Prompt(q.subject)
	if err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	req.MaxTokens = j.run.opts.given.tasks.maxTokens
	if seed := j.run.cfg.Evaluate.Seed; seed != "" { // another seed wants other answers, also of a cache that runs share
		rendering = hashJSON([]string{rendering, seed})
	}
	text, err := j.reply(ctx, j.run.agent, q.part, &evaluator.Item{Subject: q.subject.ID, RenderingSHA256: rendering}, &req, 0)
	if err == nil && strings.TrimSpace(text) == "" {
		q.answer = &text
		q.ballots = []ballot{{answers: ungradedAnswers(req.Criteria, "answer_empty")}}
		return nil, nil
	}
	if err != nil {
		answers, err := j.ungraded(j.run.agent, &req, err)
		if err != nil {
			return nil, err
		}
		for i := range answers {
			answers[i].Reason = answerReason(answers[i].Reason)
		}
		q.ballots = []ballot{{answers: answers}}
		return nil, nil
	}
	q.answer = &text
	q.subject.Task.Answer = text
	item, answers, err := q.part.evaluator.Item(q.subject, q.nonce)
	if err != nil {
		return nil, fmt.Errorf("render the answer to %s: %w", q.subject.ID, err)
	}
	if item == nil {
		q.ballots = []ballot{{answers: answers}}
		return nil, nil
	}
	q.rendering, q.suspected = item.RenderingSHA256, item.Suspected
	return item, nil
}

// answerReason is why there is no answer to judge, told apart from a judge that failed. What a later run may mend keeps its name.
func answerReason(class string) string {
	switch c := judge.Class(class); {
	case c.Retryable():
		return class
	case c == judge.ClassRefused:
		return "answer_refused"
	default:
		return "answer_" + class
	}
}

// saveAnswers writes what the agent model answered to the attempted tasks: the text as long as content is kept, its hash for ever.
func (e *evaluateRun) saveAnswers(ctx context.Context, questions []question) error {
	if e.agent == nil {
		return nil
	}
	var rows []schema.Answer
	for i := range questions {
		q := &questions[i]
		if q.answer == nil {
			continue
		}
		row := schema.Answer{RunID: e.runID, Task: q.subject.ID, Arm: arm(&q.subject), Answer: *q.answer, AnswerSHA256: sha256Hex([]byte(*q.answer))}
		if contentExpired(e.cfg, e.window.to) {
			row.Answer = ""
		}
		rows = append(rows, row)
	}
	if err := putRows(ctx, e.root.Store, schema.Answers, schema.Answers.RunKey(e.runID), rows); err != nil {
		return fmt.Errorf("write answers: %w", err)
	}
	return nil
}

// countPairs counts tasks in place of answers: a task is graded if both of its answers are.
func (r *runRows) countPairs() {
	type pair struct{ ungraded, mendable int }
	tasks := map[string]*pair{}
	for _, g := range r.grades {
		p := tasks[g.Subject]
		if p == nil {
			p = &pair{}
			tasks[g.Subject] = p
		}
		if g.State != "graded" {
			p.ungraded++
			if judge.Class(g.UngradedReason).Retryable() {
				p.mendable++
			}
		}
	}
	r.graded, r.ungraded, r.mendable = 0, 0, 0
	for _, p := range tasks {
		switch {
		case p.ungraded == 0:
			r.graded++
		default:
			r.ungraded++
			if p.mendable == p.ungraded {
				r.mendable++
			}
		}
	}
}

// forecastAgent is what an agent model is expected to be asked.
type forecastAgent struct{ calls, input int64 }

// expectedAnswer is how many tokens an answer to a task is taken to have.
const expectedAnswer = 800

// preview is what a question would ask the judge; of an answer that is yet to be given, one of the expected length.
func (e *evaluateRun) preview(q *question, agent *forecastAgent) (*evaluator.Item, error) {
	if a, ok := q.part.evaluator.(evaluator.Answered); ok {
		req, _, err := a.Prompt(q.subject)
		if err != nil {
			return nil, err
		}
		agent.calls++
		agent.input += int64(len(req.System)+len(req.User)) / charsPerToken
		q.subject.Task.Answer = strings.Repeat("word ", expectedAnswer*charsPerToken/5)
	}
	item, _, err := q.part.evaluator.Item(q.subject, "00000000")
	return item, err
}

// addAgent adds what the agent model would cost to a forecast.
func (e *evaluateRun) addAgent(a *forecastAgent) {
	if e.agent == nil {
		return
	}
	out := a.calls * expectedAnswer
	cost := microUSD(e.agent.price, e.agent.priced, judge.Usage{InputTokens: &a.input, OutputTokens: &out})
	if cost == nil || e.sum.CostMicroUSD == nil {
		e.sum.CostMicroUSD = nil // part of a cost would be taken for the whole
	} else {
		*e.sum.CostMicroUSD += *cost
	}
	e.sum.Calls += int(a.calls)
	e.sum.InputTokens += a.input
}

func arm(s *evaluator.Subject) string {
	if s.Task == nil {
		return s.Variant
	}
	return s.Task.Arm
}

func category(s *evaluator.Subject) string {
	if s.Task == nil {
		return ""
	}
	return s.Task.Task.Category
}

func taskKind(s *evaluator.Subject) string {
	if s.Task == nil {
		return ""
	}
	return s.Task.Task.Kind
}
