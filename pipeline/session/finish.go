package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// finish numbers turns and steps and makes the rows.
func (b *builder) finish() Built {
	s := schema.Session{Tenant: b.tenant, SessionKey: b.id.Key, Service: b.id.Service, SessionID: b.id.ID, SessionIDSource: b.rd.source,
		Agent: b.rd.main, Harness: b.rd.harness.Harness, HarnessVersion: b.rd.harness.Version, Revision: b.extent.revision()}
	if s.Service == "" && len(b.rd.services) == 1 {
		for svc := range b.rd.services {
			s.Service = svc
		}
	}
	b.extent.times(&s)
	if b.extent.future > 0 {
		b.warnings["future_times"] = b.extent.future
	}
	b.turns(&s)
	steps := b.steps()
	b.count(&s)
	for _, c := range b.all {
		if c.node.earlier {
			continue
		}
		s.NToolCalls++
		switch c.outcome {
		case convention.OutcomeError:
			s.NToolErrors++
		case convention.OutcomeDenied:
			s.NDenied++
		}
	}
	skills := b.skillRows(&s)
	b.content(&s, skills)
	s.Warnings = b.warned()
	return Built{Session: s, Steps: steps, Skills: skills, Tools: b.tools()}
}

// turns numbers the user's turns. Prompts of one input, and prompts that the harness counts to one turn, are one turn; a
// sub-agent's prompts are its caller's.
func (b *builder) turns(s *schema.Session) {
	turn := int32(0)
	var last *node // the previous prompt, while nothing else was said
	known := map[string]bool{}
	for _, n := range b.timeline {
		switch {
		case n.kind == kindPrompt && !n.nested && !n.earlier:
			again := n.turn != "" && known[n.turn] || last != nil && n.group != "" && n.group == last.group
			if !again || turn == 0 {
				turn++
			}
			known[n.turn] = true
			last = n
		case n.kind != kindSystem && n.kind != kindCatalogue:
			last = nil
		}
		n.turnNumber = turn
	}
	s.NTurns = turn
}

// steps makes the rows of steps, up to the limit.
func (b *builder) steps() []schema.Step {
	limit := b.opts.MaxSteps
	if limit <= 0 {
		limit = defaultMaxSteps
	}
	var out []schema.Step
	catalogues := map[string]string{}
	cut := 0
	for _, n := range b.timeline {
		step, ok := b.step(n, catalogues)
		if !ok {
			continue
		}
		if len(out) == limit {
			cut++
			continue
		}
		step.Tenant, step.SessionKey, step.Step, step.Turn = b.tenant, b.id.Key, int32(len(out)+1), n.turnNumber
		step.AtUnixNano, step.At = n.at, n.at/1000
		step.TraceID, step.SpanID = n.span.trace, n.span.span
		step.Agent = n.agent
		n.step = step.Step
		out = append(out, step)
	}
	if cut > 0 {
		b.warnings[warnSteps] += cut
	}
	return out
}

// step is a node as a row; ok is false for what has nothing to show.
func (b *builder) step(n *node, catalogues map[string]string) (s schema.Step, ok bool) {
	s.Text, s.Truncated, s.Earlier = n.text, n.truncated, n.earlier
	switch n.kind {
	case kindSystem:
		s.Role, s.Kind = "system", "message"
	case kindPrompt:
		s.Role, s.Kind = "user", "message"
	case kindMessage:
		s.Role, s.Kind = "assistant", "message"
	case kindReasoning:
		s.Role, s.Kind = "assistant", "reasoning"
	case kindFailure:
		s.Role, s.Kind = "harness", "error"
	case kindCall:
		c := n.call
		s.Role, s.Kind, s.Tool, s.CallID, s.Outcome = "assistant", "tool_call", c.name(), c.id, string(c.outcome)
		s.Arguments, s.Truncated, s.ExitCode = c.args, c.argsCut, c.exit
		s.Arguments = b.joined(s.Arguments)
	case kindResult:
		c := n.call
		s.Role, s.Kind, s.Tool, s.CallID, s.Outcome = "tool", "tool_result", c.name(), c.id, string(c.outcome)
		s.Text, s.Truncated, s.ExitCode = c.text(), c.cut(), c.exit
		if c.outcome == convention.OutcomeDenied {
			s.Role, s.Kind = "harness", "denial"
			if c.denial != nil {
				s.Text = cmp.Or(s.Text, c.denial.Text, c.denial.By)
			}
		} else if s.Text == "" && !c.answered && c.ran == convention.OutcomeUnknown {
			return s, false
		}
	case kindCatalogue:
		s.Role, s.Kind, s.Text = "system", "skill_catalogue", listing(n.catalogue)
		if known, seen := catalogues[n.agent]; seen && known == s.Text {
			return s, false
		}
		catalogues[n.agent] = s.Text
	}
	s.Text = b.joined(s.Text)
	return s, true
}

// listing is a catalogue as text, one skill a line.
func listing(skills []convention.CatalogueSkill) string {
	var t strings.Builder
	for _, s := range skills {
		t.WriteString("- " + s.Name)
		if d := strings.Join(strings.Fields(s.Description), " "); d != "" {
			t.WriteString(": " + d)
		}
		t.WriteByte('\n')
	}
	return strings.TrimSuffix(t.String(), "\n")
}

// joined masks text again that was put together or cut out of parts.
func (b *builder) joined(text string) string {
	if b.opts.Join == nil || text == "" {
		return text
	}
	if out := b.opts.Join([]string{text}); len(out) == 1 {
		return out[0]
	}
	return text
}

