package schema

// Object is a row of objects: one archive object that was read, and what became of its records.
// Records = Written + Duplicates + Filtered + Quarantined, a piece that could not be read counting as one record.
type Object struct {
	Source      string `parquet:"source,dict"`          // source URI as configured, without credentials
	Object      string `parquet:"object"`               // key relative to the source
	ETag        string `parquet:"etag"`                 // as the store gives it
	Tenant      string `parquet:"tenant,dict"`          //
	Size        int64  `parquet:"size,delta"`           // stored bytes
	BytesIn     int64  `parquet:"bytes_in,delta"`       // bytes after decompression
	Records     int64  `parquet:"records,delta"`        // spans, log records and metric points found
	Written     int64  `parquet:"written,delta"`        // new rows of spans
	Duplicates  int64  `parquet:"duplicates,delta"`     // same record seen before, here or in another object
	Filtered    int64  `parquet:"filtered,delta"`       // metrics and records dropped by rule
	Quarantined int64  `parquet:"quarantined,delta"`    // rows of quarantine for this object
	Status      string `parquet:"status,dict"`          // ok, partial, unreadable, empty, vanished
	Format      string `parquet:"format,optional,dict"` // layers as detected, e.g. "gzip+otlp_json"
	CommitSeq   int64  `parquet:"commit_seq,delta"`     // the commit that recorded this reading
}

// QuarantineRow is a row of quarantine: one piece of an object that could not be read.
type QuarantineRow struct {
	Source          string `parquet:"source,dict"`
	Object          string `parquet:"object"`
	ETag            string `parquet:"etag"`
	Offset          int64  `parquet:"offset,delta"` // in the decompressed bytes
	Length          int64  `parquet:"length,delta"` // bytes left unread from Offset
	Reason          string `parquet:"reason"`       // what is wrong and the mend, no content
	DetectedFormat  string `parquet:"detected_format,optional,dict"`
	QuarantinedAt   int64  `parquet:"quarantined_at,timestamp(microsecond),delta"` // the run's as-of
	QuarantinedNano int64  `parquet:"quarantined_unix_nano,delta"`
}

// Trace is a row of traces: a session that holds records of a trace. A row with a null trace locates a session that
// has records outside any trace.
type Trace struct {
	Tenant     string `parquet:"tenant,dict"`
	TraceID    string `parquet:"trace_id,optional"`
	SessionKey string `parquet:"session_key"`
	Dt         string `parquet:"dt,dict"`
}

// SessionMoved is a row of sessions_moved: a session whose records now belong to another key.
type SessionMoved struct {
	Tenant string `parquet:"tenant,dict"`
	OldKey string `parquet:"old_key"`
	NewKey string `parquet:"new_key"`
}

// Span is a row of spans: one span or log record as stored, masked. Sessions are derived from these rows alone.
type Span struct {
	Tenant          string `parquet:"tenant,dict"`
	SessionKey      string `parquet:"session_key,dict"`
	Signal          string `parquet:"signal,dict"`       // span, log
	TraceID         string `parquet:"trace_id,optional"` // 32 hex
	SpanID          string `parquet:"span_id,optional"`  // 16 hex
	RecordSHA256    string `parquet:"record_sha256"`     // over the masked canonical form
	ParentSpanID    string `parquet:"parent_span_id,optional"`
	Name            string `parquet:"name,optional,dict"` // span name; for a log its event name
	Kind            string `parquet:"kind,optional,dict"` // internal, server, client, producer, consumer
	ScopeName       string `parquet:"scope_name,optional,dict"`
	ScopeVersion    string `parquet:"scope_version,optional,dict"`
	Service         string `parquet:"service,optional,dict"`
	StartedAt       int64  `parquet:"started_at,optional,timestamp(microsecond),delta"` // a log's own time
	StartedUnixNano int64  `parquet:"started_unix_nano,optional,delta"`
	EndedAt         int64  `parquet:"ended_at,optional,timestamp(microsecond),delta"`
	EndedUnixNano   int64  `parquet:"ended_unix_nano,optional,delta"`
	TimeQuality     string `parquet:"time_quality,dict"` // ok, imprecise, clamped, future, missing
	Status          string `parquet:"status,optional,dict"`
	StatusMessage   string `parquet:"status_message,optional"`
	Severity        string `parquet:"severity,optional,dict"`
	Attributes      string `parquet:"attributes,optional"`             // canonical JSON object
	Events          string `parquet:"events,optional"`                 // canonical JSON array of {name, at_unix_nano, attributes}
	Body            string `parquet:"body,optional"`                   // canonical JSON value of a log's body
	Resource        string `parquet:"resource,optional"`               // canonical JSON object
	SourceObject    string `parquet:"source_object,dict"`              // smallest object that carried the record
	SourceIndex     int64  `parquet:"source_index,delta"`              // its place there, from 0
	TimeQualityThen string `parquet:"time_quality_then,optional,dict"` // of time_quality future: what it will be when --as-of has reached the time
}

