package action

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	maxSegments = 200
	maxUnwrap   = 4
)

// shell classifies a command line: the greatest effect of its segments, Unknown if one of them is unknown and none is
// surely changing.
func shell(line string) Action { return shellAt(line, 0) }

func shellAt(line string, depth int) Action {
	out := Action{Shell: true, Effect: ReadOnly}
	segments, whole := split(line)
	unknown := !whole || len(segments) == 0 || depth > maxUnwrap
	for i, words := range segments {
		a := segment(words, depth)
		if i > 0 && a.Effect == Unknown && pipedScript(segments[i-1], words) {
			a.Effect, a.Verb = Changing, "piped script"
		}
		out.Targets = append(out.Targets, a.Targets...)
		out.Sends = out.Sends || a.Sends
		unknown = unknown || a.Effect == Unknown
		if a.Effect > out.Effect || out.Verb == "" {
			out.Effect, out.Verb = max(out.Effect, a.Effect), a.Verb
		}
	}
	if unknown && out.Effect == ReadOnly {
		out.Effect = Unknown
	}
	return out
}

// pipedScript says that something fetched is run at once: curl … | sh.
func pipedScript(before, words []string) bool {
	verb := path.Base(words[0])
	if verb == "sudo" && len(words) > 1 {
		verb = path.Base(words[1])
	}
	fetch := path.Base(before[0])
	return (fetch == "curl" || fetch == "wget") && slices.Contains([]string{"sh", "bash", "zsh", "python", "python3", "perl", "node"}, verb)
}

// split cuts a command line into segments of words. Command substitutions become segments of their own. whole is false
// where the line is cut inside of a quote or has too many segments.
func split(line string) (segments [][]string, whole bool) {
	var words []string
	var word strings.Builder
	inWord := false
	endWord := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	endSegment := func() {
		endWord()
		if len(words) > 0 {
			segments = append(segments, words)
			words = nil
		}
	}
	var quoted byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case len(segments) > maxSegments:
			return segments, false
		case c == '\\' && quoted != '\'' && i+1 < len(line):
			i++
			if line[i] != '\n' {
				word.WriteByte(line[i])
				inWord = true
			}
		case quoted != 0 && c == quoted:
			quoted = 0
		case quoted == '\'':
			word.WriteByte(c)
		case c == '`', c == '$' && i+1 < len(line) && line[i+1] == '(':
			endSegment() // what is substituted runs too
			quoted = 0
			if c == '$' {
				i++
			}
		case quoted != 0:
			word.WriteByte(c)
		case c == '\'' || c == '"':
			quoted, inWord = c, true
		case c == ';' || c == '|' || c == '\n' || c == '(' || c == ')' || c == '{' && !inWord || c == '}' && !inWord:
			endSegment()
		case c == '&':
			if inWord && strings.HasSuffix(word.String(), ">") || i+1 < len(line) && line[i+1] == '>' {
				word.WriteByte(c) // 2>&1, &>file
				inWord = true
				continue
			}
			endSegment()
		case c == '>' || c == '<':
			if inWord && !strings.HasSuffix(word.String(), ">") && strings.Trim(word.String(), "0123456789&") != "" {
				endWord()
			}
			word.WriteByte(c)
			inWord = true
		case c == '#' && !inWord:
			for i+1 < len(line) && line[i+1] != '\n' {
				i++
			}
		case c == ' ' || c == '\t' || c == '\r':
			if w := word.String(); inWord && (strings.HasSuffix(w, ">") || strings.HasSuffix(w, "<")) {
				continue // the target follows
			}
			endWord()
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	endSegment()
	return segments, quoted == 0
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// segment classifies one simple command.
func segment(words []string, depth int) Action {
	var a Action
	words, a.Targets, a.Effect = redirections(words)
	for len(words) > 0 && (slices.Contains(wrappers, words[0]) || assignment.MatchString(words[0])) {
		words = words[1:]
		for len(words) > 0 && strings.HasPrefix(words[0], "-") { // flags of sudo, env, nice
			words = words[1:]
		}
	}
	if len(words) == 0 {
		a.Effect = max(a.Effect, ReadOnly)
		return a
	}
	verb := strings.ToLower(path.Base(words[0]))
	rest := words[1:]
	if slices.Contains([]string{"bash", "sh", "zsh", "dash", "eval", "xargs"}, verb) {
		if inner, ok := unwrap(verb, rest); ok {
			b := shellAt(inner, depth+1)
			b.Targets = append(b.Targets, a.Targets...)
			if a.Effect > b.Effect {
				b.Effect, b.Verb = a.Effect, "> "+verb
			}
			return b
		}
	}
	effect, name, sends := ofVerb(verb, rest)
	a.Verb, a.Sends = name, sends
	if a.Effect == Changing && effect != Destructive {
		a.Verb = verb + " >"
		effect = Changing
	}
	a.Effect = effect
	a.Targets = append(a.Targets, operands(rest)...)
	return a
}

var wrappers = []string{"sudo", "env", "time", "nohup", "command", "nice", "then", "do", "else", "if", "while", "!", "builtin", "exec", "stdbuf"}

// unwrap is the command line that a shell is given as an argument.
func unwrap(verb string, rest []string) (string, bool) {
	switch verb {
	case "eval":
		return strings.Join(rest, " "), true
	case "xargs":
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
			takes := slices.Contains([]string{"-I", "-n", "-P", "-d", "-L"}, rest[0])
			rest = rest[1:]
			if takes && len(rest) > 0 {
				rest = rest[1:]
			}
		}
		return strings.Join(rest, " "), len(rest) > 0
	}
	for i, w := range rest {
		if strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+1 < len(rest) {
			return rest[i+1], true
		}
		if !strings.HasPrefix(w, "-") {
			break
		}
	}
	return "", false
}

// redirections takes the redirections out of words. Writing to a file is a change; reading one is not.
func redirections(words []string) (rest, targets []string, effect Effect) {
	for _, w := range words {
		at := strings.IndexAny(w, "<>")
		if at < 0 || strings.Trim(w[:at], "0123456789&") != "" {
			rest = append(rest, w)
			continue
		}
		target := strings.TrimLeft(w[at:], "<>|")
		if w[at] == '<' || target == "" || strings.HasPrefix(target, "&") || strings.HasPrefix(target, "/dev/") {
			continue
		}
		effect = Changing
		targets = appendTarget(targets, target)
	}
	return rest, targets, effect
}

func operands(words []string) []string {
	var out []string
	for _, w := range words[:min(len(words), 200)] {
		if !strings.HasPrefix(w, "-") && !strings.ContainsAny(w, "\n|{}") {
			out = appendTarget(out, w)
		}
	}
	return out
}
