package mask

import "strings"

// maxRandom is the length of the longest random string that is taken for a credential, and of a token around a word.
const maxRandom = 512

// vendor is the name of a service; a random string beside it is one of its credentials.
type vendor struct {
	lit string
	off int // of the rarest three bytes
}

// vendorNames lists services whose credentials have no prefix of their own: only a name beside one tells what it is.
func vendorNames() []vendor {
	var list []vendor
	for _, v := range strings.Fields(`adafruit adobe airtable algolia alibaba asana atlassian confluence jira beamer bitbucket bittrex meraki cloudflare
		codecov cohere co_api_key coinbase confluent contentful contribsys datadog discord droneci dropbox etsy facebook fastly finicity finnhub flickr
		freshbooks gitter gocardless heroku hubspot intercom jfrog artifactory bintray xray kraken kucoin launchdarkly linear linkedin linked_in linked-in
		lob_ looker mailchimp mailgun mapbox mattermost messagebird message-bird message_bird netlify new-york-times, new-york-times new-relic newrelic new_relic nytimes newyorktimes
		okta plaid privateai private_ai private-ai rapidapi sendbird sentry snyk sonar sourcegraph squarespace sumo telegr travis twitch twitter typeform
		yandex zendesk`) {
		list = append(list, vendor{v, rarest(v)})
	}
	return list
}

// rarest returns where the three bytes lie that are rarest in English and code.
func rarest(lit string) (off int) {
	const common = "\x00etaoinsrhldcumfpgwybvk" // a letter's place: the later, the rarer
	best := -1
	for i := 0; i+3 <= len(lit); i++ {
		score := 0
		for _, c := range []byte(lit[i : i+3]) {
			if k := strings.IndexByte(common, lower(c)); k >= 0 {
				score += k
			} else {
				score += len(common)
			}
		}
		if score > best {
			best, off = score, i
		}
	}
	return off
}

// match takes the random string beside a name that holds the name of a service; at is where that begins.
func (v *vendor) match(sc *scanner, at int) int {
	s := sc.s
	if sc.tokensOnly {
		return 0
	}
	from := vendorSign(s, at+len(v.lit))
	if from == 0 {
		return 0
	}
	end := from
	for end < len(s) && end-from < maxRandom && (is(s[end], cRun) && s[end] != '&') {
		end++
	}
	if value := s[from:end]; random(value) || uuid(value) || v.lit == "contribsys" && len(value) == 17 && value[8] == ':' {
		return sc.take(from, end, ServiceToken)
	}
	return 0
}

// vendorSign returns where the value begins that belongs to the name of a service which ends at at, or 0: a few words may come between
// the name and the sign between the two.
func vendorSign(s string, at int) int {
	i, limit := at, min(len(s), at+maxName)
	for i < limit && is(s[i], cName|cSpace) {
		i++
	}
	for n := 0; n < 3 && i < len(s) && (s[i] <= ' ' || isQuote(s[i]) || s[i] == '\\'); n++ {
		i++
	}
	sign := i
	for i < len(s) && i-sign < 4 && strings.IndexByte("=:>|?,", s[i]) >= 0 {
		i++
	}
	if i == sign || i-sign == 1 && (s[sign] == '|' || s[sign] == '?') {
		return 0
	}
	for n := 0; n < 5 && i < len(s) && (s[i] <= ' ' || isQuote(s[i]) || s[i] == '=' || s[i] == '\\'); n++ {
		i++
	}
	if i >= len(s) {
		return 0
	}
	return i
}

