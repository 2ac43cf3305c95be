package mask

import "strings"

// class is what the name of a value says about it.
type class uint8

const (
	classNone class = iota
	classPassword
	classSecret
	classToken
	classAPIKey
	classAuthorization
	classCookie
	classConnection
	classCredential
	classAWSSecret
	classAWSSession
	classWorkDir // pwd: a password or the working directory
	classPrivateKey
	classIdentity
)

// kind is the marker of a value that is held under a key of the class.
func (c class) kind() Kind {
	switch c {
	case classPassword, classWorkDir:
		return Password
	case classSecret:
		return Secret
	case classToken:
		return Token
	case classAPIKey:
		return APIKey
	case classAuthorization:
		return Authorization
	case classCookie:
		return Cookie
	case classConnection:
		return ConnectionString
	case classAWSSecret:
		return AWSSecretAccessKey
	case classAWSSession:
		return AWSSessionToken
	case classPrivateKey:
		return PrivateKey
	case classIdentity:
		return Identity
	}
	return Credential
}

// soft classes are named in prose and code more often than they are given a value: it must look like one.
func (c class) soft() bool {
	switch c {
	case classToken, classAPIKey, classCredential, classAWSSession, classAWSSecret:
		return true
	}
	return false
}

const (
	maxWords  = 4
	maxKeyEnd = 32 // bytes of a key that are looked at; more would have to be allocated
)

// words holds the last words of a key, in lower case, the last first.
type words [maxWords]string

// split cuts a key at separators and at changes from lower to upper case: dbPassword, DB_PASSWORD, db-password.
func split(key string) (w words) {
	key = key[max(0, len(key)-maxKeyEnd):]
	var buf [maxKeyEnd]byte
	for i := range len(key) {
		buf[i] = lower(key[i])
	}
	folded := string(buf[:len(key)])
	n, stop := 0, len(key)
	for i := len(key) - 1; i >= 0 && n < maxWords; i-- {
		begin := i // of the word that ends at stop
		if !is(key[i], cAlnum) {
			begin++
		} else if i > 0 && !(is(key[i], cUpper) && (is(key[i-1], cLower|cDigit) || is(key[i-1], cUpper) && i+1 < len(key) && is(key[i+1], cLower))) {
			continue
		}
		if begin < stop {
			w[n] = folded[begin:stop]
			n++
		}
		stop = i
	}
	return w
}

// classify tells what the name of a value says about it. It looks at the head noun, the last word: a password_hint,
// a token_count and max_tokens are no secrets.
func classify(key string) class {
	end := len(key)
	for k := end - 3; k > 2 && k >= end-11; k-- {
		if key[k] == '_' || key[k] == '-' || key[k] == '.' {
			if whichOne(key[k+1:]) {
				end = k // API_KEY_PROD, SECRET_KEY_BASE
			}
			break
		}
	}
	for end > 0 && !is(key[end-1], cAlpha) {
		end--
	}
	if hasFold(key, end-len("secretvalue"), "secretvalue") {
		return classSecret
	}
	if end < 3 || end == 3 && hasFold(key, 0, "key") || !tailOfSecret(lower(key[end-3]), lower(key[end-2]), lower(key[end-1])) {
		return classNone
	}
	w := split(key[:end]) // digits and brackets at the end are no part of a name
	last, prev := w[0], w[1]
	switch {
	case last == "pwd" && prev == "":
		return classWorkDir
	case last == "oldpwd", last == "old" && prev == "pwd":
		return classNone
	case anySuffix(last, "password", "passwd", "passphrase", "passcode", "pwd", "passwords"), last == "word" && prev == "pass", last == "phrase" && prev == "pass":
		return classPassword
	case oneOf(last, "storepass", "keypass", "passin", "passout"):
		return classPassword
	case last == "pass", anySuffix(last, "dbpass", "userpass"):
		if anySuffix(last, "dbpass", "userpass") || oneOf(prev, "db", "database", "user", "smtp", "mail", "email", "mysql", "pg", "postgres", "redis", "mongo", "ftp", "ssh", "admin", "root", "proxy", "http", "ldap", "login", "rabbitmq") {
			return classPassword
		}
	case last == "secret", last == "secrets", anySuffix(last, "clientsecret", "appsecret"):
		return classSecret
	case anySuffix(last, "token"):
		return classifyToken(last, prev)
	case anySuffix(last, "key"):
		return classifyKey(w)
	case oneOf(last, "credential", "credentials", "creds"):
		return classCredential
	case last == "authorization":
		return classAuthorization
	case oneOf(last, "cookie", "cookies"):
		return classCookie
	case last == "connectionstring", last == "string" && (prev == "connection" || prev == "conn"), last == "connstr":
		return classConnection
	case last == "auth" && (prev == "" || prev == "npm" || prev == "basic"):
		return classAPIKey
	case oneOf(last, "jwt", "bearer"):
		return classToken
	}
	return classNone
}

