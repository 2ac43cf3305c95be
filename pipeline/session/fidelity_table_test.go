package session

// exported lists what a client exports, as the table of the captures says. Facts that are not exported are not expected, and
// telling one would be an invention.
type exported struct {
	texts       string // all, final, none: the assistant's texts
	results     bool   // of tools, so that outcomes are known
	catalogue   bool
	body        bool
	refusal     bool // that a load was refused
	denial      bool // that a policy stopped a call; otherwise it is an error
	noArgs      bool
	noPrompt    bool
	refusesRN   bool // release-notes may not be loaded by the model here
	noReason    bool // why a load or call failed is hidden from the model too
	harness     string
	skillRead   bool // skills are read as files
	lostRefusal bool // a refused load leaves no trace at all
	noSkill     bool // the names of loaded skills are withheld
	byCommand   bool // files are read and written by commands
	asksFirst   bool // lists the skills before the script begins
	separate    bool // no session id anywhere: each trace is a session, the longest tells most
	quoted      bool // the client hands the model its prompt in quotes
	lostEnd     bool // the client's last batch is never sent, so that the end of the session may lack
	onePrompt   bool // all prompts are one text
	sandbox     bool // commands are wrapped, and a skill's body is read by one more of them
	noTool      bool // tools are taken away, so that denied calls are refused as unknown
	nothing     bool // spans without content or calls
	noOutcome   bool // how calls ended is withheld
	noUsage     bool // no token counts
	missing     []string
}

// unusable lists captures that no script can be held against, with the reason.
var unusable = map[string]string{
	"langchain-js/full_pdf__langsmith": "LangChain under LangSmith's OpenTelemetry mode collapses to one span with the attributes of all mixed",
	"opencode/tool_denied":             "the process ended before any batch but the one of the title was sent",
}

