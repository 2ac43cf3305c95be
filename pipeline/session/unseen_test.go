package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// The sessions of this file are written by hand after the description of captures that are not here: a skill refused by a rule,
// a skill that the user runs, a denial that is worked around, two prompts over two processes with MCP tools, a model error
// before success, sub-agents, and clients without a capture.

// event adds a log record of a harness.
func (m *rowMaker) event(service, scope, name string, attrs map[string]any) *schema.Span {
	m.t.Helper()
	attrs["event.name"] = name
	if attrs["session.id"] == nil {
		attrs["session.id"] = "s1"
	}
	s := m.span(name, "", attrs)
	s.Signal, s.Service, s.ScopeName, s.EndedUnixNano, s.SpanID = "log", service, scope, 0, ""
	return s
}

func (m *rowMaker) claude(n int, name string, attrs map[string]any) {
	attrs["event.sequence"], attrs["prompt.id"] = n, "p1"
	m.event("claude-code", "com.anthropic.claude_code.events", name, attrs)
}

func expectOutline(t *testing.T, b Built, want ...string) {
	t.Helper()
	if got := outline(b); !slices.Equal(got, want) {
		t.Errorf("steps\n%q\nwant\n%q\n%s", got, want, dump(b))
	}
}

func TestClaudeCodeSkillDenied(t *testing.T) {
	m := newRows(t)
	m.claude(1, "user_prompt", map[string]any{"prompt": "Write release notes"})
	m.claude(2, "tool_decision", map[string]any{"decision": "reject", "source": "config", "tool_name": "Skill", "tool_use_id": "toolu_01AAAAAAAAAAAAAAAAAAAAAA", "tool_parameters": `{"skill_name":"release-notes"}`})
	m.claude(3, "assistant_response", map[string]any{"response": "I may not use it."})
	b := m.build()
	expectOutline(t, b, "1 user message Write release notes", "1 assistant tool_call Skill denied", "1 harness denial Skill denied", "1 assistant message I may not use it.")
	if len(b.Skills) != 1 || b.Skills[0].Skill != "release-notes" || b.Skills[0].Outcome != "refused" || b.Session.NDenied != 1 || b.Session.NSkillsRefused != 1 {
		t.Errorf("%+v", b.Skills)
	}
}

func TestClaudeCodeSlashSkill(t *testing.T) {
	m := newRows(t)
	m.claude(1, "user_prompt", map[string]any{"prompt": "/pdf-processing report.pdf"})
	m.claude(2, "skill_activated", map[string]any{"skill.name": "pdf-processing", "invocation_trigger": "user-slash"})
	m.claude(3, "assistant_response", map[string]any{"response": "Done."})
	b := m.build()
	if len(b.Skills) != 1 || b.Skills[0].Via != "user" || b.Skills[0].Outcome != "loaded" || b.Skills[0].BodyState != "missing" || b.Session.NToolCalls != 0 {
		t.Errorf("%+v", b.Skills)
	}
	if !slices.Contains(b.Session.Missing, "skill_body") || !slices.Contains(b.Session.Missing, "skill_catalogue") {
		t.Errorf("missing %q", b.Session.Missing)
	}
}