// whichOne reports words behind the name of a secret that say which of several it is.
func whichOne(word string) bool {
	switch len(word) {
	case 2, 3, 4, 5, 6, 7, 10:
		return oneOf(strings.ToLower(word), "prod", "production", "staging", "stage", "dev", "live", "base", "old", "primary", "backup", "main", "v1", "v2")
	}
	return false
}

// tailOfSecret is the quick first look at the last three letters of a key.
func tailOfSecret(a, b, c byte) bool {
	switch c {
	case 'd':
		return a == 'o' && b == 'r' || a == 's' && b == 'w' || a == 'p' && b == 'w'
	case 'h':
		return a == 'u' && b == 't'
	case 't':
		return a == 'r' && b == 'e' || a == 'j' && b == 'w'
	case 's':
		return a == 'e' && b == 't' || a == 'a' && b == 'l' || a == 'i' && b == 'e' || a == 'r' && b == 'd' || a == 'a' && b == 's' || a == 'e' && b == 'd'
	case 'n':
		return a == 'k' && b == 'e' || a == 'i' && b == 'o' || a == 's' && b == 'i'
	case 'y':
		return a == 'k' && b == 'e'
	case 'l':
		return a == 'i' && b == 'a'
	case 'e':
		return a == 'a' && b == 's' || a == 'o' && b == 'd' || a == 'k' && b == 'i'
	case 'g':
		return a == 'i' && b == 'n'
	case 'r':
		return a == 'r' && b == 'e' || a == 's' && b == 't'
	}
	return false
}

// classifyToken keeps apart credentials and the tokens of language models, parsers and paged lists.
func classifyToken(last, prev string) class {
	word := strings.TrimSuffix(last, "token")
	if word == "" {
		word = prev
	}
	if oneOf(word, "next", "page", "nextpage", "continuation", "continue", "pagination", "sync", "eos", "bos", "pad", "unk", "stop", "special",
		"mask", "cls", "sep", "max", "min", "per", "first", "last", "num", "input", "output", "prompt", "completion", "total", "cached",
		"each", "start", "end", "begin", "reasoning", "thinking", "previous", "prev", "current", "lookahead", "design", "sub", "redaction",
		"cancellation", "cancel", "idempotency", "request", "placeholder", "image", "text", "word", "new", "resume", "by", "of", "a", "the", "is", "no", "top", "marker") {
		return classNone
	}
	if word == "session" || word == "security" {
		return classAWSSession
	}
	return classToken
}

// classifyKey accepts a key only with a word before it that says what it opens: a cache_key or session_key is none.
func classifyKey(w words) class {
	word := strings.TrimSuffix(w[0], "key")
	at := 1
	if word == "" {
		word, at = w[1], 2
	}
	switch {
	case word == "access":
		if oneOf(w[at], "secret", "aws") || at == 2 && w[at] == "auth" {
			return classAWSSecret
		}
		return classAPIKey
	case oneOf(word, "secretaccess", "awsaccess", "awssecretaccess"):
		return classAWSSecret
	case oneOf(word, "api", "xapi", "secret", "private", "signing", "encryption", "decryption", "account", "master", "shared", "sharedaccess",
		"subscription", "auth", "ssh", "deploy", "service", "root", "admin", "hmac", "jwt", "cookie", "crypto", "consumer", "app", "application",
		"storageaccount", "openai", "anthropic", "gemini", "stripe", "openrouter", "webhook", "integration", "ingest", "ingestion", "license", "licence"):
		return classAPIKey
	}
	return classNone
}

// classifyIdentity tells attributes that name a person or an account; they count only as personal data.
func classifyIdentity(key string) class {
	switch strings.ToLower(key) {
	case "user.email", "user.account_uuid", "user.account_id", "user.id", "user.name", "user.full_name", "user.hash",
		"organization.id", "organization.name", "organization_id", "organization_uuid", "account_uuid", "account.uuid", "account.email",
		"account_email", "enduser.id", "enduser.pseudo.id", "user_email", "email", "e-mail", "email_address":
		return classIdentity
	}
	return classNone
}

func (m *Masker) classify(key string) class {
	c := classify(key)
	if c == classNone && m.pii {
		return classifyIdentity(key)
	}
	return c
}

func oneOf(s string, list ...string) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}

func anySuffix(s string, list ...string) bool {
	for _, l := range list {
		if strings.HasSuffix(s, l) {
			return true
		}
	}
	return false
}
