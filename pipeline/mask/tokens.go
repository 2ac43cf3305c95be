package mask

import (
	"encoding/base64"
	"strings"
)

// tailMin is how much of a token after its prefix is enough where the value ends.
const tailMin = 8

// token is a credential with a prefix of its own.
type token struct {
	kind  Kind
	lit   string
	off   int    // of the rarest three bytes
	body  uint16 // characters after the prefix
	min   int    // of them, in the middle of a text
	glued bool   // so unmistakable that it may follow a word character
	vet   vet
}

// vet is one more condition on what follows a prefix.
type vet uint8

const (
	vetNone  vet = iota
	vetWhole     // a full token, and more than a long word
	vetMixed     // a cut one must be no plain word: npm_lifecycle
	vetSlackApp
	vetPyPI
	vetHub
)

func (v vet) ok(body string, whole bool) bool {
	switch v {
	case vetWhole:
		return whole && mix(body)&(cDigit|cUpper) != 0
	case vetMixed:
		return whole || mix(body)&(cDigit|cUpper) != 0
	case vetSlackApp:
		return is(body[0], cDigit) && body[1] == '-'
	case vetPyPI:
		return whole || strings.HasPrefix(body, "AgE")
	case vetHub:
		return whole || !hubWord(body)
	}
	return true
}

// tokens lists the prefixes. The lengths are minimums: the whole run goes, so that no end of a longer one stays.
func tokens() []token {
	list := []token{
		{AWSAccessKeyID, "AKIA", 1, cUpper | cDigit, 16, false, vetNone},
		{AWSAccessKeyID, "ASIA", 1, cUpper | cDigit, 16, false, vetNone},
		{AWSAccessKeyID, "ABIA", 1, cUpper | cDigit, 16, false, vetNone},
		{AWSAccessKeyID, "ACCA", 1, cUpper | cDigit, 16, false, vetNone},
		{GitHubToken, "github_pat_", 5, cAlnum | cDash, 36, true, vetNone},
		{SlackToken, "xapp-", 0, cURLSafe, 20, false, vetSlackApp},
		{OpenRouterKey, "sk-or-", 3, cURLSafe, 20, false, vetNone},
		{BedrockAPIKey, "ABSK", 1, cAlnum | cStd, 60, false, vetNone},
		{BedrockAPIKey, "bedrock-api-key-", 6, cAlnum | cStd, 24, true, vetNone},
		{GoogleAPIKey, "AIza", 0, cURLSafe, 35, true, vetNone},
		{GoogleOAuthToken, "ya29.", 1, cURLSafe, 20, false, vetNone},
		{NPMToken, "npm_", 1, cAlnum, 36, false, vetMixed},
		{PyPIToken, "pypi-", 0, cURLSafe, 50, false, vetPyPI},
		{DockerToken, "dckr_pat_", 1, cURLSafe, 27, true, vetNone},
		{DockerToken, "dckr_oat_", 1, cURLSafe, 27, true, vetNone},
		{HuggingFaceToken, "hf_", 0, cAlpha, 34, false, vetHub},
		{HuggingFaceToken, "api_org_", 2, cAlpha, 34, false, vetNone},
		{DatabricksToken, "dapi", 0, cHex, 32, false, vetNone},
		{AgeSecretKey, "AGE-SECRET-KEY-1", 13, cUpper | cDigit, 58, true, vetNone},
	}
	for _, c := range []string{"p", "o", "u", "s", "r"} {
		list = append(list, token{GitHubToken, "gh" + c + "_", 1, cAlnum, 36, true, vetNone})
	}
	for _, c := range []string{"pat", "dt", "rt", "cbt", "ptt", "ft", "soat", "agent", "imt", "oas", "wt"} {
		list = append(list, token{GitLabToken, "gl" + c + "-", 0, cURLSafe, 20, false, vetMixed})
	}
	for _, c := range []string{"a", "b", "c", "d", "e", "o", "p", "r", "s"} {
		list = append(list, token{SlackToken, "xox" + c + "-", 0, cAlnum | cDash, 8, true, vetNone},
			token{SlackToken, "xox" + c + ".", 0, cAlnum | cDash, 10, true, vetNone})
	}
	for _, c := range []string{"api", "admin", "sid", "oat", "ort"} {
		list = append(list, token{AnthropicKey, "sk-ant-" + c, 1, cURLSafe, 20, true, vetNone})
	}
	for _, c := range []string{"s", "b", "r"} {
		list = append(list, token{VaultToken, "hv" + c + ".", 0, cURLSafe, 20, false, vetNone})
	}
	for _, c := range []string{"sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"} {
		list = append(list, token{StripeKey, c, 1, cAlnum, 10, false, vetNone})
	}
	list = append(list, serviceTokens()...)
	return append(list,
		token{StripeKey, "sk_", 0, cAlnum, 16, false, vetWhole},
		token{StripeKey, "rk_", 0, cAlnum, 16, false, vetWhole},
		token{StripeKey, "whsec_", 1, cAlnum | cStd, 16, false, vetNone})
}

