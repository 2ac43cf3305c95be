package agentcore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcore"
	datatypes "github.com/aws/aws-sdk-go-v2/service/bedrockagentcore/types"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol/types"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge/suite"
)

// captured is the body that an SDK call sends to path.
func captured(t *testing.T, path, answer string, call func(url string) error) any {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != path {
			t.Errorf("%s %s, want %s", r.Method, r.URL.Path, path)
		}
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	if err := call(server.URL); err != nil {
		t.Fatal(err)
	}
	return parsed(t, body)
}

var testKeys = credentials.NewStaticCredentialsProvider("id", "key", "")

// The request and the lines of a dataset are what the SDK sends.
func TestDataset_IsWhatTheSDKSends(t *testing.T) {
	for name, target := range map[string]Target{"inline": {}, "from S3": {DatasetS3: "s3://lake-bucket/datasets/"}} {
		files := exporttest.Write(t, exporttest.Full(), target)
		var r datasetRequest
		if err := exports.ReadStrict(DatasetRequestFile, files[DatasetRequestFile], &r); err != nil {
			t.Fatal(err)
		}
		lines, err := readLines(bytes.NewReader(files[DatasetFile]))
		if err != nil {
			t.Fatal(err)
		}
		want := parsed(t, files[DatasetRequestFile]).(map[string]any)
		if target.DatasetS3 == "" {
			var examples []any
			for line := range bytes.Lines(files[DatasetFile]) {
				examples = append(examples, parsed(t, line))
			}
			want["source"] = map[string]any{"inlineExamples": map[string]any{"examples": examples}}
		} else if uri := r.Source.S3.URI; !strings.HasPrefix(uri, "s3://lake-bucket/datasets/tracejury_ops_practice_v2-") || !strings.HasSuffix(uri, ".jsonl") {
			t.Errorf("the lines lie at %s", uri)
		}
		got := captured(t, "/datasets", `{"datasetArn":"a","datasetId":"i","createdAt":0,"status":"CREATING"}`, func(url string) error {
			client := bedrockagentcorecontrol.New(bedrockagentcorecontrol.Options{Region: "eu-central-1", BaseEndpoint: &url, Credentials: testKeys, RetryMaxAttempts: 1})
			_, err := client.CreateDataset(context.Background(), r.create(lines))
			return err
		})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the SDK sends\n%v\nthe files hold\n%v", name, got, want)
		}
	}
}

// agentTraces is what the user fills in; with it the file is a whole request.
func TestTools_AreWhatTheSDKSends(t *testing.T) {
	file := exporttest.Write(t, exporttest.Full(), Target{})[ToolsFile]
	var r recommendation
	if err := exports.ReadStrict(ToolsFile, file, &r); err != nil {
		t.Fatal(err)
	}
	var tools []datatypes.ToolDescriptionInput
	for _, tool := range r.Config.ToolDescription.ToolDescription.Text.Tools {
		tools = append(tools, datatypes.ToolDescriptionInput{ToolName: aws.String(tool.Name), ToolDescription: &datatypes.ToolDescriptionConfigMemberText{Value: tool.Description.Text}})
	}
	at := time.Unix(1_795_996_800, 0)
	got := captured(t, "/recommendations", `{"recommendationId":"i","recommendationArn":"a","name":"n"}`, func(url string) error {
		client := bedrockagentcore.New(bedrockagentcore.Options{Region: "eu-central-1", BaseEndpoint: &url, Credentials: testKeys, RetryMaxAttempts: 1})
		_, err := client.StartRecommendation(context.Background(), &bedrockagentcore.StartRecommendationInput{Name: &r.Name, Type: datatypes.RecommendationType(r.Type), ClientToken: &r.Token,
			RecommendationConfig: &datatypes.RecommendationConfigMemberToolDescriptionRecommendationConfig{Value: datatypes.ToolDescriptionRecommendationConfig{
				ToolDescription: &datatypes.ToolDescriptionSourceMemberToolDescriptionText{Value: datatypes.ToolDescriptionTextInput{Tools: tools}},
				AgentTraces:     &datatypes.AgentTracesConfigMemberCloudwatchLogs{Value: datatypes.CloudWatchLogsTraceConfig{StartTime: &at, EndTime: &at, LogGroupArns: []string{"arn"}, ServiceNames: []string{"helpdesk"}}}}}})
		return err
	}).(map[string]any)
	config := got["recommendationConfig"].(map[string]any)["toolDescriptionRecommendationConfig"].(map[string]any)
	if config["agentTraces"] == nil {
		t.Error("the SDK sent no traces")
	}
	delete(config, "agentTraces")
	if want := parsed(t, file); !reflect.DeepEqual(got, want) {
		t.Errorf("the SDK sends\n%v\nthe file holds\n%v", got, want)
	}
	if len(tools) != 3 {
		t.Errorf("%d tools, want those that have a description", len(tools))
	}
}

