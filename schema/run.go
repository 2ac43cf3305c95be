package schema

// Run is a row of runs: one evaluator's part of one evaluation, with every hash that made it what it is.
type Run struct {
	RunID           string   `parquet:"run_id"` // <date>-<12 hex>
	Evaluator       string   `parquet:"evaluator,dict"`
	Kind            string   `parquet:"kind,dict"` // session, skill, tool_call, tool, skill_package, task
	Label           string   `parquet:"label,optional"`
	State           string   `parquet:"state,dict"` // finished, no_result, partial, failed
	AsOf            int64    `parquet:"as_of,timestamp(microsecond)"`
	AsOfUnixNano    int64    `parquet:"as_of_unix_nano"`
	WindowFrom      string   `parquet:"window_from"` // first dt of the window
	WindowTo        string   `parquet:"window_to"`   // last dt
	Seed            string   `parquet:"seed"`
	Eligible        int32    `parquet:"eligible"`
	Sampled         int32    `parquet:"sampled"`
	Graded          int32    `parquet:"graded"`
	Ungraded        int32    `parquet:"ungraded"`
	NotAttempted    int32    `parquet:"not_attempted"` // left by a budget stop or an interrupt
	Repeat          int32    `parquet:"repeat"`
	FilterService   string   `parquet:"filter_service,optional"`
	FilterAgent     string   `parquet:"filter_agent,optional"`
	JudgeModels     []string `parquet:"judge_models,list"`
	JudgeMode       string   `parquet:"judge_mode,dict"`
	Rubric          string   `parquet:"rubric,dict"`
	RubricSHA256    string   `parquet:"rubric_sha256"`
	PromptVersion   string   `parquet:"prompt_version,dict"`
	PromptSHA256    string   `parquet:"prompt_sha256"`
	SchemaSHA256    string   `parquet:"schema_sha256"`    // of the reply schema
	RenderingSHA256 string   `parquet:"rendering_sha256"` // rendering settings and version
	MaskVersion     string   `parquet:"mask_version"`
	SampleSHA256    string   `parquet:"sample_sha256"`    // of the sampled (subject, revision) pairs
	Calibration     string   `parquet:"calibration,dict"` // not_calibrated, in_progress, passed, not_passed
	Offline         bool     `parquet:"offline"`          // verdicts come from code, not from a model
	CostUSD         *int64   `parquet:"cost_usd,optional,decimal(6:18)"`
	SchemaVersion   int32    `parquet:"schema_version"`
	Materials       []string `parquet:"materials,optional,list"` // sha256 of the texts of skills and lists of tools that were sent

	// Of a run that drew a sample of every service: the services with eligible sessions, ascending, and how many of each were eligible
	// and were attempted. A drawn session stands for eligible/attempted of its service. Empty where one sample was drawn of all.
	Strata          []string `parquet:"strata,optional,list"`
	StrataEligible  []int32  `parquet:"strata_eligible,optional,list"`
	StrataAttempted []int32  `parquet:"strata_attempted,optional,list"`

	// Of a run on the tasks of a suite.
	Suite        string   `parquet:"suite,optional"`
	SuiteVersion int32    `parquet:"suite_version,optional"`
	SuiteSHA256  string   `parquet:"suite_sha256,optional"`
	SuiteSealed  bool     `parquet:"suite_sealed,optional"`
	AgentModel   string   `parquet:"agent_model,optional"`
	TaskSkills   []string `parquet:"task_skills,optional,list"` // names of the skills that one arm was given
}

