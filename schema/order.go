package schema

import (
	"cmp"
	"strings"
)

// Row is implemented by the row types: an order that is the key order of their table, and a size for closing row groups.
type Row[T any] interface {
	// Compare orders rows by their table's key, nulls first. Zero means the same row.
	Compare(other T) int
	// ByteSize estimates the uncompressed bytes of the row.
	ByteSize() int
}

// Compare orders by source, object, etag.
func (a Object) Compare(b Object) int {
	return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Object, b.Object), strings.Compare(a.ETag, b.ETag))
}

// ByteSize estimates the row's bytes.
func (a Object) ByteSize() int { return 96 + len(a.Object) + len(a.ETag) }

// Compare orders by source, object, etag, offset.
func (a QuarantineRow) Compare(b QuarantineRow) int {
	return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(a.Object, b.Object), strings.Compare(a.ETag, b.ETag), cmp.Compare(a.Offset, b.Offset))
}

// ByteSize estimates the row's bytes.
func (a QuarantineRow) ByteSize() int { return 96 + len(a.Object) + len(a.ETag) + len(a.Reason) }

// Compare orders by tenant, trace, session.
func (a Trace) Compare(b Trace) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.TraceID, b.TraceID), strings.Compare(a.SessionKey, b.SessionKey))
}

// ByteSize estimates the row's bytes.
func (a Trace) ByteSize() int { return 96 }

// Compare orders by tenant, old key, new key.
func (a SessionMoved) Compare(b SessionMoved) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.OldKey, b.OldKey), strings.Compare(a.NewKey, b.NewKey))
}

// ByteSize estimates the row's bytes.
func (a SessionMoved) ByteSize() int { return 80 }

// Compare orders by tenant, session, signal, trace, span, record hash.
func (a Span) Compare(b Span) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.SessionKey, b.SessionKey), strings.Compare(a.Signal, b.Signal),
		strings.Compare(a.TraceID, b.TraceID), strings.Compare(a.SpanID, b.SpanID), strings.Compare(a.RecordSHA256, b.RecordSHA256))
}

// ByteSize estimates the row's bytes.
func (a Span) ByteSize() int {
	return 256 + len(a.Attributes) + len(a.Events) + len(a.Body) + len(a.Resource) + len(a.StatusMessage) + len(a.SourceObject)
}

// Compare orders by tenant and session.
func (a Session) Compare(b Session) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.SessionKey, b.SessionKey))
}

// ByteSize estimates the row's bytes.
func (a Session) ByteSize() int { return 512 + 32*len(a.TraceIDs) }

// Compare orders by tenant, session, step.
func (a Step) Compare(b Step) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.SessionKey, b.SessionKey), cmp.Compare(a.Step, b.Step))
}

// ByteSize estimates the row's bytes.
func (a Step) ByteSize() int { return 160 + len(a.Text) + len(a.Arguments) }

// Compare orders by tenant, session, attempt.
func (a Skill) Compare(b Skill) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.SessionKey, b.SessionKey), cmp.Compare(a.Attempt, b.Attempt))
}

// ByteSize estimates the row's bytes.
func (a Skill) ByteSize() int { return 160 + len(a.Body) + len(a.Refusal) + len(a.Description) }

// Compare orders by tenant, service, server, tool, definition, session.
func (a Tool) Compare(b Tool) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Service, b.Service), strings.Compare(a.Server, b.Server),
		strings.Compare(a.Tool, b.Tool), strings.Compare(a.DefinitionSHA256, b.DefinitionSHA256), strings.Compare(a.SessionKey, b.SessionKey))
}

// ByteSize estimates the row's bytes.
func (a Tool) ByteSize() int { return 160 + len(a.Description) + len(a.InputSchema) }

// Compare orders by digest.
func (a Material) Compare(b Material) int { return strings.Compare(a.SHA256, b.SHA256) }

// ByteSize estimates the row's bytes.
func (a Material) ByteSize() int { return 96 + len(a.Text) }

// Compare orders by run and evaluator.
func (a Run) Compare(b Run) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.Evaluator, b.Evaluator))
}

// ByteSize estimates the row's bytes.
func (a Run) ByteSize() int { return 768 }

// Compare orders by run, evaluator, subject, arm, criterion, item, repeat, judge model, vote.
func (a Verdict) Compare(b Verdict) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.Evaluator, b.Evaluator), strings.Compare(a.Subject, b.Subject),
		strings.Compare(a.Arm, b.Arm), strings.Compare(a.Criterion, b.Criterion), strings.Compare(a.Item, b.Item),
		cmp.Compare(a.Repeat, b.Repeat), strings.Compare(a.JudgeModel, b.JudgeModel), strings.Compare(a.Vote, b.Vote))
}

// ByteSize estimates the row's bytes.
func (a Verdict) ByteSize() int { return 640 }

// Compare orders by run, evaluator, subject, arm.
func (a Grade) Compare(b Grade) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.Evaluator, b.Evaluator), strings.Compare(a.Subject, b.Subject), strings.Compare(a.Arm, b.Arm))
}

// ByteSize estimates the row's bytes.
func (a Grade) ByteSize() int { return 384 }

// Compare orders as Verdict does.
func (a Explanation) Compare(b Explanation) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.Evaluator, b.Evaluator), strings.Compare(a.Subject, b.Subject),
		strings.Compare(a.Arm, b.Arm), strings.Compare(a.Criterion, b.Criterion), strings.Compare(a.Item, b.Item),
		cmp.Compare(a.Repeat, b.Repeat), strings.Compare(a.JudgeModel, b.JudgeModel), strings.Compare(a.Vote, b.Vote))
}

// ByteSize estimates the row's bytes.
func (a Explanation) ByteSize() int { return 256 + len(a.Explanation) + len(a.Steps) }

// Compare orders by run, task, arm, repeat.
func (a Answer) Compare(b Answer) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.Task, b.Task), strings.Compare(a.Arm, b.Arm), cmp.Compare(a.Repeat, b.Repeat))
}

// ByteSize estimates the row's bytes.
func (a Answer) ByteSize() int { return 160 + len(a.Answer) }

// Compare orders by run, request, attempt.
func (a Call) Compare(b Call) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.RequestSHA256, b.RequestSHA256), cmp.Compare(a.Attempt, b.Attempt))
}

// ByteSize estimates the row's bytes.
func (a Call) ByteSize() int { return 256 }

// Compare orders by run, group, evaluator, criterion, metric, method.
func (a Aggregate) Compare(b Aggregate) int {
	return cmp.Or(strings.Compare(a.RunID, b.RunID), strings.Compare(a.GroupBy, b.GroupBy), strings.Compare(a.Group, b.Group),
		strings.Compare(a.Evaluator, b.Evaluator), strings.Compare(a.Criterion, b.Criterion), strings.Compare(a.Metric, b.Metric), strings.Compare(a.Method, b.Method))
}

// ByteSize estimates the row's bytes.
func (a Aggregate) ByteSize() int { return 320 }
