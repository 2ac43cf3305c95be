package mask

import "strings"

const (
	maxCommand = 4 << 10 // of a command line that is looked at
	maxArgs    = 256
)

// option says how a program takes a secret on its command line.
type option struct {
	flag  string
	sep   byte // the secret comes after this sign, as in user:password; 0 means that the whole value is one
	glued bool // the value may stand right behind the flag
	alone bool // and nowhere else: a flag without a value asks for it
	user  bool // only where the line names a user too
}

// program is a command of which an option holds a secret.
type program struct {
	lit     string
	off     int // of the rarest three bytes
	options []option
}

func programs() []program {
	account := []option{{flag: "-u", sep: ':', glued: true}, {flag: "--user", sep: ':'}, {flag: "-U", sep: ':', glued: true}, {flag: "--proxy-user", sep: ':'}}
	mysql := []option{{flag: "-p", glued: true, alone: true}}
	ldap := []option{{flag: "-w", glued: true}}
	return []program{
		{"curl", 0, account},
		{"mysql", 1, mysql},
		{"mariadb", 3, mysql},
		{"sshpass", 1, []option{{flag: "-p", glued: true}}},
		{"redis-cli", 4, []option{{flag: "-a"}}},
		{"smbclient", 0, []option{{flag: "-U", sep: '%'}, {flag: "--user", sep: '%'}}},
		{"ldapsearch", 0, ldap},
		{"ldapmodify", 0, ldap},
		{"ldapadd", 0, ldap},
		{"zip -", 2, []option{{flag: "-P"}}},
		{"7z ", 0, []option{{flag: "-p", glued: true, alone: true}}},
		{"login", 2, []option{{flag: "-p", user: true}}}, // docker login, podman login, helm registry login
		{"http ", 2, []option{{flag: "-a", sep: ':'}, {flag: "--auth", sep: ':'}}},
		{"https ", 3, []option{{flag: "-a", sep: ':'}, {flag: "--auth", sep: ':'}}},
	}
}

// option returns the option of the program that a word is, and what of the word is its value already.
func (p *program) option(word string, named bool) (opt *option, rest string) {
	for i := range p.options {
		o := &p.options[i]
		switch {
		case word == o.flag:
			if o.alone || o.user && !named {
				return nil, ""
			}
			return o, ""
		case len(o.flag) == 2 && o.glued && len(word) > 2 && strings.HasPrefix(word, o.flag):
			return o, word[2:]
		case len(o.flag) > 2 && strings.HasPrefix(word, o.flag) && word[len(o.flag)] == '=':
			return o, word[len(o.flag)+1:]
		case len(o.flag) == 2 && o.sep != 0 && len(word) > 2 && len(word) < 6 && word[0] == '-' && word[1] != '-' && word[len(word)-1] == o.flag[1]:
			return o, "" // -sSu user:password
		}
	}
	return nil, ""
}

// program returns the program of which a word is the name, or nil.
func (m *Masker) program(word string) *program {
	if len(word) > 32 {
		return nil
	}
	word = word[strings.LastIndexByte(word, '/')+1:]
	for i := range m.programs {
		if strings.TrimRight(m.programs[i].lit, " -") == word {
			return &m.programs[i]
		}
	}
	return nil
}

// secret returns which part of the value of an option is the secret, or an empty stretch.
func (o *option) secret(v string) (from, to int) {
	if o.sep != 0 {
		k := strings.IndexByte(v, o.sep)
		if k < 0 {
			return 0, 0
		}
		from = k + 1
	}
	secret := v[from:]
	if len(secret) < 3 || exempt(secret) || secret[0] == '$' || secret[0] == '-' || namesSecret(secret) && digits(secret) == 0 || onlyMarkers(secret) {
		return 0, 0
	}
	return from, len(v)
}

// match looks through the words after a program for its options; at is where its name begins.
func (p *program) match(sc *scanner, at int) int {
	s := sc.s
	if sc.tokensOnly || at < sc.command || !sc.open(at, cName) {
		return 0
	}
	i := at + len(strings.TrimRight(p.lit, " -"))
	for i < len(s) && is(s[i], cName) { // mysqldump
		i++
	}
	limit := min(len(s), at+maxCommand)
	first, _, _ := strings.Cut(s[at:limit], "\n")
	named := strings.Contains(first, " -u") || strings.Contains(first, " --user")
	var opt *option
	for n := 0; n < maxArgs; n++ {
		from, to, next := nextWord(s[:limit], i)
		sc.command = next
		if from < 0 || s[from] == '&' && opt == nil {
			break
		}
		i = next
		if w := s[from:to]; opt == nil {
			var rest string
			if opt, rest = p.option(w, named); rest == "" {
				continue
			}
			from = to - len(rest)
			if isQuote(rest[0]) {
				from++
				if rest[len(rest)-1] == rest[0] && len(rest) > 1 {
					to--
				}
			}
		}
		if a, b := opt.secret(s[from:to]); a < b {
			sc.take(from+a, from+b, Assignment)
		}
		opt = nil
	}
	return 0
}

