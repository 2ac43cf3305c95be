package foundry

import (
	"strconv"
	"strings"
	"time"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// eval is the body of POST /openai/v1/evals.
type eval struct {
	Name             string            `json:"name"`
	Metadata         map[string]string `json:"metadata"`
	DataSourceConfig dataSourceConfig  `json:"data_source_config"`
	TestingCriteria  []criterion       `json:"testing_criteria"`
}

type dataSourceConfig struct {
	Type                string     `json:"type"`
	IncludeSampleSchema bool       `json:"include_sample_schema"`
	ItemSchema          itemSchema `json:"item_schema"`
}

type itemSchema struct {
	Type       string            `json:"type"`
	Properties map[string]column `json:"properties"`
	Required   []string          `json:"required"`
}

type column struct {
	Type  string   `json:"type"`
	Enum  []string `json:"enum,omitempty"`
	Items *column  `json:"items,omitempty"`
}

// criterion is one of two: a string_check compares a column with a word and calls no model; an azure_ai_evaluator asks one.
type criterion struct {
	Type       string            `json:"type"`
	Name       string            `json:"name"`
	Input      string            `json:"input,omitempty"`
	Operation  string            `json:"operation,omitempty"`
	Reference  string            `json:"reference,omitempty"`
	Evaluator  string            `json:"evaluator_name,omitempty"`
	Parameters map[string]string `json:"initialization_parameters,omitempty"`
	Mapping    map[string]string `json:"data_mapping,omitempty"`
}

func newEval(in *exports.Input) *eval {
	r := &in.Rubric
	models := make([]string, len(in.Run.JudgeModels))
	for i, m := range in.Run.JudgeModels {
		models[i] = in.Masked(m)
	}
	e := &eval{
		Name: in.Text(oneLine(r.Title+" (version "+strconv.Itoa(r.Version)+"), run "+in.Run.RunID), maxShort),
		Metadata: map[string]string{
			"run_id": in.Run.RunID, "rubric": r.Name, "rubric_version": strconv.Itoa(r.Version), "rubric_sha256": r.SHA256(),
			"judge_models": in.Text(strings.Join(models, ", "), maxMetadataValue), "offline": strconv.FormatBool(in.Run.Offline),
			"calibration": in.Text(in.Run.Calibration, maxMetadataValue), "informational": strconv.FormatBool(in.Run.Calibration != "passed"),
			"state": in.Text(in.Run.State, maxMetadataValue), "sampled": strconv.Itoa(int(in.Run.Sampled)), "graded": strconv.Itoa(int(in.Run.Graded)),
			"ungraded": strconv.Itoa(int(in.Run.Ungraded)), "as_of": in.AsOf.UTC().Format(time.RFC3339),
		},
		DataSourceConfig: dataSourceConfig{Type: "custom", ItemSchema: newItemSchema(in)},
		TestingCriteria: []criterion{
			check("session graded", colGraded, "eq", "true"),
			check("session passed", colPass, "ne", "false"),
			check("session safe", colSafe, "ne", "false"),
		},
	}
	for _, c := range r.Criteria {
		if c.Scale == judge.ScaleFivePoint || c.Scale == judge.ScaleYesNo {
			continue // a score passes or fails by the weighted total: session_pass holds that
		}
		name := "criterion: "
		switch {
		case c.Gate:
			name = "gate: "
		case c.Safety:
			name = "safety: "
		}
		e.TestingCriteria = append(e.TestingCriteria, check(name+c.ID, verdictColumn(c.ID), "ne", string(judge.NotMet)))
	}
	return e
}

func check(name, column, operation, reference string) criterion {
	return criterion{Type: "string_check", Name: name, Input: "{{item." + column + "}}", Operation: operation, Reference: reference}
}

// evalRun is the body of POST /openai/v1/evals/{id}/runs. It sets no evaluation_level: string checks judge rows.
type evalRun struct {
	Name       string            `json:"name"`
	Metadata   map[string]string `json:"metadata"`
	DataSource dataSource        `json:"data_source"`
}

type dataSource struct {
	Type   string `json:"type"`
	Source source `json:"source"`
}

type source struct {
	Type string `json:"type"`
	ID   string `json:"id"`
}

func newRun(in *exports.Input) *evalRun {
	return &evalRun{
		Name:     in.Run.RunID,
		Metadata: map[string]string{"run_id": in.Run.RunID},
		DataSource: dataSource{Type: "jsonl", Source: source{Type: "file_id",
			ID: "azureai://accounts/ACCOUNT_REPLACE/projects/PROJECT_REPLACE/data/" + datasetName(in) + "/versions/1"}},
	}
}

// datasetName is one per run and content, so that its version can stay 1 and an upload can be repeated.
func datasetName(in *exports.Input) string {
	name := evaluatorName(&in.Rubric) + "-graded-" + in.Run.RunID
	if in.WithExplanations {
		name += "-explained"
	}
	return name
}
