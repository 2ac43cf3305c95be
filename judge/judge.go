// Package judge owns the verdict model, rubrics and the Judge interface: what a question to a judge is and what counts
// as an answer. A verdict is never defaulted: Met, Not met, Not applicable, Unclear and Ungraded stay apart everywhere.
//
// It does not know vendors (package model does), prompts or transcripts (packages evaluator and transcript do).
package judge

import (
	"context"
	"fmt"
	"time"
)

// Verdict is the answer to one criterion. Values are those of the verdict column.
type Verdict string

// The verdicts. Scored carries a score and a label in place of met or not met.
const (
	Met           Verdict = "met"
	NotMet        Verdict = "not_met"
	NotApplicable Verdict = "not_applicable"
	Unclear       Verdict = "unclear"
	Scored        Verdict = "scored"
	Ungraded      Verdict = "ungraded"
)

// Truth is the value of a fact that code computed.
type Truth string

// The values of a fact.
const (
	Yes     Truth = "yes"
	No      Truth = "no"
	Unknown Truth = "unknown"
)

// Fact is something that code knows about a subject, given to the judge as trusted. A verdict that contradicts a yes or a
// no is invalid.
type Fact struct {
	Name   string `json:"name"`             // snake_case: anything_denied
	Truth  Truth  `json:"truth"`            //
	Detail string `json:"detail,omitempty"` // counts and step numbers, never content
	Steps  []int  `json:"steps,omitempty"`  // evidence
}

// Line is one step of a subject as a code judge sees it: what schema.Step holds, after masking and reduction.
type Line struct {
	Step      int    `json:"step"`
	Turn      int    `json:"turn"`
	Role      string `json:"role"`
	Kind      string `json:"kind"`
	Agent     string `json:"agent,omitempty"`
	Tool      string `json:"tool,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Outcome   string `json:"outcome,omitempty"`
	ExitCode  *int   `json:"exit_code,omitempty"`
	Text      string `json:"text,omitempty"`
	Note      string `json:"note,omitempty"` // what was cut here
}

// Request is one question to a judge about one subject: everything that may influence the answer and nothing else.
type Request struct {
	Evaluator   string `json:"evaluator"`
	Subject     string `json:"subject"`
	System      string `json:"system"`      // instructions and rubric: the stable prefix, byte-identical over a run
	User        string `json:"user"`        // the subject as untrusted, fenced data, and the question in one line at the end
	Schema      string `json:"schema"`      // JSON Schema of the reply: closed, flat, all required; "" asks for plain text
	SchemaName  string `json:"schema_name"` // [a-zA-Z0-9_-]{1,64}
	MaxTokens   int    `json:"max_tokens"`
	Repeat      int    `json:"repeat"`       // number of the repetition, from 0
	RepairOf    string `json:"repair_of"`    // the reply that was invalid, "" for a first try
	RepairError string `json:"repair_error"` // what was wrong with it

	Criteria []Criterion `json:"criteria"` // in the order asked
	Facts    []Fact      `json:"facts"`
	Lines    []Line      `json:"lines"` // for judges that are code; a model sees only System and User
	// ByCode is the reply that code can give, by the evaluator itself; "" where code can tell nothing, or where the rules judge has
	// rules of its own. A model never sees it.
	ByCode string `json:"by_code,omitempty"`
}

// Usage counts the tokens of one call. Nil is unknown.
type Usage struct {
	InputTokens      *int64 `json:"input_tokens,omitempty"` // without cache reads and writes, as Bedrock counts
	CacheReadTokens  *int64 `json:"cache_read_tokens,omitempty"`
	CacheWriteTokens *int64 `json:"cache_write_tokens,omitempty"`
	OutputTokens     *int64 `json:"output_tokens,omitempty"`
}

// Reply is what a judge answered: text that should be JSON of the request's schema.
type Reply struct {
	Text       string        `json:"text"`
	StopReason string        `json:"stop_reason"`
	Usage      Usage         `json:"usage"`
	Latency    time.Duration `json:"latency"`
}

// Identity is what makes two judges different: part of the run id and of the cache key.
type Identity struct {
	Model      string `json:"model"`      // "rules", "eu.anthropic.claude-…"
	Mode       string `json:"mode"`       // code, native_schema, forced_tool, auto_tool, text
	Parameters string `json:"parameters"` // canonical JSON of temperature and the like
	Offline    bool   `json:"offline"`    // verdicts come from code, not from a model
}

// Judge answers requests. Implementations are safe for concurrent use. Judge makes one attempt: it does not retry.
type Judge interface {
	Identity() Identity
	// Judge returns a *CallError for every failure of the call itself. A reply that is not what was asked for is a Reply:
	// the evaluator finds out.
	Judge(ctx context.Context, req *Request) (Reply, error)
}

// Class says what kind of failure a call met. Values are those of calls.error_class and, when final, of ungraded_reason.
type Class string

// The classes.
const (
	ClassThrottled  Class = "throttled"        // slow down and try again
	ClassTransient  Class = "transient"        // 5xx, reset: try again
	ClassTimeout    Class = "timeout"          // try again
	ClassTruncated  Class = "truncated"        // the reply hit max_tokens
	ClassRefused    Class = "judge_refused"    // refusal, guardrail, content filter
	ClassOverflow   Class = "context_overflow" // the subject does not fit the model
	ClassMalformed  Class = "malformed_output" // the service says the model's output was unusable
	ClassInvalid    Class = "invalid_request"  // the service will never take this request
	ClassAccess     Class = "access_denied"    // no call of this run can succeed: stop
	ClassQuota      Class = "quota_exceeded"   // stop cleanly
	ClassSchema     Class = "schema_error"     // the reply is not of the schema, after one repair
	ClassContradict Class = "contradicts_fact" // after one repair
	ClassUnknown    Class = "unknown_error"    //
)

// Retryable says whether the same request may succeed later.
func (c Class) Retryable() bool {
	return c == ClassThrottled || c == ClassTransient || c == ClassTimeout
}

// Fatal says that no further call of the run can succeed.
func (c Class) Fatal() bool { return c == ClassAccess || c == ClassQuota }

// CallError is a failed call.
type CallError struct {
	Class      Class
	RetryAfter time.Duration // as the service asks; 0 none
	Usage      Usage         // tokens that the failed attempt cost, where known
	StopReason string
	Hint       string // one sentence for a person, or ""
	Refuses    string // what of how it is asked the service will never take, of an invalid request; "" where that is not known
	Err        error
}

func (e *CallError) Error() string { return fmt.Sprintf("judge call: %s: %v", e.Class, e.Err) }

// Unwrap is the cause.
func (e *CallError) Unwrap() error { return e.Err }

// Answer is the checked answer to one criterion.
type Answer struct {
	Criterion     string
	Item          string // below a criterion, e.g. a skill; "" otherwise
	Verdict       Verdict
	Label         string   // the evaluator's own word
	Score         *float64 // computed by code
	Pass          *bool
	Coverage      *float64
	EvidenceSteps []int
	Findings      []string
	Reason        string // ungraded reason, a Class; "" otherwise
	Explanation   string // the judge's short text, not yet masked or checked for quotation
	Withheld      string // why the explanation was withheld; "" otherwise
	Steps         string // JSON, evaluators that judge steps
}
