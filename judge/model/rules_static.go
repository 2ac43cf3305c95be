package model

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

func itoa(n int) string { return strconv.Itoa(n) }

// packageReply answers about a skill package. Code knows that there are no instructions, and a shell that a file of the
// package opens outward; how well a skill fits a task or guides an agent needs a model.
func packageReply(req *judge.Request) any {
	type dimension struct {
		ID         string `json:"id"`
		Lines      []int  `json:"evidence_lines"`
		Assessment string `json:"assessment"`
	}
	out := struct {
		Dimensions []dimension `json:"dimensions"`
		Findings   []string    `json:"findings"`
		Rating     string      `json:"rating"`
	}{Dimensions: []dimension{}, Findings: []string{}, Rating: ruleUnclear}
	for _, id := range enumOf(req.Schema, "dimensions", "id") {
		out.Dimensions = append(out.Dimensions, dimension{id, []int{}, "Needs a model."})
	}
	lowest := func(id, finding, why string, lines []int) {
		for i := range out.Dimensions {
			if out.Dimensions[i].ID == id {
				out.Dimensions[i].Assessment, out.Dimensions[i].Lines = why, atMost(lines)
			}
		}
		out.Findings, out.Rating = []string{finding}, anchorLabel(req.Criteria[0], "0")
	}
	shell := factOf(req, "opens_a_shell_outward")
	switch {
	case len(req.Criteria) == 0:
	case req.Evaluator == "skill_completeness" && factOf(req, "instructions_present").Truth == judge.No:
		lowest("steps", "steps_thin", "There are no instructions.", nil)
	case req.Evaluator == "skill_threat" && shell.Truth == judge.Yes:
		var inFiles []int
		for _, l := range linesOf(req, "file") {
			// A comment, or a text that warns of it, opens nothing.
			if slices.Contains(shell.Steps, l.Step) && !strings.HasPrefix(strings.TrimSpace(l.Text), "#") {
				inFiles = append(inFiles, l.Step)
			}
		}
		if len(inFiles) > 0 {
			lowest("malicious_code", "malicious_code", "A file opens a shell outward.", inFiles)
		}
	}
	return out
}

// enumOf is the enum of a key of the objects in a list of a reply schema.
func enumOf(schema, list, key string) []string {
	var s struct {
		Properties map[string]struct {
			Items struct {
				Properties map[string]struct {
					Enum []string `json:"enum"`
				} `json:"properties"`
			} `json:"items"`
		} `json:"properties"`
	}
	if json.Unmarshal([]byte(schema), &s) != nil {
		return nil
	}
	return s.Properties[list].Items.Properties[key].Enum
}

// Words by which a description tells of effects, and those by which it urges.
var (
	tellsEffect = regexp.MustCompile(`(?i)\bread[- ]only\b|\bdoes not (?:chang|modif|writ|delet|send)\w*|\bno side[- ]effects?\b|` +
		`\b(?:cannot|can't|can not) be (?:undone|taken back|reverted|recovered)\b|\b(?:irreversibly|permanently)\b|\b(?:replaces|overwrites) \w+|` +
		`^\s*(?:delete|remove|create|send|update|write|restart)s? (?:an? |the |one )?\w+`)
	urges = regexp.MustCompile(`(?i)\b(?:you|your|always|never|must|should|prefer|instead|first|important|remember|make sure|do not|don't)\b|https?://|[<>\x60]|\b(?:ignore|disregard|secret|password|api[_ ]?key)\b`)
)

const plainDescription = 600 // bytes; longer ones need a reader

// toolReply answers about a tool description, only what code can see of each criterion.
func toolReply(req *judge.Request) any {
	type criterion struct {
		ID      string `json:"id"`
		Lines   []int  `json:"evidence_lines"`
		Reason  string `json:"reason"`
		Verdict string `json:"verdict"`
	}
	out := struct {
		Criteria []criterion `json:"criteria"`
	}{Criteria: []criterion{}}
	for _, c := range req.Criteria {
		score, why, lines := toolRule(req, c.ID)
		verdict := ruleUnclear
		if score != "" {
			verdict = anchorLabel(c, score)
		}
		out.Criteria = append(out.Criteria, criterion{c.ID, atMost(lines), why, verdict})
	}
	return out
}

// toolRule is the score of a criterion as a key of its anchors; "" unclear.
func toolRule(req *judge.Request, id string) (score, why string, lines []int) {
	text, all, described := "", "", []int{}
	for _, l := range req.Lines {
		all += l.Text + "\n"
		if l.Kind == "description" {
			text += l.Text + "\n"
			described = append(described, l.Step)
		}
	}
	yes := func(fact string) bool { return factOf(req, fact).Truth == judge.Yes }
	undocumented := factOf(req, "parameters_undocumented")
	switch id {
	case "purpose":
		if yes("description_repeats_name") {
			return "0", "The description holds no word but those of the name.", described
		}
		return "", "What a description tells of a purpose needs a model.", nil
	case "parameters":
		parameters := linesOf(req, "parameter")
		switch {
		case len(parameters) == 0:
			return "1", "There are no parameters.", nil
		case undocumented.Truth == judge.No:
			return "1", "Each parameter is told of.", nil
		}
		return "", "Whether a name alone tells its meaning needs a model.", undocumented.Steps
	case "side_effects":
		switch changes := factOf(req, "changes_state_by_name").Truth; {
		case len(text) <= plainDescription && tellsEffect.MatchString(text):
			return "1", "The description tells what is changed, or that nothing is.", described
		case changes == judge.Yes:
			return "", "The tool changes something by its name; whether the description tells it needs a model.", described
		}
		return "", "Whether there are effects is not to be seen by code.", nil
	case "no_hidden_instructions":
		switch {
		case yes("conceals_from_user"):
			return "0", "The text tells the model to keep something from the user or to ignore its rules.", factOf(req, "conceals_from_user").Steps
		case yes("invisible_characters"):
			return "0", "The text holds characters that a person cannot see.", factOf(req, "invisible_characters").Steps
		case !yes("imperative_to_model") && len(all) <= plainDescription && !urges.MatchString(all):
			return "1", "The text is short and speaks to nobody.", described
		}
		return "", "Whether the text tells the model what to do needs a reader.", factOf(req, "imperative_to_model").Steps
	}
	return "", "There is no rule for this criterion: it needs a model.", nil
}
