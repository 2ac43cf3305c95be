package convention

// All lists the conventions in the order in which they are asked: harnesses of their own first, frameworks that build on a
// convention next, OpenTelemetry's GenAI convention last, as the fallback.
func All() []Convention {
	return []Convention{
		ClaudeCode{},
		Codex{},
		GeminiCLI{},
		QwenCode{},
		Copilot{},
		OpenCode{},
		GoogleADK{},
		Mastra{},
		PydanticAI{},
		Microsoft{},
		LangSmith{},
		Strands{},
		OpenHands{},
		Laminar{},
		AgentCore{},
		ClaudeAgentSDK{},
		OpenInference{},
		VercelAI{},
		Traceloop{},
		Langfuse{},
		OTelGenAI{},
	}
}

// Read emits what a record says and returns the convention that read it. ok is false for a record of no convention, which
// has a place in its trace and no meaning of its own.
func Read(r *Record, emit func(Event)) (c Convention, ok bool) {
	c, ok = Find(r)
	if ok {
		c.Events(r, emit)
	}
	return c, ok
}

// Find is the convention that reads r.
func Find(r *Record) (c Convention, ok bool) {
	for _, c := range All() {
		if c.Match(r) {
			return c, true
		}
	}
	return nil, false
}