// random reports a string that nobody chose: letters and digits, or capitals, change places as often as only chance makes them,
// or letters follow each other that no word has.
func random(v string) bool {
	if len(v) < 14 || len(v) > maxRandom || strings.Contains(v, "://") {
		return false
	}
	changes, capitals, letters, figures, mute, longest := 0, 0, 0, 0, 0, 0
	for i := range len(v) {
		c, before := v[i], byte(0)
		if i > 0 {
			before = v[i-1]
		}
		mute++
		switch {
		case is(c, cDigit):
			figures++
			mute = 0
			changes += b2i(is(before, cAlpha))
		case is(c, cAlpha):
			letters++
			changes += b2i(is(before, cDigit))
			capitals += b2i(is(c, cUpper) != is(before, cUpper) && is(before, cAlpha))
			if strings.IndexByte("aeiouy", lower(c)) >= 0 {
				mute = 0
			}
		case !is(c, cAnyBase64) && strings.IndexByte("=.:%|", c) < 0:
			return false
		default:
			mute = 0
		}
		longest = max(longest, mute)
	}
	switch {
	case letters == 0:
		return figures == len(v) && (figures == 16 || figures == 18) // ids of applications
	case changes >= 2:
		return changes >= 3 && changes*16 >= len(v) || figures > 1 || longest > 3 || capitals > 2
	}
	return longest > 5 || longest > 4 && (figures > 0 || len(v) >= 20) || figures > 0 && capitals > 3 || figures > 11 && changes > 0 && strings.IndexByte(v, '.') < 0
}

// uuid reports a string of the form 8-4-4-4-12.
func uuid(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := range len(v) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (v[i] == '-') || !dash && !is(v[i], cHexUp) {
			return false
		}
	}
	return true
}

// serviceTokens lists the prefixes of further services.
func serviceTokens() []token {
	var list []token
	add := func(body uint16, min int, prefixes ...string) {
		for _, p := range prefixes {
			list = append(list, token{ServiceToken, p, rarest(p), body, min, false, vetNone})
		}
	}
	add(cAlnum, 16, "sm_aat_", "sm_pat_", "sm_sat_")
	add(cAlnum, 20, "LTAI")
	add(cAlnum, 32, "p8e-")
	add(cAlnum, 36, "pnu_", "ntn_")
	add(cAlnum, 38, "4b1d")
	add(cAlnum, 40, "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "lin_api_", "lin_oauth_", "pplx-")
	add(cAlnum, 54, "EZAK", "EZTK", "cmVmd", "AKCp", "CLOJARS_", "clojars_", "rdme_")
	add(cAlnum, 70, "eyJrIjoi", "EAAM", "EAAC")
	add(cAlnum|cStd, 32, "glc_")
	add(cAlnum|cStd, 100, "fm1a_", "fm1r_", "fm2_", "ops_eyJ")
	add(cAlnum|cStd|cDash|cKey, 50, "sntrys_")
	add(cHexUp, 31, "live_", "test_", "live_pub_", "test_pub_")
	add(cHexUp, 32, "shpat_", "shpca_", "shppa_", "shpss_")
	add(cHexUp, 40, "pul-", "shippo_live_", "shippo_test_", "rubygems_", "doo_v1_", "dop_v1_", "dor_v1_", "sntryu_")
	add(cHexUp|cDash, 58, "PMAK-")
	add(cHexUp|cDash, 100, "v1.0-")
	add(cUpper|cDigit, 26, "API-")
	add(cUpper|cDigit|cDash, 30, "A3-")
	add(cURLSafe, 12, "FLWSECK_TEST-", "FLWPUBK_TEST-")
	add(cURLSafe, 19, "NRJS-", "NRII-", "NRAK-")
	add(cURLSafe, 22, "sq0atp-", "sq0csp-")
	add(cURLSafe, 35, "AQVN", "glsa_", "squ_", "sqp_", "sqa_", "sgp_", "tfp_", "sha256~", "fo1_", "tk-us-")
	add(cURLSafe, 56, "HRKU-", "s-s4t2ud-", "s-s4t2af-", "xkeysib-")
	add(cKey, 32, "duffel_test_", "duffel_live_", "fio-u-", "dnkey-", "ATATT3", "ATCTT3",
		"pscale_tkn_", "pscale_oauth_", "pscale_pw_", "dt0c01.", "dt0s01.")
	list = append(list,
		token{ServiceToken, "ico-", 0, cAlnum, 32, false, vetWhole},
		token{ServiceToken, "EAAA", 0, cURLSafe, 22, false, vetWhole},
		token{Cookie, "_gitlab_session=", 1, cAlnum, 32, true, vetNone},
		token{GitLabToken, "glffct-", 2, cURLSafe, 20, false, vetNone},
		token{GitLabToken, "GR1348941", 4, cURLSafe, 20, false, vetNone},
		token{AWSAccessKeyID, "A3T", 0, cUpper | cDigit, 17, false, vetNone})
	return list
}

// teamsHook masks the path of an incoming webhook of Teams and keeps the host.
func teamsHook(sc *scanner, at int) int {
	from := at + len("office.com/webhookb2/")
	end := from
	for end < len(sc.s) && (is(sc.s[end], cAnyBase64) || sc.s[end] == '@') {
		end++
	}
	if end-from < 40 {
		return 0
	}
	return sc.add(from, end, ServiceToken)
}

// around matches a token that is known by a word inside it, such as .atlasv1.; at is where that begins.
func around(sc *scanner, at int) int {
	s := sc.s
	start := runStart(s, at, cName, maxName)
	end := at
	for end < len(s) && end-at < 200 && is(s[end], cTok) && s[end] != ':' {
		end++
	}
	if at-start < 6 || end-at < 4 || end-start < 40 || digits(s[start:end]) < 2 {
		return 0
	}
	return sc.add(start, end, ServiceToken)
}

// lone matches a run of base64 at s[start:end] that is a token because of what stands right before it: s.…, pat….…,
// digits|….
func (sc *scanner) lone(start, end int) {
	s := sc.s
	n := end - start
	switch {
	case start < 2:
	case s[start-1] == '.' && n == 24 && s[start-2] == 's' && sc.open(start-2, cName) && random(s[start:end]):
		sc.add(start-2, end, VaultToken)
	case s[start-1] == '.' && n == 64 && runEnd(s[:end], start, cHex) == end:
		if before := runStart(s, start-1, cAlnum, 20); start-1-before == 17 && has(s, before, "pat") {
			sc.add(before, end, ServiceToken)
		}
	case s[start-1] == '.' && n == 20:
		mid := runStart(s, start-1, cAlnum, 30)
		if mid > 0 && s[mid-1] == '.' && start-1-mid == 24 {
			first := runStart(s, mid-1, cURLSafe, 30)
			if mid-1-first == 22 && (has(s, first-4, "pat.") || has(s, first-4, "sat.")) {
				sc.add(first-4, end, ServiceToken)
			}
		}
	case (s[start-1] == '|' || s[start-1] == '%') && n >= 27 && n <= 40:
		if before := runStart(s, start-1, cDigit, 17); start-1-before == 15 || start-1-before == 16 {
			sc.add(before, end, ServiceToken)
		}
	}
}

// byteAt is the byte at i, or a line break at the end.
func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return '\n'
}

