package convention

import (
	"encoding/json"
	"strings"
)

// claudeMessage is a message of the Messages API.
type claudeMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// claudeBlock is a content block of any type.
type claudeBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// claudeRequestBody reads a whole API request: every message so far, the system prompt and the tools. A body that was cut
// gives the messages before the cut.
func claudeRequestBody(r *Record, t *teller) {
	a := r.Attributes
	if claudeSideQuery(a.Str("query_source")) {
		return
	}
	body, ok := claudeBodyText(r)
	if !ok {
		return
	}
	call := a.Str("request_body_id", "request_id")
	if call == "" {
		call = r.Row.SpanID
	}
	cut := a.cutAttribute("body") || isCut(body)
	h := History{Origin: OriginHistory, Call: call}
	walkMembers(body, func(key, value string, whole bool) bool {
		switch key {
		case "system":
			if !whole || !json.Valid([]byte(value)) {
				return false
			}
			h.Position = 0
			claudeSystem(t, h, json.RawMessage(value))
		case "messages":
			return walkElements(value, func(i int, element string) bool {
				role, blocks, ok := t.memo.claudeMessage(element)
				if !ok {
					return false
				}
				h.Position = i + 1
				claudeBlocks(t, h, role, blocks, "", cut)
				return true
			})
		case "tools":
			return walkElements(value, func(_ int, element string) bool {
				var raw map[string]json.RawMessage
				if json.Unmarshal([]byte(element), &raw) != nil {
					return false
				}
				claudeGivenTool(t, raw)
				return true
			})
		}
		return true
	})
}

// claudeRead is a message of a request that was read before.
type claudeRead struct {
	role   string
	blocks []claudeBlock
}

// claudeMessage reads a message of a request, which repeats all messages of the requests before.
func (m *Memo) claudeMessage(text string) (role string, blocks []claudeBlock, ok bool) {
	if m != nil {
		if known, seen := m.claude[text]; seen {
			return known.role, known.blocks, true
		}
	}
	var msg claudeMessage
	if json.Unmarshal([]byte(text), &msg) != nil {
		return "", nil, false
	}
	blocks = claudeContent(msg.Content)
	if m != nil {
		if m.claude == nil {
			m.claude = map[string]claudeRead{}
		}
		m.claude[text] = claudeRead{msg.Role, blocks}
	}
	return msg.Role, blocks, true
}

// claudeResponseBody reads a whole API response.
func claudeResponseBody(r *Record, t *teller) {
	a := r.Attributes
	if claudeSideQuery(a.Str("query_source")) {
		return
	}
	body, ok := claudeBodyText(r)
	if !ok {
		return
	}
	id := a.Str("request_id")
	var m claudeMessage
	if json.Unmarshal([]byte(body), &m) != nil || m.Role == "" {
		t.tell(&Message{Text: body, Truncated: true, ResponseID: id})
		return
	}
	claudeBlocks(t, History{}, m.Role, claudeContent(m.Content), id, a.cutAttribute("body"))
}

// claudeBodyText is the body inline; a body_ref names a file on the user's machine.
func claudeBodyText(r *Record) (string, bool) {
	body := r.Attributes.Str("body")
	return body, body != ""
}

func claudeSystem(t *teller, h History, raw json.RawMessage) {
	for _, b := range claudeContent(raw) {
		if b.Text == "" || strings.HasPrefix(b.Text, "x-anthropic-") {
			continue
		}
		claudeReminder(t, h, b.Text, false)
	}
}

func claudeGivenTool(t *teller, raw map[string]json.RawMessage) {
	d := &ToolDefinition{Description: jsonText(raw["description"]), InputSchema: string(raw["input_schema"])}
	d.Tool, d.Server = claudeTool(jsonText(raw["name"]), nil)
	if d.Tool == "" {
		return
	}
	t.tell(d)
	// Versions of 2025 list the skills in the description of the tool.
	if d.Tool == claudeSkillTool {
		if skills, ok := skillsElement(d.Description); ok {
			t.tell(&Catalogue{Skills: skills})
		}
	}
}

// claudeContent is the blocks of a content that may also be one text.
func claudeContent(raw json.RawMessage) []claudeBlock {
	if text := jsonText(raw); text != "" {
		return []claudeBlock{{Type: "text", Text: text}}
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	blocks := make([]claudeBlock, 0, len(parts))
	for _, p := range parts {
		var b claudeBlock
		if text := jsonText(p); text != "" {
			b = claudeBlock{Type: "text", Text: text}
		} else if json.Unmarshal(p, &b) != nil {
			continue
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// claudeBlocks tells the blocks of one message; response is the id of the response that it is, "" in a request.
func claudeBlocks(t *teller, h History, role string, blocks []claudeBlock, response string, cut bool) {
	for _, b := range blocks {
		switch b.Type {
		case "text":
			switch role {
			case "assistant":
				t.tell(&Message{History: h, Text: b.Text, Redacted: isWithheld(b.Text), Truncated: isCut(b.Text), ResponseID: response})
			case "system":
				claudeReminder(t, h, b.Text, isCut(b.Text))
			default:
				claudeUserText(t, h, b.Text, isCut(b.Text))
			}
		case "thinking":
			if b.Thinking != "" && !isWithheld(b.Thinking) {
				t.tell(&Reasoning{History: h, Text: b.Thinking, Truncated: isCut(b.Thinking)})
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			call := &ToolCall{History: h, Source: SourceRequest, CallID: b.ID, Arguments: compactText(string(b.Input)), Truncated: cut && isCut(string(b.Input)), ResponseID: response}
			call.Tool, call.Server = claudeTool(b.Name, nil)
			t.tell(call)
		case "tool_result", "mcp_tool_result", "web_search_tool_result", "web_fetch_tool_result":
			outcome := OutcomeOK
			if b.IsError {
				outcome = OutcomeError
			}
			claudeAnswer(t, h, b.ToolUseID, claudeResultText(b.Content), outcome, false)
		}
	}
}

// claudeResultText joins the texts of a tool's result; other blocks are named.
func claudeResultText(raw json.RawMessage) string {
	var parts []string
	for _, b := range claudeContent(raw) {
		switch {
		case b.Text != "":
			parts = append(parts, b.Text)
		case b.Type != "" && b.Type != "text":
			parts = append(parts, "["+b.Type+"]")
		}
	}
	return strings.Join(parts, "\n")
}
