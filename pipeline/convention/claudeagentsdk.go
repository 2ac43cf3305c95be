package convention

import "strings"

// ClaudeAgentSDK reads the Claude Agent SDK under OpenInference's instrumentation: one AGENT span a query, with the totals,
// and one TOOL span a tool. Its other facts are not exported: no catalogue, no body of a skill, an unknown skill leaves no
// span, and a tool that was denied is merely "Abandoned".
type ClaudeAgentSDK struct{}

const claudeAgentSDK = "claude_agent_sdk"

// Name implements [Convention].
func (ClaudeAgentSDK) Name() string { return claudeAgentSDK }

// Match implements [Convention].
func (ClaudeAgentSDK) Match(r *Record) bool {
	scope := strings.ReplaceAll(r.Row.ScopeName, "_", "-")
	return !r.isLog() && strings.Contains(scope, "claude-agent-sdk") && r.Attributes.Has("openinference.span.kind")
}

// Internal implements [Convention].
func (ClaudeAgentSDK) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (ClaudeAgentSDK) Exports(r *Record) Content {
	return OpenInference{}.Exports(r)&^(ContentSkillBody|ContentSkillCatalogue) | ContentOffersSkills
}

// Events implements [Convention].
func (ClaudeAgentSDK) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, claudeAgentSDK, emit)
	if strings.ToUpper(a.Str("openinference.span.kind")) != "AGENT" {
		OpenInference{}.tool(r, t)
		return
	}
	t.meta.Witness = r.Row.ScopeName + "/AGENT"
	if t.meta.Agent = a.Str("agent.name"); t.meta.Agent == "" {
		t.meta.Agent = strings.TrimSuffix(r.Row.Name, ".query")
	}
	version := a.Str("service.version")
	if version == "" {
		version = r.Row.ScopeVersion
	}
	t.tell(&Identity{Harness: claudeAgentSDK, Version: version})
	t.tell(&AgentStart{})
	t.meta.Summary = true
	if s := a.Str("input.value"); s != "" {
		t.tell(&Prompt{History: History{Origin: OriginHistory, Call: r.Row.SpanID}, Text: s, Truncated: isCut(s)})
	}
	said := flatMessages(a, "llm.output_messages.")
	t.output(0, "", said)
	if s := a.Str("output.value"); s != "" && !endsIn(said, s) {
		t.tellAt(r.end(), &Message{Text: s, Truncated: isCut(s)})
	}
	if u := (OpenInference{}).usage(r, "", true); u.InputTokens != nil || u.OutputTokens != nil || u.CostMicroUSD != nil {
		t.tellAt(r.end(), u)
	}
	t.meta.Summary = false
	if r.failed() {
		t.tellAt(r.end(), &Failure{Type: a.Str("error.type"), Text: firstText(exceptionText(r), r.Row.StatusMessage)})
	}
	t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
}

// endsIn says whether the last of msgs says text.
func endsIn(msgs []message, text string) bool {
	if len(msgs) == 0 {
		return false
	}
	for _, p := range msgs[len(msgs)-1].parts {
		if p.kind == partText && strings.TrimSpace(p.text) == strings.TrimSpace(text) {
			return true
		}
	}
	return false
}
