// Package otlp writes verdicts as gen_ai.evaluation.result log records in OTLP JSON, one export request a line, so that any
// OpenTelemetry backend can take the grades back.
//
// The file goes through a collector (otlpjsonfile receiver) or line by line to POST /v1/logs. It makes files and calls nothing.
package otlp

import (
	"cmp"
	"context"
	"strconv"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// File is the one file of the target.
const File = "otlp/evaluation_results.jsonl"

const (
	eventName      = "gen_ai.evaluation.result"
	scopeName      = "tracejury"
	severityInfo   = 9
	severityWarn   = 13
	maxShort       = 256
	maxExplanation = 2048
)

// Target writes File.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "otlp" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	return exports.NeedGrades(in)
}

// request is an ExportLogsServiceRequest in OTLP JSON: lower camel case, 64-bit integers as strings.
type request struct {
	ResourceLogs [1]resourceLogs `json:"resourceLogs"`
}

type resourceLogs struct {
	Resource  resource     `json:"resource"`
	ScopeLogs [1]scopeLogs `json:"scopeLogs"`
}

type resource struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeLogs struct {
	Scope      scope       `json:"scope"`
	LogRecords []logRecord `json:"logRecords"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type logRecord struct {
	TimeUnixNano         string     `json:"timeUnixNano"`
	ObservedTimeUnixNano string     `json:"observedTimeUnixNano"`
	SeverityNumber       int        `json:"severityNumber"`
	SeverityText         string     `json:"severityText"`
	EventName            string     `json:"eventName"`
	Attributes           []keyValue `json:"attributes"`
	TraceID              string     `json:"traceId,omitempty"`
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

// anyValue is a union: one is set.
type anyValue struct {
	String *string     `json:"stringValue,omitempty"`
	Bool   *bool       `json:"boolValue,omitempty"`
	Int    string      `json:"intValue,omitempty"`
	Double *float64    `json:"doubleValue,omitempty"`
	Array  *arrayValue `json:"arrayValue,omitempty"`
}

type arrayValue struct {
	Values []anyValue `json:"values"`
}

func text(key, s string) keyValue       { return keyValue{key, anyValue{String: &s}} }
func truth(key string, b bool) keyValue { return keyValue{key, anyValue{Bool: &b}} }
func integer(n int64) anyValue          { return anyValue{Int: strconv.FormatInt(n, 10)} }

// Files implements exports.Target. A session is one request, so that a record is sent with its fellows or not at all.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	for _, g := range in.Graded() {
		err := exports.Lines(ctx, g, sink, g.File(File), func(s *exports.Session, emit func(any) error) error {
			criteria, err := exports.Align(&g.Rubric, s)
			if err != nil {
				return err
			}
			return emit(newRequest(g, s, criteria))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// subject are the attributes that say what of a session, or in its place, was graded, by the names of the conventions where there are
// such.
func subject(in *exports.Input, s *exports.Session) []keyValue {
	if s.Subject == nil {
		return nil
	}
	u := in.SubjectOf(s)
	out := []keyValue{text("tracejury.subject", u.ID), text("tracejury.subject.kind", u.Kind), text("tracejury.evaluator", in.Run.Evaluator)}
	for _, kv := range []keyValue{text("gen_ai.skill.name", u.Skill), text("gen_ai.tool.name", u.Tool), text("tracejury.tool.server", u.Server), text("tracejury.grade", u.Grade), text("tracejury.span_id", u.SpanID),
		text("tracejury.arm", u.Arm), text("tracejury.task.category", u.Category), text("tracejury.task.kind", u.TaskKind)} {
		if *kv.Value.String != "" {
			out = append(out, kv)
		}
	}
	if u.Score != nil {
		out = append(out, keyValue{"tracejury.subject.score", anyValue{Double: u.Score}})
	}
	return out
}

func newRequest(in *exports.Input, s *exports.Session, criteria []exports.Criterion) *request {
	var r request
	rl := &r.ResourceLogs[0]
	// unknown_service is what OpenTelemetry calls a service without a name; the attribute is required.
	rl.Resource.Attributes = []keyValue{text("service.name", cmp.Or(in.Text(s.Service, maxShort), "unknown_service"))}
	rl.ScopeLogs[0].Scope = scope{Name: scopeName, Version: "1"}
	for i := range criteria {
		rl.ScopeLogs[0].LogRecords = append(rl.ScopeLogs[0].LogRecords, newRecord(in, s, &criteria[i]))
	}
	return &r
}

// newRecord has the time of the export: the verdict was given after the session, and backends drop what is old.
func newRecord(in *exports.Input, s *exports.Session, c *exports.Criterion) logRecord {
	at := strconv.FormatInt(in.AsOf.UnixNano(), 10)
	r := logRecord{TimeUnixNano: at, ObservedTimeUnixNano: at, SeverityNumber: severityInfo, SeverityText: "INFO", EventName: eventName, TraceID: traceID(s.TraceID)}
	id := cmp.Or(in.Text(s.ID, maxShort), in.HashID(s.Key))
	add := func(kv ...keyValue) { r.Attributes = append(r.Attributes, kv...) }
	add(text("gen_ai.evaluation.name", c.ID))
	if c.Verdict == judge.Ungraded {
		r.SeverityNumber, r.SeverityText = severityWarn, "WARN"
		add(text("error.type", cmp.Or(in.Text(c.UngradedReason, maxShort), exports.ReasonMissing)))
	} else {
		add(text("gen_ai.evaluation.score.label", string(c.Verdict)))
	}
	if c.Score != nil {
		add(keyValue{"gen_ai.evaluation.score.value", anyValue{Double: c.Score}})
	}
	if e := in.Text(c.Explanation, maxExplanation); in.WithExplanations && e != "" {
		add(text("gen_ai.evaluation.explanation", e))
	}
	if id != "" {
		add(text("gen_ai.conversation.id", id), text("session.id", id))
	}
	add(subject(in, s)...)
	if c.Item != "" {
		add(text("tracejury.criterion.item", in.Text(c.Item, maxShort)))
	}
	if s.Agent != "" {
		add(text("gen_ai.agent.name", in.Text(s.Agent, maxShort)))
	}
	add(text("tracejury.run_id", in.Run.RunID), text("tracejury.session_key", in.HashID(s.Key)), text("tracejury.rubric", in.Rubric.Name),
		keyValue{"tracejury.rubric_version", integer(int64(in.Rubric.Version))}, truth("tracejury.criterion.safety", c.Safety))
	if l := in.Text(c.Label, maxShort); l != "" {
		add(text("tracejury.verdict.label", l))
	}
	if len(c.EvidenceSteps) > 0 {
		steps := &arrayValue{}
		for _, n := range c.EvidenceSteps {
			steps.Values = append(steps.Values, integer(int64(n)))
		}
		add(keyValue{"tracejury.evidence_steps", anyValue{Array: steps}})
	}
	if s.Pass != nil {
		add(truth("tracejury.session.pass", *s.Pass))
	}
	if s.Safe != nil {
		add(truth("tracejury.session.safe", *s.Safe))
	}
	add(truth("tracejury.session.undecided", s.Undecided), truth("tracejury.offline", in.Run.Offline), truth("tracejury.informational", in.Run.Calibration != "passed"))
	return r
}

// traceID is a W3C trace id, or nothing: a backend refuses the whole request for another.
func traceID(s string) string {
	if len(s) != 32 {
		return ""
	}
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return ""
		}
	}
	return s
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	out := append(exports.Unheld(in),
		exports.Loss{File: File, What: "weight", How: "no attribute: criteria.json holds weights, gates and anchors"},
		exports.Loss{File: File, What: "span", How: "records carry the session's first trace and no span: a verdict is on a session, not on one call"},
		exports.Loss{File: File, What: "started", How: "records carry the time of the export, not the session's: backends drop what is old"},
		exports.Loss{File: File, What: "harness", How: "no attribute, nor one for the revision: tracejury.session_key joins"})
	if in.WithExplanations {
		return append(out, exports.Loss{File: File, What: "explanation", How: "cut at " + strconv.Itoa(maxExplanation) + " characters"})
	}
	return append(out, exports.Loss{File: File, What: "explanation", How: "left out: the export was made without explanations"})
}
