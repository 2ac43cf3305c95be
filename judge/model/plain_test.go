package model_test

import (
	"context"
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/model"
)

// A request without a schema is a plain completion with every client and in every mode: no tool, no form of output.
func TestPlainCompletion(t *testing.T) {
	seen := make(chan judgetest.Call, 16)
	srv := judgetest.New(judgetest.Options{Plain: true, Script: func(c judgetest.Call) judgetest.Answer {
		seen <- c
		return judgetest.Answer{Text: `{"looks":"like JSON"} and is none`}
	}})
	t.Cleanup(srv.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": srv.URL, "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "ANTHROPIC_BASE_URL": srv.URL, "ANTHROPIC_API_KEY": "test"} {
		t.Setenv(name, value)
	}
	for _, spec := range []string{"bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock:some.model-v1:0", "anthropic:claude-haiku-4-5", "openai:" + srv.URL + "/v1#m"} {
		j, err := model.Open(context.Background(), spec, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := j.Judge(context.Background(), &judge.Request{System: "Answer.", User: "What is due?", MaxTokens: 100})
		if err != nil || r.Text != `{"looks":"like JSON"} and is none` {
			t.Fatalf("%s: %q %v %v", spec, r.Text, err, srv.Refused())
		}
		if c := <-seen; c.Mode != "text" || c.Schema != "" || c.User != "What is due?" {
			t.Errorf("%s: %+v", spec, c)
		}
	}
}