// Each scenario has the members of the predefined schema and no other.
func TestDataset_Scenarios(t *testing.T) {
	in := exporttest.Full()
	ids := map[string]bool{}
	for line := range bytes.Lines(exporttest.Write(t, in, Target{})[DatasetFile]) {
		var s struct {
			ID    string `json:"scenario_id"`
			Turns []struct {
				Input    string  `json:"input"`
				Expected *string `json:"expected_response"`
			} `json:"turns"`
			Trajectory []string          `json:"expected_trajectory"`
			Assertions []string          `json:"assertions"`
			Metadata   map[string]string `json:"metadata"`
		}
		if err := exports.ReadStrict(DatasetFile, line, &s); err != nil {
			t.Fatal(err)
		}
		if s.ID == "" || ids[s.ID] || len(s.Turns) != 1 || s.Turns[0].Input == "" || s.Turns[0].Expected != nil && *s.Turns[0].Expected == "" || s.Metadata["kind"] == "" {
			t.Errorf("scenario %s", line)
		}
		ids[s.ID] = true
	}
	if len(ids) != len(in.Suite.Tasks) {
		t.Errorf("%d scenarios of %d tasks", len(ids), len(in.Suite.Tasks))
	}
}

// A dataset holds at most a thousand tasks: more become more datasets, each with its own name and request.
func TestDataset_Split(t *testing.T) {
	in := exporttest.Small()
	in.Suite = manyTasks(2001, 10)
	files := exporttest.Write(t, in, Target{})
	names := map[string]bool{}
	for file, want := range map[string]int{"agentcore/dataset.jsonl": 1000, "agentcore/dataset_2.jsonl": 1000, "agentcore/dataset_3.jsonl": 1} {
		if got := bytes.Count(files[file], []byte("\n")); got != want {
			t.Errorf("%s has %d lines, want %d", file, got, want)
		}
		var r datasetRequest
		if err := json.Unmarshal(files[strings.Replace(strings.Replace(file, "dataset", "dataset_request", 1), ".jsonl", ".json", 1)], &r); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		names[r.DatasetName] = true
	}
	// dataset_request_2.json belongs to dataset_2.jsonl.
	if len(names) != 3 {
		t.Errorf("datasets %v", names)
	}
}

// manyTasks is a suite of n tasks with prompts of size bytes.
func manyTasks(n, size int) *suite.Suite {
	s := exporttest.Suite()
	s.Tasks = nil
	for i := range n {
		s.Tasks = append(s.Tasks, suite.Task{ID: fmt.Sprintf("t-%04d", i), Kind: suite.KindApprove, Prompt: strings.Repeat("x", size), Reference: "Yes."})
	}
	return s
}

func TestObjects_Refused(t *testing.T) {
	for name, edit := range map[string]func(*exports.Input) Target{
		"a bucket of capitals": func(*exports.Input) Target { return Target{DatasetS3: "s3://Bucket/x"} },
		"no bucket":            func(*exports.Input) Target { return Target{DatasetS3: "/tmp"} },
		"two tools of a name": func(in *exports.Input) Target {
			list := exporttest.ToolList()
			list[1].Name, list[1].Server = list[0].Name, "other"
			in.Tools = exporttest.Tools(list...)
			return Target{}
		},
		"a tool's length": func(in *exports.Input) Target {
			list := exporttest.ToolList()
			list[0].Description = strings.Repeat("x", maxToolText+1)
			in.Tools = exporttest.Tools(list...)
			return Target{}
		},
	} {
		in := exporttest.Full()
		target := edit(in)
		err := target.Check(t.Context(), in)
		if err == nil || !strings.HasPrefix(err.Error(), "agentcore/") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A tool that the platform cannot name is left out, and the others go: one hostile name does not keep an export back.
func TestObjects_ToolsWithoutAName(t *testing.T) {
	in := exporttest.Full()
	list := exporttest.ToolList()
	list[0].Name = "=cmd|calc"
	in.Tools = exporttest.Tools(list...)
	files := exporttest.Write(t, in, Target{})
	if text := string(files[ToolsFile]); strings.Contains(text, "calc") || !strings.Contains(text, list[1].Name) {
		t.Errorf("tools: %s", text)
	}
	if !slices.ContainsFunc(Target{}.Loss(in), func(l exports.Loss) bool { return l.File == ToolsFile && l.What == "name" }) {
		t.Error("the loss is not named")
	}
}

func TestNumbered(t *testing.T) {
	if a, b := numbered("a/b.json", 1), numbered("a/b.json", 2); a != "a/b.json" || b != "a/b_2.json" {
		t.Error(a, b)
	}
}

func TestDatasetRequest_Create_SchemaType(t *testing.T) {
	r := datasetRequest{SchemaType: predefined}
	if r.create(nil).SchemaType != types.DatasetSchemaTypeAgentcoreEvaluationPredefinedV1 {
		t.Error("the schema type is not the SDK's")
	}
}
