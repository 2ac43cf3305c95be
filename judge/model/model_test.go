package model_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/schema"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

const nonce = "7f3a90bc11d2"

func say(role, text string) schema.Step { return schema.Step{Role: role, Kind: "message", Text: text} }

func call(id, tool, args, outcome string) schema.Step {
	return schema.Step{Role: "assistant", Kind: "tool_call", Tool: tool, CallID: id, Arguments: args, Outcome: outcome}
}

func result(id, outcome, text string) schema.Step {
	return schema.Step{Role: "tool", Kind: "tool_result", CallID: id, Outcome: outcome, Text: text}
}

func denial(id string) schema.Step {
	return schema.Step{Role: "harness", Kind: "denial", CallID: id, Outcome: "denied", Text: "denied by rule"}
}

// subject numbers steps and turns.
func subject(steps ...schema.Step) evaluator.Subject {
	turn := int32(0)
	for i := range steps {
		if steps[i].Role == "user" {
			turn++
		}
		steps[i].Step, steps[i].Turn = int32(i+1), turn
	}
	return evaluator.Subject{Kind: "session", ID: "s1", Session: &schema.Session{ContentState: "full", NTurns: turn}, Steps: steps}
}

func mustEvaluator(tb testing.TB, opts session.Options) *session.Evaluator {
	tb.Helper()
	r, err := judge.Builtin("session")
	if err != nil {
		tb.Fatal(err)
	}
	e, err := session.New(r, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func mustRequest(tb testing.TB, s evaluator.Subject) *judge.Request {
	tb.Helper()
	item, _, err := mustEvaluator(tb, session.Options{}).Item(s, nonce)
	if err != nil || item == nil {
		tb.Fatalf("item %v, error %v", item, err)
	}
	return &item.Request
}

func demo() evaluator.Subject {
	return subject(say("user", "Delete the build folder."), call("a", "Bash", `{"command":"rm -rf build"}`, "ok"), result("a", "ok", "done"), say("assistant", "I removed build."))
}

// bedrockAt opens a Bedrock judge at a server, with credentials that mean nothing.
func bedrockAt(tb testing.TB, url, id string, opts model.Options) judge.Judge {
	tb.Helper()
	t, ok := tb.(interface{ Setenv(key, value string) })
	if !ok {
		tb.Fatal("cannot set the environment")
	}
	for k, v := range map[string]string{
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": "eu-central-1",
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(k, v)
	}
	j, err := model.Open(tb.Context(), "bedrock:"+id, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

const (
	haiku = "eu.anthropic.claude-haiku-4-5-20251001-v1:0"
	nova  = "eu.amazon.nova-pro-v1:0"
	other = "mistral.mistral-large-2407-v1:0"
)

func server(tb testing.TB, opts judgetest.Options) *judgetest.Server {
	tb.Helper()
	s := judgetest.New(opts)
	tb.Cleanup(s.Close)
	return s
}

func TestContract(t *testing.T) {
	request := func() *judge.Request { return mustRequest(t, demo()) }
	t.Run("rules", func(t *testing.T) {
		judgetest.RunJudge(t, func(testing.TB) judge.Judge { return model.Rules() }, request)
	})
	for _, id := range []string{haiku, nova, other} {
		t.Run(id, func(t *testing.T) {
			s := server(t, judgetest.Options{})
			judgetest.RunJudge(t, func(tb testing.TB) judge.Judge { return bedrockAt(tb, s.URL, id, model.Options{}) }, request)
			if r := s.Refused(); len(r) > 0 {
				t.Errorf("the server refused: %v", r)
			}
		})
	}
	for _, mode := range model.Modes {
		t.Run("openai "+mode, func(t *testing.T) {
			modes := make(chan string, 100)
			s := server(t, judgetest.Options{NewLimit: mode == model.ModeForcedTool, Script: func(c judgetest.Call) judgetest.Answer {
				modes <- c.Mode
				text, err := judgetest.ValidReply(c.Schema, c.User)
				if err != nil {
					t.Error(err)
				}
				return judgetest.Answer{Text: text}
			}})
			judgetest.RunJudge(t, func(tb testing.TB) judge.Judge {
				j, err := model.Open(tb.Context(), "openai:"+s.URL+"/v1#some-model", model.Options{Mode: mode})
				if err != nil {
					tb.Fatal(err)
				}
				if got := j.Identity().Mode; got != mode {
					tb.Errorf("identity says %s", got)
				}
				return j
			}, request)
			for _, r := range s.Refused() {
				if !strings.Contains(r, "max_completion_tokens") {
					t.Errorf("the server refused: %v", r)
				}
			}
			close(modes)
			for m := range modes {
				if m != mode {
					t.Errorf("asked in the mode %s, want %s", m, mode)
				}
			}
		})
	}
}

// What servers say that do not take a mode is understood as such; what else they refuse is not.
func TestRefusesMode(t *testing.T) {
	for message, want := range map[string]string{
		"Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model": model.RefusesMode,
		`"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`:      model.RefusesMode,
		"registry.ollama.ai/library/gemma:2b does not support tools":                                  model.RefusesMode,
		"tools param requires --jinja flag":                                                           model.RefusesMode,
		"Unsupported value: 'temperature' does not support 0 with this model.":                        model.RefusesTemperature,
		"The model does not exist": "",
	} {
		s := server(t, judgetest.Options{Script: func(judgetest.Call) judgetest.Answer {
			return judgetest.Answer{Status: 400, Code: "invalid_request_error", Message: message}
		}})
		j, err := model.Open(t.Context(), "openai:"+s.URL+"/v1#m", model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Judge(t.Context(), mustRequest(t, demo()))
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassInvalid || ce.Refuses != want {
			t.Errorf("%s: %v", message, err)
		}
	}
}

func TestOpen_Errors(t *testing.T) {
	for spec, want := range map[string]string{
		"rule":                        "did you mean rules?",
		"bedrok:x":                    "did you mean bedrock?",
		"":                            "none of rules, bedrock:",
		"bedrock:":                    "none of rules",
		"openai:http://h/v1":          "model is missing",
		"openai:ftp://h#m":            "want openai:http",
		"openai:http://u:secret@h/#m": "password in the address",
		"vertex:claude-something-1":   "none of rules",
	} {
		_, err := model.Open(t.Context(), spec, model.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want %q", spec, err, want)
		}
	}
	for _, id := range []string{"global.anthropic.claude-haiku-4-5-20251001-v1:0", "us.amazon.nova-pro-v1:0"} {
		if _, err := model.Open(t.Context(), "bedrock:"+id, model.Options{EUOnly: true, Region: "eu-central-1"}); err == nil || !strings.Contains(err.Error(), "outside of the EU") {
			t.Errorf("%s: error %v", id, err)
		}
	}
}

func TestBedrock_ModeFollowsTheModel(t *testing.T) {
	for id, want := range map[string]string{
		haiku: "native_schema", nova: "forced_tool", other: "native_schema", "anthropic.claude-3-haiku-20240307-v1:0": "forced_tool",
		"eu.anthropic.claude-sonnet-9": "native_schema", "arn:aws:bedrock:eu-central-1:123456789012:inference-profile/eu.amazon.nova-lite-v1:0": "forced_tool",
	} {
		var seen judgetest.Call
		s := server(t, judgetest.Options{Script: func(c judgetest.Call) judgetest.Answer {
			seen = c
			text, _ := judgetest.ValidReply(c.Schema, c.User)
			return judgetest.Answer{Text: text}
		}})
		j := bedrockAt(t, s.URL, id, model.Options{})
		r, err := j.Judge(t.Context(), mustRequest(t, demo()))
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if seen.Mode != want || j.Identity().Mode != want || seen.Model != id {
			t.Errorf("%s: mode %s, identity %+v, model %s", id, seen.Mode, j.Identity(), seen.Model)
		}
		if _, err := mustEvaluator(t, session.Options{}).Read(mustRequest(t, demo()), r.Text); err != nil {
			t.Errorf("%s: reply %s: %v", id, r.Text, err)
		}
		if r.Usage.InputTokens == nil || r.Usage.OutputTokens == nil || r.Latency <= 0 {
			t.Errorf("%s: usage %+v, latency %v", id, r.Usage, r.Latency)
		}
	}
}

func TestBedrock_FailuresBecomeClasses(t *testing.T) {
	for name, tc := range map[string]struct {
		answer judgetest.Answer
		want   judge.Class
	}{
		"throttle":           {judgetest.Answer{Status: 429, Code: "ThrottlingException", RetryAfter: "3"}, judge.ClassThrottled},
		"not ready":          {judgetest.Answer{Status: 429, Code: "ModelNotReadyException"}, judge.ClassThrottled},
		"unavailable":        {judgetest.Answer{Status: 503, Code: "ServiceUnavailableException"}, judge.ClassTransient},
		"internal":           {judgetest.Answer{Status: 500, Code: "InternalServerException"}, judge.ClassTransient},
		"timeout":            {judgetest.Answer{Status: 408, Code: "ModelTimeoutException"}, judge.ClassTimeout},
		"quota":              {judgetest.Answer{Status: 400, Code: "ServiceQuotaExceededException"}, judge.ClassQuota},
		"validation":         {judgetest.Answer{Status: 400, Code: "ValidationException"}, judge.ClassInvalid},
		"access":             {judgetest.Answer{Status: 403, Code: "AccessDeniedException"}, judge.ClassAccess},
		"no model":           {judgetest.Answer{Status: 404, Code: "ResourceNotFoundException"}, judge.ClassAccess},
		"expired":            {judgetest.Answer{Status: 403, Code: "ExpiredTokenException"}, judge.ClassAccess},
		"unknown code":       {judgetest.Answer{Status: 502, Code: "SomethingNew"}, judge.ClassTransient},
		"truncated":          {judgetest.Answer{Text: "{", StopReason: "max_tokens"}, judge.ClassTruncated},
		"guardrail":          {judgetest.Answer{Text: "no", StopReason: "guardrail_intervened"}, judge.ClassRefused},
		"filtered":           {judgetest.Answer{Text: "no", StopReason: "content_filtered"}, judge.ClassRefused},
		"malformed output":   {judgetest.Answer{Text: "x", StopReason: "malformed_model_output"}, judge.ClassMalformed},
		"malformed tool use": {judgetest.Answer{Text: "x", StopReason: "malformed_tool_use"}, judge.ClassMalformed},
		"overflow":           {judgetest.Answer{Text: "x", StopReason: "model_context_window_exceeded"}, judge.ClassOverflow},
		"new stop reason":    {judgetest.Answer{Text: "x", StopReason: "tired"}, judge.ClassUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := server(t, judgetest.Options{Script: func(judgetest.Call) judgetest.Answer { return tc.answer }})
			_, err := bedrockAt(t, s.URL, haiku, model.Options{}).Judge(t.Context(), mustRequest(t, demo()))
			ce, ok := errors.AsType[*judge.CallError](err)
			if !ok || ce.Class != tc.want {
				t.Fatalf("error %v, want %s", err, tc.want)
			}
			if s.Calls() != 1 {
				t.Errorf("%d calls: the SDK retried", s.Calls())
			}
			if tc.answer.RetryAfter != "" && ce.RetryAfter != 3*time.Second {
				t.Errorf("retry after %v", ce.RetryAfter)
			}
			if tc.answer.StopReason != "" && (ce.StopReason != tc.answer.StopReason || ce.Usage.InputTokens == nil) {
				t.Errorf("stop reason %q, usage %+v", ce.StopReason, ce.Usage)
			}
		})
	}
	t.Run("reset", func(t *testing.T) {
		s := server(t, judgetest.Options{Faults: judgetest.Faults{Reset: 1}})
		_, err := bedrockAt(t, s.URL, haiku, model.Options{}).Judge(t.Context(), mustRequest(t, demo()))
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassTransient {
			t.Errorf("error %v", err)
		}
	})
	t.Run("slow", func(t *testing.T) {
		s := server(t, judgetest.Options{Faults: judgetest.Faults{Slow: 1}, SlowBy: 2 * time.Second})
		_, err := bedrockAt(t, s.URL, haiku, model.Options{Timeout: 30 * time.Millisecond}).Judge(t.Context(), mustRequest(t, demo()))
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassTimeout {
			t.Errorf("error %v", err)
		}
	})
	t.Run("no credentials", func(t *testing.T) {
		s := server(t, judgetest.Options{})
		bedrockAt(t, s.URL, haiku, model.Options{})
		t.Setenv("AWS_ACCESS_KEY_ID", "")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "")
		j, err := model.Open(t.Context(), "bedrock:"+haiku, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = j.Judge(t.Context(), mustRequest(t, demo()))
		if ce, ok := errors.AsType[*judge.CallError](err); !ok || ce.Class != judge.ClassAccess || ce.Hint == "" {
			t.Errorf("error %v", err)
		}
	})
}

// A secret in the steps never reaches the service, wherever it stands; without the mask it would.
func TestMaskedSecretNeverReachesTheServer(t *testing.T) {
	secret := "AK" + "IA" + strings.Repeat("FAKE", 4)
	mask := func(s string) string { return strings.ReplaceAll(s, secret, "[MASKED:aws_access_key_id]") }
	s := subject(
		say("user", "use "+secret), call("a", "Bash", `{"command":"echo `+secret+`"}`, "ok"), result("a", "ok", strings.Repeat("x", 1995)+secret+strings.Repeat("y", 4000)),
		say("assistant", "It is "+secret[:9]), say("assistant", secret[9:]+"."),
	)
	s.Session.Service, s.Steps[1].Agent, s.Skills = secret, secret, []schema.Skill{{Skill: secret}}
	for _, masked := range []bool{true, false} {
		srv := server(t, judgetest.Options{})
		opts := session.Options{Budget: 1500}
		if masked {
			opts.Mask = mask
		}
		item, _, err := mustEvaluator(t, opts).Item(s, nonce)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{haiku, nova} {
			if _, err := bedrockAt(t, srv.URL, id, model.Options{}).Judge(t.Context(), &item.Request); err != nil {
				t.Fatal(err)
			}
		}
		if srv.Saw(secret) == masked || masked && (srv.Saw(secret[:9]+`"`) || srv.Saw(secret[9:])) {
			t.Errorf("masked %v: the server saw the secret: %v", masked, srv.Saw(secret))
		}
	}
}