// hubWord reports names that begin with hf_ and are no tokens.
func hubWord(body string) bool {
	for _, w := range []string{"transfer", "token", "dataset", "inference", "model", "hub", "home", "endpoint", "config", "cache", "pipeline"} {
		if strings.HasPrefix(strings.ToLower(body), w) {
			return true
		}
	}
	return false
}

func (t *token) match(sc *scanner, at int) int {
	s := sc.s
	body := at + len(t.lit)
	end := runEnd(s, body, t.body)
	n := end - body
	whole := n >= t.min
	if !whole && (n < tailMin || !sc.cut(end)) {
		return 0
	}
	if !(t.glued && whole) && !sc.open(at, cAlnum) {
		return 0
	}
	if !t.vet.ok(s[body:end], whole) {
		return 0
	}
	if t.body&cStd != 0 { // base64 padding
		for pad := 0; pad < 2 && end < len(s) && s[end] == '='; pad++ {
			end++
		}
	}
	if t.kind == GitLabToken && end < len(s) && s[end] == '.' { // routable: a length and a checksum follow
		if tail := runEnd(s, end+1, cAlnum); tail-end == 10 {
			end = tail
		}
	}
	if t.kind == AWSAccessKeyID {
		if whole && n > t.min+4 && end < len(s) && is(s[end], cLower) {
			return 0 // in the middle of a long base64 run
		}
		sc.companion(end)
	}
	return sc.add(at, end, t.kind)
}

// companion looks, right after an access key id, for a bare secret key: 40 characters, no name beside it.
func (sc *scanner) companion(from int) {
	s := sc.s
	limit := min(len(s), from+96)
	for i := from; i < limit; i++ {
		if !is(s[i], cAlnum|cStd) || i > 0 && is(s[i-1], cAnyBase64) {
			continue
		}
		end := runEnd(s[:min(len(s), i+64)], i, cAlnum|cStd)
		if end-i == 40 && mix(s[i:end])&cAlnum == cAlnum {
			sc.add(i, end, AWSSecretAccessKey)
			return
		}
		i = end
	}
}

// docSecret matches a bare secret key that ends in EXAMPLEKEY, as the documentation of AWS prints it.
func docSecret(sc *scanner, at int) int {
	end := at + len("EXAMPLEKEY")
	start := runStart(sc.s, at, cAlnum|cStd, 31)
	if sc.s[start] == '/' && end-start > 40 {
		start = end - 40
	}
	if end-start != 40 || end < len(sc.s) && is(sc.s[end], cAlnum|cStd) {
		return 0
	}
	return sc.add(start, end, AWSSecretAccessKey)
}

// openAI matches sk-, unless a more specific prefix does.
func openAI(sc *scanner, at int) int {
	s := sc.s
	if at < sc.barren || !sc.open(at, cAlnum) || has(s, at, "sk-ant-") || has(s, at, "sk-or-") {
		return 0
	}
	body := at + len("sk-")
	end := runEnd(s, body, cURLSafe)
	named := false
	for _, p := range []string{"proj-", "svcacct-", "admin-", "None-"} {
		if has(s, body, p) {
			named = true
			body += len(p)
		}
	}
	if end-body < 20 && (end-at < len("sk-")+tailMin || !sc.cut(end)) {
		return 0
	}
	if !named && mix(s[body:end])&(cDigit|cUpper) == 0 {
		sc.barren = end // a class name such as sk-container-…
		return 0
	}
	return sc.add(at, end, OpenAIKey)
}

// looseAnthropic matches sk-ant- with a form that is not listed yet.
func looseAnthropic(sc *scanner, at int) int {
	body := at + len("sk-ant-")
	end := runEnd(sc.s, body, cURLSafe)
	if !sc.open(at, cAlnum) || end-body < tailMin || mix(sc.s[body:end])&(cDigit|cUpper) == 0 {
		return 0
	}
	if end-body < 20 && !sc.cut(end) {
		return 0
	}
	return sc.add(at, end, AnthropicKey)
}

func twilio(sc *scanner, at int) int {
	body := at + 2
	end := runEnd(sc.s, body, cHexUp)
	n := end - body
	if !sc.open(at, cAlnum) || n != 32 && (n < tailMin || n > 32 || !sc.cut(end)) {
		return 0
	}
	if n == 32 && end < len(sc.s) && is(sc.s[end], cAlnum) {
		return 0
	}
	return sc.add(at, end, TwilioKey)
}

