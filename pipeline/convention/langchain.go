package convention

import "strings"

// langchainFields is the content of a LangChain constructor dump {lc, type: constructor, id, kwargs}, also where it was
// serialised twice; nil for anything else.
func langchainFields(m map[string]any) map[string]any {
	for range 4 {
		if kw, ok := m["kwargs"].(map[string]any); ok && m["lc"] != nil {
			m = kw
		} else if kw, ok := m["lc_kwargs"].(map[string]any); ok {
			m = kw
		} else {
			break
		}
		if _, ok := m["content"]; ok {
			if _, nested := m["lc_kwargs"]; !nested {
				return m
			}
		}
	}
	return nil
}

// langchainMessage reads a message from its constructor dump; the class name gives the role.
func langchainMessage(m, kw map[string]any) (message, bool) {
	class := ""
	if id := asList(m["id"]); len(id) > 0 {
		class, _ = id[len(id)-1].(string)
	}
	out := message{name: str(kw, "name"), id: str(kw, "id")}
	switch {
	case strings.HasPrefix(class, "System"):
		out.role = "system"
	case strings.HasPrefix(class, "Human"):
		out.role = "user"
	case strings.HasPrefix(class, "Tool"), strings.HasPrefix(class, "Function"):
		out.role = "tool"
		out.parts = []part{resultPart(str(kw, "tool_call_id"), str(kw, "name"), kw["content"], kw)}
		return out, true
	case strings.HasPrefix(class, "AI"):
		out.role = "assistant"
	case class == "ChatMessage":
		out.role = foldRole(str(kw, "role"))
	default:
		return message{}, false
	}
	out.parts = partsOf(kw["content"])
	calls := asList(kw["tool_calls"])
	if extra, ok := kw["additional_kwargs"].(map[string]any); ok && len(calls) == 0 {
		calls = asList(extra["tool_calls"])
	}
	for _, c := range calls {
		out.parts = appendCall(out.parts, toolCallPart(c))
	}
	return out, true
}
