package pipeline

// ExportConfig tunes export.
type ExportConfig struct {
	Run              string   `yaml:"run"`
	To               []string `yaml:"to"`
	Out              string   `yaml:"out"`
	JudgeModel       string   `yaml:"judge_model"` // model id that exported evaluators name
	WithExplanations bool     `yaml:"with_explanations"`
	AllowPartial     bool     `yaml:"allow_partial"`
	// Suite is a file of tasks that go out with the rubric; "" none.
	Suite string `yaml:"suite"`
	// Tools is the run whose tool grades go out, latest, or ungraded for the descriptions alone; "" none. Server keeps those of
	// one MCP server, or of one service that has its own.
	Tools  string     `yaml:"tools"`
	Server string     `yaml:"server"`
	Rubric string     `yaml:"-"` // built-in name or file: it goes out alone, without a run; a flag only
	Push   PushConfig `yaml:"push"`
}

// PushConfig says where exports are pushed to. Credentials are not among it: they come from the AWS chain, from Entra and from
// ANTHROPIC_API_KEY. Nor is consent to paid work: that is given for each run, by --yes.
type PushConfig struct {
	To        []string `yaml:"to"` // targets to push; each is exported as well
	AgentCore struct {
		// DatasetS3 is where the lines of datasets are put and taken from, s3://bucket/folder; "" sends them inside of requests.
		DatasetS3 string `yaml:"dataset_s3"`
	} `yaml:"agentcore"`
	Foundry struct {
		Endpoint   string `yaml:"endpoint"`   // https://ACCOUNT.services.ai.azure.com/api/projects/PROJECT
		Deployment string `yaml:"deployment"` // judges answers to tasks
	} `yaml:"foundry"`
	Outcomes struct {
		Endpoint    string `yaml:"endpoint"`
		Session     string `yaml:"session"` // of Managed Agents, in which Task is started
		Task        string `yaml:"task"`
		Agent       string `yaml:"agent"` // with which every task of the suite becomes a session
		Environment string `yaml:"environment"`
	} `yaml:"outcomes"`
}