func sendGrid(sc *scanner, at int) int {
	s := sc.s
	if !sc.open(at, cAlnum) {
		return 0
	}
	body := at + len("SG.")
	dot := runEnd(s, body, cURLSafe)
	if dot < len(s) && s[dot] == '.' && dot-body >= 16 {
		end := runEnd(s, dot+1, cURLSafe)
		if end-dot > 16 || sc.cut(end) {
			return sc.add(at, end, SendGridKey)
		}
	}
	if end := runEnd(s, body, cKey); end-body >= 66 {
		return sc.add(at, end, SendGridKey)
	}
	if n := dot - body; n >= tailMin && sc.cut(dot) && upperOrDigits(s[body:dot]) {
		return sc.add(at, dot, SendGridKey)
	}
	return 0
}

// upperOrDigits reports whether s has a digit or at least two capitals: not just a name such as SG.Something.
func upperOrDigits(s string) bool {
	caps := 0
	for i := range len(s) {
		switch {
		case is(s[i], cDigit):
			return true
		case is(s[i], cUpper):
			caps++
		}
	}
	return caps > 1
}

// telegram matches digits:AA…; at is the colon.
func telegram(sc *scanner, at int) int {
	s := sc.s
	start := runStart(s, at, cDigit, 11)
	end := runEnd(s, at+3, cURLSafe)
	n := end - at - 3
	if d := at - start; d < 8 || d > 10 || n < 33 && (n < tailMin || !sc.cut(end)) {
		return 0
	}
	return sc.add(start, end, TelegramToken)
}

// entra matches xxx8Q~…; at is the digit.
func entra(sc *scanner, at int) int {
	s := sc.s
	start := at
	for start > 0 && at-start < 3 && entraChar(s[start-1]) {
		start--
	}
	end := at + 3
	for end < len(s) && entraChar(s[end]) {
		end++
	}
	n := end - at - 3
	if n < 31 && (n < tailMin || !sc.cut(end)) {
		return 0
	}
	return sc.add(start, end, AzureClientSecret)
}

func entraChar(c byte) bool { return is(c, cURLSafe) || c == '~' || c == '.' }

// jwt matches a JSON Web Token, header included. A cut one needs its dot, or a header that says what it is.
func jwt(sc *scanner, at int) int {
	s := sc.s
	if !sc.open(at, cAlnum) {
		return 0
	}
	dot := runEnd(s, at, cURLSafe)
	if dot-at < 13 {
		return 0
	}
	if dot >= len(s) || s[dot] != '.' {
		if !sc.cut(dot) || !jwtHeader(s[at:dot]) {
			return 0
		}
		return sc.add(at, dot, JWT)
	}
	second := runEnd(s, dot+1, cURLSafe)
	if has(s, dot+1, "ey") || jwtHeader(s[at:dot]) {
		if second < len(s) && s[second] == '.' {
			// Encrypted tokens have five parts.
			end := runEnd(s, second+1, cURLSafe)
			for end+1 < len(s) && s[end] == '.' && is(s[end+1], cURLSafe) && end-second < 1<<16 {
				end = runEnd(s, end+1, cURLSafe)
			}
			return sc.add(at, end, JWT)
		}
		if sc.cut(second) || second-dot > 4 && jwtHeader(s[at:dot]) {
			return sc.add(at, second, JWT)
		}
	}
	return 0
}

func jwtHeader(s string) bool {
	s = s[:min(len(s), 40)]
	var buf [32]byte
	n, _ := base64.RawURLEncoding.Decode(buf[:], []byte(s[:len(s)/4*4]))
	h := string(buf[:n])
	return strings.HasPrefix(h, `{"alg"`) || strings.HasPrefix(h, `{"typ"`) || strings.HasPrefix(h, `{"kid"`) || strings.HasPrefix(h, `{"enc"`)
}

// slackHook masks the path of an incoming webhook and keeps the host.
func slackHook(sc *scanner, at int) int {
	s := sc.s
	i := at + len("hooks.slack")
	if has(s, i, "-gov") {
		i += len("-gov")
	}
	if !has(s, i, ".com/") {
		return 0
	}
	i += len(".com/")
	for _, p := range []string{"services/", "workflows/", "triggers/"} {
		if !has(s, i, p) {
			continue
		}
		i += len(p)
		end := runEnd(s, i, cAnyBase64)
		if end-i >= 20 || end-i >= tailMin && sc.cut(end) {
			return sc.add(i, end, SlackWebhook)
		}
	}
	return 0
}
