package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// attempt is one attempt to load a skill.
type attempt struct {
	name, via   string
	unnamed     bool   // the name was made of the path of its SKILL.md, nobody said it
	file        string // its SKILL.md or the directory of it, where known
	tool        string // that was called; "" for an event
	outcome     string
	refusal     string
	text        skillText
	cut         bool
	description string
	call        *call
	agent       string
	span        spanID
	at          int64
	place       int // in the timeline
	events      map[string]bool
	awaits      bool // its result says that the body comes elsewhere
}

// Outcomes of an attempt.
const (
	loaded    = "loaded"
	refused   = "refused"
	attempted = "attempted"
)

// attempts finds every attempt to load a skill, in the order of the session.
func (b *builder) attempts() []*attempt {
	var out []*attempt
	for _, n := range b.timeline {
		if n.kind == kindCall {
			out = append(out, b.callAttempts(n)...)
		}
	}
	out = b.eventAttempts(out)
	out = slices.DeleteFunc(out, func(a *attempt) bool { return a.call != nil && a.call.node.earlier })
	slices.SortStableFunc(out, func(x, y *attempt) int { return cmp.Or(cmp.Compare(x.place, y.place), cmp.Compare(x.at, y.at)) })
	return joinReads(out)
}

// joinReads makes a load that was answered by a path, and the reading of the file that lies there, one attempt. So are a
// refused load and the failed reading right after it. A read that succeeds where the load was refused is an attempt of its own.
func joinReads(list []*attempt) []*attempt {
	out := make([]*attempt, 0, len(list))
	for i, r := range list {
		if r.via == string(convention.ViaRead) {
			if a := openLoad(list[:i], r); a != nil {
				a.text, a.cut, a.awaits, a.file = r.text, r.cut, false, cmp.Or(a.file, r.file)
				continue
			}
			if n := len(out); n > 0 && r.outcome == refused && out[n-1].outcome == refused && out[n-1].via == string(convention.ViaTool) &&
				sameSkill(foldSkill(out[n-1].name), foldSkill(r.name)) && r.place-out[n-1].place <= 2 {
				continue
			}
		}
		out = append(out, r)
	}
	return out
}

// openLoad is the last load by a tool of the skill that r reads, if it still awaits its body.
func openLoad(before []*attempt, r *attempt) *attempt {
	for i := len(before) - 1; i >= 0 && r.text.body != ""; i-- {
		a := before[i]
		if a.via == string(convention.ViaTool) && a.call != nil && sameSkill(foldSkill(a.name), foldSkill(r.name)) {
			if a.awaits && a.outcome == loaded && r.outcome == loaded {
				return a
			}
			return nil
		}
	}
	return nil
}

// callAttempts are the skills that one call asks for: by a skill tool, or by reading their SKILL.md.
func (b *builder) callAttempts(n *node) []*attempt {
	c := n.call
	base := attempt{call: c, tool: c.tool, agent: n.agent, span: c.span, at: n.at, place: n.place, cut: c.cut()}
	if base.span.span == "" {
		base.span = n.span
	}
	if isSkillTool(c.tool) {
		name := loadedName(c.args)
		if name == "" {
			return nil
		}
		a := base
		a.name, a.via = name, string(convention.ViaTool)
		a.outcome, a.refusal = loadOutcome(c)
		if a.outcome == loaded {
			a.text = bodyOf(c.tool, c.text())
			a.awaits = a.text.body == ""
		}
		return []*attempt{&a}
	}
	return b.readAttempts(c, base, n)
}

// readAttempts are the skills whose SKILL.md a call reads.
func (b *builder) readAttempts(c *call, base attempt, n *node) []*attempt {
	var files, names []string
	for _, f := range skillFiles(c.tool, c.args) {
		name := fileSkill(f, b.catalogueAt(n.place, n.agent).skills)
		if !slices.Contains(names, name) { // "cat a/x/SKILL.md || cat b/x/SKILL.md" reads one
			files, names = append(files, f), append(names, name)
		}
	}
	texts := splitBodies(c.text(), len(files))
	var out []*attempt
	for i, f := range files {
		a := base
		a.via, a.name, a.unnamed, a.file = string(convention.ViaRead), names[i], true, f
		a.outcome, a.refusal = loadOutcome(c)
		switch {
		case a.outcome == loaded && texts != nil:
			a.text = bodyOf("", texts[i])
			if missingFile(a.text.body) {
				a.outcome, a.refusal, a.text = refused, a.text.body, skillText{}
			} else if a.text.body == "" && texts[i] != "" {
				continue
			}
			if a.text.name != "" {
				a.name, a.unnamed = a.text.name, false
			}
		case a.outcome == refused && !strings.Contains(strings.ToLower(f), "skills/") && !strings.Contains(f, ".agents/"):
			continue // somebody else's file that is not there
		}
		if a.name == "" {
			continue
		}
		out = append(out, &a)
	}
	return out
}

