package convention

import "strings"

// Mastra reads the spans of Mastra's exporter: agent_run, model_step with its whole input, model_inference (chat), tool_call.
// The exporter for Arize writes the same under OpenInference's names; its one LLM span is the sum of all steps.
type Mastra struct{}

const mastra = "mastra"

// Name implements [Convention].
func (Mastra) Name() string { return mastra }

// Match implements [Convention].
func (Mastra) Match(r *Record) bool {
	return strings.HasPrefix(r.Row.ScopeName, "@mastra/") || r.Attributes.Has("mastra.span.type")
}

// Internal implements [Convention]: processors and single chunks repeat what the steps tell.
func (Mastra) Internal(r *Record) bool {
	switch r.Attributes.Str("mastra.span.type") {
	case "model_chunk", "workspace_action", "skill_action", "processor_run", "workflow_step":
		return true
	}
	return r.isLog()
}

// Exports implements [Convention].
func (Mastra) Exports(r *Record) Content {
	a := r.Attributes
	c := genAIExports(r)
	if a.Has("openinference.span.kind") {
		c |= OpenInference{}.Exports(r)
	}
	if a.Has("mastra.model_step.input") {
		c |= ContentUserPrompt | ContentToolArguments | ContentToolResults | ContentSkillCatalogue | ContentSkillBody
	}
	if a.Has("mastra.model_step.output") || a.Has("mastra.model_inference.output") {
		c |= ContentAssistantText | ContentToolArguments
	}
	if a.Has("mastra.agent_run.input") {
		c |= ContentUserPrompt
	}
	return c
}

// Events implements [Convention].
func (Mastra) Events(r *Record, emit func(Event)) {
	a := r.Attributes
	t := newTeller(r, mastra, emit)
	t.meta.Turn = a.Str("mastra.metadata.runId")
	kind := a.Str("mastra.span.type")
	if a.Has("openinference.span.kind") {
		mastraArize(r, t, kind, emit)
		return
	}
	switch kind {
	case "agent_run":
		t.meta.Agent = a.Str("gen_ai.agent.name", "gen_ai.agent.id")
		t.tell(&Identity{Harness: mastra, Version: r.Row.ScopeVersion})
		t.tell(&AgentStart{})
		genAIDefinitions(a, t)
		t.meta.Summary, t.meta.Witness = true, r.Row.ScopeName+"/"+kind
		genAIMessages(r, t, genAIStyle{}, a)
		mastraInput(r, t, "mastra.agent_run.input")
		mastraOutput(r, t, "mastra.agent_run.output")
		t.tellAt(r.end(), genAIUsage(r, true))
		t.meta.Summary = false
		genAIFailure(r, t)
		t.tellAt(r.end(), &AgentEnd{Status: endStatus(r)})
	case "model_generation":
		t.tellAt(r.end(), genAIUsage(r, true))
	case "model_step":
		t.meta.Witness = r.Row.ScopeName + "/" + kind
		mastraInput(r, t, "mastra.model_step.input")
		mastraOutput(r, t, "mastra.model_step.output")
	default:
		genAITell(r, t, genAIStyle{harness: mastra})
	}
}

// mastraArize reads a span of the exporter for Arize.
func mastraArize(r *Record, t *teller, kind string, emit func(Event)) {
	switch kind {
	case "model_generation":
		t.tellAt(r.end(), OpenInference{}.usage(r, "", false))
	case "model_step", "model_inference":
		t.meta.Witness = r.Row.ScopeName + "/" + kind
		mastraInput(r, t, firstKey(r.Attributes, "mastra."+kind+".input", "input.value"))
		mastraOutput(r, t, firstKey(r.Attributes, "mastra."+kind+".output", "output.value"))
	default:
		OpenInference{}.Events(r, emit)
	}
}

func firstKey(a Attributes, key, other string) string {
	if a.Has(key) {
		return key
	}
	return other
}

// mastraInput tells instructions and prompts. Earlier answers and results are in an input as abbreviations like "[tool: x]";
// the spans of their steps and tools tell them whole.
func mastraInput(r *Record, t *teller, key string) {
	v, ok := r.Attributes.Get(key)
	if !ok {
		return
	}
	tr, ok := treeOf(v)
	if !ok {
		return
	}
	for i, m := range requestOf(tr).messages {
		if m.role == "system" || m.role == "user" {
			t.message(0, History{Origin: OriginHistory, Call: r.Row.SpanID, Position: i}, "", m)
		}
	}
}

// mastraOutput reads {text, reasoningText, toolCalls}.
func mastraOutput(r *Record, t *teller, key string) {
	v, ok := r.Attributes.Get(key)
	if !ok {
		return
	}
	tr, ok := treeOf(v)
	if !ok {
		return
	}
	m := message{role: "assistant"}
	if s := str(tr, "reasoningText"); s != "" {
		m.parts = append(m.parts, part{kind: partReasoning, text: s})
	}
	if s := str(tr, "text"); s != "" {
		m.parts = append(m.parts, part{kind: partText, text: s})
	}
	for _, c := range asList(field(tr, "toolCalls")) {
		m.parts = appendCall(m.parts, toolCallPart(c))
	}
	t.output(0, "", []message{m})
}
