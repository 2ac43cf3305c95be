package evaluator

// SkillPackage is a skill as its author ships it, and the task that it is measured against. The keys are those of the
// skill_package of Huawei Cloud AgentArts; files are ours.
type SkillPackage struct {
	Name     string      `json:"skill_name"`
	Manifest string      `json:"skill_manifest"`
	Body     string      `json:"instruction_body"`
	Task     string      `json:"task_description"`
	Files    []SkillFile `json:"files,omitempty"` // beside SKILL.md: scripts and references
}

// SkillFile is a text file of a skill's folder.
type SkillFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}