// missingFile says whether a reading tool's one line tells that there is no such file.
func missingFile(body string) bool {
	line, only := firstLine(body)
	l := strings.ToLower(line)
	return only && (strings.HasSuffix(l, "no such file or directory") || strings.HasPrefix(l, "file not found") || strings.HasSuffix(l, "does not exist"))
}

// loadOutcome is how the call of an attempt ended, for the skill.
func loadOutcome(c *call) (outcome, refusal string) {
	switch c.outcome {
	case convention.OutcomeOK:
		return loaded, ""
	case convention.OutcomeRefused, convention.OutcomeDenied, convention.OutcomeError:
		refusal = c.text()
		if refusal == "" && c.denial != nil {
			refusal = c.denial.Text
		}
		return refused, strings.TrimSpace(refusal)
	}
	return attempted, ""
}

// eventAttempts merges what the telemetry names as a load with the calls, and adds those that no call tells of. The nth event
// of one witness about a skill is the nth attempt; bodies repeated in later inputs are one.
func (b *builder) eventAttempts(out []*attempt) []*attempt {
	bodies := map[string]bool{}
	var later []*attempt
	for i := range b.rd.items {
		it := &b.rd.items[i]
		e, ok := it.event.(*convention.SkillLoad)
		if !ok || e.Skill == "" && e.CallID == "" {
			continue
		}
		text := bodyOf("", e.Body)
		if e.Via == convention.ViaInjected {
			text.body = dropArguments(text.body)
		}
		key := foldSkill(e.Skill)
		if text.body != "" {
			if bodies[key+"\x00"+text.body] {
				continue
			}
			bodies[key+"\x00"+text.body] = true
		}
		if e.Via == convention.ViaInjected && toldBefore(out, key, text.body) {
			continue
		}
		if a := b.matchEvent(out, it, e, key); a != nil {
			a.take(it, e, text)
			continue
		}
		a := &attempt{name: e.Skill, via: string(e.Via), outcome: e.Outcome, agent: it.agent, span: it.span(), at: it.meta.At, events: map[string]bool{}}
		a.unnamed = e.Via == convention.ViaInjected && e.Skill == lastDir(skillDir(e.Directory))
		a.place = b.placeOf(it)
		a.take(it, e, text)
		if e.Via == convention.ViaInjected {
			later = append(later, a)
			continue
		}
		out = append(out, a)
	}
	return append(out, b.deduce(out, later)...)
}

// toldBefore says whether a load of the skill has this body already, or a part of it: it is told again to the model.
func toldBefore(out []*attempt, key, body string) bool {
	for _, a := range out {
		if own := a.text.body; body != "" && own != "" && a.outcome == loaded && sameSkill(foldSkill(a.name), key) && (strings.Contains(body, own) || strings.Contains(own, body)) {
			return true
		}
	}
	return false
}

// matchEvent is the attempt that an event belongs to: of the same call, else of the same skill and not yet told by this
// witness.
func (b *builder) matchEvent(out []*attempt, it *item, e *convention.SkillLoad, key string) *attempt {
	for _, a := range out {
		if a.call != nil && e.CallID != "" && a.call.id == e.CallID {
			return a
		}
	}
	for _, a := range out {
		if a.call != nil && e.CallID != "" && a.call.id != "" {
			continue
		}
		if e.Body != "" && (a.text.body != "" || a.outcome == refused) {
			continue
		}
		if sameSkill(foldSkill(a.name), key) && !a.events[it.witness] && (a.outcome != refused) == (e.Outcome != refused) {
			return a
		}
	}
	return nil
}

// take adds what an event knows to an attempt.
func (a *attempt) take(it *item, e *convention.SkillLoad, text skillText) {
	if a.events == nil {
		a.events = map[string]bool{}
	}
	a.events[it.witness] = true
	if a.name == "" {
		a.name = e.Skill
	}
	a.file = cmp.Or(a.file, e.Directory)
	if a.outcome == "" || a.outcome == attempted && e.Outcome != "" {
		a.outcome = cmp.Or(e.Outcome, attempted)
	}
	if e.Outcome == refused && a.outcome != loaded {
		a.outcome, a.refusal = refused, cmp.Or(a.refusal, strings.TrimSpace(e.Refusal))
	}
	if a.text.body == "" && text.body != "" {
		a.text, a.cut, a.awaits = text, e.Truncated, false
	}
	a.description = cmp.Or(a.description, e.Description)
}

