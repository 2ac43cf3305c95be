package agentcore

import (
	"cmp"
	"context"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// record is one gen_ai.evaluation.result: one criterion of one session. Every record has the time of the export: when it
// was graded is not when the session ran, and CloudWatch wants a batch in order of time, within a day and not old.
type record struct {
	Resource struct {
		Attributes resourceAttributes `json:"attributes"`
	} `json:"resource"`
	TimeUnixNano         int64      `json:"timeUnixNano"`
	ObservedTimeUnixNano int64      `json:"observedTimeUnixNano"`
	SeverityText         string     `json:"severityText"`
	Body                 string     `json:"body"`
	TraceID              string     `json:"traceId,omitempty"`
	Attributes           attributes `json:"attributes"`
}

type resourceAttributes struct {
	ServiceName string `json:"service.name"`
	ServiceType string `json:"aws.service.type"`
}

type attributes struct {
	EventName   string `json:"event.name"`
	Name        string `json:"gen_ai.evaluation.name"`
	ScoreValue  string `json:"gen_ai.evaluation.score.value,omitempty"`
	ScoreLabel  string `json:"gen_ai.evaluation.score.label,omitempty"`
	Explanation string `json:"gen_ai.evaluation.explanation,omitempty"`
	ErrorType   string `json:"error.type,omitempty"`
	ErrorText   string `json:"error.message,omitempty"`
	SessionID   string `json:"session.id"`
	Level       string `json:"aws.bedrock_agentcore.evaluation_level"`
	RunID       string `json:"tracejury.run_id"`
	SessionKey  string `json:"tracejury.session_key"`
	Started     int64  `json:"tracejury.session.started_unix_nano,omitempty"`
	Pass        *bool  `json:"tracejury.session.pass,omitempty"`
	Safe        *bool  `json:"tracejury.session.safe,omitempty"`
	Undecided   bool   `json:"tracejury.session.undecided,omitempty"`
	Safety      bool   `json:"tracejury.criterion.safety,omitempty"`
}

const eventName = "gen_ai.evaluation.result"

// writeSessions writes the records of all sessions, in their order.
func writeSessions(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	scales := make(map[string]judge.Scale, len(in.Rubric.Criteria))
	for _, c := range in.Rubric.Criteria {
		scales[c.ID] = c.Scale
	}
	return exports.Lines(ctx, in, sink, SessionsFile, func(s *exports.Session, emit func(any) error) error {
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		for i := range criteria {
			r := newRecord(in, s, &criteria[i], scales[criteria[i].ID])
			if err := emit(&r); err != nil {
				return err
			}
		}
		return nil
	})
}

func newRecord(in *exports.Input, s *exports.Session, c *exports.Criterion, scale judge.Scale) record {
	at := in.AsOf.UnixNano()
	r := record{TimeUnixNano: at, ObservedTimeUnixNano: at, SeverityText: "INFO", Body: eventName, TraceID: traceID(s.TraceID), Attributes: attributes{
		EventName: eventName, Name: "Custom." + c.ID, SessionID: cmp.Or(in.Text(s.ID, maxRecordString), in.HashID(s.Key)), Level: "SESSION",
		RunID: in.Run.RunID, SessionKey: in.HashID(s.Key), Started: s.StartedUnixNano, Pass: s.Pass, Safe: s.Safe, Undecided: s.Undecided, Safety: c.Safety}}
	// unknown_service is what OpenTelemetry calls a service without a name; the field is required.
	r.Resource.Attributes = resourceAttributes{ServiceName: cmp.Or(in.Text(s.Service, maxRecordString), "unknown_service"), ServiceType: "gen_ai_agent"}
	a := &r.Attributes
	if in.WithExplanations {
		a.Explanation = in.Text(c.Explanation, maxExplanation)
	}
	switch c.Verdict {
	case judge.Ungraded:
		r.SeverityText = "WARN"
		a.ErrorType = cmp.Or(in.Text(c.UngradedReason, maxRecordString), exports.ReasonMissing)
		a.ErrorText = "not graded"
	case judge.Scored:
		a.ScoreValue = formatScore(*c.Score)
		a.ScoreLabel = scoreLabel(scale, *c.Score)
		if a.ScoreLabel == "" {
			a.ScoreLabel = in.Text(c.Label, maxLabel)
		}
	default:
		a.ScoreLabel = labels[c.Verdict]
	}
	return r
}

// scoreLabel is the label that the evaluator file gives a score, "" when it is between two.
func scoreLabel(scale judge.Scale, score float64) string {
	levels := fivePoint
	if scale == judge.ScaleYesNo {
		levels = yesNo
	}
	for _, l := range levels {
		if l.Value == score {
			return l.Label
		}
	}
	return ""
}

// traceID is a W3C trace id, or nothing: a platform joins on it.
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