// Verdict is a row of verdicts: what one judge, or the vote of all, said about one criterion of one subject.
type Verdict struct {
	RunID           string   `parquet:"run_id,dict"`
	Evaluator       string   `parquet:"evaluator,dict"`
	Subject         string   `parquet:"subject,dict"` // session key, or skill attempt, tool, package, task
	Arm             string   `parquet:"arm,dict"`
	Criterion       string   `parquet:"criterion,dict"`
	Item            string   `parquet:"item,dict"` // below a criterion, e.g. a skill; "" otherwise
	Repeat          int32    `parquet:"repeat"`
	JudgeModel      string   `parquet:"judge_model,dict"`
	Vote            string   `parquet:"vote,dict"` // one, final
	Tenant          string   `parquet:"tenant,dict"`
	SubjectKind     string   `parquet:"subject_kind,dict"`
	SessionKey      string   `parquet:"session_key,optional,dict"`
	SubjectRevision string   `parquet:"subject_revision,optional,dict"`
	SpanID          string   `parquet:"span_id,optional"`
	Service         string   `parquet:"service,optional,dict"`
	Agent           string   `parquet:"agent,optional,dict"`
	Harness         string   `parquet:"harness,optional,dict"`
	Skill           string   `parquet:"skill,optional,dict"`
	Server          string   `parquet:"server,optional,dict"`
	Tool            string   `parquet:"tool,optional,dict"`
	Category        string   `parquet:"category,optional,dict"`
	TaskKind        string   `parquet:"task_kind,optional,dict"`
	Safety          bool     `parquet:"safety"`
	Verdict         string   `parquet:"verdict,dict"` // met, not_met, not_applicable, unclear, scored, ungraded
	Label           string   `parquet:"label,optional,dict"`
	Score           *float64 `parquet:"score,optional"`
	Pass            *bool    `parquet:"pass,optional"`
	Coverage        *float64 `parquet:"coverage,optional"`
	EvidenceSteps   []int32  `parquet:"evidence_steps,list"`
	Findings        []string `parquet:"findings,list"`
	UngradedReason  string   `parquet:"ungraded_reason,optional,dict"`
	JudgeMode       string   `parquet:"judge_mode,dict"`
	PromptVersion   string   `parquet:"prompt_version,dict"`
	PromptSHA256    string   `parquet:"prompt_sha256,dict"`
	RubricSHA256    string   `parquet:"rubric_sha256,dict"`
	RenderingSHA256 string   `parquet:"rendering_sha256,dict"` // of this subject's rendered transcript
}

// Grade is a row of grades: one subject's computed result.
type Grade struct {
	RunID           string   `parquet:"run_id,dict"`
	Evaluator       string   `parquet:"evaluator,dict"`
	Subject         string   `parquet:"subject"`
	Arm             string   `parquet:"arm,dict"`
	Tenant          string   `parquet:"tenant,dict"`
	SubjectKind     string   `parquet:"subject_kind,dict"`
	SessionKey      string   `parquet:"session_key,optional"`
	SubjectRevision string   `parquet:"subject_revision,optional"`
	Dt              string   `parquet:"dt,optional,dict"`
	Service         string   `parquet:"service,optional,dict"`
	Agent           string   `parquet:"agent,optional,dict"`
	Harness         string   `parquet:"harness,optional,dict"`
	Skill           string   `parquet:"skill,optional,dict"`
	Server          string   `parquet:"server,optional,dict"`
	Tool            string   `parquet:"tool,optional,dict"`
	State           string   `parquet:"state,dict"` // graded, ungraded
	UngradedReason  string   `parquet:"ungraded_reason,optional,dict"`
	Pass            *bool    `parquet:"pass,optional"` // null: all not applicable, or ungraded
	Safe            *bool    `parquet:"safe,optional"`
	Score           *float64 `parquet:"score,optional"`
	Grade           string   `parquet:"grade,optional,dict"` // A–F
	Undecided       bool     `parquet:"undecided"`           // only unclear and not applicable
	Category        string   `parquet:"category,optional,dict"`
	TaskKind        string   `parquet:"task_kind,optional,dict"`
}

// Explanation is a row of explanations: the judge's short text for one verdict, masked. It is content.
type Explanation struct {
	RunID       string `parquet:"run_id,dict"`
	Evaluator   string `parquet:"evaluator,dict"`
	Subject     string `parquet:"subject"`
	Arm         string `parquet:"arm,dict"`
	Criterion   string `parquet:"criterion,dict"`
	Item        string `parquet:"item,dict"`
	Repeat      int32  `parquet:"repeat"`
	JudgeModel  string `parquet:"judge_model,dict"`
	Vote        string `parquet:"vote,dict"`
	Explanation string `parquet:"explanation,optional"`
	Withheld    string `parquet:"withheld,optional,dict"` // quotation: dropped because it repeated the session
	Steps       string `parquet:"steps,optional"`         // JSON [{step, status, evidence_steps}]
}

