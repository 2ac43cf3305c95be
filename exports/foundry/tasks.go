package foundry

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge/suite"
)

// The files of a suite's tasks.
const (
	TasksFile     = "foundry/dataset.jsonl"
	TasksEvalFile = "foundry/eval_tasks.json"
)

// maxRowBytes is what the platform takes of a row.
const maxRowBytes = 2 << 20

// Columns of a task. The first three are the platform's own.
const (
	colQuery     = "query"
	colTruth     = "ground_truth"
	colExpected  = "expected_actions"
	colTaskID    = "task_id"
	colItems     = "assertions"
	colKind      = "kind"
	colCategory  = "category"
	colSuite     = "suite"
	deployment   = "DEPLOYMENT_REPLACE"
	sampleOutput = "{{sample.output_items}}"
	datasetKey   = "dataset" // of the eval's metadata: the dataset that it is for
)

// newTask is one row of TasksFile.
func newTask(in *exports.Input, t *suite.Task) map[string]any {
	m := in.Task(t)
	row := map[string]any{colTaskID: m.ID, colQuery: m.Prompt, colTruth: m.Reference, colKind: m.Kind, colCategory: m.Category, colSuite: in.Suite.Name,
		colItems: m.ItemTexts()}
	if len(m.ExpectedTools) > 0 { // an empty list would expect that no tool is called
		row[colExpected] = m.ExpectedTools
	}
	return row
}

// newTasksEval is the eval that a run of an agent over the tasks is held against: the rubric's evaluator, asked about what the
// agent answers. It has no check of words: what a good answer is, no string comparison can tell.
func (t Target) newTasksEval(in *exports.Input) *eval {
	s := in.Suite
	text := column{Type: "string"}
	list := column{Type: "array", Items: &column{Type: "string"}}
	name := evaluatorName(&in.Rubric)
	return &eval{
		Name: in.Text(oneLine(fmt.Sprintf("%s (version %d)", s.Title, s.Version)), maxShort),
		Metadata: map[string]string{"suite": s.Name, "suite_version": strconv.Itoa(s.Version), "suite_sha256": s.SHA256(), "rubric": in.Rubric.Name,
			"rubric_version": strconv.Itoa(in.Rubric.Version), "rubric_sha256": in.Rubric.SHA256(), datasetKey: tasksName(in)},
		DataSourceConfig: dataSourceConfig{Type: "custom", IncludeSampleSchema: true, ItemSchema: itemSchema{Type: "object", Properties: map[string]column{
			colTaskID: text, colQuery: text, colTruth: text, colKind: {Type: "string", Enum: []string{suite.KindTrap, suite.KindApprove, suite.KindNotEnoughEvidence}},
			colCategory: text, colSuite: text, colItems: list, colExpected: list,
		}, Required: []string{colTaskID, colQuery, colTruth, colKind, colCategory, colSuite, colItems}}},
		TestingCriteria: []criterion{{Type: "azure_ai_evaluator", Name: "rubric", Evaluator: name, Parameters: map[string]string{"deployment_name": t.deployment()},
			Mapping: map[string]string{"query": "{{item." + colQuery + "}}", "response": sampleOutput}}},
	}
}

func (t Target) deployment() string {
	if t.Deployment == "" {
		return deployment
	}
	return t.Deployment
}

// tasksName is one per suite version and content.
func tasksName(in *exports.Input) string {
	return "tracejury-" + hyphens(in.Suite.Name) + "-v" + strconv.Itoa(in.Suite.Version) + "-" + in.Suite.SHA256()[:12]
}

func (t Target) checkTasks(in *exports.Input) error {
	if in.Suite == nil {
		return nil
	}
	for i := range in.Suite.Tasks {
		row, err := exports.JSON(newTask(in, &in.Suite.Tasks[i]))
		if err != nil {
			return fmt.Errorf("encode %s: %w", TasksFile, err)
		}
		if len(row) > maxRowBytes {
			return exports.Refuse(TasksFile, "task "+in.Suite.Tasks[i].ID, "%d bytes: a row may have %d", len(row), maxRowBytes)
		}
	}
	return t.newTasksEval(in).check(TasksEvalFile)
}

func (t Target) writeTasks(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.Suite == nil {
		return nil
	}
	err := exports.WriteLines(sink, TasksFile, func(emit func(any) error) error {
		for i := range in.Suite.Tasks {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := emit(newTask(in, &in.Suite.Tasks[i])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return exports.WriteJSON(sink, TasksEvalFile, t.newTasksEval(in))
}
