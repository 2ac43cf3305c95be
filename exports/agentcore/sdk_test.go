package agentcore

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol/types"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

// throughSDK reads the file as the platform's SDK does, sends it as CreateEvaluator and returns the body that arrived. The SDK
// drops what it does not know and refuses what lacks a required member, so an equal body is a valid one.
func throughSDK(t *testing.T, file []byte) (any, error) {
	t.Helper()
	var in struct {
		EvaluatorName   string            `json:"evaluatorName"`
		Description     *string           `json:"description"`
		Level           string            `json:"level"`
		ClientToken     string            `json:"clientToken"`
		Tags            map[string]string `json:"tags"`
		EvaluatorConfig json.RawMessage   `json:"evaluatorConfig"`
	}
	if err := json.Unmarshal(file, &in); err != nil {
		t.Fatal(err)
	}
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, `{"evaluatorArn":"a","evaluatorId":"i","evaluatorName":"n","level":"SESSION","status":"ACTIVE","createdAt":0,"updatedAt":0,"evaluatorConfig":`+string(in.EvaluatorConfig)+`}`)
			return
		}
		if r.Method != http.MethodPost || r.URL.Path != "/evaluators/create" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"evaluatorArn":"a","evaluatorId":"i","createdAt":0,"status":"CREATING"}`)
	}))
	defer server.Close()
	client := bedrockagentcorecontrol.New(bedrockagentcorecontrol.Options{Region: "eu-central-1", BaseEndpoint: &server.URL,
		Credentials: credentials.NewStaticCredentialsProvider("id", "key", ""), RetryMaxAttempts: 1})
	id := "evaluator_id-0123456789"
	got, err := client.GetEvaluator(context.Background(), &bedrockagentcorecontrol.GetEvaluatorInput{EvaluatorId: &id})
	if err != nil {
		return nil, err
	}
	_, err = client.CreateEvaluator(context.Background(), &bedrockagentcorecontrol.CreateEvaluatorInput{EvaluatorName: &in.EvaluatorName, Description: in.Description,
		Level: types.EvaluatorLevel(in.Level), ClientToken: &in.ClientToken, Tags: in.Tags, EvaluatorConfig: got.EvaluatorConfig})
	if err != nil {
		return nil, err
	}
	return parsed(t, body), nil
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func inputs(t *testing.T) map[string]*exports.Input {
	builtin, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	full := exporttest.Input()
	full.Rubric = builtin
	long := exporttest.Small()
	long.Rubric.Name = "a_" + strings.Repeat("b", 46)
	return map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted(), "the built-in rubric": full, "a long name": long}
}

func TestEvaluator_IsWhatTheSDKSends(t *testing.T) {
	for name, in := range inputs(t) {
		file := exporttest.Write(t, in, Target{})[EvaluatorFile]
		got, err := throughSDK(t, file)
		if err != nil {
			t.Errorf("%s: the SDK refuses: %v", name, err)
		} else if want := parsed(t, file); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the SDK sends\n%v\nthe file holds\n%v", name, got, want)
		}
	}
}

// A test that accepts everything proves nothing: damaged files must be seen.
func TestEvaluator_DamageIsSeen(t *testing.T) {
	file := exporttest.Write(t, exporttest.Small(), Target{})[EvaluatorFile]
	for name, edit := range map[string][2]string{
		"an unknown member of a dimension": {`"dimensionName":"polite"`, `"dimensionName":"polite","weight":4`},
		"a missing instruction":            {`"dimensionInstruction":"Was the tone right?",`, ``},
		"a wrong key of the union":         {`"multiDimensional"`, `"multiDimensions"`},
		"a missing model":                  {`"modelId"`, `"model"`},
	} {
		damaged := bytes.Replace(file, []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(damaged, file) {
			t.Fatalf("%s: nothing was damaged", name)
		}
		if got, err := throughSDK(t, damaged); err == nil && reflect.DeepEqual(got, parsed(t, damaged)) {
			t.Errorf("%s: not seen", name)
		}
	}
}
