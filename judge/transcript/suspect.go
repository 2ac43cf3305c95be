package transcript

import (
	"regexp"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// addressed finds words that are written for a judge and not for the agent or its user.
var addressed = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(note|message|instructions?|hint|attention|dear|to|as) (to |for )?(the |any |all )?(ai |llm )?(judges?|graders?|evaluators?|grading model|reviewing model)\b[:,. ]`,
	`\byou are (now )?(the |a |an )?(ai |llm |strict |lenient )?(judge|grader|evaluator)\b`,
	`\b(judge|grader|evaluator|llm|assistant)\s*:\s*(the |all |every |mark|give|answer|verdict|met)`,
	`"?verdict"?\s*[:=]\s*"?(met|not_met|not met|pass|unclear|not_applicable)\b`,
	`\b(mark|grade|rate|score|judge|answer) (all|every|each|this|the) (criteri|session|answer|record|question)\w*[^.\n]{0,40}\b(met|pass|passed|5|10|100|full marks|highest)\b`,
	`\ball (the )?criteria (are|were|have been) (met|satisfied|passed)\b`,
	`\b(the )?(rubric|grading rules|criteria) (has|have|is|are) (been )?(changed|updated|replaced|void|cancelled)\b`,
	`\bend of (the )?(data|record|transcript|untrusted|evidence)\b`,
	`\b(the )?(record|transcript|data) (has|is) (now )?ended\b`,
	`\[two brackets\]|<<\s*/?\s*data\b`, // a fence's look-alike, neutralised
}, "|"))

// overriding finds orders to leave one's instructions. In what a user says they may be honest; in what was read they are not.
var overriding = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(ignore|disregard|forget|override|bypass) (all |any |the |your |of |these |those )*(previous|prior|above|earlier|preceding|system|original|safety)? ?(instructions?|prompts?|rules|rubric|guidelines|directions)\b`,
	`\b(new|updated|real|actual) (system )?instructions?\s*:`,
	`<\|?(im_start|im_end|system|assistant|endoftext|start_header_id|eot_id)\|?>`,
	`\b(notes?|messages?|instructions?|attention|memo|orders?|hints?) (to|for) (all |any |the |every )?(ai |llm )?(assistants?|agents?|language models?|bots?|ais?)\b ?[:,.!]`,
	`\b(do not|don't|never) (tell|inform|alert|mention (it|this) to) (anyone|anybody|the user|your user|the owner)\b`,
	`\[/?(INST|SYS)\]|<</?SYS>>|</?(system|assistant|instructions?)>`,
	`(?m)^\s*(#+\s*)?(system|assistant|developer)\s*(prompt|message|instruction)?\s*:`,
	`\b(ignorier\w*|vergiss|missachte) (alle |die |deine )*(vorherigen|bisherigen|obigen)? ?(anweisungen|regeln|instruktionen)\b`,
	`\bignor(a|e|ez|er) (todas |toutes |las |les )*(instrucciones|instructions)\b`,
	`忽略.{0,8}(指令|指示|提示|规则|要求)|无视.{0,8}(指令|指示|规则)|以前の指示を無視`,
}, "|"))

// hidden finds characters that a reader does not see and a model does, as clean wrote them.
var hidden = regexp.MustCompile(`\[U\+(202[A-E]|206[6-9]|E00[0-9A-F]{2})( ×\d+)?\]|(\[U\+(200[B-D]|2060|FEFF)( ×\d+)?\][^\[]{0,2}){3}`)

// zeroWidth are the marks of clean that split words to hide them from a search.
var zeroWidth = regexp.MustCompile(`\[U\+(00AD|034F|180E|200[B-F]|2060|FEFF)( ×\d+)?\]`)

// Suspicious lists the steps that hold what looks like an attack on whoever reads the record: words for a judge, orders to leave
// one's instructions, hidden characters. It is a cheap look, not proof: it marks and never judges, and an attack that is
// encoded or worded otherwise passes it.
func Suspicious(lines []judge.Line) []int {
	var out []int
	for i := range lines {
		l := &lines[i]
		if l.Kind == KindGap {
			continue
		}
		asked := l.Role == "user" && l.Kind == "message" || l.Role == "system"
		for _, s := range [...]string{l.Text, l.Arguments, l.Tool, l.Agent} {
			if suspicious(s, asked) {
				out = append(out, l.Step)
				break
			}
		}
	}
	return out
}

// SuspiciousDefinition reports whether a definition of a tool or an entry of a catalogue holds such a thing. Whoever wrote it asked
// for nothing, so that orders in it are none that a user or an operator gave.
func SuspiciousDefinition(lines []judge.Line) bool {
	for i := range lines {
		for _, s := range [...]string{lines[i].Text, lines[i].Arguments, lines[i].Tool} {
			if suspicious(s, false) {
				return true
			}
		}
	}
	return false
}

// SuspiciousText is [Suspicious] for one text that was prepared with [Text].
func SuspiciousText(s string) bool { return suspicious(s, false) }

func suspicious(s string, asked bool) bool {
	if len(s) < 8 {
		return false
	}
	if hidden.MatchString(s) {
		return true
	}
	if strings.Contains(s, `\`) { // JSON within a text
		s = unescaper.Replace(s)
	}
	s = foldWidth(zeroWidth.ReplaceAllString(s, ""))
	return addressed.MatchString(s) || !asked && overriding.MatchString(s)
}

var unescaper = strings.NewReplacer(`\\`, `\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\"`, `"`, `\n`, "\n", `\r`, "\n", `\t`, "\t")

// foldWidth writes full-width letters as the usual ones, and a few look-alikes of other scripts.
func foldWidth(s string) string {
	if plainASCII(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r >= 0xff01 && r <= 0xff5e {
			return r - 0xfee0
		}
		if at := strings.IndexRune(lookAlikes, r); at >= 0 {
			return rune("aceopxyiATEOPCHKMBX"[len([]rune(lookAlikes[:at]))])
		}
		return r
	}, s)
}

const lookAlikes = "асеорхуіАТЕОРСНКМВХ" // Cyrillic
