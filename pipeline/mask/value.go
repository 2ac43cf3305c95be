package mask

import "strings"

// exempt reports values that stay even under a sensitive key: nothing, a truth value, a small number, a reference to
// a variable, a placeholder, what is masked already.
func exempt(v string) bool {
	v = strings.TrimSpace(v)
	if len(v) == 0 {
		return true
	}
	if len(v) <= 13 {
		switch strings.ToLower(v) {
		case "null", "none", "nil", "undefined", "true", "false", "yes", "no", "on", "off", "n/a", "na", "-", "...", "[]", "{}",
			"redacted", "[redacted]", "<redacted>", "[filtered]", "(redacted)", "unset", "[maxdepth]":
			return true
		}
	}
	return smallNumber(v) || repeated(v) || reference(v) || onlyMarkers(v)
}

// smallNumber reports up to five digits, with sign and point.
func smallNumber(v string) bool {
	if v[0] == '-' || v[0] == '+' {
		v = v[1:]
	}
	digits := 0
	for i := range len(v) {
		switch {
		case is(v[i], cDigit):
			digits++
		case v[i] != '.':
			return false
		}
	}
	return digits > 0 && digits <= 5
}

func number(v string) bool {
	return v != "" && mix(v)&(cAlpha|cEnd|cStd|cDash) == 0 && strings.Trim(v, "0123456789.") == ""
}

// hexNumber reports a constant of a program, such as 0x0080.
func hexNumber(v string) bool {
	return len(v) <= 18 && hasFold(v, 0, "0x") && runEnd(v, 2, cHexUp) == len(v)
}

// repeated reports what somebody already blacked out: stars, dots, dashes, x.
func repeated(v string) bool {
	switch v[0] {
	case '*', '.', '-':
		return strings.Trim(v, v[:1]) == ""
	case 'x', 'X', '_', '#':
		return len(v) > 2 && strings.Trim(v, v[:1]) == ""
	}
	return strings.HasPrefix(v, "\u2022") && strings.Trim(v, "\u2022") == ""
}

// reference reports a value that names the place of a secret instead of holding it.
func reference(v string) bool {
	n := len(v)
	switch {
	case v[0] == '$':
		return variable(v)
	case v[0] == '%' && n > 2 && v[n-1] == '%':
		return identifier(v[1:n-1], true)
	case v[0] == '<' && v[n-1] == '>':
		return n > 2 && phrase(v[1:n-1])
	case strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}"):
		return n > 4 && phrase(strings.Trim(v[2:n-2], "-. "))
	case strings.HasPrefix(v, "env:"):
		return identifier(v[len("env:"):], false)
	case v[0] == '{' && v[n-1] == '}' && n > 2:
		return identifier(v[1:n-1], true)
	}
	for _, p := range []string{"os.environ", "os.getenv", "process.env", "import.meta.env", "System.getenv", "Deno.env", "ENV[", "env.", "env(", "getenv(", "secrets.", "var.", "config.get", "settings."} {
		if strings.HasPrefix(v, p) {
			return codeChars(v[len(p):])
		}
	}
	return false
}

// variable reports $NAME, ${NAME}, ${NAME:-}, ${{ secrets.NAME }} and $(command). A default inside is a secret again.
func variable(v string) bool {
	n := len(v)
	switch {
	case n < 2:
		return false
	case strings.HasPrefix(v, "${{") && strings.HasSuffix(v, "}}"):
		return phrase(strings.TrimSpace(v[3 : n-2]))
	case v[1] == '{' && v[n-1] == '}':
		name := v[2 : n-1]
		for _, op := range []string{":-", ":?", "-", "?"} {
			name = strings.TrimSuffix(name, op)
		}
		return identifier(name, true)
	case v[1] == '(' && v[n-1] == ')':
		return true
	}
	return identifier(v[1:], false) && mix(v[1:])&cLower == 0
}

// identifier reports a name, with dots when a path is allowed.
func identifier(v string, path bool) bool {
	if v == "" || is(v[0], cDigit) {
		return false
	}
	for i := range len(v) {
		if !is(v[i], cAlnum) && v[i] != '_' && !(path && (v[i] == '.' || v[i] == ':')) {
			return false
		}
	}
	return len(v) <= 128
}

