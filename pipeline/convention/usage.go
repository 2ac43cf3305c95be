package convention

// genAIUsage reads token counts in OpenTelemetry's names, which count cached tokens as input; emitters that leave them out
// are set right.
func genAIUsage(r *Record, total bool) *Usage {
	a := r.Attributes
	u := &Usage{
		Model:            a.Str("gen_ai.response.model", "gen_ai.request.model"),
		Provider:         a.Str("gen_ai.provider.name", "gen_ai.system"),
		ResponseID:       a.Str("gen_ai.response.id"),
		InputTokens:      a.count("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
		OutputTokens:     a.count("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
		CacheReadTokens:  a.count("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens"),
		CacheWriteTokens: a.count("gen_ai.usage.cache_write.input_tokens", "gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_write_input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
		CostMicroUSD:     firstCost(a, "gen_ai.usage.cost", "operation.cost"),
		Total:            total,
		DurationNano:     max(0, r.end()-r.Row.StartedUnixNano),
	}
	// Traceloop for JavaScript passes on what Anthropic's API says, which leaves the cache out.
	u.wholeInput(a.count("gen_ai.usage.total_tokens", "llm.usage.total_tokens"), r.Row.ScopeName == "@traceloop/instrumentation-anthropic")
	return u
}

// wholeInput makes InputTokens include the cache where it does not: because the emitter is known for that, because input
// cannot be less than its cached part, or because the total counts the cache beside the input, as Bedrock's does.
func (u *Usage) wholeInput(total *int64, without bool) {
	cached := sumOf(u.CacheReadTokens, u.CacheWriteTokens)
	if u.InputTokens == nil || cached == nil || *cached == 0 {
		return
	}
	beside := total != nil && u.OutputTokens != nil && *total == *u.InputTokens+*cached+*u.OutputTokens
	if without || beside || *cached > *u.InputTokens {
		u.InputTokens = sumOf(u.InputTokens, cached)
	}
}

// wholeOutput makes OutputTokens include the thoughts where the total counts them beside the output, as Gemini's does.
func (u *Usage) wholeOutput(thoughts, total *int64) {
	if thoughts == nil || total == nil || u.InputTokens == nil || u.OutputTokens == nil || *thoughts == 0 {
		return
	}
	if *total == *u.InputTokens+*u.OutputTokens+*thoughts {
		u.OutputTokens, u.ThoughtTokens = sumOf(u.OutputTokens, thoughts), *thoughts
	}
}