// kubeSecret masks the values of a manifest of kind Secret; at is where kind begins.
func kubeSecret(sc *scanner, at int) int {
	s := sc.s
	if sc.tokensOnly || at < sc.manifest || !is(byteAt(s, at+len("kind: secret")), cEnd) {
		return 0
	}
	lo, hi := max(0, at-maxCommand), min(len(s), at+maxQuoted)
	if k := strings.LastIndex(s[lo:at], "\n---"); k >= 0 {
		lo += k
	}
	if k := strings.Index(s[at:hi], "\n---"); k >= 0 {
		hi = at + k
	}
	lo, sc.manifest = max(lo, sc.manifest), hi
	indent := -1 // of the block that holds the values
	for i := lo; i < hi; {
		l := line(s[:hi], i)
		deep := len(l) - len(strings.TrimLeft(l, " "))
		body := strings.TrimRight(l[deep:], " \t\r")
		switch {
		case body == "data:" || body == "stringData:":
			indent = deep
		case body != "" && deep <= indent:
			indent = -1
		case indent >= 0:
			if k := strings.Index(body, ": "); k >= 0 {
				from, end := i+deep+k+2, i+deep+len(body)
				if v := s[from:end]; len(v) >= 4 && !exempt(strings.Trim(v, `"'`)) && v[0] != '|' && v[0] != '>' {
					sc.take(from, end, Secret)
				}
			} else if body != "" && body[len(body)-1] != ':' { // of a block
				sc.take(i+deep, i+deep+len(body), Secret)
			}
		}
		i += len(l) + 1
	}
	return 0
}
