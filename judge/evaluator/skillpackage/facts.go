package skillpackage

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Names of the facts.
const (
	FactInstructions = "instructions_present"
	FactSteps        = "numbered_steps"

	FactInvisible  = "invisible_characters"
	FactFetchedRun = "runs_what_it_fetches"
	FactEncodedRun = "runs_encoded_code"
	FactReverse    = "opens_a_shell_outward"
	FactSecrets    = "names_files_of_credentials"
	FactOverrides  = "tells_agent_to_ignore_rules"
	FactConceals   = "tells_agent_to_hide_something"
	FactDestroys   = "deletes_recursively"
	FactAddresses  = "names_network_addresses"
)

var numbered = regexp.MustCompile(`^\s*(?:\d{1,3}[.)、]|[-*+]\s|#{1,6}\s*(?i:step|步骤)\s*\d)`)

// patterns are what code can see of threats. A pattern that matches is no proof: a skill may warn of what it names.
var patterns = []struct {
	fact string
	re   *regexp.Regexp
}{
	{FactInvisible, regexp.MustCompile(`\[U\+(?:200[B-F]|202[A-E]|206[0-9A-F]|FEFF|E00[0-9A-F]{2}|00AD)\b[^\]]*\]`)},
	{FactFetchedRun, regexp.MustCompile(`(?i)\b(?:curl|wget|iwr|invoke-webrequest)\b[^|\n]*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?sh\b|\b(?:curl|wget)\b[^|\n]*\|\s*(?:sudo\s+)?(?:python|perl|ruby|node)\d?\b|\biex\b.*\bdownloadstring\b`)},
	{FactEncodedRun, regexp.MustCompile(`(?i)base64\s+(?:-d|-D|--decode)[^|\n]*\|\s*(?:sudo\s+)?(?:\w*sh|python\d?|perl)\b|\b(?:exec|eval)\s*\(\s*(?:base64|b64decode|codecs|zlib|atob|compile|bytes\.fromhex)|-enc(?:odedcommand)?\s+[a-z0-9+/=]{20,}`)},
	{FactReverse, regexp.MustCompile(`(?i)/dev/(?:tcp|udp)/|\b(?:nc|ncat|netcat)\b[^\n]*\s-[a-z]*[ec]\b|\bpty\.spawn\b|\bsocat\b[^\n]*\bexec:|\bbash\s+-i\b`)},
	{FactSecrets, regexp.MustCompile(`(?i)~?/?\.ssh/|\bid_(?:rsa|ed25519)\b|\.aws/credentials|\.netrc\b|/etc/shadow|\.kube/config|\.docker/config\.json|\bkeychain\b|\blogin data\b|\.npmrc\b|\bprintenv\b|169\.254\.169\.254`)},
	{FactOverrides, regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|other|system|safety|all)\b.{0,30}\b(?:instructions?|rules?|prompts?|guidelines?|polic(?:y|ies))|(?:忽略|无视|忘记).{0,12}(?:指令|规则|提示|限制)`)},
	{FactConceals, regexp.MustCompile(`(?i)\b(?:do not|don't|never|without)\s+(?:tell|telling|inform|informing|mention|mentioning|show|showing|reveal|revealing|ask|asking|notify|notifying)\b.{0,30}\b(?:user|human|owner|anyone|person)\b|(?:不要|不得|切勿|别).{0,6}(?:告诉|告知|通知|提及).{0,8}(?:用户|任何人)`)},
	{FactDestroys, regexp.MustCompile(`(?i)\brm\s+(?:-\w+\s+)*-\w*[rR]\w*|\bremove-item\b[^\n]*-recurse|\bmkfs\b|\bdd\s+if=[^\n]*of=/dev/|\bshutil\.rmtree\b`)},
	{FactAddresses, regexp.MustCompile(`(?i)\b(?:https?|ftp|wss?)://[^\s"'<>)\]]+`)},
}

// Facts are what code can see of a package for one criterion: what a judge is told of it. mask may be nil.
func Facts(p *evaluator.SkillPackage, criterion string, mask func(string) string) []judge.Fact {
	lines, _ := linesOf(p, mask)
	return factsOf(criterion, lines)
}

// factsOf are what code knows about the lines of a package, with their numbers.
func factsOf(criterion string, lines []judge.Line) []judge.Fact {
	if criterion == Threat {
		out := make([]judge.Fact, len(patterns))
		for i, p := range patterns {
			out[i] = matching(p.fact, lines, func(l judge.Line) bool { return p.re.MatchString(l.Text) })
		}
		return out
	}
	present := judge.Fact{Name: FactInstructions, Truth: judge.No}
	for _, l := range lines {
		if l.Kind == kindInstruction && strings.TrimSpace(l.Text) != "" {
			present.Truth = judge.Yes
		}
	}
	return []judge.Fact{present, matching(FactSteps, lines, func(l judge.Line) bool { return l.Kind == kindInstruction && numbered.MatchString(l.Text) })}
}

func matching(name string, lines []judge.Line, match func(judge.Line) bool) judge.Fact {
	f := judge.Fact{Name: name, Truth: judge.No}
	for _, l := range lines {
		if match(l) {
			f.Truth = judge.Yes
			f.Steps = append(f.Steps, l.Step)
		}
	}
	if n := len(f.Steps); n > 0 {
		f.Detail = fmt.Sprintf("%d lines", n)
	}
	return f
}
