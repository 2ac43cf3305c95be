package skillpackage

// The criteria that this evaluator knows.
const (
	Relevance    = "skill_relevance"
	Completeness = "skill_completeness"
	Threat       = "skill_threat"
)

// Findings of relevance.
const (
	OverCapability  = "over_capability"
	UnderCapability = "under_capability"
	Drift           = "drift"
)

// Languages of prompts and labels.
const (
	English = "en"
	Chinese = "zh"
)

// part is a dimension or a finding: its id, what it is called in a reason, and what it means.
type part struct{ ID, Label, Text string }

// kind is what is asked about a package by one criterion.
type kind struct {
	dimensions, findings []part
	needsTask            bool
}

var kinds = map[string]map[string]kind{
	English: {
		Relevance: {
			dimensions: []part{
				{"coverage", "coverage", "does it cover what the task needs"},
				{"precision", "precision", "is what it declares what the task is about"},
				{"redundancy", "redundancy", "does it do what the task does not need"},
			},
			findings: []part{
				{OverCapability, "over-capability", "it can do, or asks to do, clearly more than the task needs"},
				{UnderCapability, "under-capability", "something that the task needs is missing"},
				{Drift, "drift", "it aims at something else than the task"},
			},
			needsTask: true,
		},
		Completeness: {
			dimensions: []part{
				{"steps", "steps", "is it told what to do, in which order, until when"},
				{"inputs_outputs", "inputs and outputs", "are what it takes and what it yields defined"},
				{"preconditions", "preconditions", "is it told what must be there before"},
				{"error_handling", "error handling", "is it told what to do when something fails or does not fit"},
			},
			findings: []part{
				{"steps_thin", "thin steps", "steps are missing or too vague to act on"},
				{"inputs_outputs_thin", "thin inputs and outputs", "inputs or outputs are missing or vague"},
				{"preconditions_thin", "thin preconditions", "preconditions are missing or vague though there are some"},
				{"error_handling_thin", "thin error handling", "nothing or too little is said about failure"},
			},
		},
		Threat: {
			dimensions: []part{
				{"data_leakage", "data leakage", "does it lead data to where they do not belong"},
				{"privilege_abuse", "privilege abuse", "does it use rights that its purpose does not need"},
				{"malicious_code", "malicious code", "does it run hidden, fetched or harmful code"},
				{"resource_abuse", "resource abuse", "does it use up machines, money or services beyond its purpose"},
				{"social_engineering", "social engineering", "does it deceive a person, or order an agent to deceive or to ignore its rules"},
			},
			findings: []part{
				{"data_leakage", "data leakage", "shown by its text or code"},
				{"privilege_abuse", "privilege abuse", "shown by its text or code"},
				{"malicious_code", "malicious code", "shown by its text or code"},
				{"resource_abuse", "resource abuse", "shown by its text or code"},
				{"social_engineering", "social engineering", "shown by its text or code"},
			},
		},
	},
	Chinese: {
		Relevance: {
			dimensions: []part{
				{"coverage", "能力覆盖度", "是否覆盖任务所需"},
				{"precision", "能力精确度", "所声明的是否正是任务所指"},
				{"redundancy", "能力冗余度", "是否做了任务不需要的事"},
			},
			findings: []part{
				{OverCapability, "能力溢出", "能做或要求做的明显多于任务所需"},
				{UnderCapability, "能力不足", "缺少任务所需的某些能力"},
				{Drift, "能力偏移", "目标与任务不同"},
			},
			needsTask: true,
		},
		Completeness: {
			dimensions: []part{
				{"steps", "步骤", "是否说明做什么、按什么顺序、到何时为止"},
				{"inputs_outputs", "输入输出", "输入与产出是否有定义"},
				{"preconditions", "前置条件", "是否说明事先必须具备什么"},
				{"error_handling", "异常处理", "是否说明失败或不适用时怎么办"},
			},
			findings: []part{
				{"steps_thin", "步骤单薄", "步骤缺失或过于含糊"},
				{"inputs_outputs_thin", "输入输出单薄", "输入或输出缺失或含糊"},
				{"preconditions_thin", "前置条件单薄", "存在前置条件却缺失或含糊"},
				{"error_handling_thin", "异常处理单薄", "对失败情形没有或很少说明"},
			},
		},
		Threat: {
			dimensions: []part{
				{"data_leakage", "数据泄露", "是否把数据引向不该去的地方"},
				{"privilege_abuse", "权限滥用", "是否使用了用途所不需要的权限"},
				{"malicious_code", "恶意代码", "是否运行隐藏的、下载的或有害的代码"},
				{"resource_abuse", "资源滥用", "是否超出用途消耗机器、费用或服务"},
				{"social_engineering", "社会工程", "是否欺骗人，或命令Agent欺骗或无视其规则"},
			},
			findings: []part{
				{"data_leakage", "数据泄露", "由其文字或代码可见"},
				{"privilege_abuse", "权限滥用", "由其文字或代码可见"},
				{"malicious_code", "恶意代码", "由其文字或代码可见"},
				{"resource_abuse", "资源滥用", "由其文字或代码可见"},
				{"social_engineering", "社会工程", "由其文字或代码可见"},
			},
		},
	},
}

func ids(parts []part) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = p.ID
	}
	return out
}
