package convention

import (
	"bytes"
	"encoding/json"
	"strings"
)

// geminiContent is a message of the Gemini API.
type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// geminiChunk is a piece of a streamed response.
type geminiChunk struct {
	ResponseID string `json:"responseId"`
	Candidates []struct {
		Content geminiContent `json:"content"`
	} `json:"candidates"`
}

// geminiContents reads a list of contents; whole is false where the text was cut, and what came before the cut is returned.
func geminiContents(text string) (contents []geminiContent, whole bool) {
	d := json.NewDecoder(strings.NewReader(text))
	err := walkArray(d, func(int) error {
		var c geminiContent
		if err := d.Decode(&c); err != nil {
			return err
		}
		contents = append(contents, c)
		return nil
	})
	return contents, err == nil
}

// geminiChunks reads a streamed response.
func geminiChunks(text string) (contents []geminiContent, responseID string) {
	d := json.NewDecoder(strings.NewReader(text))
	_ = walkArray(d, func(int) error { // a cut leaves the chunks before it
		var c geminiChunk
		if err := d.Decode(&c); err != nil {
			return err
		}
		if c.ResponseID != "" {
			responseID = c.ResponseID
		}
		for i := range c.Candidates {
			contents = append(contents, c.Candidates[i].Content)
		}
		return nil
	})
	return contents, responseID
}

// thoughtMark ends a thought in the requests that Qwen Code logs.
const thoughtMark = "\n[Thought: true]"

// geminiMessage is a content as a message.
func geminiMessage(c geminiContent) message {
	m := message{role: foldRole(c.Role)}
	for i := range c.Parts {
		p := &c.Parts[i]
		switch {
		case p.FunctionCall != nil:
			m.parts = append(m.parts, part{
				kind: partCall, id: geminiCallID(p.FunctionCall.ID, p.FunctionCall.Name), name: p.FunctionCall.Name, args: compactText(string(p.FunctionCall.Args)),
			})
		case p.FunctionResponse != nil:
			text, outcome := geminiResult(p.FunctionResponse.Response)
			m.parts = append(m.parts, part{
				kind: partResult, id: geminiCallID(p.FunctionResponse.ID, p.FunctionResponse.Name), name: p.FunctionResponse.Name, text: text, outcome: outcome,
			})
		case p.Text == "":
		case p.Thought, strings.HasSuffix(p.Text, thoughtMark):
			m.parts = append(m.parts, part{kind: partReasoning, text: strings.TrimSuffix(p.Text, thoughtMark)})
		default:
			m.parts = append(m.parts, part{kind: partText, text: p.Text})
		}
	}
	return m
}

// geminiCallID is the id of a call without the tool's name, which some records put before it.
func geminiCallID(id, tool string) string {
	if tool == "" {
		return id
	}
	if rest, ok := strings.CutPrefix(id, tool+"__"); ok {
		return rest
	}
	return id
}

// geminiResult is the text of a function's response and what it says of success.
func geminiResult(raw json.RawMessage) (string, Outcome) {
	object := jsonObject(string(raw))
	if object == nil {
		if s := jsonText(raw); s != "" {
			return s, OutcomeUnknown
		}
		return string(raw), OutcomeUnknown
	}
	if s := jsonText(object["error"]); s != "" {
		return s, geminiTextOutcome(s)
	}
	if s := jsonText(object["output"]); s != "" || len(object) == 1 && object["output"] != nil {
		return s, OutcomeOK
	}
	return string(raw), OutcomeUnknown
}

// geminiTextOutcome is the outcome of a failure by the program's own words.
func geminiTextOutcome(text string) Outcome {
	switch {
	case strings.HasPrefix(text, "Tool execution denied by policy"),
		strings.Contains(text, "invocation was denied by permission rules"),
		strings.Contains(firstLine(text), "[Operation Cancelled] Reason: User denied"):
		return OutcomeDenied
	case strings.HasPrefix(text, "params/"), strings.HasPrefix(text, "Tool \"") && strings.Contains(firstLine(text), "not found"),
		strings.HasPrefix(strings.TrimPrefix(text, "Error: "), "Skill \"") && strings.Contains(firstLine(text), "not found"):
		return OutcomeRefused
	}
	return OutcomeError
}

