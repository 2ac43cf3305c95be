package convention

import "testing"

const codexLogs = "codex_otel.log_only"

func TestCodexOutput(t *testing.T) {
	for name, c := range map[string]struct {
		raw, text string
		exit      int32 // -1 none
	}{
		"plain":      {"hello", "hello", -1},
		"preamble":   {"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nno row\n", "no row\n", 3},
		"nested":     {"Wall time: 0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess", "Success", 0},
		"no output":  {"Wall time: 0 seconds\nsomething else", "Wall time: 0 seconds\nsomething else", -1},
		"only label": {"Output:\n", "", -1},
	} {
		t.Run(name, func(t *testing.T) {
			text, exit := codexOutput(c.raw)
			if text != c.text || (exit == nil) != (c.exit < 0) || exit != nil && *exit != c.exit {
				t.Errorf("text %q, exit %v", text, exit)
			}
		})
	}
}

func TestCodexToolResult(t *testing.T) {
	for name, c := range map[string]struct {
		success, output string
		want            Outcome
		denied          bool
	}{
		"ok":          {"true", "Process exited with code 0\nOutput:\na", OutcomeOK, false},
		"exit 3":      {"true", "Process exited with code 3\nOutput:\na", OutcomeError, false},
		"closed pipe": {"true", "Process exited with code 141\nOutput:\na", OutcomeOK, false},
		"failed":      {"false", "cat: x: No such file", OutcomeError, false},
		"rule":        {"false", "exec_command failed: CreateProcess { message: \"Rejected(\\\"`rm` rejected: no deletions\\\")\" }", OutcomeDenied, true},
		"no such":     {"false", "unsupported call: fly", OutcomeRefused, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := eventsOf(t, Codex{}, logOf(codexLogs, "codex.tool_result", "tool_name", "exec_command", "call_id", "c1", "arguments", `{"cmd":"x"}`,
				"output", c.output, "success", c.success, "agent_name", "/root", "output_truncated", false))
			if r := single[*ToolResult](t, e); r.Outcome != c.want || r.Truncated || r.Agent != "" {
				t.Errorf("result %+v", r)
			}
			if got := len(only[*Denial](e)) == 1; got != c.denied {
				t.Errorf("denied %t", got)
			}
		})
	}
	e := eventsOf(t, Codex{}, logOf(codexLogs, "codex.tool_result", "tool_name", "get_invoice", "tool_namespace", "mcp__ledger", "call_id", "c1",
		"output", "a [... telemetry preview truncated ...]", "success", "true"))
	if c, r := single[*ToolCall](t, e), single[*ToolResult](t, e); c.Tool != "mcp__ledger__get_invoice" || c.Server != "ledger" || !r.Truncated {
		t.Errorf("call %+v, result %+v", c, r)
	}
}

func TestCodexInternalAndExports(t *testing.T) {
	for name, c := range map[string]struct {
		record *Record
		want   bool
	}{
		"span":                {spanOf("codex_exec", "append_items"), true},
		"stream event":        {logOf(codexLogs, "codex.sse_event", "event.kind", "response.created"), true},
		"first completion":    {logOf(codexLogs, "codex.sse_event", "event.kind", "response.completed", "duration_ms", "0"), true},
		"completion":          {logOf(codexLogs, "codex.sse_event", "event.kind", "response.completed", "input_token_count", "9"), false},
		"successful request":  {logOf(codexLogs, "codex.api_request", "http.response.status_code", 200), true},
		"failed request":      {logOf(codexLogs, "codex.api_request", "http.response.status_code", 500), false},
		"start-up":            {logOf(codexLogs, "codex.startup_phase"), true},
		"prompt":              {logOf(codexLogs, "codex.user_prompt", "prompt", "Hi"), false},
		"another log's scope": {logOf("codex_otel::metrics::client", ""), true},
	} {
		if !(Codex{}).Match(c.record) {
			t.Errorf("%s: no match", name)
		}
		if got := (Codex{}).Internal(c.record); got != c.want {
			t.Errorf("%s: internal %t", name, got)
		}
	}
	open := (Codex{}).Exports(logOf(codexLogs, "codex.user_prompt", "prompt", "Hi"))
	if open != ContentUserPrompt|ContentToolArguments|ContentToolResults|ContentSkillBody|ContentOffersSkills {
		t.Errorf("exports %b", open)
	}
	if shut := (Codex{}).Exports(logOf(codexLogs, "codex.user_prompt", "prompt", "[REDACTED]")); shut != open&^ContentUserPrompt {
		t.Errorf("exports %b", shut)
	}
}

func TestCodexSkillsUsageDecisions(t *testing.T) {
	for kind, via := range map[string]Via{"implicit": ViaRead, "explicit": ViaUser} {
		l := single[*SkillLoad](t, eventsOf(t, Codex{}, logOf(codexLogs, "codex.skill_invocation", "skill.name", "tidy", "skill.invocation_type", kind)))
		if l.Via != via || (l.Outcome == "loaded") != (kind == "explicit") {
			t.Errorf("%s: %+v", kind, l)
		}
	}
	u := single[*Usage](t, eventsOf(t, Codex{}, logOf(codexLogs, "codex.sse_event", "event.kind", "response.completed", "input_token_count", "100",
		"output_token_count", "20", "cached_token_count", 60)))
	if *u.InputTokens != 100 || *u.OutputTokens != 20 || *u.CacheReadTokens != 60 || u.CacheWriteTokens != nil {
		t.Errorf("usage %+v", u)
	}
	e := eventsOf(t, Codex{}, logOf(codexLogs, "codex.tool_decision", "tool_name", "exec_command", "call_id", "c1", "decision", "denied", "source", "User"))
	if d := single[*Denial](t, e); d.By != "user" || d.CallID != "c1" {
		t.Errorf("denial %+v", d)
	}
}