// fidelity is the table of what must be recovered from which capture. Another harness is another line. A capture that is on
// disk and in no line is tested for what holds of any.
var fidelity = []struct {
	client    string
	scenarios []string
	exported  exported
}{
	{"strands-ts", []string{"full_pdf", "full_pdf__latest", "full_pdf__attrs", "no_skill", "partial_incident", "secret_leak", "tool_denied", "tool_denied__attrs", "unknown_skill", "wrong_skill"},
		exported{texts: "final", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "strands"}},
	{"vercel-ai-sdk", []string{"full_pdf", "full_pdf__ctx", "no_skill", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "vercel_ai_sdk"}},
	{"openai-agents-js", []string{"full_pdf", "partial_incident", "partial_incident__chat_stream", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, noReason: true, harness: "openinference_openai"}},
	{"openai-agents-js", []string{"no_skill__chat_nosession"},
		exported{texts: "all", results: true, catalogue: true, harness: "openinference_openai"}},
	{"openai-agents-js", []string{"full_pdf__sandbox", "unknown_skill__sandbox"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, noReason: true, harness: "openinference_openai", sandbox: true, byCommand: true}},
	{"openai-agents-js", []string{"full_pdf__traceloop_chat"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, noReason: true, harness: "traceloop", separate: true}},
	{"openai-agents-js", []string{"partial_incident__traceloop_pb_gzip"},
		exported{texts: "all", results: true, body: true, refusal: true, noReason: true, harness: "traceloop", separate: true, missing: []string{"skill_catalogue"}}},
	{"openai-agents-js", []string{"full_pdf__traceloop_nocontent"},
		exported{nothing: true, separate: true, harness: "traceloop", missing: []string{"user_prompt", "assistant_text"}}},
	{"anthropic-sdk", []string{"full_pdf", "full_pdf__stream", "no_skill", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference_anthropic"}},
	{"langchain-js", []string{"full_pdf", "partial_incident", "partial_incident__pb_gzip", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference_langchain"}},
	{"langchain-js", []string{"full_pdf__traceloop", "unknown_skill__traceloop"},
		exported{texts: "all", results: true, body: true, refusal: true, denial: true, harness: "traceloop", separate: true, noUsage: true, missing: []string{"skill_catalogue"}}},
	{"langchain-js", []string{"full_pdf__deep", "partial_incident__deep"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference_langchain", skillRead: true}},
	{"vercel-ai-sdk", []string{"full_pdf__noinputs"},
		exported{texts: "none", harness: "vercel_ai_sdk", noArgs: true, noPrompt: true, noSkill: true, noOutcome: true,
			missing: []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results", "skill_catalogue", "skill_body"}}},
	{"vercel-ai-sdk", []string{"full_pdf__legacy", "unknown_skill__legacy_stream_pb"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "vercel_ai_sdk"}},
	{"anthropic-sdk", []string{"unknown_skill__rawstream_stream_noroot"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference_anthropic"}},
	{"anthropic-sdk", []string{"partial_incident__traceloop_nocontent_noroot"},
		exported{nothing: true, separate: true, harness: "traceloop", missing: []string{"user_prompt", "assistant_text"}}},
	{"anthropic-sdk", []string{"full_pdf__traceloop", "tool_denied__traceloop_pb"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "openinference"}},
	{"claude-code", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "secret_leak__pb_gzip", "tool_denied", "unknown_skill", "wrong_skill", "wrong_skill__pb"},
		exported{texts: "all", denial: true, refusesRN: true, lostRefusal: true, harness: "claude_code", missing: []string{"skill_catalogue", "skill_body?"}}},
	{"claude-code", []string{"full_pdf__beta", "unknown_skill__beta", "full_pdf__raw", "partial_incident__raw", "tool_denied__raw"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, refusesRN: true, harness: "claude_code"}},
	{"claude-code", []string{"full_pdf__default_pb", "tool_denied__default_pb_gzip"},
		exported{texts: "none", denial: true, refusesRN: true, harness: "claude_code", noArgs: true, noPrompt: true, noSkill: true,
			missing: []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results?", "skill_catalogue", "skill_body?"}}},
	{"codex", []string{"full_pdf__default_pb"},
		exported{texts: "none", results: true, body: true, denial: true, harness: "codex", skillRead: true, byCommand: true, noPrompt: true,
			missing: []string{"user_prompt", "assistant_text", "skill_catalogue"}}},
	{"codex", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "unknown_skill__pb", "wrong_skill"},
		exported{texts: "none", results: true, body: true, refusal: true, denial: true, harness: "codex", skillRead: true, byCommand: true, noReason: true,
			missing: []string{"assistant_text", "skill_catalogue"}}},
	{"gemini-cli", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "tool_denied", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "gemini_cli"}},
	{"gemini-cli", []string{"full_pdf__default"},
		exported{texts: "none", catalogue: true, denial: true, harness: "gemini_cli", noArgs: true, noPrompt: true, noSkill: true,
			missing: []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results", "skill_body"}}},
	{"gemini-cli", []string{"full_pdf__outfile"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "gemini_cli"}},
	{"gemini-cli", []string{"tool_denied__plainmode_notraces"},
		exported{texts: "all", results: true, catalogue: true, harness: "gemini_cli", noTool: true}},
	{"qwen-code", []string{"full_pdf__default"},
		exported{texts: "none", harness: "qwen_code", noPrompt: true, catalogue: true, missing: []string{"user_prompt", "assistant_text", "tool_results", "skill_body"}}},
	{"qwen-code", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "tool_denied", "unknown_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, refusesRN: true, harness: "qwen_code"}},
	{"google-adk-js", []string{"full_pdf__nocontent"},
		exported{texts: "none", harness: "google_adk", noArgs: true, noPrompt: true, noSkill: true, noOutcome: true, asksFirst: true,
			missing: []string{"user_prompt", "assistant_text", "tool_arguments", "tool_results", "skill_catalogue", "skill_body"}}},
	{"google-adk-js", []string{"full_pdf", "no_skill", "partial_incident", "secret_leak", "unknown_skill", "wrong_skill"},
		exported{texts: "final", results: true, body: true, refusal: true, denial: true, harness: "google_adk", asksFirst: true}},
	{"mastra", []string{"full_pdf", "full_pdf__gen_pb", "full_pdf__arize", "partial_incident", "secret_leak", "tool_denied", "unknown_skill", "wrong_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "mastra"}},
	{"langsmith-otel", []string{"full_pdf", "partial_incident", "secret_leak", "unknown_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "langsmith"}},
	{"opencode", []string{"full_pdf__fast", "tool_denied__fast"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "opencode", quoted: true}},
	{"opencode", []string{"full_pdf", "partial_incident", "unknown_skill"},
		exported{texts: "all", results: true, catalogue: true, body: true, refusal: true, denial: true, harness: "opencode", quoted: true, lostEnd: true}},
	{"mcp-sdk", []string{"mcp_two_prompts__traceloop"},
		exported{texts: "final", results: true, denial: true, harness: "openinference", separate: true, onePrompt: true, noUsage: true}},
}
