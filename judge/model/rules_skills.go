package model

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tracejury/tracejury/judge"
)

// selectionReply answers whether asking for a skill was right. Code knows that a skill does not exist, that the user named it,
// and which descriptions share words with the request; it says unclear where none of these decides.
func selectionReply(req *judge.Request) any {
	type answer struct {
		Evidence []int  `json:"evidence_steps"`
		Reason   string `json:"reason"`
		Verdict  string `json:"verdict"`
	}
	asked, task, description, unknown := "", "", "", false
	for _, l := range linesOf(req, "decision") {
		asked, unknown = l.Tool, factOf(req, "load_refused").Truth == judge.Yes && knowsNone.MatchString(l.Text)
	}
	for _, l := range linesOf(req, "catalogue") {
		if l.Tool == asked {
			description = l.Text
		}
	}
	for _, l := range linesOf(req, "task") {
		task += l.Text + "\n"
	}
	offered := factOf(req, "skill_offered").Truth
	evidence := []int{}
	for _, l := range req.Lines {
		if l.Step > 0 && l.Kind == "message" && l.Role == "user" && strings.Contains(task, strings.TrimSpace(l.Text)) && strings.TrimSpace(l.Text) != "" {
			evidence = append(evidence, l.Step)
		}
	}
	evidence = atMost(evidence)
	own, best := shared(req, asked, task)
	switch {
	case offered == judge.No && unknown:
		return answer{evidence, "There is no such skill: it is not in the catalogue, and the harness knows none of that name.", "No"}
	case offered != judge.No && names(task, asked):
		return answer{evidence, "The user named the skill.", "Yes"}
	case offered == judge.Yes && own >= 2 && own >= best+2 && !restricted.MatchString(description):
		return answer{evidence, "By its words the description fits the request, and that of no other skill on offer comes near.", "Yes"}
	case offered == judge.Yes && own == 0 && best >= 3:
		return answer{evidence, "No word of the description is in the request, while several of another skill's are.", "No"}
	}
	return answer{evidence, "Whether the skill fits the request is not to be seen from words alone: it needs a model.", ruleUnclear}
}

// knowsNone finds refusals that say that there is no such skill, not that it cannot be handed over.
var knowsNone = regexp.MustCompile(`(?i)\b(?:not found|unknown|unrecognized|no such|does not exist|doesn't exist)\b`)

// restricted finds descriptions that make a skill hang on more than its subject.
var restricted = regexp.MustCompile(`(?i)\b(?:only|never|not|unless|except)\b`)

// names says that a request names a skill as one: by its name as it is written, or by its words and the word skill.
func names(task, skill string) bool {
	bare := strings.ToLower(skill[strings.LastIndexAny(skill, ":/")+1:])
	if strings.ContainsAny(bare, "-_") && strings.Contains(strings.ToLower(task), bare) {
		return true
	}
	name := ruleWords(bare)
	return len(name) > 0 && strings.Contains(" "+strings.Join(ruleWords(task), " ")+" ", " "+strings.Join(name, " ")+" skill ")
}

// shared is how many telling words a request has in common with the skill that was asked for, and at most with another. A
// word that most descriptions have tells nothing.
func shared(req *judge.Request, asked, task string) (own, best int) {
	catalogue := linesOf(req, "catalogue")
	in := map[string]int{}
	words := make([]map[string]bool, len(catalogue))
	for i, c := range catalogue {
		words[i] = map[string]bool{}
		for _, w := range ruleWords(c.Tool + " " + c.Text) {
			if telling(w) && !words[i][w] {
				words[i][w] = true
				in[w]++
			}
		}
	}
	request := map[string]bool{}
	for _, w := range ruleWords(task) {
		request[w] = true
	}
	for i, c := range catalogue {
		n := 0
		for w := range words[i] {
			if request[w] && (in[w] == 1 || 2*in[w] < len(catalogue)) {
				n++
			}
		}
		if c.Tool == asked {
			own = n
		} else {
			best = max(best, n)
		}
	}
	return own, best
}

// common words are in every description.
var common = []string{"use", "when", "whenever", "every", "this", "that", "with", "from", "into", "must", "only", "before", "after", "without", "your", "them",
	"skill", "user", "help", "pleas", "need", "want", "make", "find", "have", "does", "will", "about", "there", "what", "which", "task", "question", "file", "work", "cannot"}

func telling(w string) bool { return len(w) > 3 && !slices.Contains(common, w) }

