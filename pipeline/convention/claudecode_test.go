package convention

import (
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

const (
	claudeLogs  = "com.anthropic.claude_code.events"
	claudeSpans = "com.anthropic.claude_code.tracing"
)

func TestClaudeCodeMatch(t *testing.T) {
	for name, c := range map[string]struct {
		record *Record
		want   bool
	}{
		"log by scope":  {logOf(claudeLogs, "user_prompt"), true},
		"span by name":  {spanOf("", "claude_code.tool"), true},
		"other":         {spanOf("openinference.instrumentation", "ClaudeAgent.query"), false},
		"other's event": {logOf("app", "user_prompt"), false},
	} {
		if got := (ClaudeCode{}).Match(c.record); got != c.want {
			t.Errorf("%s: match %t", name, got)
		}
	}
	bare := logOf("", "user_prompt")
	bare.Body = otlp.StringValue("claude_code.user_prompt")
	if !(ClaudeCode{}).Match(bare) {
		t.Error("a log without scope is known by its body")
	}
}

func TestClaudeCodeSequenceCountsWithinThePrompt(t *testing.T) {
	call := func(attributes ...any) *ToolCall {
		return single[*ToolCall](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_decision", append(attributes, "tool_name", "Bash", "event.sequence", 9)...)))
	}
	if c := call("prompt.id", "p1"); c.Turn != "p1" || c.Sequence != 9 || c.SequenceOf != "p1" {
		t.Errorf("call %+v", c)
	}
	if c := call(); c.Sequence != 0 || c.SequenceOf != "" {
		t.Errorf("without a prompt the counter says nothing: %+v", c)
	}
	e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "assistant_response", "response", "Done.", "request_id", "req_1", "prompt.id", "p1", "event.sequence", 9))
	if m := single[*Message](t, e); m.Text != "Done." || m.ResponseID != "req_1" || m.Turn != "p1" || m.Sequence != 0 {
		t.Errorf("a response is logged after the tools that it asked for have run: %+v", m)
	}
}

func TestClaudeCodePrompts(t *testing.T) {
	for name, c := range map[string]struct {
		record   *Record
		text     string
		redacted bool
	}{
		"log":           {logOf(claudeLogs, "user_prompt", "prompt", "Tidy up"), "Tidy up", false},
		"withheld":      {logOf(claudeLogs, "user_prompt", "prompt", "<REDACTED>", "prompt_length", "7"), "", true},
		"length only":   {logOf(claudeLogs, "user_prompt", "prompt_length", "7"), "", true},
		"span":          {spanOf(claudeSpans, "claude_code.interaction", "user_prompt", "Tidy up", "span.type", "interaction"), "Tidy up", false},
		"withheld span": {spanOf(claudeSpans, "claude_code.interaction", "user_prompt", "<REDACTED>", "user_prompt_length", 7), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := single[*Prompt](t, eventsOf(t, ClaudeCode{}, c.record))
			if p.Text != c.text || p.Redacted != c.redacted {
				t.Errorf("prompt %+v", p)
			}
			if got := (ClaudeCode{}).Exports(c.record)&ContentUserPrompt != 0; got == c.redacted {
				t.Errorf("exports prompts: %t", got)
			}
		})
	}
}

