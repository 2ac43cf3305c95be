// Package action owns what code can tell about a tool call from its name and arguments alone: whether it reads, changes or
// destroys, what it is aimed at and whether it sends something away. Where code cannot be sure it says Unknown.
//
// It does not know verdicts, prompts or transcripts.
package action

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"
)

// Effect is what a call does to the world, in rising order of what is known to be at stake.
type Effect uint8

// The effects.
const (
	Unknown     Effect = iota // code cannot tell
	ReadOnly                  // surely changes nothing
	Changing                  // surely changes a state
	Destructive               // surely deletes, discards or cannot be undone
)

func (e Effect) String() string {
	return [...]string{"unknown", "read_only", "changing", "destructive"}[min(e, Destructive)]
}

// Action is one call as code sees it.
type Action struct {
	Effect  Effect
	Verb    string   // "rm", "git push", "delete_file"; of the part with the greatest effect
	Targets []string // paths, addresses and names that it is aimed at, sorted, without repetition
	Sends   bool     // surely sends something out: mail, upload, a request with a body
	Shell   bool     // a shell command
}

// maxArguments is how much of the arguments is looked at; what lies beyond makes the effect Unknown.
const maxArguments = 64 << 10

// Of classifies a call by its tool's name and its arguments, a JSON object or a plain command.
func Of(tool, arguments string) Action {
	cut := len(arguments) > maxArguments
	if cut {
		arguments = arguments[:maxArguments]
	}
	name := fold(tool)
	fields := decode(arguments)
	a := Action{Verb: name}
	switch {
	case editors[name]:
		a = editor(name, fields)
	case isShell(name):
		a = shell(command(fields, arguments))
	default:
		a.Effect, a.Sends = byName(name)
	}
	a.Targets = append(a.Targets, targets(fields)...)
	slices.Sort(a.Targets)
	a.Targets = slices.Compact(a.Targets)
	if cut && a.Effect == ReadOnly {
		a.Effect = Unknown
	}
	return a
}

var shells = []string{
	"bash", "shell", "sh", "zsh", "terminal", "command", "execute_command", "exec_command", "run_command", "run_shell_command",
	"run_terminal_cmd", "local_shell", "exec", "container_exec", "powershell", "run_in_terminal", "shell_command", "execute", "sandbox_exec",
}

// isShell goes by the name: run_shell, bash_tool and the like run commands too.
func isShell(name string) bool {
	return slices.Contains(shells, name) || slices.ContainsFunc(strings.Split(name, "_"), func(w string) bool {
		return w == "shell" || w == "bash" || w == "terminal"
	})
}

// editors are tools that read or write by one of their arguments.
var editors = map[string]bool{"str_replace_editor": true, "str_replace_based_edit_tool": true, "text_editor": true}

func editor(name string, fields map[string]any) Action {
	switch verb, _ := fields["command"].(string); verb {
	case "view":
		return Action{Effect: ReadOnly, Verb: name + " view"}
	case "create", "str_replace", "insert", "undo_edit":
		return Action{Effect: Changing, Verb: name + " " + verb}
	}
	return Action{Verb: name}
}

var byTool = map[string]Effect{
	"read": ReadOnly, "view": ReadOnly, "glob": ReadOnly, "grep": ReadOnly, "ls": ReadOnly, "search": ReadOnly, "web_search": ReadOnly,
	"web_fetch": ReadOnly, "file_read": ReadOnly, "fetch": ReadOnly, "think": ReadOnly, "skill": ReadOnly, "skills": ReadOnly, "load_skill": ReadOnly,
	"activate_skill": ReadOnly, "invoke_skill": ReadOnly, "todo_write": ReadOnly, "todo_read": ReadOnly, "update_plan": ReadOnly, "tool_search": ReadOnly,
	"filesystem_read": ReadOnly, "ask_user_question": ReadOnly, "ask_user": ReadOnly, "google_web_search": ReadOnly, "websearch": ReadOnly, "webfetch": ReadOnly,
	"write": Changing, "edit": Changing, "multi_edit": Changing, "notebook_edit": Changing, "replace": Changing, "str_replace": Changing, "multiedit": Changing,
	"apply_patch": Changing, "file_write": Changing, "patch": Changing, "insert": Changing, "save_memory": Changing, "filesystem_write": Changing,
}

