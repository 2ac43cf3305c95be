package agentcore

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcore"
	datatypes "github.com/aws/aws-sdk-go-v2/service/bedrockagentcore/types"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

// Evaluators and log groups are what the user fills in; with them the file is a whole request.
func TestBatch_IsWhatTheSDKSends(t *testing.T) {
	file := exporttest.Write(t, exporttest.Full(), Target{})[BatchFile]
	var r batchRequest
	if err := exports.ReadStrict(BatchFile, file, &r); err != nil {
		t.Fatal(err)
	}
	var sessions []datatypes.SessionMetadataShape
	for _, s := range r.Metadata.Sessions {
		shape := datatypes.SessionMetadataShape{SessionId: aws.String(s.ID), Metadata: s.Metadata}
		if s.Truth != nil {
			var list []datatypes.EvaluationContent
			for _, a := range s.Truth.Inline.Assertions {
				list = append(list, &datatypes.EvaluationContentMemberText{Value: a.Text})
			}
			shape.GroundTruth = &datatypes.GroundTruthSourceMemberInline{Value: datatypes.InlineGroundTruth{Assertions: list}}
		}
		sessions = append(sessions, shape)
	}
	got := captured(t, "/evaluations/batch-evaluate", `{"batchEvaluationId":"i","batchEvaluationArn":"a","batchEvaluationName":"n","status":"PENDING","createdAt":"2026-11-30T06:00:00Z"}`, func(url string) error {
		client := bedrockagentcore.New(bedrockagentcore.Options{Region: "eu-central-1", BaseEndpoint: &url, Credentials: testKeys, RetryMaxAttempts: 1})
		_, err := client.StartBatchEvaluation(context.Background(), &bedrockagentcore.StartBatchEvaluationInput{BatchEvaluationName: &r.Name, Description: &r.Description,
			ClientToken: &r.Token, Tags: r.Tags, Evaluators: []datatypes.Evaluator{{EvaluatorId: aws.String("Builtin.GoalSuccessRate")}},
			DataSourceConfig: &datatypes.DataSourceConfigMemberCloudWatchLogs{Value: datatypes.CloudWatchLogsSource{ServiceNames: r.Source.Logs.ServiceNames,
				LogGroupNames: []string{"/aws/spans"}, FilterConfig: &datatypes.CloudWatchFilterConfig{SessionIds: r.Source.Logs.Filter.SessionIDs}}},
			EvaluationMetadata: &datatypes.EvaluationMetadataMemberSessionMetadata{Value: sessions}})
		return err
	}).(map[string]any)
	logs := got["dataSourceConfig"].(map[string]any)["cloudWatchLogs"].(map[string]any)
	if got["evaluators"] == nil || logs["logGroupNames"] == nil {
		t.Error("the SDK sent no evaluators or no log groups")
	}
	delete(got, "evaluators")
	delete(logs, "logGroupNames")
	if want := parsed(t, file); !reflect.DeepEqual(got, want) {
		t.Errorf("the SDK sends\n%v\nthe file holds\n%v", got, want)
	}
	if !namePattern.MatchString(r.Name) || !length(r.Description, 1, maxDescription) || !tokenPattern.MatchString(r.Token) || checkTags(BatchFile, r.Tags) != nil {
		t.Errorf("out of the platform's rules: %+v", r)
	}
}

// Each service has a request of its own, of sessions that have a name, each once and at most 500; an assertion is the rubric's.
func TestBatch_Sessions(t *testing.T) {
	var list []exports.Session
	for i := range 1203 {
		s := exporttest.Session(i, judge.Met, judge.NotApplicable) // and the third ungraded
		s.ID, s.Service = fmt.Sprintf("id-%04d", i), []string{"shop", "desk"}[i%2]
		switch i {
		case 0:
			s.ID = "" // its traces are its name
		case 2:
			s.Service = ""
		case 4:
			s.ID = "id-0006"
		}
		list = append(list, s)
	}
	in := exporttest.Input(list...)
	files := exporttest.Write(t, in, Target{})
	if files[numbered(BatchFile, 3)] != nil {
		t.Error("a request for sessions without a service")
	}
	for i, want := range []struct {
		service, first string
	}{{"desk", "id-0001"}, {"shop", "id-0006"}} {
		var r batchRequest
		if err := exports.ReadStrict(BatchFile, files[numbered(BatchFile, i+1)], &r); err != nil {
			t.Fatal(err)
		}
		ids := r.Source.Logs.Filter.SessionIDs
		if !slices.Equal(r.Source.Logs.ServiceNames, []string{want.service}) || len(ids) != maxBatchSessions || ids[0] != want.first || len(r.Metadata.Sessions) != len(ids) {
			t.Fatalf("%v: %d sessions from %s", r.Source.Logs.ServiceNames, len(ids), ids[0])
		}
		for j, s := range r.Metadata.Sessions {
			if s.ID != ids[j] || s.Metadata["tracejury.verdict."+in.Rubric.Criteria[0].ID] != "met" || len(s.Truth.Inline.Assertions) != 2 {
				t.Fatalf("%+v", s)
			}
			if a := s.Truth.Inline.Assertions[0].Text; !strings.HasPrefix(a, in.Rubric.Criteria[0].Question) || !strings.HasSuffix(a, in.Rubric.Criteria[0].Anchors["met"]) {
				t.Fatalf("assertion %q is not the rubric's", a)
			}
		}
	}
	if bytes.Equal(files[BatchFile], files[numbered(BatchFile, 2)]) {
		t.Error("two services, one request")
	}
}
