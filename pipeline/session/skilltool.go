package session

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// isSkillTool says whether a tool is one by which harnesses load skills.
func isSkillTool(tool string) bool {
	switch tool {
	case "skills", "Skill", "skill", "load_skill", "activate_skill", "invoke_skill":
		return true
	}
	return strings.HasSuffix(strings.ToLower(tool), "_load_skill")
}

// isDiscovery says whether a tool lists the skills there are.
func isDiscovery(tool string) bool {
	t := strings.ToLower(tool)
	for _, n := range [...]string{"list_skills", "search_skills"} {
		if t == n || strings.HasSuffix(t, "_"+n) {
			return true
		}
	}
	return false
}

// loadedName is the skill that a call of a skill tool asks for; "" when it names none.
func loadedName(args string) string {
	s := strings.TrimSpace(args)
	var m map[string]any
	if json.Unmarshal([]byte(s), &m) != nil {
		if s != "" && !strings.ContainsAny(s, " \t\n{}[]") {
			return strings.Trim(s, `"'`)
		}
		return ""
	}
	for _, k := range [...]string{"skill_name", "skill", "name", "command"} {
		if v, ok := m[k].(string); ok && strings.TrimSpace(v) != "" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

var readTools = map[string]bool{"read": true, "read_file": true, "file_read": true, "filesystem_read": true, "read_text_file": true,
	"view": true, "view_file": true, "open_file": true, "readfile": true, "fs_read": true, "read_many_files": true, "str_replace_based_edit_tool": true, "str_replace_editor": true, "file_editor": true}

var shellTools = map[string]bool{"bash": true, "shell": true, "terminal": true, "command": true, "execute_command": true,
	"exec_command": true, "run_command": true, "run_shell": true, "run_shell_command": true, "shell_command": true,
	"execute_bash": true, "local_shell": true, "exec": true, "powershell": true}

func lastDot(tool string) string {
	t := strings.ToLower(tool)
	return t[strings.LastIndexByte(t, '.')+1:]
}

// skillFiles lists the SKILL.md files that a call reads, by a file tool or in a shell command; nil for any other call.
func skillFiles(tool, args string) []string {
	if !strings.Contains(strings.ToLower(args), "skill.md") {
		return nil
	}
	t := lastDot(tool)
	var m map[string]any
	if json.Unmarshal([]byte(strings.TrimSpace(args)), &m) != nil {
		m = map[string]any{"path": args, "command": args}
	}
	switch {
	case readTools[t]:
		if cmd, ok := m["command"].(string); ok && cmd != "view" && m["path"] != args {
			return nil // an editor's other commands
		}
		var files []string
		for _, k := range [...]string{"path", "file_path", "filename", "absolute_path", "target_file", "filePath", "file", "paths", "files"} {
			list, _ := m[k].([]any)
			if p, ok := m[k].(string); ok {
				list = []any{p}
			}
			for _, e := range list {
				if p, ok := e.(string); ok && isSkillFile(p) && !slices.Contains(files, strings.TrimSpace(p)) {
					files = append(files, strings.TrimSpace(p))
				}
			}
		}
		return files
	case shellTools[t]:
		for _, k := range [...]string{"command", "cmd", "script"} {
			switch v := m[k].(type) {
			case string:
				return shellReads(v)
			case []any:
				return shellReads(joinWords(v))
			}
		}
	}
	return nil
}

// joinWords is the command of an argument vector; of ["bash", "-lc", script] the script.
func joinWords(v []any) string {
	var words []string
	for _, e := range v {
		if s, ok := e.(string); ok {
			words = append(words, s)
		}
	}
	if len(words) == 3 && isShell(words[0]) && strings.HasPrefix(words[1], "-") {
		return words[2]
	}
	return strings.Join(words, " ")
}

func isShell(w string) bool {
	switch path.Base(strings.ReplaceAll(w, `\`, "/")) {
	case "sh", "bash", "dash", "ksh", "zsh", "powershell", "pwsh":
		return true
	}
	return false
}

// isSkillFile says whether a path names a SKILL.md, as a component and not as a part of another name.
func isSkillFile(p string) bool {
	return strings.EqualFold(path.Base(strings.ReplaceAll(strings.TrimSpace(p), `\`, "/")), "skill.md")
}

var (
	shellWrapper = regexp.MustCompile(`(?s)^\s*(?:\S*/)?(?:sh|bash|dash|ksh|zsh)\s+(?:-\w+\s+)+(['"])(.*)(['"])\s*$`)
	shellSplit   = regexp.MustCompile("\\|\\||&&|;|\\||\n|\\$\\(|`|\\)")
	otherShell   = regexp.MustCompile(`(?is)^\s*(?:\S*[\\/])?(?:powershell|pwsh|cmd)(?:\.exe)?\s+(?:(?:-\w+|/\w)\s+)*(['"]?)(.*?)(['"]?)\s*$`)
	shellWord    = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)
)

var readVerbs = map[string]bool{"cat": true, "sed": true, "head": true, "tail": true, "bat": true, "less": true, "more": true,
	"awk": true, "nl": true, "type": true, "get-content": true, "gc": true}

// shellReads lists the SKILL.md files among the operands of the reading commands of a script. A redirection's target and a
// file edited in place are written, not read. "cd dir" before the reading completes a bare name.
func shellReads(script string) []string {
	if m := shellWrapper.FindStringSubmatch(script); m != nil && m[1] == m[3] {
		script = m[2]
	}
	if m := otherShell.FindStringSubmatch(script); m != nil && m[1] == m[3] {
		script = m[2]
	}
	var files []string
	dir := ""
	for _, segment := range shellSplit.Split(script, -1) {
		if i := strings.IndexByte(segment, '>'); i >= 0 {
			segment = segment[:i]
		}
		words := shellWord.FindAllString(segment, -1)
		for len(words) > 0 && skipWord(words[0]) {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		verb := strings.ToLower(path.Base(words[0]))
		if verb == "cd" && len(words) > 1 {
			dir = strings.Trim(words[1], `'"`)
		}
		if !readVerbs[verb] || verb == "sed" && editsInPlace(words) {
			continue
		}
		for _, w := range words[1:] {
			w = strings.Trim(w, `'"`)
			if !isSkillFile(w) {
				continue
			}
			if dir != "" && !path.IsAbs(w) {
				w = path.Join(dir, w)
			}
			files = append(files, w)
		}
	}
	return files
}

var assignment = regexp.MustCompile(`^\w+=`)

func skipWord(w string) bool {
	switch w {
	case "sudo", "env", "command", "time", "nohup", "timeout", "nice":
		return true
	}
	return w[0] == '-' || assignment.MatchString(w) || len(w) < 5 && w[0] >= '0' && w[0] <= '9'
}

func editsInPlace(words []string) bool {
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "--in-place") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "i") {
			return true
		}
	}
	return false
}

// catalogueResult reads the result of a discovery tool: a catalogue as text, or JSON with names and descriptions.
func catalogueResult(text string) ([]convention.CatalogueSkill, bool) {
	if skills, ok := convention.CatalogueIn(text); ok {
		return skills, true
	}
	var v any
	if json.Unmarshal([]byte(strings.TrimSpace(text)), &v) != nil {
		return nil, false
	}
	for range 3 {
		m, ok := v.(map[string]any)
		if !ok {
			break
		}
		var inner any
		for _, k := range [...]string{"skills", "result", "response", "output"} {
			if m[k] != nil {
				inner = m[k]
				break
			}
		}
		v = inner
	}
	if s, ok := v.(string); ok {
		return convention.CatalogueIn(s)
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	var out []convention.CatalogueSkill
	for _, e := range list {
		switch e := e.(type) {
		case string:
			out = append(out, convention.CatalogueSkill{Name: e})
		case map[string]any:
			name, _ := e["name"].(string)
			description, _ := e["description"].(string)
			if name != "" {
				out = append(out, convention.CatalogueSkill{Name: name, Description: description})
			}
		}
	}
	return out, true
}
