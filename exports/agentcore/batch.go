package agentcore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// BatchFile is a StartBatchEvaluation request for the sessions of one service, but for what only the account knows: that of the second
// service is batch_evaluation_2.json, and so on.
const BatchFile = "agentcore/batch_evaluation.json"

// Limits of StartBatchEvaluation. A request is of one service; how many requests are written is our own choice.
const (
	maxBatchSessions = 500
	maxAssertions    = 100
	maxBatchServices = 50
)

// batchRequest is a StartBatchEvaluation request without evaluators and logGroupNames, which are the account's own.
type batchRequest struct {
	Name        string            `json:"batchEvaluationName"`
	Description string            `json:"description"`
	Token       string            `json:"clientToken"`
	Tags        map[string]string `json:"tags"`
	Source      batchSource       `json:"dataSourceConfig"`
	Metadata    batchMetadata     `json:"evaluationMetadata"`
}

type batchSource struct {
	Logs batchLogs `json:"cloudWatchLogs"`
}

type batchLogs struct {
	ServiceNames []string    `json:"serviceNames"`
	Filter       batchFilter `json:"filterConfig"`
}

type batchFilter struct {
	SessionIDs []string `json:"sessionIds"`
}

type batchMetadata struct {
	Sessions []batchSession `json:"sessionMetadata"`
}

type batchSession struct {
	ID       string            `json:"sessionId"`
	Truth    *batchTruth       `json:"groundTruth,omitempty"`
	Metadata map[string]string `json:"metadata"`
}

type batchTruth struct {
	Inline batchAssertions `json:"inline"`
}

type batchAssertions struct {
	Assertions []textOnly `json:"assertions"`
}

// batchSessions are the sessions that have a name to look up, by service. Of a service the first maxBatchSessions are kept, so that memory
// does not grow with the run.
func batchSessions(ctx context.Context, in *exports.Input) (map[string][]batchSession, error) {
	expected := expectations(in)
	out, seen := map[string][]batchSession{}, map[string]bool{}
	err := exports.EachSession(ctx, in, func(s *exports.Session) error {
		service, id := in.Text(s.Service, maxRecordString), in.Text(s.ID, maxRecordString)
		list, known := out[service]
		switch {
		case service == "" || id == "" || seen[service+"\x00"+id]:
			return nil
		case len(list) == maxBatchSessions || !known && len(out) == maxBatchServices:
			return nil
		}
		seen[service+"\x00"+id] = true
		criteria, err := exports.Align(&in.Rubric, s)
		if err != nil {
			return err
		}
		out[strings.Clone(service)] = append(list, newBatchSession(in, strings.Clone(id), s, criteria, expected))
		return nil
	})
	return out, err
}

// expectations are what the rubric expects of a session, by criterion: its question and its words for Met, which are no verdict of ours.
func expectations(in *exports.Input) map[string]string {
	out := map[string]string{}
	for _, c := range in.Rubric.Criteria {
		out[c.ID] = in.Text(c.Question, 0)
		if met := in.Text(c.Anchors["met"], 0); met != "" {
			out[c.ID] += " Expected: " + met
		}
	}
	return out
}

func newBatchSession(in *exports.Input, id string, s *exports.Session, criteria []exports.Criterion, expected map[string]string) batchSession {
	b := batchSession{ID: id, Metadata: map[string]string{"tracejury.run_id": in.Run.RunID, "tracejury.session_key": in.HashID(s.Key)}}
	if s.Pass != nil {
		b.Metadata["tracejury.session.pass"] = strconv.FormatBool(*s.Pass)
	}
	if s.Safe != nil {
		b.Metadata["tracejury.session.safe"] = strconv.FormatBool(*s.Safe)
	}
	for i := range criteria {
		c := &criteria[i]
		verdict := string(c.Verdict)
		if c.Verdict == judge.Scored {
			verdict = formatScore(*c.Score)
		}
		b.Metadata["tracejury.verdict."+c.ID] = verdict
		if c.Verdict == judge.NotApplicable {
			continue
		}
		if b.Truth == nil {
			b.Truth = &batchTruth{}
		}
		if list := &b.Truth.Inline.Assertions; len(*list) < maxAssertions {
			*list = append(*list, textOnly{expected[c.ID]})
		}
	}
	return b
}

// writeBatches writes one request a service, in the order of their names.
func writeBatches(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	all, err := batchSessions(ctx, in)
	if err != nil {
		return err
	}
	for i, service := range slices.Sorted(maps.Keys(all)) {
		file := numbered(BatchFile, i+1)
		r, err := newBatch(in, file, service, i+1, all[service])
		if err != nil {
			return err
		}
		if err := exports.WriteJSON(sink, file, r); err != nil {
			return err
		}
	}
	return nil
}

func newBatch(in *exports.Input, file, service string, n int, sessions []batchSession) (*batchRequest, error) {
	end := ""
	if n > 1 {
		end = "_" + strconv.Itoa(n)
	}
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, in.Run.RunID)
	r := &batchRequest{Name: boundedName("tracejury_"+name, end), Description: in.Text(oneLine("Sessions of "+service+" that tracejury graded"), maxDescription),
		Tags:   map[string]string{"tracejury.run_id": in.Run.RunID, "tracejury.rubric": in.Rubric.Name},
		Source: batchSource{batchLogs{ServiceNames: []string{service}}}, Metadata: batchMetadata{sessions}}
	for _, s := range sessions {
		r.Source.Logs.Filter.SessionIDs = append(r.Source.Logs.Filter.SessionIDs, s.ID)
	}
	data, err := exports.JSON(r)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", file, err)
	}
	r.Token = token("batch", string(data))
	return r, nil
}

// batchLosses are what the requests do not hold.
func batchLosses() []exports.Loss {
	return []exports.Loss{
		{File: BatchFile, What: "account", How: "evaluators and logGroupNames are yours to fill in; the platform judges anew and charges for it, so no push starts it"},
		{File: BatchFile, What: "session", How: fmt.Sprintf("only sessions with an id and a service, the first %d of each of %d services; one whose name was masked or cut is found nowhere", maxBatchSessions, maxBatchServices)},
		{File: BatchFile, What: "verdict", How: "metadata holds our verdicts, which no evaluator reads; the assertions are the rubric's own words, of each criterion that applied"},
	}
}