// tools makes the rows of tool definitions: one for each distinct definition, a description without schema only where
// nothing fuller is told.
func (b *builder) tools() []schema.Tool {
	full := map[string]bool{}
	rows := map[string]schema.Tool{}
	for pass := range 2 {
		for i := range b.rd.items {
			d, ok := b.rd.items[i].event.(*convention.ToolDefinition)
			if !ok || (d.InputSchema == "") != (pass == 1) {
				continue
			}
			name, server := b.served(d)
			if pass == 1 && full[server+"\x00"+name] {
				continue
			}
			full[server+"\x00"+name] = full[server+"\x00"+name] || pass == 0
			t := schema.Tool{Tenant: b.tenant, Service: b.rd.items[i].row.Service, Server: server, Tool: name, SessionKey: b.id.Key, Dt: b.dt,
				Description: b.joined(d.Description), InputSchema: b.joined(d.InputSchema)}
			h := sha256.Sum256([]byte(server + "\x00" + name + "\x00" + t.Description + "\x00" + t.InputSchema))
			t.DefinitionSHA256 = hex.EncodeToString(h[:])
			rows[t.Service+"\x00"+t.DefinitionSHA256] = t
		}
	}
	out := make([]schema.Tool, 0, len(rows))
	for _, t := range rows {
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y schema.Tool) int {
		return cmp.Or(cmp.Compare(x.Service, y.Service), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.DefinitionSHA256, y.DefinitionSHA256))
	})
	return out
}

// content says which kinds of content the telemetry does not hold although they happened.
func (b *builder) content(s *schema.Session, skills []schema.Skill) {
	var prompts, texts, args, results int
	var noPrompt, noText, noArgs, noResult int
	for _, n := range b.nodes {
		switch {
		case n.kind == kindPrompt && n.text != "" && !n.redacted:
			prompts++
		case n.kind == kindPrompt:
			noPrompt++
		case n.kind == kindMessage && n.text != "" && !n.redacted:
			texts++
		case n.kind == kindMessage:
			noText++
		}
	}
	for _, c := range b.all {
		if c.args != "" && !c.argsRedacted {
			args++
		} else {
			noArgs++
		}
		switch {
		case c.text() != "":
			results++
		case c.outcome == convention.OutcomeOK || c.outcome == convention.OutcomeError || c.outcome == convention.OutcomeUnknown:
			noResult++
		}
	}
	exported := func(c convention.Content) bool { return b.rd.exports&c != 0 }
	miss := func(name string, missing bool) {
		if missing {
			s.Missing = append(s.Missing, name)
		}
	}
	works := s.NModelCalls > 0 || s.NToolCalls > 0
	miss("user_prompt", noPrompt > 0 || prompts == 0 && works)
	// A model that answered without a tool said something; one that only called tools may have said nothing.
	silent := s.NToolCalls == 0 && (works || prompts > 0) && !b.failed()
	miss("assistant_text", noText > 0 || texts == 0 && (silent || works && !exported(convention.ContentAssistantText)))
	miss("tool_arguments", noArgs > 0 && !exported(convention.ContentToolArguments) || anyRedacted(b.all))
	miss("tool_results", noResult > 0 && !exported(convention.ContentToolResults))
	unrecorded, bodiless := false, false
	for i := range skills {
		unrecorded = unrecorded || skills[i].CatalogueState == "unrecorded"
		bodiless = bodiless || skills[i].Outcome == loaded && skills[i].BodyState == "missing"
	}
	offering := len(b.catalogues) == 0 && works && exported(convention.ContentOffersSkills)
	withheld := b.withheldSkills()
	if withheld > 0 {
		b.warnings["skill_names_withheld"] = withheld
	}
	miss("skill_catalogue", (unrecorded || offering || withheld > 0 && len(b.catalogues) == 0) && !exported(convention.ContentSkillCatalogue))
	miss("skill_body", bodiless || withheld > 0 && !exported(convention.ContentSkillBody))
	switch {
	case prompts == 0 && texts == 0 && args == 0 && results == 0:
		s.ContentState = "missing"
	case len(s.Missing) > 0:
		s.ContentState = "partial"
	default:
		s.ContentState = "full"
	}
}

// failed says whether anything outside a tool call went wrong.
func (b *builder) failed() bool {
	for _, n := range b.nodes {
		if n.kind == kindFailure {
			return true
		}
	}
	return false
}

func anyRedacted(calls []*call) bool {
	for _, c := range calls {
		if c.argsRedacted && c.args == "" {
			return true
		}
	}
	return false
}

// warned lists what was odd, as code:count.
func (b *builder) warned() []string {
	if b.rd.badJSON > 0 {
		b.warnings["unreadable_columns"] = b.rd.badJSON
	}
	orphans := 0
	for i := range b.kept {
		r := &b.kept[i]
		if r.Signal == "log" || r.ParentSpanID == "" {
			continue
		}
		if _, ok := b.rd.spans[spanID{r.TraceID, r.ParentSpanID}]; !ok {
			orphans++
		}
	}
	if orphans > 0 {
		b.warnings["orphan_spans"] = orphans
	}
	if b.unanswered() {
		b.warnings["no_answer"] = 1
	}
	if n := len(b.rd.rows); n > 0 && b.rd.unread == n {
		b.warnings["records_of_no_convention"] = n
	}
	reused := 0
	for _, list := range b.byID {
		if len(list) > 1 {
			reused++
		}
	}
	if reused > 0 {
		b.warnings["reused_call_ids"] = reused
	}
	out := make([]string, 0, len(b.warnings))
	for code, n := range b.warnings {
		out = append(out, fmt.Sprintf("%s:%d", code, n))
	}
	if len(b.unknown) > 0 {
		out = append(out, WarnSkillCalls+":"+strings.Join(b.unknown, ","))
	}
	slices.Sort(out)
	return out
}
