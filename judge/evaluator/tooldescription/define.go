package tooldescription

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/action"
	"github.com/tracejury/tracejury/judge/transcript"
	"github.com/tracejury/tracejury/schema"
)

// Limits of a definition.
const (
	maxText       = 20_000 // characters of a description
	maxParameters = 200
	maxNesting    = 5
	maxRest       = 600
)

// definition is a tool as a judge is shown it.
type definition struct {
	tool       string
	server     string
	text       string // the description, masked
	textLines  int    // how many of the lines are the description's
	parameters []parameter
	data       []any
	lines      []judge.Line
	plain      string
	truncated  bool
}

// parameter is one parameter, masked.
type parameter struct {
	path, kind, description, rest string
	required                      bool
	documented                    bool // in the schema, or by its name in the description
	line                          int
}

// Kinds of the lines of a request: the line's number is its step.
const (
	kindDescription = "description"
	kindParameter   = "parameter"
)

func define(t *schema.Tool, mask func(string) string) definition {
	opts := transcript.Options{Mask: mask}
	show := func(s string) string { return transcript.Text(s, opts) }
	d := definition{tool: clip(show(t.Tool), 200), server: clip(show(t.Server), 200)}
	whole := show(t.Description)
	d.text = clip(whole, maxText)
	d.truncated = d.text != whole
	d.data = []any{map[string]string{"server": d.server, "tool": d.tool}}
	for line := range strings.SplitSeq(strings.TrimRight(d.text, "\n"), "\n") {
		d.textLines++
		d.data = append(d.data, shownLine{d.textLines, fmt.Sprintf(`"description":%s`, quoted(line))})
		d.lines = append(d.lines, judge.Line{Step: d.textLines, Role: "system", Kind: kindDescription, Tool: d.tool, Text: line})
	}
	d.read(t.InputSchema, show)
	d.plain = d.text + "\n"
	words := " " + strings.Join(wordsOf(d.text), " ") + " "
	for i := range d.parameters {
		p := &d.parameters[i]
		p.line = d.textLines + 1 + i
		named := wordsOf(p.path[strings.LastIndexByte(p.path, '.')+1:])
		p.documented = !blank(p.description) || tells(named) && strings.Contains(words, " "+strings.Join(named, " ")+" ")
		d.plain += p.description + "\n" + p.rest + "\n"
		description := "null"
		if !blank(p.description) {
			description = quoted(p.description)
		}
		text := fmt.Sprintf(`"parameter":%s,"required":%v,"type":%s,"description":%s`, quoted(p.path), p.required, quoted(p.kind), description)
		if p.rest != "" {
			text += `,"rest":` + quoted(p.rest)
		}
		d.data = append(d.data, shownLine{p.line, text})
		d.lines = append(d.lines, judge.Line{Step: p.line, Role: "system", Kind: kindParameter, Tool: p.path, Text: strings.TrimSpace(p.description + "\n" + p.rest), Arguments: p.kind})
	}
	return d
}

// tells says that a parameter's name would be told by its words: "a" and "to" stand in any text.
func tells(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return len(w) > 1 && !slices.Contains(fillers, w) })
}

// shownLine is a line of a definition in the prompt, its number first.
type shownLine struct {
	number int
	fields string // JSON without its braces
}

// MarshalJSON puts the number first.
func (l shownLine) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"line":%d,%s}`, l.number, l.fields), nil
}

func quoted(s string) string {
	b, err := judge.CanonicalJSON(s)
	if err != nil { // a string always encodes
		return `""`
	}
	return string(b)
}

// read lists the parameters of a JSON Schema in the order of their names, required ones first. A schema that is none is one
// nameless parameter: its text may hold what a judge must see.
func (d *definition) read(text string, show func(string) string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	var root map[string]any
	if json.Unmarshal([]byte(text), &root) != nil {
		d.parameters = append(d.parameters, parameter{path: "(input)", kind: "not readable", rest: clip(show(text), maxRest)})
		return
	}
	d.object(root, "", 0, show)
	if description, ok := root["description"].(string); ok && !blank(description) {
		d.parameters = append(d.parameters, parameter{path: "(input)", kind: "object", description: clip(show(description), maxRest), required: true})
	}
}

func (d *definition) object(node map[string]any, prefix string, depth int, show func(string) string) {
	properties, ok := node["properties"].(map[string]any)
	if !ok {
		return
	}
	if depth == maxNesting {
		d.truncated = true
		return
	}
	required := map[string]bool{}
	if list, ok := node["required"].([]any); ok {
		for _, r := range list {
			if name, ok := r.(string); ok {
				required[name] = true
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(properties), func(a, b string) int {
		if required[a] != required[b] {
			if required[a] {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		if len(d.parameters) == maxParameters {
			d.truncated = true
			return
		}
		p := parameter{path: clip(show(prefix+name), 200), required: required[name], kind: "any"}
		child, ok := properties[name].(map[string]any)
		if ok {
			p.kind = typeOf(child)
			if text, ok := child["description"].(string); ok {
				p.description = clip(show(text), maxRest)
			}
			p.rest = d.rest(child, show)
		}
		d.parameters = append(d.parameters, p)
		if child == nil {
			continue
		}
		d.object(child, prefix+name+".", depth+1, show)
		if items, ok := child["items"].(map[string]any); ok {
			d.object(items, prefix+name+"[].", depth+1, show)
		}
	}
}

func typeOf(node map[string]any) string {
	switch t := node["type"].(type) {
	case string:
		return clip(t, 40)
	case []any:
		return clip(fmt.Sprint(t...), 40)
	}
	if node["enum"] != nil {
		return "enum"
	}
	return "any"
}

// rest is what a schema says of a parameter beside type and description: texts may hide in titles, defaults and enums.
func (d *definition) rest(node map[string]any, show func(string) string) string {
	more := map[string]any{}
	for k, v := range node {
		switch k {
		case "type", "description", "properties", "required", "additionalProperties", "$schema":
		case "items":
			if m, ok := v.(map[string]any); !ok || m["properties"] == nil {
				more[k] = v
			}
		default:
			more[k] = v
		}
	}
	if len(more) == 0 {
		return ""
	}
	b, err := judge.CanonicalJSON(more)
	if err != nil {
		return ""
	}
	text := show(string(b))
	cut := clip(text, maxRest)
	d.truncated = d.truncated || cut != text
	return cut
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%s[%d characters omitted]", string(r[:most]), len(r)-most)
	}
	return s
}

// effect is what a tool does by its name, as far as code can tell.
func (d *definition) effect() judge.Truth {
	switch a := action.Of(d.tool, ""); {
	case a.Effect == action.ReadOnly:
		return judge.No
	case a.Effect >= action.Changing || a.Sends:
		return judge.Yes
	}
	return judge.Unknown
}