// Session is a row of sessions.
type Session struct {
	Tenant             string   `parquet:"tenant,dict"`
	SessionKey         string   `parquet:"session_key"`
	Service            string   `parquet:"service,optional,dict"`
	SessionID          string   `parquet:"session_id,optional"`
	SessionIDSource    string   `parquet:"session_id_source,dict"` // attribute that carried it; trace or none otherwise
	Agent              string   `parquet:"agent,optional,dict"`
	Harness            string   `parquet:"harness,optional,dict"`
	HarnessVersion     string   `parquet:"harness_version,optional,dict"`
	StartedAt          int64    `parquet:"started_at,optional,timestamp(microsecond)"`
	StartedUnixNano    int64    `parquet:"started_unix_nano,optional"`
	EndedAt            int64    `parquet:"ended_at,optional,timestamp(microsecond)"`
	EndedUnixNano      int64    `parquet:"ended_unix_nano,optional"`
	LastRecordAt       int64    `parquet:"last_record_at,optional,timestamp(microsecond)"`
	LastRecordUnixNano int64    `parquet:"last_record_unix_nano,optional"`
	Revision           string   `parquet:"revision"` // hash of the sorted record hashes
	NTurns             int32    `parquet:"n_turns"`
	NModelCalls        int32    `parquet:"n_model_calls"`
	NToolCalls         int32    `parquet:"n_tool_calls"`
	NToolErrors        int32    `parquet:"n_tool_errors"`
	NDenied            int32    `parquet:"n_denied"`
	NSkillsOffered     *int32   `parquet:"n_skills_offered,optional"` // null: no catalogue recorded
	NSkillsLoaded      int32    `parquet:"n_skills_loaded"`
	NSkillsRefused     int32    `parquet:"n_skills_refused"`
	InputTokens        *int64   `parquet:"input_tokens,optional"` // including cache reads and writes
	CacheReadTokens    *int64   `parquet:"cache_read_tokens,optional"`
	CacheWriteTokens   *int64   `parquet:"cache_write_tokens,optional"`
	OutputTokens       *int64   `parquet:"output_tokens,optional"`
	CostUSD            *int64   `parquet:"cost_usd,optional,decimal(6:18)"` // millionths of a dollar
	Models             []string `parquet:"models,list"`
	TraceIDs           []string `parquet:"trace_ids,list"`
	ContentState       string   `parquet:"content_state,dict"` // full, partial, missing
	Missing            []string `parquet:"missing,list"`       // user_prompt, assistant_text, tool_arguments, tool_results, skill_catalogue, skill_body
	Warnings           []string `parquet:"warnings,list"`
}

// Step is a row of steps: one thing that happened in a session, in order, numbered from 1.
type Step struct {
	Tenant     string `parquet:"tenant,dict"`
	SessionKey string `parquet:"session_key,dict"`
	Step       int32  `parquet:"step,delta"`
	Turn       int32  `parquet:"turn,delta"` // the user's turn, from 1; 0 before the first
	At         int64  `parquet:"at,optional,timestamp(microsecond),delta"`
	AtUnixNano int64  `parquet:"at_unix_nano,optional,delta"`
	Role       string `parquet:"role,dict"` // system, user, assistant, tool, harness
	Kind       string `parquet:"kind,dict"` // message, reasoning, tool_call, tool_result, denial, error, skill_catalogue
	Agent      string `parquet:"agent,optional,dict"`
	Text       string `parquet:"text,optional"`
	Tool       string `parquet:"tool,optional,dict"`
	CallID     string `parquet:"call_id,optional"`
	Arguments  string `parquet:"arguments,optional"`    // JSON
	Outcome    string `parquet:"outcome,optional,dict"` // of a tool call or its result: ok, error, denied, refused, not_executed, unknown
	ExitCode   *int32 `parquet:"exit_code,optional"`
	Truncated  bool   `parquet:"truncated"` // the harness cut the text
	TraceID    string `parquet:"trace_id,optional"`
	SpanID     string `parquet:"span_id,optional"`
	Earlier    bool   `parquet:"earlier,optional"` // of a conversation before the session's first record, told as its history: context, not its doing
}

// Skill is a row of skills: one attempt to load a skill.
type Skill struct {
	Tenant         string `parquet:"tenant,dict"`
	SessionKey     string `parquet:"session_key,dict"`
	Attempt        int32  `parquet:"attempt"` // from 1
	Skill          string `parquet:"skill,dict"`
	SkillKey       string `parquet:"skill_key,dict"` // folded: case and _ - alike
	Via            string `parquet:"via,dict"`       // tool, read, injected, user, attribute
	Outcome        string `parquet:"outcome,dict"`   // loaded, refused, attempted
	Refusal        string `parquet:"refusal,optional"`
	CatalogueState string `parquet:"catalogue_state,dict"` // listed, empty, unrecorded
	Offered        *bool  `parquet:"offered,optional"`     // null: the catalogue is not recorded
	Description    string `parquet:"description,optional"`
	BodyState      string `parquet:"body_state,dict"` // captured, missing, truncated
	Body           string `parquet:"body,optional"`
	BodySHA256     string `parquet:"body_sha256,optional"`
	Step           *int32 `parquet:"step,optional"`
	Agent          string `parquet:"agent,optional,dict"`
	CallID         string `parquet:"call_id,optional"`
	SpanID         string `parquet:"span_id,optional"`
	MatchRule      string `parquet:"match_rule,optional,dict"` // how it was joined to an entry of the catalogue; null: none recorded
}

// Tool is a row of tools: a tool definition that a session was given.
type Tool struct {
	Tenant           string `parquet:"tenant,dict"`
	Service          string `parquet:"service,optional,dict"`
	Server           string `parquet:"server,optional,dict"` // MCP server; null for the agent's own tools
	Tool             string `parquet:"tool,dict"`
	DefinitionSHA256 string `parquet:"definition_sha256,dict"`
	SessionKey       string `parquet:"session_key,dict"`
	Dt               string `parquet:"seen,dict"` // dt of the session
	Description      string `parquet:"description,optional"`
	InputSchema      string `parquet:"input_schema,optional"` // JSON
}

// Material is a row of materials: masked text that was sent to a run, kept by its hash.
type Material struct {
	SHA256 string `parquet:"sha256"`
	Kind   string `parquet:"kind,dict"` // skill, tool_list, suite
	Text   string `parquet:"text"`
}