// nextWord returns the next word of a command line without its quotes, and where to go on; -1 at the end of the command.
func nextWord(s string, i int) (from, to, next int) {
	for i < len(s) {
		switch {
		case is(s[i], cSpace):
			i++
		case s[i] == '\\' && i+1 < len(s) && s[i+1] == '\n':
			i += 2
		case s[i] == '\n' && is(byteAt(s, i+1), cSpace) && byteAt(s, runEnd(s, i+1, cSpace)) == '-': // the lines of a script
			i++
		default:
			goto begin
		}
	}
begin:
	if i >= len(s) || s[i] == '\n' || s[i] == '\r' || s[i] == '|' || s[i] == ';' || s[i] == '#' {
		return -1, -1, i
	}
	if isQuote(s[i]) {
		if k := strings.IndexByte(s[i+1:], s[i]); k >= 0 && strings.IndexByte(s[i+1:i+1+k], '\n') < 0 {
			return i + 1, i + 1 + k, i + k + 2
		}
	}
	from = i
	for i < len(s) && !is(s[i], cSpace) && s[i] != '\n' && s[i] != '\r' && s[i] != ';' && s[i] != '|' {
		if isQuote(s[i]) {
			k := strings.IndexByte(s[i+1:], s[i])
			if k < 0 || strings.IndexByte(s[i+1:i+1+k], '\n') >= 0 || i == from {
				return from, i, max(i, from+1)
			}
			i += k + 1
		}
		i++
	}
	return from, i, i
}

// netrc matches what follows machine in a .netrc: name, login, account and password in any order, over lines.
func netrc(sc *scanner, at int) int {
	s := sc.s
	if sc.tokensOnly || !sc.open(at, cName) {
		return 0
	}
	limit := min(len(s), at+maxCommand)
	i := at + len("machine")
	if i >= limit || s[i] > ' ' {
		return 0
	}
	_, i = field(s[:limit], i)
	return sc.netrcFields(i, limit)
}

// netrcDefault matches the entry of a .netrc for every other machine; at is where default login begins.
func netrcDefault(sc *scanner, at int) int {
	if sc.tokensOnly {
		return 0
	}
	return sc.netrcFields(at+len("default"), min(len(sc.s), at+maxCommand))
}

func (sc *scanner) netrcFields(i, limit int) (end int) {
	s := sc.s
	for range 8 {
		from, to := field(s[:limit], i)
		switch s[from:to] {
		case "login", "account":
			_, i = field(s[:limit], to)
		case "password":
			from, i = field(s[:limit], to)
			if v := s[from:i]; len(v) >= 3 && !exempt(v) && !stopWord(v) && !onlyMarkers(v) {
				end = sc.take(from, i, Assignment)
			}
		default:
			return end
		}
	}
	return end
}

// field returns the next run without blanks or line breaks.
func field(s string, i int) (from, to int) {
	for i < len(s) && s[i] <= ' ' {
		i++
	}
	from = i
	for i < len(s) && s[i] > ' ' && s[i] != '"' {
		i++
	}
	return from, i
}

// pgpass matches a line of a password file of PostgreSQL, host:port:database:user:password; at lies on the port or on
// a star, with its colons.
func pgpass(sc *scanner, at int) int {
	s := sc.s
	if sc.tokensOnly || at < sc.line {
		return 0
	}
	lo := at
	for lo > 0 && at-lo < 256 && s[lo-1] > ' ' && !isQuote(s[lo-1]) {
		lo--
	}
	end := at
	for end < len(s) && end-at < 512 && s[end] > ' ' && !isQuote(s[end]) && s[end] != '\\' {
		end++
	}
	sc.line = end
	part := strings.SplitN(s[lo:end], ":", 5)
	if len(part) < 5 || part[0] == "" || part[2] == "" || part[3] == "" || len(part[4]) < 3 || part[1] != "*" && strings.Trim(part[1], "0123456789") != "" {
		return 0
	}
	v := part[4]
	if exempt(v) && !smallNumber(v) || onlyMarkers(v) || strings.Contains(part[0], "//") {
		return 0
	}
	return sc.take(end-len(v), end, Assignment)
}

// ppk matches the private part of a PuTTY key; at is where Private-Lines begins.
func ppk(sc *scanner, at int) int {
	s := sc.s
	i := at + len("Private-Lines:")
	i = runEnd(s, i, cSpace)
	digitsEnd := runEnd(s, i, cDigit)
	if digitsEnd == i || digitsEnd-i > 4 {
		return 0
	}
	from := digitsEnd
	for from < len(s) && s[from] <= ' ' {
		from++
	}
	end := from
	for end < len(s) && !has(s, end, "Private-") {
		next := strings.IndexByte(s[end:], '\n')
		if next < 0 {
			end = len(s)
			break
		}
		end += next + 1
		for end < len(s) && (is(s[end], cSpace) || s[end] == '>') {
			end++
		}
	}
	if from >= end || onlyMarkers(s[from:end]) {
		return 0
	}
	for end > from && s[end-1] <= ' ' {
		end--
	}
	return sc.add(from, end, PrivateKey)
}

// sqlPassword matches IDENTIFIED BY 'password'.
func sqlPassword(sc *scanner, at int) int {
	s := sc.s
	i := runEnd(s, at+len("identified by"), cSpace)
	if hasFold(s, i, "password") {
		i = runEnd(s, i+len("password"), cSpace)
	}
	if sc.tokensOnly || i >= len(s) || !isQuote(s[i]) {
		return 0
	}
	end, ok := closing(s, i+1, s[i:i+1])
	if !ok || end-i < 4 || exempt(s[i+1:end]) {
		return 0
	}
	return sc.take(i+1, end, Assignment)
}
