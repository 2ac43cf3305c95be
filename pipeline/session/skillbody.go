package session

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
)

// Lines by which harnesses refuse a skill. They must be all that the result says: a body may begin like one.
var refusalLine = regexp.MustCompile(`(?i)^(` +
	`skill (?:['"\x60“][^'"\x60”\n]{1,200}['"\x60”]|[^\s'"\x60]{1,200}) (?:was |is )?(?:not found|does not exist|is disabled|cannot be (?:used|invoked|loaded))\b.*` +
	`|(?:unknown|unrecognized|invalid|no such) skill(?: name)?:? ['"\x60“]?[^\s'"\x60”]{1,200}?['"\x60”]?(?:[.;,]? .{0,80}\bavailable\b.*|[.]?)` +
	`|skill not found(?:[:.].*|$)` +
	`|(?:error: )?['"\x60]?skill_name['"\x60]? is required.*|skill name (?:is )?required.*|.*argument .*skill.* required.*` +
	`|.*cannot be invoked directly.*|.*cannot be used with skill tool.*)$`)

// refusedSkill says whether what came back from a skill tool is a refusal, whatever the tool's own status.
func refusedSkill(c *call, text string) bool {
	if !isSkillTool(c.tool) {
		return false
	}
	line, only := firstLine(text)
	if only && refusalLine.MatchString(line) {
		return true
	}
	var m struct {
		Code string `json:"error_code"`
	}
	return strings.HasPrefix(strings.TrimSpace(text), "{") && json.Unmarshal([]byte(strings.TrimSpace(text)), &m) == nil && m.Code != ""
}

// acknowledged are one-line notices that a skill was launched; its body comes elsewhere.
// The name is one word, so that a sentence about skills is none.
var acknowledged = regexp.MustCompile(`(?i)^(?:(?:launching|loading|activating|loaded|activated) skill:? ['"\x60*“]*[^\s'"\x60*”]{1,200}['"\x60*”]*(?: \(.{0,120}\))?[.…! ]*` +
	`|skill ['"\x60*“]*[^\s'"\x60*”]{1,200}['"\x60*”]* (?:was |is |has been )?(?:successfully )?(?:activated|loaded|launched)\b.{0,160}` +
	`|skill (?:activated|loaded|launched)\b.{0,160})$`)

// displayNotice begins what Gemini CLI shows its user in place of what the model got: a notice and a tree of files.
var displayNotice = regexp.MustCompile(`(?i)^skill \S+ activated\. Resources loaded from .*:$`)

// skillText is a body and what its frontmatter says.
type skillText struct {
	name, description string
	body              string // "" when the text holds none
}

// bodyOf strips what harnesses and tools put around the text of a SKILL.md, by rules that never take an author's line.
func bodyOf(tool, text string) skillText {
	t := strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	t = unwrapTool(t)
	t = dropPreamble(t)
	first, rest, more := strings.Cut(strings.TrimLeft(t, "\n"), "\n")
	if more && displayNotice.MatchString(strings.TrimSpace(first)) {
		return skillText{}
	}
	if more && acknowledged.MatchString(strings.TrimSpace(first)) && strings.TrimSpace(rest) != "" {
		t = rest
	}
	t = unwrapElement(t)
	t = dropLineNumbers(t)
	t = strings.TrimPrefix(strings.TrimLeft(t, " \n\t"), "\ufeff")
	var s skillText
	s.name, s.description, t = frontmatter(t)
	switch tool {
	case "skills":
		t = dropStrandsBlock(t)
	case "invoke_skill":
		t = dropOpenHandsFooter(t)
	case "skill":
		t = dropBaseDirectory(t)
	}
	t = strings.TrimSpace(t)
	if strings.Contains(t, "\n") || !acknowledged.MatchString(t) && !strings.Contains(t, "no instructions available") {
		s.body = t
	}
	return s
}