func TestDeniedWorkaround(t *testing.T) {
	m := newRows(t)
	m.claude(1, "user_prompt", map[string]any{"prompt": "Free disk space"})
	for i, cmd := range []string{"rm -rf logs/archive", "mv logs/archive /tmp/x"} {
		id := fmt.Sprintf("toolu_01AAAAAAAAAAAAAAAAAAAAA%d", i)
		decision := "reject"
		if i == 1 {
			decision = "accept"
		}
		m.claude(2+2*i, "tool_decision", map[string]any{"decision": decision, "source": "config", "tool_name": "Bash", "tool_use_id": id, "tool_parameters": `{"full_command":"` + cmd + `"}`})
		if i == 1 {
			m.claude(3+2*i, "tool_result", map[string]any{"tool_name": "Bash", "tool_use_id": id, "success": "true", "tool_input": `{"command":"` + cmd + `"}`})
		}
	}
	b := m.build()
	var calls []string
	for _, s := range b.Steps {
		if s.Kind == "tool_call" {
			calls = append(calls, s.Arguments+" "+s.Outcome)
		}
	}
	if want := []string{`{"command":"rm -rf logs/archive"} denied`, `{"command":"mv logs/archive /tmp/x"} ok`}; !slices.Equal(calls, want) || b.Session.NDenied != 1 {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

func TestMCPOverTwoProcesses(t *testing.T) {
	m := newRows(t)
	prompt := func(n int, id, text string) {
		m.event("claude-code", "com.anthropic.claude_code.events", "user_prompt", map[string]any{"prompt": text, "prompt.id": id, "event.sequence": n})
	}
	result := func(n int, prompt, call, tool, args, success string) {
		m.event("claude-code", "com.anthropic.claude_code.events", "tool_result", map[string]any{"prompt.id": prompt, "event.sequence": n, "tool_name": "mcp_tool", "tool_use_id": call,
			"success": success, "tool_input": args, "tool_parameters": `{"mcp_server_name":"ledger","mcp_tool_name":"` + tool + `"}`})
	}
	prompt(3, "p1", "Look up invoice INV-1004 in the ledger.")
	result(4, "p1", "toolu_01AAAAAAAAAAAAAAAAAAAAA1", "get_invoice", `{"invoice":"INV-1004"}`, "true")
	m.trace = fmt.Sprintf("%032x", 2) // the second process counts from the beginning
	prompt(2, "p2", "And INV-9999? Then pay INV-1004.")
	result(3, "p2", "toolu_01AAAAAAAAAAAAAAAAAAAAA2", "get_invoice", `{"invoice":"INV-9999"}`, "false")
	b := m.build()
	expectOutline(t, b, "1 user message Look up invoice INV-1004 in the ledger.", "1 assistant tool_call mcp__ledger__get_invoice ok", "1 tool tool_result mcp__ledger__get_invoice ok",
		"2 user message And INV-9999? Then pay INV-1004.", "2 assistant tool_call mcp__ledger__get_invoice error", "2 tool tool_result mcp__ledger__get_invoice error")
	if b.Session.NTurns != 2 || b.Session.NToolErrors != 1 {
		t.Errorf("%d turns, %d errors", b.Session.NTurns, b.Session.NToolErrors)
	}
}

func TestLongAndErrors(t *testing.T) {
	m := newRows(t)
	m.claude(1, "user_prompt", map[string]any{"prompt": "Prüfe 日志 📈"})
	m.claude(2, "api_error", map[string]any{"error": "Overloaded", "status_code": "529", "attempt": 1})
	m.claude(3, "api_request", map[string]any{"model": "m", "input_tokens": 5, "output_tokens": 2, "request_id": "req_1"})
	m.claude(4, "tool_result", map[string]any{"tool_name": "Bash", "tool_use_id": "toolu_01AAAAAAAAAAAAAAAAAAAAA1", "success": "false", "error": "Exit code 3\nnope", "tool_input": `{"command":"false"}`})
	m.claude(5, "assistant_response", map[string]any{"response": "Fertig."})
	b := m.build()
	expectOutline(t, b, "1 user message Prüfe 日志 📈", "1 harness error Overloaded", "1 assistant tool_call Bash error", "1 tool tool_result Bash error", "1 assistant message Fertig.")
	if c := b.Steps[2]; c.ExitCode == nil || *c.ExitCode != 3 {
		t.Errorf("exit code %v", c.ExitCode)
	}
	if b.Session.NModelCalls != 1 || *b.Session.OutputTokens != 2 {
		t.Errorf("%d model calls", b.Session.NModelCalls)
	}
}

func TestTwoSkillsAndASubAgent(t *testing.T) {
	m := newRows(t)
	m.claude(1, "user_prompt", map[string]any{"prompt": "Do both"})
	for i, s := range []string{"pdf-processing", "incident-triage"} {
		m.claude(2+i, "tool_result", map[string]any{"tool_name": "Skill", "tool_use_id": fmt.Sprintf("toolu_01AAAAAAAAAAAAAAAAAAAAA%d", i), "success": "true", "tool_input": `{"skill":"` + s + `"}`})
	}
	m.claude(4, "skill_activated", map[string]any{"skill.name": "pdf-processing", "invocation_trigger": "claude-proactive"})
	m.claude(5, "skill_activated", map[string]any{"skill.name": "incident-triage", "invocation_trigger": "claude-proactive"})
	m.claude(6, "api_request", map[string]any{"model": "m", "input_tokens": 5, "output_tokens": 2, "request_id": "req_2", "agent_id": "a1", "query_source": "agent:builtin:general-purpose"})
	m.claude(7, "tool_result", map[string]any{"tool_name": "Read", "tool_use_id": "toolu_01AAAAAAAAAAAAAAAAAAAAA9", "success": "true", "tool_input": `{"file_path":"a.log"}`, "agent_id": "a1", "query_source": "agent:builtin:general-purpose"})
	m.claude(8, "subagent_completed", map[string]any{"agent_id": "a1", "agent_type": "general-purpose", "success": "true"})
	m.claude(9, "assistant_response", map[string]any{"response": "Both done."})
	b := m.build()
	if got := said(b); !slices.Equal(got, []string{"pdf-processing loaded missing", "incident-triage loaded missing"}) {
		t.Errorf("skills %q", got)
	}
	for _, s := range b.Steps {
		if want := map[bool]string{true: "general-purpose", false: ""}[s.Tool == "Read"]; s.Agent != want {
			t.Errorf("%s %s by %q, want %q", s.Kind, s.Tool, s.Agent, want)
		}
	}
}

func TestCodexSkillOfTheUserAndMCP(t *testing.T) {
	m := newRows(t)
	log := func(name string, attrs map[string]any) {
		attrs["conversation.id"] = "c1"
		attrs["session.id"] = "c1"
		m.event("codex_exec", "codex_otel.log_only", name, attrs)
	}
	log("codex.user_prompt", map[string]any{"prompt": "$pdf-processing read it"})
	log("codex.skill_invocation", map[string]any{"skill.name": "pdf-processing", "skill.invocation_type": "explicit"})
	log("codex.tool_result", map[string]any{"tool_name": "get_invoice", "tool_namespace": "mcp__ledger", "call_id": "call_AAAAAAAAAAAAAAAAAAAAAAA1", "arguments": `{"invoice":"INV-1004"}`, "output": `{"total":7680}`, "success": "true"})
	b := m.build()
	expectOutline(t, b, "1 user message $pdf-processing read it", "1 assistant tool_call mcp__ledger__get_invoice ok", "1 tool tool_result mcp__ledger__get_invoice ok")
	if len(b.Skills) != 1 || b.Skills[0].Via != "user" || b.Skills[0].BodyState != "missing" {
		t.Errorf("%+v", b.Skills)
	}
}

// TestCopilot reads a session of GitHub Copilot CLI: inputs that hold only what is new, a skill whose body is in a span event,
// one that is not there, a denied command, an MCP tool.
func TestCopilot(t *testing.T) {
	m := newRows(t)
	add := func(name, parent string, attrs map[string]any) *schema.Span {
		attrs["gen_ai.conversation.id"] = "conv1"
		s := m.span(name, parent, attrs)
		s.Service, s.ScopeName = "github-copilot", "github.copilot"
		return s
	}
	root := add("invoke_agent", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "GitHub Copilot CLI", "gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 30}).SpanID
	system := "Be useful.\n<available_skills><skill><name>pdf-processing</name><description>Reads PDF.</description></skill></available_skills>"
	chat := func(in, out []any) {
		add("chat gpt", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10, "gen_ai.system_instructions": list(t, []any{map[string]any{"type": "text", "content": system}}),
			"gen_ai.input.messages": list(t, in), "gen_ai.output.messages": list(t, out), "gen_ai.tool.definitions": list(t, []any{map[string]any{"type": "function", "name": "skill", "description": "Loads a skill."}})})
	}
	tool := func(name, id, args, result, status, message string, more map[string]any) *schema.Span {
		a := map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": id, "gen_ai.tool.call.arguments": args, "gen_ai.tool.call.result": result}
		for k, v := range more {
			a[k] = v
		}
		if result == "" {
			delete(a, "gen_ai.tool.call.result")
		}
		s := add("execute_tool "+name, root, a)
		s.Status, s.StatusMessage = status, message
		return s
	}
	ids := []string{"call_AAAAAAAAAAAAAAAAAAAAAAA1", "call_AAAAAAAAAAAAAAAAAAAAAAA2", "call_AAAAAAAAAAAAAAAAAAAAAAA3"}
	chat([]any{text("user", "Tidy up")}, []any{text("assistant", "Loading."), asks(ids[0], "skill", map[string]any{"skill": "pdf-processing"})})
	body, err := json.Marshal([]map[string]any{{"name": "github.copilot.skill.invoked", "attributes": map[string]any{"github.copilot.skill.name": "pdf-processing", "github.copilot.skill.content": "---\nname: pdf-processing\ndescription: Reads PDF.\n---\n" + skillBody}}})
	if err != nil {
		t.Fatal(err)
	}
	tool("skill", ids[0], `{"skill":"pdf-processing"}`, "Skill \"pdf-processing\" loaded successfully.", "ok", "", map[string]any{"gen_ai.skill.name": "pdf-processing"}).Events = string(body)
	chat([]any{answers(ids[0], "Skill \"pdf-processing\" loaded successfully.")}, []any{asks(ids[1], "skill", map[string]any{"skill": "nope"})})
	tool("skill", ids[1], `{"skill":"nope"}`, "", "error", "Skill not found: nope", nil)
	chat([]any{answers(ids[1], "Skill not found: nope")}, []any{asks(ids[2], "bash", map[string]any{"command": "rm -rf x"})})
	tool("bash", ids[2], `{"command":"rm -rf x"}`, "", "error", "Permission to run this tool was denied due to the following rules: `shell(rm)`", map[string]any{"error.type": "denied"})
	chat([]any{answers(ids[2], "Permission to run this tool was denied due to the following rules: `shell(rm)`")}, []any{text("assistant", "I left it.")})
	b := m.build()
	var lines []string
	for _, l := range outline(b) {
		if len(l) < 9 || l[2:8] != "system" {
			lines = append(lines, l)
		}
	}
	want := []string{"1 user message Tidy up", "1 assistant message Loading.", "1 assistant tool_call skill ok", "1 tool tool_result skill ok", "1 assistant tool_call skill refused", "1 tool tool_result skill refused",
		"1 assistant tool_call bash denied", "1 harness denial bash denied", "1 assistant message I left it."}
	if !slices.Equal(lines, want) {
		t.Errorf("steps %q\nwant %q\n%s", lines, want, dump(b))
	}
	if got := said(b); !slices.Equal(got, []string{"pdf-processing loaded captured", "nope refused missing"}) || b.Skills[0].Body != skillBody || !*b.Skills[0].Offered {
		t.Errorf("skills %q", got)
	}
	if b.Session.Harness != "copilot_cli" || *b.Session.InputTokens != 400 || len(b.Session.Missing) > 0 || b.Session.NDenied != 1 || len(b.Tools) != 1 {
		t.Errorf("%+v", b.Session)
	}
}

// TestCopilotWithoutContent holds that names and statuses alone are no bodies and no arguments.
func TestCopilotWithoutContent(t *testing.T) {
	m := newRows(t)
	root := m.span("invoke_agent", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "conv1"})
	root.Service = "github-copilot"
	chat := m.span("chat gpt", root.SpanID, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conv1", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1})
	chat.Service, chat.ParentSpanID = "github-copilot", m.rows[0].SpanID
	tool := m.span("execute_tool skill pdf-processing", m.rows[0].SpanID, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "skill", "gen_ai.tool.call.id": "call_AAAAAAAAAAAAAAAAAAAAAAA1", "gen_ai.skill.name": "pdf-processing", "gen_ai.conversation.id": "conv1"})
	tool.Service, tool.Status = "github-copilot", "ok"
	b := m.build()
	if got := said(b); !slices.Equal(got, []string{"pdf-processing loaded missing"}) {
		t.Errorf("skills %q\n%s", got, dump(b))
	}
	want := []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results", "skill_catalogue", "skill_body"}
	if !slices.Equal(b.Session.Missing, want) || b.Session.ContentState != "missing" {
		t.Errorf("%s, missing %q", b.Session.ContentState, b.Session.Missing)
	}
}

// TestCopilotSkillOfTheUser holds that a skill without a call was loaded by the user, and that an event beside a call is that call's.
func TestCopilotSkillOfTheUser(t *testing.T) {
	for name, called := range map[string]bool{"user": false, "tool": true} {
		m := newRows(t)
		root := m.span("invoke_agent", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "conv1"}).SpanID
		events, err := json.Marshal([]map[string]any{{"name": "github.copilot.skill.invoked", "attributes": map[string]any{"github.copilot.skill.name": "pdf-processing", "github.copilot.skill.content": skillBody}}})
		if err != nil {
			t.Fatal(err)
		}
		m.span("chat gpt", root, map[string]any{"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "conv1"}).Events = string(events)
		if called {
			m.span("execute_tool skill", root, map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "skill", "gen_ai.tool.call.id": "call_AAAAAAAAAAAAAAAAAAAAAAA1", "gen_ai.conversation.id": "conv1",
				"gen_ai.tool.call.arguments": `{"skill":"pdf-processing"}`, "gen_ai.tool.call.result": "Skill \"pdf-processing\" loaded successfully."}).Status = "ok"
		}
		for i := range m.rows {
			m.rows[i].Service = "github-copilot"
		}
		b := m.build()
		if len(b.Skills) != 1 || b.Skills[0].Via != name || b.Skills[0].Body != skillBody {
			t.Errorf("%s: %+v\n%s", name, b.Skills, dump(b))
		}
	}
}