var byFirstWord = map[string]Effect{
	"get": ReadOnly, "list": ReadOnly, "search": ReadOnly, "read": ReadOnly, "describe": ReadOnly, "find": ReadOnly, "lookup": ReadOnly, "count": ReadOnly,
	"show": ReadOnly, "view": ReadOnly,
	"create": Changing, "update": Changing, "send": Changing, "post": Changing, "write": Changing, "set": Changing, "add": Changing, "insert": Changing,
	"publish": Changing, "deploy": Changing, "restart": Changing, "cancel": Changing, "approve": Changing, "merge": Changing, "move": Changing,
	"rename": Changing, "edit": Changing, "upload": Changing, "put": Changing, "patch": Changing, "append": Changing, "replace": Changing, "stop": Changing,
	"start": Changing, "close": Changing, "assign": Changing, "save": Changing, "grant": Changing, "revoke": Changing, "scale": Changing,
	"delete": Destructive, "remove": Destructive, "drop": Destructive, "destroy": Destructive, "purge": Destructive, "terminate": Destructive,
	"wipe": Destructive, "truncate": Destructive, "erase": Destructive, "pay": Destructive, "transfer": Destructive, "refund": Destructive,
}

func byName(name string) (Effect, bool) {
	if e, ok := byTool[name]; ok {
		return e, false
	}
	first, rest, _ := strings.Cut(name, "_")
	if rest == "" {
		return Unknown, false
	}
	sends := first == "send" || first == "post" || first == "publish" || first == "upload"
	return byFirstWord[first], sends
}

// fold brings a tool's name to one form: the last part after a server's name, in snake_case.
func fold(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 && i+2 < len(tool) {
		tool = tool[i+2:]
	}
	if i := strings.LastIndexAny(tool, "./:"); i >= 0 && i+1 < len(tool) {
		tool = tool[i+1:]
	}
	var b strings.Builder
	lower := false
	for _, r := range tool {
		switch {
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			lower = false
			r = unicode.ToLower(r)
		case r == '-' || r == ' ':
			r, lower = '_', false
		default:
			lower = unicode.IsLower(r) || unicode.IsDigit(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func decode(arguments string) map[string]any {
	var fields map[string]any
	if json.Unmarshal([]byte(arguments), &fields) != nil {
		return nil
	}
	return fields
}

// command is the command line among the arguments of a shell tool.
func command(fields map[string]any, arguments string) string {
	if fields == nil {
		return strings.Trim(arguments, "\"")
	}
	for _, key := range []string{"command", "cmd", "script", "commands", "input"} {
		switch v := fields[key].(type) {
		case string:
			return v
		case []any:
			words := make([]string, 0, len(v))
			for _, w := range v {
				if s, ok := w.(string); ok {
					words = append(words, quote(s))
				}
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

func quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n;|&<>\"'$`()\\") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var targetKeys = []string{
	"path", "file_path", "filepath", "file", "filename", "target", "uri", "url", "name", "id", "source", "destination", "dest", "to", "recipient",
	"skill", "skill_name", "notebook_path", "resource", "bucket", "key", "table", "repo", "branch", "service", "host", "paths", "files", "absolute_path", "dir_path",
}

func targets(fields map[string]any) []string {
	var out []string
	for _, key := range targetKeys {
		switch v := fields[key].(type) {
		case string:
			out = appendTarget(out, v)
		case []any:
			for _, e := range v[:min(len(v), 100)] {
				if s, ok := e.(string); ok {
					out = appendTarget(out, s)
				}
			}
		}
	}
	return out
}

// appendTarget adds a target in one spelling, so that ./a/../b and b are the same.
func appendTarget(out []string, s string) []string {
	s = strings.Trim(strings.TrimSpace(s), "\"'")
	if s == "" || len(s) > 500 || s == "." || s == "/" || s == "*" {
		return out
	}
	if !strings.Contains(s, "://") {
		s = path.Clean(strings.ReplaceAll(s, "\\", "/"))
	}
	return append(out, strings.TrimSuffix(strings.TrimSuffix(s, "/*"), "/"))
}