func TestClaudeCodeTools(t *testing.T) {
	t.Run("result log", func(t *testing.T) {
		e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_result", "tool_name", "Bash", "tool_use_id", "t1", "success", "false",
			"error", "Exit code 3\nno such row", "tool_input", `{"command":"audit"}`, "request_id", "req_1"))
		c, r := single[*ToolCall](t, e), single[*ToolResult](t, e)
		if c.Tool != "Bash" || c.CallID != "t1" || c.Arguments != `{"command":"audit"}` || c.ResponseID != "req_1" || c.Redacted {
			t.Errorf("call %+v", c)
		}
		if r.Outcome != OutcomeError || r.ExitCode == nil || *r.ExitCode != 3 {
			t.Errorf("result %+v", r)
		}
	})
	t.Run("without details", func(t *testing.T) {
		e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_result", "tool_name", "Bash", "tool_use_id", "t1", "success", "true"))
		if c, r := single[*ToolCall](t, e), single[*ToolResult](t, e); !c.Redacted || r.Outcome != OutcomeOK {
			t.Errorf("call %+v, result %+v", c, r)
		}
	})
	t.Run("cut input stays text", func(t *testing.T) {
		cut := `{"file_path":"a.txt","content":"once upon a…[truncated]`
		e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_result", "tool_name", "Write", "tool_use_id", "t1", "success", "true", "tool_input", cut))
		if c := single[*ToolCall](t, e); c.Arguments != cut || !c.Truncated {
			t.Errorf("call %+v", c)
		}
	})
	t.Run("MCP", func(t *testing.T) {
		log := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_decision", "tool_name", "mcp_tool", "tool_use_id", "t1", "decision", "accept",
			"tool_parameters", `{"mcp_server_name":"ledger","mcp_tool_name":"get_invoice","invoice":"7"}`))
		span := eventsOf(t, ClaudeCode{}, spanOf(claudeSpans, "claude_code.tool", "tool_name", "mcp__ledger__get_invoice", "tool_name_safe", "mcp_other", "tool_use_id", "t1"))
		a, b := single[*ToolCall](t, log), single[*ToolCall](t, span)
		if a.Tool != "mcp__ledger__get_invoice" || a.Tool != b.Tool || a.Server != "ledger" || b.Server != "ledger" {
			t.Errorf("log %+v, span %+v", a, b)
		}
		if a.Arguments != `{"invoice":"7"}` {
			t.Errorf("arguments %s", a.Arguments)
		}
	})
	t.Run("denied", func(t *testing.T) {
		for source, by := range map[string]string{"config": "config", "user_reject": "user", "user_permanent": "user", "hook": "hook", "classifier": "classifier", "odd": ""} {
			e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "tool_decision", "tool_name", "Bash", "tool_use_id", "t1", "decision", "reject", "source", source,
				"tool_parameters", `{"bash_command":"rm","full_command":"rm -r x","description":"Remove"}`))
			d := single[*Denial](t, e)
			if d.By != by || d.CallID != "t1" || d.Arguments != `{"command":"rm -r x","description":"Remove"}` {
				t.Errorf("denial %+v", d)
			}
		}
		e := eventsOf(t, ClaudeCode{}, spanOf(claudeSpans, "claude_code.tool.blocked_on_user", "decision", "reject", "source", "config"))
		if d := single[*Denial](t, e); d.ParentID == "" || d.CallID != "" {
			t.Errorf("the span's parent is the tool span: %+v", d)
		}
		if e := eventsOf(t, ClaudeCode{}, spanOf(claudeSpans, "claude_code.tool.blocked_on_user", "decision", "accept")); len(e) != 0 {
			t.Errorf("an accepted call tells nothing: %v", e)
		}
	})
	t.Run("span output", func(t *testing.T) {
		r := spanOf(claudeSpans, "claude_code.tool", "tool_name", "Bash", "tool_use_id", "t1", "full_command", "ls")
		r.Events = []otlp.SpanEvent{{Name: "tool.output", Attributes: attributesOf("bash_command", "ls", "output", "a.txt")}}
		e := eventsOf(t, ClaudeCode{}, r)
		if c, o := single[*ToolCall](t, e), single[*ToolResult](t, e); c.Arguments != `{"command":"ls"}` || o.Text != "a.txt" || o.Info().At != 5_000 {
			t.Errorf("call %+v, result %+v", c, o)
		}
		if (ClaudeCode{}).Exports(r)&ContentToolResults == 0 {
			t.Error("the span exports results")
		}
	})
	t.Run("written content is no result", func(t *testing.T) {
		r := spanOf(claudeSpans, "claude_code.tool", "tool_name", "Write", "tool_use_id", "t1", "file_path", "a.txt")
		r.Events = []otlp.SpanEvent{{Name: "tool.output", Attributes: attributesOf("file_path", "a.txt", "content", "hello")}}
		e := eventsOf(t, ClaudeCode{}, r)
		if c := single[*ToolCall](t, e); c.Arguments != `{"content":"hello","file_path":"a.txt"}` {
			t.Errorf("call %+v", c)
		}
		if len(only[*ToolResult](e)) != 0 {
			t.Error("what was written is told as a result")
		}
	})
}

