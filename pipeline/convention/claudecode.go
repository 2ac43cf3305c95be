package convention

import (
	"encoding/json"
	"strings"
)

// ClaudeCode reads the logs and spans of Claude Code: the plain events, the spans of its enhanced telemetry, the detailed
// tracing ("beta": new_context, system_reminders, response.model_output) and the raw API bodies.
//
// One fact is told up to four times. All tellings of a call carry its tool_use_id, all tellings of a model response its
// request_id, and all logs of a prompt its prompt.id, which counts Sequence: the process-wide counter restarts when a session
// is resumed.
type ClaudeCode struct{}

const (
	claudeCode       = "claude_code"
	claudeCodePrefix = "claude_code."
	claudeCodeScope  = "com.anthropic.claude_code"
	claudeSkillTool  = "Skill"
)

// Name implements [Convention].
func (ClaudeCode) Name() string { return claudeCode }

// Match implements [Convention].
func (ClaudeCode) Match(r *Record) bool {
	return strings.HasPrefix(r.Row.ScopeName, claudeCodeScope) ||
		strings.HasPrefix(r.Row.Name, claudeCodePrefix) ||
		r.Row.Signal == "log" && strings.HasPrefix(r.Body.Str(), claudeCodePrefix)
}

// claudeEvent is the record's kind without its prefix: "tool_result" of a log, "llm_request" of a span.
func claudeEvent(r *Record) string {
	if r.Row.Signal == "log" {
		if name := r.Attributes.Str("event.name"); name != "" {
			return strings.TrimPrefix(name, claudeCodePrefix)
		}
		if body := r.Body.Str(); strings.HasPrefix(body, claudeCodePrefix) {
			return strings.TrimPrefix(body, claudeCodePrefix)
		}
	}
	return strings.TrimPrefix(r.Row.Name, claudeCodePrefix)
}

// Internal implements [Convention]. The start-up events matter beyond their number: a resumed session writes them under an
// id that no other record ever carries.
func (ClaudeCode) Internal(r *Record) bool {
	name := claudeEvent(r)
	switch name {
	case "managed_settings_resolved", "plugin_loaded", "plugin_installed", "mcp_server_connection", "permission_mode_changed",
		"auth", "hook", "mcp.rpc", "bash.subprocess", "feedback_survey":
		return true
	}
	return strings.HasPrefix(name, "hook_")
}

// Events implements [Convention].
func (ClaudeCode) Events(r *Record, emit func(Event)) {
	t := newTeller(r, claudeCode, emit)
	t.meta.Agent, t.meta.AgentID = claudeAgent(r.Attributes)
	t.meta.Turn = r.Attributes.Str("prompt.id")
	if n := r.Attributes.count("event.sequence"); n != nil && t.meta.Turn != "" && !toldLate(r) {
		t.meta.Sequence, t.meta.SequenceOf = *n, t.meta.Turn
	}
	if r.Row.Signal == "log" {
		claudeLog(r, t)
		return
	}
	claudeSpan(r, t)
}

// toldLate says that the counter tells when the record was written and not when its content was said: tools run, and are
// logged, while the response that asked for them still streams.
func toldLate(r *Record) bool {
	kind := claudeEvent(r)
	return kind == "assistant_response" || kind == "api_response_body"
}

// claudeAgent is the sub-agent that a record belongs to; both empty for the main agent.
func claudeAgent(a Attributes) (name, id string) {
	id = a.Str("agent_id")
	if source := a.Str("query_source"); strings.HasPrefix(source, "agent:") {
		name = source[strings.LastIndexByte(source, ':')+1:]
	}
	if name == "" && id != "" {
		if name = a.Str("agent_type", "agent.name", "subagent_type"); name == "" {
			name = id
		}
	}
	return name, id
}

func claudeIdentity(r *Record, t *teller) {
	t.tell(&Identity{Harness: claudeCode, Version: claudeVersion(r)})
}

func claudeVersion(r *Record) string {
	if v := r.Resource.Str("service.version"); v != "" {
		return v
	}
	return r.Attributes.Str("app.version")
}

// Exports implements [Convention]: what the settings let through is seen from what r carries.
func (ClaudeCode) Exports(r *Record) Content {
	a := r.Attributes
	c := ContentOffersSkills
	if p := a.Str("prompt", "user_prompt"); p != "" && !isWithheld(p) {
		c |= ContentUserPrompt
	}
	switch claudeEvent(r) {
	case "assistant_response":
		if text := a.Str("response"); text != "" && !isWithheld(text) {
			c |= ContentAssistantText
		}
	case "tool_result", "tool_decision", "tool":
		if a.Str("tool_input", "tool_parameters", "full_command", "file_path", "skill_name") != "" {
			c |= ContentToolArguments
		}
		for i := range r.Events {
			if r.Events[i].Name == "tool.output" {
				c |= ContentToolResults
			}
		}
	case "llm_request":
		if a.Has("new_context") || a.Has("response.model_output") {
			c |= ContentUserPrompt | ContentAssistantText | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
		}
	case "api_request_body":
		c |= ContentUserPrompt | ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
	case "api_response_body":
		c |= ContentAssistantText | ContentToolArguments
	}
	return c
}

// claudeTool is the tool of a log, with an MCP tool under the name that spans and the model use, and its server.
func claudeTool(name string, parameters map[string]json.RawMessage) (tool, server string) {
	if name == "mcp_tool" {
		server = jsonText(parameters["mcp_server_name"])
		if own := jsonText(parameters["mcp_tool_name"]); server != "" && own != "" {
			return "mcp__" + server + "__" + own, server
		}
		return name, server
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, _, _ = strings.Cut(rest, "__")
	}
	return name, server
}

// claudeArguments makes tool_parameters, a digest of a call's input for dashboards, look like the input itself, so that two
// tellings of one call say the same.
func claudeArguments(tool string, parameters map[string]json.RawMessage) string {
	input := make(map[string]json.RawMessage, len(parameters))
	for k, v := range parameters {
		switch k {
		case "bash_command", "mcp_server_name", "mcp_tool_name", "mcp_server_scope", "git_commit_id":
		case "full_command":
			input["command"] = v
		case "skill_name":
			if tool == claudeSkillTool {
				k = "skill"
			}
			input[k] = v
		default:
			input[k] = v
		}
	}
	return compact(input)
}
