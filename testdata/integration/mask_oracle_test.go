package integration_test

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/zricethezav/gitleaks/v8/detect"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// generator writes texts that match an expression.
type generator struct{ *rand.Rand }

func (g generator) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 { // the case in which such tokens are given out
			text = strings.NewReplacer("eyjrijoi", "eyJrIjoi", "atatt3", "ATATT3").Replace(strings.ToLower(text))
		}
		b.WriteString(text)
	case syntax.OpCharClass:
		r := g.class(re.Rune)
		if re.Flags&syntax.FoldCase != 0 {
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte(" abcdefgh012345"[g.IntN(15)])
	case syntax.OpCapture, syntax.OpConcat:
		for _, s := range re.Sub {
			g.write(b, s)
		}
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.IntN(len(re.Sub))])
	case syntax.OpStar:
		g.repeat(b, re.Sub[0], 0, 4)
	case syntax.OpPlus:
		g.repeat(b, re.Sub[0], 1, 24)
	case syntax.OpQuest:
		g.repeat(b, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		most := re.Max
		if most < 0 {
			most = re.Min + 20
		}
		g.repeat(b, re.Sub[0], re.Min, most)
	}
}

func (g generator) repeat(b *strings.Builder, re *syntax.Regexp, least, most int) {
	for range least + g.IntN(most-least+1) {
		g.write(b, re)
	}
}

// class picks a printable character of a class, in which ranges are pairs.
func (g generator) class(ranges []rune) rune {
	var all []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := max(ranges[i], ' '); r <= min(ranges[i+1], '~'); r++ {
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return ranges[0]
	}
	return all[g.IntN(len(all))]
}

// otherwise lists rules whose random samples are none of what the rule is about, and what shows that it is masked instead.
var otherwise = map[string]string{
	"jwt":                 "a header is JSON and begins with eyJ; samples of pipeline/mask",
	"jwt-base64":          "as above, in base64; carriers of pipeline/mask",
	"private-key":         "the label has words, not random characters; samples of pipeline/mask",
	"generic-api-key":     "random letters around the names; TestMaskFindsNamedValues",
	"sumologic-access-id": "an id of twelve letters or digits; with a digit it is masked",
	"curl-auth-user":      "quotation marks in the middle of words; TestMasker_String_Places",
}

// Whatever gitleaks finds in a corpus of every kind that it knows is masked by ours.
func TestMaskFindsWhatGitleaksFinds(t *testing.T) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	m := mask.New(mask.Options{})
	frames := []string{"%s", "The output was:\n%s\nand nothing else.", "export X=1\n%s\n", `{"text":%q}`}
	rules, found := 0, 0
	ids := make([]string, 0, len(detector.Config.Rules))
	for id := range detector.Config.Rules {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		rule := detector.Config.Rules[id]
		if rule.Regex == nil {
			continue
		}
		re, err := syntax.Parse(rule.Regex.String(), syntax.Perl)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		re = re.Simplify()
		rules++
		g := generator{rand.New(rand.NewPCG(7, uint64(len(id))))}
		here := 0
		for n := 0; n < 400 && here < 8; n++ {
			var b strings.Builder
			g.write(&b, re)
			text := fmt.Sprintf(frames[n%len(frames)], b.String())
			out := m.String(text, nil)
			for _, f := range detector.DetectString(text) {
				here++
				found++
				if f.Secret != "" && strings.Contains(out, f.Secret) {
					if _, known := otherwise[f.RuleID]; !known {
						t.Errorf("%s finds %q\n in %q\nout %q", f.RuleID, f.Secret, text, out)
					}
				}
			}
		}
		if here == 0 {
			t.Logf("%s: no sample of ours is one to gitleaks", id)
		}
	}
	t.Logf("%d rules, %d findings", rules, found)
	if found < 3*rules/2 {
		t.Errorf("%d findings of %d rules: the corpus shows too little", found, rules)
	}
}

// Random values beside telling names, as gitleaks finds them without knowing the service.
func TestMaskFindsNamedValues(t *testing.T) {
	detector, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	m := mask.New(mask.Options{})
	r := rand.New(rand.NewPCG(11, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	found := 0
	for range 400 {
		alphabet := pick("abcdefghijklmnopqrstuvwxyz0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "0123456789abcdef", "abcdefghijklmnopqrstuvwxyz0123456789_-")
		var value strings.Builder
		for range 16 + r.IntN(32) {
			value.WriteByte(alphabet[r.IntN(len(alphabet))])
		}
		name := pick("api_key", "API_KEY_PROD", "authToken", "auth_token", "access_key", "accessToken", "client_secret", "clientSecret", "db_password", "DATABASE_PASSWORD", "admin.password",
			"SECRET_KEY_BASE", "secretKey", "x-api-key", "encryption_key", "private_key", "refresh_token", "github_token", "bot_token", "webhook_secret", "apiKey", "creds", "credential")
		quote := pick("", `"`, "'", "`")
		text := name + pick("=", ": ", " = ", ":", " := ", " => ") + quote + value.String() + quote + pick("\n", "", ";", " \n")
		out := m.String(text, nil)
		for _, f := range detector.DetectString(text) {
			found++
			if strings.Contains(out, f.Secret) {
				t.Errorf("%s finds %q\n in %q\nout %q", f.RuleID, f.Secret, text, out)
			}
		}
	}
	if found < 200 {
		t.Errorf("%d findings: the corpus shows too little", found)
	}
}