// ruleWords are the words of a text in lower case, without the endings that English puts to them.
func ruleWords(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		for _, ending := range []string{"ing", "ies", "es", "ed", "s", "e"} {
			if stem, ok := strings.CutSuffix(w, ending); ok && len(stem) > 3 {
				words[i] = stem
				break
			}
		}
	}
	return words
}

var (
	prescribed = regexp.MustCompile(`^\s*\d{1,2}[.)]\s+(\S.*)$`)
	inCode     = regexp.MustCompile("`([^`\n]{2,80})`")
)

type ruleStep struct {
	Step     string `json:"step"`
	Evidence []int  `json:"evidence_steps"`
	Status   string `json:"status"`
}

// followingReply answers how fully a skill was followed. Code sees a step only by the command or tool that it names in code
// quotes; where a step names none it needs a model.
func followingReply(req *judge.Request) any {
	type answer struct {
		Steps  []ruleStep `json:"steps"`
		Reason string     `json:"reason"`
		Rating string     `json:"rating"`
	}
	body := ""
	for _, l := range linesOf(req, "skill_body") {
		body = l.Text
	}
	steps := []ruleStep{}
	undecided := false
	calls, gaps := callsAfterLoad(req)
	number := 0
	for line := range strings.SplitSeq(body, "\n") {
		m := prescribed.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		number++
		step := ruleStep{Step: "step " + itoa(number) + " of the skill", Evidence: []int{}, Status: "skipped"}
		terms := inCode.FindAllStringSubmatch(m[1], 4)
		switch {
		case len(terms) == 0 || gaps || !ordered(m[1]):
			undecided = true
			continue
		default:
			found := 0
			for _, t := range terms {
				if at := calling(calls, t[1]); at > 0 {
					found++
					step.Evidence = append(step.Evidence, at)
				}
			}
			slices.Sort(step.Evidence)
			step.Evidence = slices.Compact(step.Evidence)
			switch {
			case found == len(terms):
				step.Status = "covered"
			case found > 0:
				step.Status = "partial"
			}
		}
		steps = append(steps, step)
	}
	if number == 0 || undecided || len(steps) > 40 || len(req.Criteria) == 0 {
		return answer{steps[:min(len(steps), 40)], "Most steps of a skill are not to be seen by code: it needs a model.", ruleUnclear}
	}
	return answer{steps, "Each step names a command or a tool; whether it was called decides.", anchorLabel(req.Criteria[0], ratingOf(steps))}
}

// ordered says that a step orders what it names: not one that forbids it or makes it hang on something.
func ordered(step string) bool {
	s := " " + strings.ToLower(step) + " "
	for _, w := range []string{" not ", " never ", " if ", " unless ", " instead ", " when ", " without ", "n't ", " or "} {
		if strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// callsAfterLoad are the calls that ran after the marked load; without a mark none can be told.
func callsAfterLoad(req *judge.Request) (calls []judge.Line, gaps bool) {
	r := newRecord(req)
	from := -1
	for i, l := range req.Lines {
		if strings.Contains(l.Note, "the skill is loaded here") {
			from = i
		}
	}
	if from < 0 {
		return nil, true
	}
	for _, c := range r.calls {
		if c.at > from && c.ran() && c.line.Outcome != "error" && !r.bad[c.line.CallID] {
			calls = append(calls, *c.line)
		}
	}
	for _, at := range r.gaps {
		gaps = gaps || at > from
	}
	return calls, gaps
}

// calling is the step of the first call of a tool, or with a command, that is named so; 0 none.
func calling(calls []judge.Line, term string) int {
	term = strings.ToLower(strings.TrimSpace(term))
	for _, c := range calls {
		if strings.EqualFold(c.Tool, term) || strings.Contains(strings.ToLower(c.Arguments), term) {
			return c.Step
		}
	}
	return 0
}

// ratingOf is the score, as a key of anchors, that agrees with the share of covered steps.
func ratingOf(steps []ruleStep) string {
	sum := 0.0
	for _, s := range steps {
		switch s.Status {
		case "covered":
			sum++
		case "partial":
			sum += 0.5
		}
	}
	switch share := sum / float64(len(steps)); {
	case share == 1:
		return "1"
	case share >= 0.75:
		return "0.75"
	case share >= 0.4:
		return "0.5"
	case share > 0:
		return "0.25"
	}
	return "0"
}