// deduce gives an injected body whose directory bears another name to the one attempt that awaits a body, if there is but
// one of each; other injected bodies are loads of their own.
func (b *builder) deduce(out, injected []*attempt) []*attempt {
	var waiting []*attempt
	for _, a := range out {
		if a.outcome == loaded && a.awaits {
			waiting = append(waiting, a)
		}
	}
	if len(waiting) == 1 && len(injected) == 1 {
		waiting[0].text, waiting[0].cut, waiting[0].awaits, waiting[0].file = injected[0].text, injected[0].cut, false, injected[0].file
		return nil
	}
	return injected
}

// dropArguments takes off the line with which Claude Code passes a skill its arguments.
func dropArguments(body string) string {
	i := strings.LastIndex(body, "\n\nARGUMENTS: ")
	if i < 0 || strings.Contains(body[i+2:], "\n") {
		return body
	}
	return body[:i]
}

// placeOf is where in the timeline an event lies that is no node: before what its record tells next, else before the first
// later node.
func (b *builder) placeOf(it *item) int {
	place := len(b.timeline)
	for _, n := range b.timeline {
		if n.record == it.row && n.order > it.order {
			return n.place
		}
		if n.at > it.meta.At {
			place = min(place, n.place)
		}
	}
	return place
}

// catalogueAt is the last catalogue of the agent before a place, else of any agent before it, else the agent's first one:
// a harness may export the input with the catalogue late.
func (b *builder) catalogueAt(place int, agent string) offer {
	var own, any, late *node
	for _, n := range b.catalogues {
		switch {
		case n.place < place && n.agent == agent:
			own = n
		case n.place < place:
			any = n
		case late == nil:
			late = n
		}
	}
	if n := cmp.Or(own, any, late); n != nil {
		return offer{true, n.catalogue}
	}
	return offer{}
}

// skillRows makes the rows of skills and the session's counts of them.
func (b *builder) skillRows(s *schema.Session) []schema.Skill {
	attempts := b.attempts()
	b.unknown = b.unknownSkillTools(attempts)
	b.shareBodies(attempts)
	rows := make([]schema.Skill, 0, len(attempts))
	isLoaded, isRefused := map[string]bool{}, map[string]bool{}
	for i, a := range attempts {
		key := foldSkill(a.name)
		row := schema.Skill{Tenant: b.tenant, SessionKey: b.id.Key, Attempt: int32(i + 1), Skill: a.name, SkillKey: key, Via: a.via,
			Outcome: a.outcome, Agent: a.agent, SpanID: a.span.span, BodyState: "missing"}
		if a.outcome == refused {
			row.Refusal = b.joined(a.refusal)
			isRefused[key] = true
		}
		if a.outcome == loaded {
			isLoaded[key] = true
		}
		o := b.catalogueAt(a.place, a.agent)
		entry, rule := o.find(a)
		switch {
		case !o.found:
			row.CatalogueState = "unrecorded"
		case len(o.skills) == 0:
			row.CatalogueState, row.Offered, row.MatchRule = "empty", ptr(false), matchNone
		default:
			row.CatalogueState, row.Offered, row.MatchRule = "listed", ptr(rule != matchNone), rule
		}
		row.Description = b.joined(cmp.Or(entry.Description, a.text.description, a.description))
		if a.text.body != "" && a.outcome == loaded {
			row.Body = b.joined(a.text.body)
			row.BodyState = "captured"
			if a.cut {
				row.BodyState = "truncated"
			}
			sum := sha256.Sum256([]byte(row.Body))
			row.BodySHA256 = hex.EncodeToString(sum[:])
		}
		if a.call != nil {
			row.CallID = a.call.id
			if a.call.node.step > 0 {
				row.Step = ptr(a.call.node.step)
			}
		}
		rows = append(rows, row)
	}
	s.NSkillsLoaded, s.NSkillsRefused = int32(len(isLoaded)), int32(len(isRefused))
	offered, found := map[string]bool{}, false
	for _, n := range b.catalogues {
		found = true
		for _, e := range n.catalogue {
			offered[foldSkill(e.Name)] = true
		}
	}
	if found {
		s.NSkillsOffered = ptr(int32(len(offered)))
	}
	return rows
}

// shareBodies gives loads of one skill the same body where the session holds exactly one: a skill loaded again is told of by
// a notice only.
func (b *builder) shareBodies(attempts []*attempt) {
	bodies := map[string]*attempt{}
	several := map[string]bool{}
	for _, a := range attempts {
		if key := foldSkill(a.name); a.text.body != "" && a.outcome == loaded {
			if known := bodies[key]; known != nil && known.text.body != a.text.body {
				several[key] = true
			}
			bodies[key] = a
		}
	}
	for _, a := range attempts {
		if key := foldSkill(a.name); a.text.body == "" && a.outcome == loaded && bodies[key] != nil && !several[key] {
			a.text, a.cut = bodies[key].text, bodies[key].cut
		}
	}
}

func ptr[T any](v T) *T { return &v }