// splitBodies parts the output of one command that read n files, at their frontmatter; nil where the parts cannot be told.
func splitBodies(text string, n int) []string {
	if n <= 1 {
		return []string{text}
	}
	t := unwrapTool(strings.ReplaceAll(text, "\r\n", "\n"))
	starts := frontmatterStart.FindAllStringIndex(t, -1)
	if len(starts) != n {
		return nil
	}
	var out []string
	for i, s := range starts {
		end := len(t)
		if i+1 < n {
			end = starts[i+1][0]
		}
		out = append(out, t[s[0]:end])
	}
	return out
}

var frontmatterStart = regexp.MustCompile(`(?m)^---\n(?:name|description): `)

// dropBaseDirectory takes off the paragraph with which Qwen Code says where the skill lies.
func dropBaseDirectory(t string) string {
	head, rest, ok := strings.Cut(t, "\n\n")
	if !ok || !strings.HasPrefix(head, "Base directory for this skill: ") {
		return t
	}
	if _, second, more := strings.Cut(head, "\n"); more && !strings.HasPrefix(second, "Important: ") {
		return t
	}
	return rest
}

// unwrapTool takes the text out of a tool's JSON: a shell's stdout, a skill tool's instructions. JSON that tells only of a
// status has no text.
func unwrapTool(t string) string {
	s := strings.TrimSpace(t)
	if s == "" || s[0] != '{' {
		return t
	}
	var m map[string]any
	if json.Unmarshal([]byte(s), &m) != nil {
		return t
	}
	for _, k := range [...]string{"instructions", "stdout", "body", "llmContent", "content", "output", "text", "result"} {
		switch v := m[k].(type) {
		case string:
			return unwrapTool(v)
		case map[string]any:
			if inner, err := json.Marshal(v); err == nil {
				return unwrapTool(string(inner))
			}
		}
	}
	return ""
}

var (
	labelLine  = regexp.MustCompile(`^(?:[A-Z][\w ]{1,30}: ?.*|Process exited with code -?\d+)$`)
	headerLine = regexp.MustCompile(`^@@ lines \d+-\d+ of \d+ @@$`)
	numberLine = regexp.MustCompile(`^ {0,8}\d{1,6}(?:\t|→|\| ?)`)
)

// dropPreamble takes off "Label: value" lines before a line "Output:", and a reading tool's line of ranges.
func dropPreamble(t string) string {
	lines := strings.SplitN(t, "\n", 12)
	for i, l := range lines[:max(0, len(lines)-1)] {
		if l == "Output:" && i > 0 {
			return strings.Join(lines[i+1:], "\n")
		}
		if !labelLine.MatchString(l) {
			break
		}
	}
	if first, rest, ok := strings.Cut(t, "\n"); ok && headerLine.MatchString(first) {
		return rest
	}
	return t
}

// dropLineNumbers takes off the numbers that reading tools put before every line.
func dropLineNumbers(t string) string {
	lines := strings.Split(strings.TrimRight(t, "\n"), "\n")
	if len(lines) < 2 {
		return t
	}
	for _, l := range lines {
		if !numberLine.MatchString(l) {
			return t
		}
	}
	for i, l := range lines {
		lines[i] = l[len(numberLine.FindString(l)):]
	}
	return strings.Join(lines, "\n")
}

var element = regexp.MustCompile(`(?s)^\s*<(activated_skill|skill_content|skill)\b[^>]*>(.*?)</(?:activated_skill|skill_content|skill)>\s*$`)

// unwrapElement takes the instructions out of the element that a harness wraps them in; files listed beside them go.
func unwrapElement(t string) string {
	m := element.FindStringSubmatch(t)
	if m == nil {
		return t
	}
	inner := m[2]
	if i := strings.Index(inner, "<instructions>"); i >= 0 {
		if j := strings.LastIndex(inner, "</instructions>"); j > i {
			return dedent(inner[i+len("<instructions>") : j])
		}
	}
	for _, tail := range [...]string{"\n<skill_files>", "\n<available_resources>", "\nBase directory for this skill:"} {
		if i := strings.Index(inner, tail); i >= 0 {
			inner = inner[:i]
		}
	}
	inner = strings.TrimSpace(inner)
	if first, rest, ok := strings.Cut(inner, "\n"); ok && strings.HasPrefix(first, "# Skill: ") {
		inner = strings.TrimSpace(rest)
	}
	return inner
}