func TestClaudeCodeDetailedTracing(t *testing.T) {
	context := strings.Join([]string{
		"[TOOL RESULT: t1]\n<tool_use_error>Unknown skill: ledger</tool_use_error>",
		"[TOOL RESULT: t2]\nfirst\n\n---\n\nstill the result",
		"[USER]\nBase directory for this skill: /s/skills/tidy\n\n# Tidy\n\n1. Sort.\n\nARGUMENTS: now",
		"[USER]\nGo on",
	}, "\n\n---\n\n")
	r := spanOf(claudeSpans, "claude_code.llm_request", "new_context", context, "response.model_output", "I go on.", "request_id", "req_1",
		"input_tokens", 10, "cache_read_tokens", 5, "cache_creation_tokens", 2, "output_tokens", 3, "success", true,
		"system_reminders", "Context\n\nThe following skills are available for use with the Skill tool:\n\n- tidy: Sorts things.\nAlso sums.\n- plug:ship: Ships.\n- bare\n\nToday is Monday.")
	e := eventsOf(t, ClaudeCode{}, r)

	results := only[*ToolResult](e)
	if len(results) != 2 || results[0].Outcome != OutcomeRefused || results[0].CallID != "t1" || results[1].Text != "first\n\n---\n\nstill the result" {
		t.Fatalf("results %+v", results)
	}
	if c := single[*ToolCall](t, e); c.Tool != "Skill" || c.Arguments != `{"skill":"ledger"}` || c.CallID != "t1" {
		t.Errorf("the refused attempt %+v", c)
	}
	if l := single[*SkillLoad](t, e); l.Skill != "tidy" || l.Body != "# Tidy\n\n1. Sort." || l.Directory != "/s/skills/tidy" {
		t.Errorf("body %+v", l)
	}
	if p := single[*Prompt](t, e); p.Text != "Go on" || p.Origin != OriginHistory || !p.Delta {
		t.Errorf("prompt %+v", p)
	}
	skills := single[*Catalogue](t, e).Skills
	want := []CatalogueSkill{{Name: "tidy", Description: "Sorts things.\nAlso sums."}, {Name: "plug:ship", Description: "Ships."}, {Name: "bare"}}
	if len(skills) != 3 || skills[0] != want[0] || skills[1] != want[1] || skills[2] != want[2] {
		t.Errorf("catalogue %+v", skills)
	}
	if u := single[*Usage](t, e); *u.InputTokens != 17 || *u.OutputTokens != 3 || u.ResponseID != "req_1" {
		t.Errorf("usage %+v", u)
	}
	if m := single[*Message](t, e); m.Text != "I go on." || m.ResponseID != "req_1" {
		t.Errorf("message %+v", m)
	}
	side := spanOf(claudeSpans, "claude_code.llm_request", "new_context", "[USER]\nName this session", "query_source", "generate_session_title", "output_tokens", 3)
	if e := eventsOf(t, ClaudeCode{}, side); len(only[*Prompt](e)) != 0 || len(only[*Usage](e)) != 1 {
		t.Errorf("a side query only costs: %v", e)
	}
}

const claudeBody = `{"model":"m","messages":[` +
	`{"role":"user","content":[{"type":"text","text":"<system-reminder>\nctx\n</system-reminder>"},{"type":"text","text":"Tidy up"}]},` +
	`{"role":"assistant","content":[{"type":"thinking","thinking":"<REDACTED>"},{"type":"text","text":"I will."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command": "ls"}}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"},{"type":"image"}],"is_error":false}]},` +
	`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"Permission to use Bash with command rm has been denied.","is_error":true}]},` +
	`{"role":"user","content":"<command-message>x</command-message>\n<command-name>/notes</command-name>\n<command-args>v2</command-args>"}` +
	`],"system":[{"type":"text","text":"x-anthropic-billing-header: 1"},{"type":"text","text":"Be brief."}],"tools":[{"name":"Bash","description":"Runs","input_schema":{"type":"object"}}]}`

