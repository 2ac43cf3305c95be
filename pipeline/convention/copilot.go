package convention

import "strings"

// Copilot reads GitHub Copilot CLI: OpenTelemetry's convention with inputs that hold only what is new, the body of a skill in
// a span event, and refusals and denials in the status of a tool's span.
type Copilot struct{}

const copilot = "copilot_cli"

// Name implements [Convention].
func (Copilot) Name() string { return copilot }

// Match implements [Convention].
func (Copilot) Match(r *Record) bool {
	return r.Row.Service == "github-copilot" || strings.HasPrefix(r.Row.ScopeName, "github.copilot")
}

// Internal implements [Convention].
func (Copilot) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (Copilot) Exports(r *Record) Content {
	c := genAIExports(r) | ContentOffersSkills
	for i := range r.Events {
		if Attributes(r.Events[i].Attributes).Str("github.copilot.skill.content") != "" {
			c |= ContentSkillBody
		}
	}
	if r.Attributes.Has("github.copilot.context.skills") {
		c |= ContentSkillCatalogue
	}
	return c
}

// Events implements [Convention].
func (Copilot) Events(r *Record, emit func(Event)) {
	t := newTeller(r, copilot, func(e Event) { emit(copilotOutcome(r, e)) })
	genAITell(r, t, genAIStyle{harness: copilot, delta: true})
	a := r.Attributes
	t.meta.Summary = false
	for i := range r.Events {
		if r.Events[i].Name != "github.copilot.skill.invoked" {
			continue
		}
		e := Attributes(r.Events[i].Attributes)
		body := e.Str("github.copilot.skill.content")
		name := e.Str("github.copilot.skill.name", "gen_ai.skill.name")
		if name == "" {
			name = a.Str("gen_ai.skill.name")
		}
		if name != "" {
			via := ViaTool
			if operationOf(r) != opTool { // no tool was called for it, unless a call of the skill tool tells otherwise
				via = ViaUser
			}
			t.tellAt(r.Events[i].TimeUnixNano, &SkillLoad{
				Skill: name, CallID: toolCallID(a), Via: via, Outcome: "loaded", Body: body, Truncated: isCut(body),
				Description: a.Str("gen_ai.skill.description"), Directory: directory(e.Str("github.copilot.skill.path", "gen_ai.skill.source.uri")),
			})
		}
	}
	if operationOf(r) == opTool && r.failed() && StatusOutcome(a.Str("error.type")) == OutcomeDenied {
		t.tellAt(r.end(), &Denial{CallID: toolCallID(a), Tool: toolName(r), By: "policy", Text: r.Row.StatusMessage})
	}
	copilotCatalogue(a, t)
}

// copilotOutcome reads the words of a failed tool's status: a skill that is not there was refused.
func copilotOutcome(r *Record, e Event) Event {
	result, ok := e.(*ToolResult)
	if ok && r.failed() && result.Source == SourceExecution && strings.HasPrefix(r.Row.StatusMessage, "Skill not found") {
		result.Outcome = OutcomeRefused
	}
	return e
}

// copilotCatalogue reads the names of the skills, told apart from their descriptions in the system prompt.
func copilotCatalogue(a Attributes, t *teller) {
	v, ok := a.Get("github.copilot.context.skills")
	if !ok {
		return
	}
	tr, ok := treeOf(v)
	if !ok {
		return
	}
	list := &Catalogue{}
	for _, e := range asList(tr) {
		name, isText := e.(string)
		if !isText {
			name = str(e, "name")
		}
		if name != "" {
			list.Skills = append(list.Skills, CatalogueSkill{Name: name, Description: str(e, "description")})
		}
	}
	t.meta.Summary = true
	t.tell(list)
}