// dedent takes off the indentation that all lines share.
func dedent(t string) string {
	lines := strings.Split(strings.Trim(t, "\n"), "\n")
	common := -1
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		if n := len(l) - len(strings.TrimLeft(l, " ")); common < 0 || n < common {
			common = n
		}
	}
	for i, l := range lines {
		lines[i] = l[min(max(common, 0), len(l)):]
	}
	return strings.Join(lines, "\n")
}

// frontmatter takes off a leading YAML block that has a name or a description. A text that begins with a rule keeps it.
func frontmatter(t string) (name, description, rest string) {
	if !strings.HasPrefix(t, "---\n") {
		return "", "", t
	}
	block, rest, ok := strings.Cut(t[4:], "\n---")
	if !ok {
		return "", "", t
	}
	if rest != "" && rest[0] != '\n' {
		return "", "", t
	}
	lines := strings.Split(block, "\n")
	for i, l := range lines {
		key, value, ok := strings.Cut(l, ":")
		if !ok {
			continue
		}
		switch key {
		case "name":
			name = scalar(value, lines[i+1:])
		case "description":
			description = scalar(value, lines[i+1:])
		}
	}
	if name == "" && description == "" {
		return "", "", t
	}
	return name, description, strings.TrimLeft(rest, "\n")
}

// scalar is a YAML scalar: plain, quoted, or a block whose indented lines follow.
func scalar(value string, following []string) string {
	v := strings.TrimSpace(value)
	if v == "" || v[0] == '>' || v[0] == '|' {
		var parts []string
		for _, l := range following {
			if l == "" || l[0] != ' ' && l[0] != '\t' {
				break
			}
			parts = append(parts, strings.TrimSpace(l))
		}
		return strings.Join(parts, " ")
	}
	if len(v) > 1 && v[0] == '"' && v[len(v)-1] == '"' {
		var s string
		if json.Unmarshal([]byte(v), &s) == nil {
			return s
		}
		return html.UnescapeString(v[1 : len(v)-1])
	}
	if len(v) > 1 && v[0] == '\'' && v[len(v)-1] == '\'' {
		return strings.ReplaceAll(v[1:len(v)-1], "''", "'")
	}
	return v
}

// dropStrandsBlock takes off the block that the Strands plugin appends, only if the whole tail is such a block.
func dropStrandsBlock(t string) string {
	i := strings.LastIndex(t, "\n---\n")
	if i < 0 {
		return t
	}
	tail := strings.Split(strings.TrimRight(t[i+5:], "\n"), "\n")
	order := [...]string{"Allowed tools: ", "Compatibility: ", "Location: "}
	next, n := 0, 0
	for n < len(tail) {
		found := false
		for k := next; k < len(order); k++ {
			if strings.HasPrefix(tail[n], order[k]) {
				next, found = k+1, true
				break
			}
		}
		if !found {
			break
		}
		n++
	}
	if n == 0 {
		return t
	}
	for ; n < len(tail); n++ {
		if l := tail[n]; l != "" && !strings.HasPrefix(l, "Available resources") && !strings.HasPrefix(l, "  ") {
			return t
		}
	}
	return t[:i]
}

// dropOpenHandsFooter takes off the sentence that tells where a skill lies.
func dropOpenHandsFooter(t string) string {
	i := strings.LastIndex(t, "\n---\n")
	if i < 0 {
		return t
	}
	tail := strings.TrimSpace(t[i+5:])
	if strings.Contains(tail, "\n") || !strings.Contains(strings.ToLower(tail), "skill") || !strings.ContainsAny(tail, `/\`) {
		return t
	}
	return t[:i]
}