func TestClaudeCodeRawRequest(t *testing.T) {
	e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_request_body", "body", claudeBody, "request_body_id", "b1"))
	prompts := only[*Prompt](e)
	if len(prompts) != 2 || prompts[0].Text != "Tidy up" || prompts[1].Text != "/notes v2" || prompts[0].Call != "b1" || prompts[0].Position != 1 {
		t.Errorf("prompts %+v", prompts)
	}
	if c := single[*ToolCall](t, e); c.Arguments != `{"command":"ls"}` || c.Source != SourceRequest || c.Position != 2 {
		t.Errorf("call %+v", c)
	}
	results := only[*ToolResult](e)
	if len(results) != 2 || results[0].Text != "a\n[image]" || results[0].Outcome != OutcomeOK || results[1].Outcome != OutcomeDenied {
		t.Errorf("results %+v", results)
	}
	if len(only[*Reasoning](e)) != 0 {
		t.Error("a withheld thought is told")
	}
	if s := only[*System](e); len(s) != 2 || s[1].Text != "Be brief." || s[1].Position != 0 {
		t.Errorf("system %+v", s)
	}
	if d := single[*ToolDefinition](t, e); d.Tool != "Bash" || d.InputSchema != `{"type":"object"}` {
		t.Errorf("definition %+v", d)
	}
}

func TestClaudeCodeRawRequestCutAnywhere(t *testing.T) {
	whole := 0
	for cut := range len(claudeBody) {
		e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_request_body", "body", claudeBody[:cut], "request_body_id", "b1"))
		if len(e) < whole {
			t.Fatalf("cut at %d tells %d events, a shorter one %d", cut, len(e), whole)
		}
		whole = len(e)
	}
	if whole == 0 {
		t.Error("nothing before a cut is told")
	}
}

func TestClaudeCodeRawResponse(t *testing.T) {
	body := `{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t1","name":"mcp__ledger__pay","input":{}}]}`
	e := eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_response_body", "body", body, "request_id", "req_1"))
	if m, c := single[*Message](t, e), single[*ToolCall](t, e); m.ResponseID != "req_1" || m.Origin != OriginNew || c.ResponseID != "req_1" || c.Server != "ledger" {
		t.Errorf("message %+v, call %+v", m, c)
	}
	e = eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_response_body", "body", body[:60], "request_id", "req_1"))
	if m := single[*Message](t, e); m.Text != body[:60] || !m.Truncated {
		t.Errorf("a cut body is kept as text: %+v", m)
	}
}

func TestClaudeCodeUsageAndFailures(t *testing.T) {
	u := single[*Usage](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_request", "model", "m", "input_tokens", "100", "cache_read_tokens", 20,
		"cache_creation_tokens", 3, "output_tokens", 7, "cost_usd", 0.0213, "duration_ms", 12, "request_id", "req_1")))
	if *u.InputTokens != 123 || *u.CacheReadTokens != 20 || *u.CacheWriteTokens != 3 || *u.OutputTokens != 7 || *u.CostMicroUSD != 21_300 || u.DurationNano != 12_000_000 {
		t.Errorf("usage %+v", u)
	}
	f := single[*Failure](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_error", "error", "Overloaded", "status_code", 529)))
	if f.Type != "529" || f.Text != "Overloaded" {
		t.Errorf("failure %+v", f)
	}
}

func TestClaudeCodeSkillsAndAgents(t *testing.T) {
	l := single[*SkillLoad](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "skill_activated", "skill.name", "notes", "invocation_trigger", "user-slash")))
	if l.Via != ViaUser || l.Outcome != "loaded" || l.Skill != "notes" {
		t.Errorf("load %+v", l)
	}
	end := single[*AgentEnd](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "subagent_completed", "agent_id", "a7", "agent_type", "Explore", "success", "true")))
	if end.Agent != "Explore" || end.AgentID != "a7" || end.Status != "ok" {
		t.Errorf("end %+v", end)
	}
	u := single[*Usage](t, eventsOf(t, ClaudeCode{}, logOf(claudeLogs, "api_request", "query_source", "agent:builtin:general-purpose", "agent_id", "a7", "output_tokens", 1)))
	if u.Agent != "general-purpose" || u.AgentID != "a7" {
		t.Errorf("usage %+v", u)
	}
}

func TestClaudeCodeInternal(t *testing.T) {
	for name, want := range map[string]bool{"plugin_loaded": true, "managed_settings_resolved": true, "hook_execution_start": true, "tool_result": false, "user_prompt": false} {
		if got := (ClaudeCode{}).Internal(logOf(claudeLogs, name)); got != want {
			t.Errorf("%s internal: %t", name, got)
		}
	}
}
