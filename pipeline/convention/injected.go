package convention

import "strings"

// injected recognises text that harnesses put into user messages and no user wrote: reminders and context, which are
// instructions, and bodies of skills. nil is a user's own text.
func injected(text string, h History) Event {
	t := strings.TrimSpace(text)
	for _, tag := range [...]string{"<system-reminder>", "<environment_context>", "<user_instructions>", "<skills_instructions>",
		"<permissions instructions>", "# AGENTS.md instructions", "<session_context>"} {
		if strings.HasPrefix(t, tag) {
			return &System{History: h, Text: text, Truncated: isCut(text)}
		}
	}
	if l := injectedSkill(t); l != nil {
		return l
	}
	return nil
}

// baseDirectory begins the message by which Claude Code hands a skill to the model.
const baseDirectory = "Base directory for this skill:"

// injectedSkill reads a skill body from an injected message: Claude Code's base-directory text or Codex' <skill> element.
func injectedSkill(t string) *SkillLoad {
	if rest, ok := strings.CutPrefix(t, baseDirectory); ok {
		dir, body, _ := strings.Cut(rest, "\n")
		dir = strings.TrimSpace(dir)
		return &SkillLoad{Skill: lastSegment(dir), Via: ViaInjected, Outcome: "loaded", Directory: dir, Body: strings.TrimLeft(body, "\n"), Truncated: isCut(t)}
	}
	if l := skillContext(t); l != nil {
		return l
	}
	rest, ok := strings.CutPrefix(t, "<skill>")
	if !ok {
		return nil
	}
	name, ok := between(rest, "<name>", "</name>")
	if !ok {
		return nil
	}
	path, _ := between(rest, "<path>", "</path>")
	_, body, found := strings.Cut(rest, "</path>")
	if !found {
		_, body, _ = strings.Cut(rest, "</name>")
	}
	body = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "</skill>"))
	return &SkillLoad{Skill: strings.TrimSpace(name), Via: ViaUser, Outcome: "loaded", Directory: directory(path), Body: body, Truncated: isCut(t)}
}

// skillContext reads the element in which Copilot CLI hands a skill to the model: its directory, files beside it, its text. Before
// it stands a sentence where the user asked for the skill.
func skillContext(t string) *SkillLoad {
	const open = `<skill-context name="`
	via := ViaInjected
	if strings.HasPrefix(t, "The user explicitly invoked the ") {
		via = ViaUser
		if i := strings.Index(t, open); i >= 0 {
			t = t[i:]
		}
	}
	if !strings.HasPrefix(t, open) {
		return nil
	}
	name, rest, ok := strings.Cut(t[len(open):], `">`)
	if !ok || name == "" || strings.Contains(name, "\n") {
		return nil
	}
	body := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "</skill-context>"))
	l := &SkillLoad{Skill: name, Via: via, Outcome: "loaded", Truncated: isCut(t)}
	if dir, ok := strings.CutPrefix(body, baseDirectory); ok {
		dir, body, _ = strings.Cut(dir, "\n")
		l.Directory, body = strings.TrimSpace(dir), strings.TrimLeft(body, "\n")
	}
	if strings.HasPrefix(body, "Related files (") {
		_, body, _ = strings.Cut(body, "\n")
		for strings.HasPrefix(body, "  - ") {
			_, body, _ = strings.Cut(body, "\n")
		}
	}
	l.Body = strings.TrimSpace(body)
	return l
}

func between(s, open, end string) (string, bool) {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(rest, end)
	return inner, ok
}

// directory is the path without its last segment.
func directory(path string) string {
	path = strings.ReplaceAll(strings.TrimSpace(path), `\`, "/")
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

func lastSegment(path string) string {
	path = strings.TrimRight(strings.ReplaceAll(path, `\`, "/"), "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

func foldStatus(s string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(s), "-", "_"))
}
