package convention

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// OpenHands reads the events of OpenHands' agent SDK, each the body of a log record (or a JSON text in one): MessageEvent,
// SystemPromptEvent, ActionEvent, ObservationEvent, UserRejectObservation, AgentErrorEvent, also the bare actions and
// observations that they wrap.
type OpenHands struct{}

const openHands = "openhands"

// Name implements [Convention].
func (OpenHands) Name() string { return openHands }

// Match implements [Convention].
func (OpenHands) Match(r *Record) bool {
	if !r.isLog() {
		return false
	}
	_, kind := openHandsEvent(r)
	return kind != ""
}

// openHandsEvent is the event in a record's body and its kind; "" for any other body.
func openHandsEvent(r *Record) (map[string]any, string) {
	if r.Body.Kind() != otlp.KindMap && !strings.Contains(r.Body.Str(), `"kind"`) {
		return nil, ""
	}
	tr, ok := treeOf(r.Body)
	if !ok {
		return nil, ""
	}
	kind := str(tr, "kind")
	switch kind {
	case "MessageEvent", "SystemPromptEvent", "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent", "ConversationErrorEvent":
	default:
		if !strings.HasPrefix(kind, "InvokeSkill") {
			kind = ""
		}
	}
	return asMap(tr), kind
}

// Internal implements [Convention].
func (OpenHands) Internal(*Record) bool { return false }

// Exports implements [Convention]: whole events.
func (OpenHands) Exports(*Record) Content {
	return ContentUserPrompt | ContentAssistantText | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody | ContentOffersSkills
}

// Events implements [Convention].
func (OpenHands) Events(r *Record, emit func(Event)) {
	e, kind := openHandsEvent(r)
	t := newTeller(r, openHands, emit)
	t.meta.Witness = openHands + "/" + kind
	t.tell(&Identity{Harness: openHands, Version: r.Resource.Str("service.version")})
	id, tool := str(e, "tool_call_id", "id"), str(e, "tool_name")
	switch kind {
	case "SystemPromptEvent":
		if text := flatten(field(e, "system_prompt")); text != "" {
			t.tell(&System{Text: text, Truncated: isCut(text)})
		}
		tellDefinitions(t, field(e, "tools"))
	case "MessageEvent":
		openHandsMessage(e, t)
	case "ActionEvent":
		for _, th := range asList(field(e, "thought")) {
			if text := flatten(th); text != "" {
				t.tell(&Message{Text: text, ResponseID: str(e, "llm_response_id")})
			}
		}
		openHandsCall(t, id, tool, asMap(field(e, "action")), str(field(e, "tool_call"), "arguments"), str(e, "llm_response_id"))
	case "InvokeSkillAction":
		openHandsCall(t, id, "invoke_skill", e, "", "")
	case "ObservationEvent":
		openHandsResult(t, id, tool, asMap(field(e, "observation")))
	case "InvokeSkillObservation":
		openHandsResult(t, id, "invoke_skill", e)
	case "UserRejectObservation":
		t.tell(&Denial{CallID: id, Tool: tool, By: "user", Text: str(e, "rejection_reason")})
	case "AgentErrorEvent":
		t.tell(&ToolResult{Source: SourceExecution, CallID: id, Tool: tool, Text: str(e, "error"), Outcome: OutcomeError})
	case "ConversationErrorEvent":
		t.tell(&Failure{Type: str(e, "code"), Text: str(e, "detail")})
	}
}

func openHandsMessage(e map[string]any, t *teller) {
	m, ok := messageOf(field(e, "llm_message"))
	if !ok {
		return
	}
	if str(e, "source") == "user" {
		m.role = "user"
	}
	for _, p := range m.parts {
		switch {
		case p.kind != partText || p.text == "":
		case m.role == "user":
			t.tell(&Prompt{Text: p.text, Truncated: isCut(p.text)})
		default:
			t.tell(&Message{Text: p.text, Truncated: isCut(p.text)})
		}
	}
}

// openHandsCall tells an action: its members but the kind are the arguments.
func openHandsCall(t *teller, id, tool string, action map[string]any, asked, response string) {
	args := asked
	if args == "" {
		own := map[string]any{}
		for k, v := range action {
			switch k {
			case "kind", "tool_call_id", "id", "security_risk", "summary":
			default:
				own[k] = v
			}
		}
		args = encodeTree(own)
	}
	if tool == "" && str(action, "kind") == "InvokeSkillAction" {
		tool = "invoke_skill"
	}
	t.tell(&ToolCall{Source: SourceExecution, CallID: id, Tool: tool, Arguments: compactText(args), Truncated: isCut(args), ResponseID: response})
}

func openHandsResult(t *teller, id, tool string, o map[string]any) {
	if tool == "" && str(o, "kind") == "InvokeSkillObservation" {
		tool = "invoke_skill"
	}
	result := &ToolResult{Source: SourceExecution, CallID: id, Tool: tool, Text: flatten(field(o, "content", "output")), Outcome: statusOutcome(o)}
	if n, ok := wholeNumber(field(o, "exit_code")); ok {
		result.ExitCode = &n
	}
	result.Truncated = isCut(result.Text)
	t.tell(result)
}