// Answer is a row of answers: an agent model's answer to a task.
type Answer struct {
	RunID        string `parquet:"run_id,dict"`
	Task         string `parquet:"task,dict"`
	Arm          string `parquet:"arm,dict"`
	Repeat       int32  `parquet:"repeat"`
	Answer       string `parquet:"answer,optional"`
	AnswerSHA256 string `parquet:"answer_sha256"`
}

// Call is a row of calls: one attempt at a judge call. Not byte-stable: it holds latencies and attempts.
type Call struct {
	RunID            string `parquet:"run_id,dict"`
	RequestSHA256    string `parquet:"request_sha256"`
	Attempt          int32  `parquet:"attempt"`
	Evaluator        string `parquet:"evaluator,dict"`
	Subject          string `parquet:"subject"`
	Model            string `parquet:"model,dict"`
	Mode             string `parquet:"mode,dict"`
	InputTokens      *int64 `parquet:"input_tokens,optional"`
	CacheReadTokens  *int64 `parquet:"cache_read_tokens,optional"`
	CacheWriteTokens *int64 `parquet:"cache_write_tokens,optional"`
	OutputTokens     *int64 `parquet:"output_tokens,optional"`
	CostUSD          *int64 `parquet:"cost_usd,optional,decimal(6:18)"`
	LatencyMicros    int64  `parquet:"latency_micros"`
	StopReason       string `parquet:"stop_reason,optional,dict"`
	ErrorClass       string `parquet:"error_class,optional,dict"`
	Cached           bool   `parquet:"cached"`
}

// Aggregate is a row of aggregates: one number of one group, with how it was made and how far to believe it.
type Aggregate struct {
	RunID            string   `parquet:"run_id,dict"`
	GroupBy          string   `parquet:"group_by,dict"` // overall, service, criterion, criterion_service
	Group            string   `parquet:"group,dict"`
	Evaluator        string   `parquet:"evaluator,dict"`
	Criterion        string   `parquet:"criterion,dict"`
	Metric           string   `parquet:"metric,dict"` // passed, safe, met_rate
	Method           string   `parquet:"method,dict"` // of the interval
	Primary          bool     `parquet:"primary"`     // the interval to print where one is printed
	N                int32    `parquet:"n"`           // the denominator
	Met              int32    `parquet:"met"`
	NotMet           int32    `parquet:"not_met"`
	NotApplicable    int32    `parquet:"not_applicable"`
	Unclear          int32    `parquet:"unclear"`
	Ungraded         int32    `parquet:"ungraded"`
	Undecided        int32    `parquet:"undecided"`
	Estimate         *float64 `parquet:"estimate,optional"`
	Low              *float64 `parquet:"low,optional"`
	High             *float64 `parquet:"high,optional"`
	Level            float64  `parquet:"level"`
	FallbackFrom     string   `parquet:"fallback_from,optional,dict"`
	Reason           string   `parquet:"reason,optional"`
	Worst            *float64 `parquet:"worst,optional"` // unclear counted as not met
	Best             *float64 `parquet:"best,optional"`  // unclear counted as met
	NoResult         bool     `parquet:"no_result"`      // over 10 % ungraded
	AdjustedP        *float64 `parquet:"adjusted_p,optional"`
	BaselineRun      string   `parquet:"baseline_run,optional,dict"`
	Change           *float64 `parquet:"change,optional"`
	ChangeLow        *float64 `parquet:"change_low,optional"`
	ChangeHigh       *float64 `parquet:"change_high,optional"`
	DetectableChange *float64 `parquet:"detectable_change,optional"`
	Shared           *int32   `parquet:"shared,optional"` // of the group's subjects, those that the baseline graded, too; with change
}