// joinStreamed makes one message of the pieces of a streamed response: neighbouring texts of one kind are one text.
func joinStreamed(contents []geminiContent) message {
	out := message{role: "assistant"}
	for _, c := range contents {
		for _, p := range geminiMessage(c).parts {
			last := len(out.parts) - 1
			if last >= 0 && out.parts[last].kind == p.kind && (p.kind == partText || p.kind == partReasoning) {
				out.parts[last].text += p.text
				continue
			}
			out.parts = append(out.parts, p)
		}
	}
	return out
}

// geminiInput tells what a model call was sent.
func geminiInput(t *teller, r *Record, text string) {
	if text == "" {
		return
	}
	call := r.Row.SpanID
	switch {
	case call == "":
		call = t.meta.Turn + "/" + decimal(r.Row.StartedUnixNano)
	case r.isLog():
		call += "/log" // a second telling of the call that the span tells
	}
	contents, whole := geminiContents(text)
	for i, c := range contents {
		t.message(0, History{Origin: OriginHistory, Call: call, Position: i}, "", geminiMessage(c))
	}
	if !whole && len(contents) == 0 {
		t.tellRest(text)
	}
}

// tellRest keeps a text that could not be read, for want of anything better: other records mostly tell it whole.
func (t *teller) tellRest(text string) {
	was := t.meta.Summary
	t.meta.Summary = true
	t.tell(&Message{Text: text, Truncated: true})
	t.meta.Summary = was
}

// geminiResponse reads the log of a response.
func geminiResponse(r *Record, t *teller) {
	a := r.Attributes
	contents, id := geminiChunks(a.Str("response_text"))
	if id == "" {
		id = a.Str("response_id")
	}
	if !geminiSideCall(a) {
		if len(contents) > 0 {
			t.message(0, History{}, id, joinStreamed(contents))
		} else if text := a.Str("response_text"); text != "" {
			t.tellRest(text)
		}
	}
	if u := geminiUsage(a); u != nil {
		if u.ResponseID == "" {
			u.ResponseID = id
		}
		t.tell(u)
	}
}

// geminiSystem tells a system prompt, a JSON string or a list of parts, and the catalogue in it.
func geminiSystem(t *teller, text string) {
	if text == "" {
		return
	}
	plain := jsonText(json.RawMessage(text))
	if plain == "" {
		if tree, ok := parseTree(text); ok {
			plain = flatten(tree)
		}
	}
	if plain == "" {
		plain = text
	}
	t.tell(&System{History: History{Origin: OriginHistory, Call: t.meta.SpanID}, Text: plain, Truncated: isCut(plain)})
	if skills, ok := skillsElement(plain); ok {
		t.tell(&Catalogue{Skills: skills})
	}
}

// compactText is JSON without white space; text that is not JSON stays as it is.
func compactText(text string) string {
	var out bytes.Buffer
	if text == "" || json.Compact(&out, []byte(text)) != nil {
		return text
	}
	return out.String()
}

// cutString is the JSON string that follows marker in text, as far as it goes.
func cutString(text, marker string) (string, bool) {
	_, rest, ok := strings.Cut(text, marker)
	if !ok {
		return "", false
	}
	end, escaped := len(rest), false
	for i := 0; i < len(rest); i++ {
		switch {
		case escaped:
			escaped = false
		case rest[i] == '\\':
			escaped = true
		case rest[i] == '"':
			end = i
			i = len(rest)
		}
	}
	for cut := end; cut > 0 && end-cut < 8; cut-- { // an escape may be cut in its middle
		var s string
		if json.Unmarshal([]byte(`"`+rest[:cut]+`"`), &s) == nil {
			return s, true
		}
	}
	return "", false
}