// phrase reports the inside of a <placeholder>: words, not a random string.
func phrase(v string) bool {
	run := 0
	for i := range len(v) {
		switch c := v[i]; {
		case is(c, cAlpha):
			run++
		case is(c, cDigit) || c == ' ' || c == '_' || c == '-' || c == '.':
			run = 0
		default:
			return false
		}
		if run > 20 {
			return false
		}
	}
	return v != "" && len(v) <= 64 && strings.Count(v, "0")+digits(v) <= 3
}

func digits(v string) (n int) {
	for i := range len(v) {
		n += b2i(is(v[i], cDigit))
	}
	return n
}

// codeChars reports characters of an expression such as ['API_KEY'] or .get("x").
func codeChars(v string) bool {
	for i := range len(v) {
		if !is(v[i], cAlnum) && !strings.ContainsRune("_.[]()'\" ,-!?", rune(v[i])) {
			return false
		}
	}
	return len(v) <= 96
}

// manner is how a value stands beside its name in running text.
type manner struct {
	quoted bool // between quotation marks
	env    bool // NAME=value, the way of shells and .env files
	spaced bool // blanks around the separator, or a colon: prose, YAML or code
	query  bool // a parameter of a URL
	colon  bool
	next   string // the text after the value
	cut    bool   // the end of the text, or a sign that it was truncated, ends the value
	name   string
}

// secretValue decides whether a value beside a name of class c is a secret, or code, prose or a reference.
func secretValue(c class, v string, how manner) bool {
	if exempt(v) || webAddress(v) {
		return false
	}
	soft := c.soft()
	if c == classWorkDir && (strings.ContainsAny(v[:1], "/~.$") || len(v) > 2 && v[1] == ':') {
		return false
	}
	if how.quoted {
		return secretQuoted(v, soft)
	}
	minLen := 6
	if how.env && !soft {
		minLen = 4
	}
	if len(v) < minLen || soft && (number(v) || hexNumber(v)) {
		return false
	}
	if v[0] == '$' && (strings.HasPrefix(v, "$(") || strings.HasPrefix(v, "${") || identifier(v[1:], true)) {
		return false
	}
	if how.env {
		return !codeCall(v, how.next) && !filePath(v)
	}
	if strings.IndexByte("&*!@", v[0]) >= 0 && identifier(strings.TrimLeft(v, "&*!@"), true) || filePath(v) {
		return false
	}
	if strings.HasPrefix(v, "//") || strings.HasPrefix(v, "/*") || strings.HasPrefix(v, "=") || strings.HasPrefix(v, "|") {
		return false
	}
	if codeCall(v, how.next) {
		return false
	}
	return !plainWord(c, v, soft, how)
}

// secretQuoted decides about a literal. Tokens and keys contain no blanks; passwords may.
func secretQuoted(v string, soft bool) bool {
	if soft && (strings.ContainsAny(v, " \t\n") || len(v) < 6) {
		return false
	}
	if v[0] == '{' || v[0] == '[' { // a document, whose own names decide
		return false
	}
	return len(v) >= 4 && !filePath(v) && !stopWord(v) && !variableName(v)
}

// variableName reports the name of an environment variable that holds a secret.
func variableName(v string) bool {
	return strings.IndexByte(v, '_') > 0 && mix(v)&(cLower|cDigit) == 0 && identifier(v, false) && classify(v) != classNone
}

// webAddress reports a URL. Its user information and parameters have rules of their own.
func webAddress(v string) bool {
	return hasFold(v, 0, "https://") || hasFold(v, 0, "http://")
}

// codeCall reports an expression that goes on with a call, an index, a type argument or a literal.
func codeCall(v, next string) bool {
	if next == "" {
		return false
	}
	switch next[0] {
	case '(', '[', '<', '{':
		return identifier(strings.TrimLeft(v, "&*!@"), true) && !has(next, 0, markerOpen) && !has(next, 0, "</")
	}
	return false
}

