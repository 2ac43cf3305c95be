package session

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// maxUnknownTools bounds the tool names in a warning.
const maxUnknownTools = 8

// WarnSkillCalls begins the warning that names tools which seem to load skills, of which no load was recognised.
const WarnSkillCalls = "skill_calls_not_recognised"

// unknownSkillTools names the tools that a session called as if to load a skill although no load was recognised in any of
// their calls. A harness whose signals are not known is reported so, and is no silent zero.
func (b *builder) unknownSkillTools(attempts []*attempt) []string {
	known := map[string]bool{}
	for _, a := range attempts {
		if a.call != nil {
			known[a.call.tool] = true
		}
	}
	offered := map[string]bool{}
	for _, n := range b.catalogues {
		for _, s := range n.catalogue {
			offered[foldSkill(s.Name)] = true
		}
	}
	var names []string
	for _, c := range b.all {
		if isSkillTool(c.tool) && c.args == "" {
			continue // the name is withheld
		}
		if known[c.tool] || slices.Contains(names, c.name()) || isDiscovery(c.tool) || besideSkill(c.tool) {
			continue
		}
		if seemsToLoad(c, offered) {
			names = append(names, c.name())
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxUnknownTools)]
}

// seemsToLoad says whether a call looks as if it loaded a skill: its tool's name speaks of skills, an argument is called one,
// its only argument is the name of a skill that was offered, or it opens a SKILL.md in a way that is not known.
func seemsToLoad(c *call, offered map[string]bool) bool {
	tool := strings.ToLower(c.tool)
	if strings.Contains(tool, "skill") || offered[foldSkill(onlyText(c.args))] {
		return true
	}
	var m map[string]any
	if shellTools[tool] || writes(tool) || !strings.HasPrefix(strings.TrimSpace(c.args), "{") || json.Unmarshal([]byte(c.args), &m) != nil {
		return false
	}
	for _, k := range [...]string{"skill", "skill_name", "skillName", "skill_id"} {
		if s, ok := m[k].(string); ok && s != "" {
			return true
		}
	}
	for _, v := range m {
		if s, ok := v.(string); ok && len(s) < 4096 && isSkillFile(s) {
			return true
		}
	}
	return false
}

// writes says whether a tool's name tells that it changes, lists or searches files and does not hand over one.
func writes(tool string) bool {
	for _, verb := range [...]string{"write", "edit", "create", "delete", "remove", "patch", "replace", "update", "insert", "append", "rename", "mkdir", "upload", "list", "glob", "grep", "search"} {
		if strings.Contains(tool, verb) {
			return true
		}
	}
	for _, word := range strings.FieldsFunc(tool, func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch word {
		case "ls", "find", "stat", "exists", "diff", "lint", "move", "mv", "copy", "cp", "save", "rm":
			return true
		}
	}
	return false
}

// besideSkill says whether a tool works with a skill that another call loaded.
func besideSkill(tool string) bool {
	t := strings.ToLower(tool)
	for _, n := range [...]string{"load_skill_resource", "read_skill_resource", "execute_skill_script", "run_skill_script", "read_skill_file", "skill_read", "skill_search"} {
		if rest, ok := strings.CutSuffix(t, n); ok && (rest == "" || rest[len(rest)-1] == '_') {
			return true
		}
	}
	return false
}

// onlyText is the one argument of a call that has a single text argument.
func onlyText(args string) string {
	var m map[string]any
	if !strings.HasPrefix(strings.TrimSpace(args), "{") || json.Unmarshal([]byte(args), &m) != nil || len(m) != 1 {
		return ""
	}
	for _, v := range m {
		if s, ok := v.(string); ok {
			return s
		}
	}
	return ""
}

// unanswered says whether a session ends in a tool call or its result, with no word of the assistant's after it, in telemetry
// that holds such words: its last records never arrived, or it was cut off.
func (b *builder) unanswered() bool {
	said := false
	last := kindSystem
	for _, n := range b.timeline {
		switch n.kind {
		case kindMessage:
			said = said || n.text != ""
			last = n.kind
		case kindCall, kindResult, kindFailure, kindPrompt:
			last = n.kind
		}
	}
	return said && (last == kindCall || last == kindResult || last == kindPrompt)
}

// withheldSkills counts calls of skill tools that name no skill because their arguments are withheld.
func (b *builder) withheldSkills() (n int) {
	for _, c := range b.all {
		if isSkillTool(c.tool) && c.args == "" && c.outcome != convention.OutcomeNotExecuted {
			n++
		}
	}
	return n
}