// plainWord reports an unquoted value that is a word of a language or the name of something in a program.
func plainWord(c class, v string, soft bool, how manner) bool {
	word := strings.TrimRight(v, ".:!?")
	if !identifier(word, true) {
		return false
	}
	set := mix(word)
	if strings.ContainsAny(word, ".:") { // user.password, String::new
		if how.query {
			return false
		}
		plain := digits(word) == 0 || namesSecret(strings.TrimRight(word, "0123456789"))
		return plain && (how.spaced || how.next != "" && strings.IndexByte("),;", how.next[0]) >= 0 || knownRoot(word))
	}
	if set&cDigit != 0 && !namesSecret(strings.TrimRight(word, "0123456789")) {
		return soft && len(word) < 8
	}
	if namesSecret(word) && !how.query { // password = new_password
		return true
	}
	if stopWord(word) {
		return true
	}
	if soft && how.cut && len(word) >= tailMin && (c == classAWSSecret || c == classAWSSession || !wordy(word)) {
		return false // what would tell that it is none may be cut off
	}
	if soft || c == classWorkDir {
		return len(word) < 24 && set&cDigit == 0
	}
	if how.next != "" && how.next[0] == ')' && !how.spaced {
		return true // login(password=answer)
	}
	// Prose goes on after the word, a configured value ends its line.
	return how.colon && how.spaced && goesOn(how.next)
}

func goesOn(next string) bool {
	return len(next) > 1 && is(next[0], cSpace) && is(next[1], cAlpha)
}

func knownRoot(v string) bool {
	root, _, _ := strings.Cut(v, ".")
	return oneOf(root, "self", "this", "args", "opts", "options", "cfg", "config", "conf", "settings", "params", "req", "request", "ctx", "context", "app",
		"data", "local", "module", "process", "os", "env", "user", "std", "props", "state", "event", "body", "payload", "secrets", "var", "vars")
}

// namesSecret reports an identifier that speaks of a secret, so is the name of one.
func namesSecret(v string) bool {
	l := strings.ToLower(v)
	for _, w := range []string{"password", "passwd", "secret", "token", "apikey", "api_key", "credential", "auth", "_key", "pwd"} {
		if strings.Contains(l, w) {
			return true
		}
	}
	return strings.HasSuffix(l, "key")
}

// stopWord reports words that stand beside such names in code and prose.
func stopWord(v string) bool {
	switch strings.ToLower(v) {
	case "string", "str", "bytes", "number", "integer", "boolean", "object", "array", "optional", "required", "invalid", "missing", "expired",
		"unknown", "incorrect", "wrong", "rejected", "accepted", "denied", "disabled", "enabled", "default", "changed", "updated", "created", "deleted",
		"revoked", "rotated", "present", "absent", "encrypted", "hashed", "hidden", "masked", "redacted", "omitted", "empty", "valid", "defined",
		"declared", "returns", "return", "static", "readonly", "private", "public", "interface", "unsigned", "pending", "varchar", "undefined",
		"function", "lambda", "await", "async", "field", "property", "properties", "input", "prompt", "hardcoded", "plaintext", "exposed", "leaked",
		"please", "contains", "should", "cannot", "failed", "success", "successful", "reset", "forgot", "change", "confirm", "generic", "sensitive",
		"keyword", "identifier", "literal", "comment", "operator", "punctuation", "eof", "newline", "indent", "dedent", "vault", "keychain", "basic", "bearer",
		"digest", "oauth", "oauth2", "secretstr", "struct", "import", "export", "const", "buffer", "uint8array", "datetime", "unicode", "stringvalue":
		return true
	}
	return false
}

// filePath reports a path of at least two plain segments, or one that begins with ./ ../ ~/.
func filePath(v string) bool {
	p := v
	switch {
	case strings.HasPrefix(p, "./"), strings.HasPrefix(p, "~/"):
		p = p[2:]
	case strings.HasPrefix(p, "../"):
		p = p[3:]
	case strings.HasPrefix(p, "/") && strings.Count(p, "/") > 1:
		p = p[1:]
	case len(p) > 3 && p[1] == ':' && (p[2] == '\\' || p[2] == '/'):
		p = p[3:]
	default:
		return false
	}
	for _, part := range strings.FieldsFunc(p, func(r rune) bool { return r == '/' || r == '\\' }) {
		if len(part) > 40 {
			return false
		}
		for i := range len(part) {
			if !is(part[i], cName) && part[i] != '{' && part[i] != '}' {
				return false
			}
		}
		if m := mix(part); len(part) >= 12 && m&cAlnum == cAlnum && !strings.ContainsAny(part, ".-_") {
			return false
		}
	}
	return true
}
