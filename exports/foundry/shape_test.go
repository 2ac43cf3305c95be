package foundry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

// The platform's shapes, closed and written down a second time from its documentation, so that a slip in the first is seen.
type docEvaluator struct {
	Name          *string            `json:"name"`
	EvaluatorType *string            `json:"evaluator_type"`
	Categories    *[]string          `json:"categories"`
	Definition    *docDefinition     `json:"definition"`
	Levels        *[]string          `json:"supported_evaluation_levels"`
	DisplayName   *string            `json:"display_name"`
	Description   *string            `json:"description"`
	Metadata      *map[string]string `json:"metadata"`
	Tags          *map[string]string `json:"tags"`
}

type docDefinition struct {
	Type           *string         `json:"type"`
	PassThreshold  *float64        `json:"pass_threshold"`
	Dimensions     *[]docDimension `json:"dimensions"`
	InitParameters *any            `json:"init_parameters"`
	DataSchema     *any            `json:"data_schema"`
	Metrics        *any            `json:"metrics"`
}

type docDimension struct {
	ID               *string `json:"id"`
	Description      *string `json:"description"`
	Weight           *int    `json:"weight"`
	AlwaysApplicable bool    `json:"always_applicable"`
}

type docEval struct {
	Name             *string            `json:"name"`
	Metadata         *map[string]string `json:"metadata"`
	DataSourceConfig *struct {
		Type                *string `json:"type"`
		IncludeSampleSchema *bool   `json:"include_sample_schema"`
		ItemSchema          *struct {
			Type       *string              `json:"type"`
			Properties map[string]docColumn `json:"properties"`
			Required   []string             `json:"required"`
		} `json:"item_schema"`
	} `json:"data_source_config"`
	TestingCriteria *[]docStringCheck `json:"testing_criteria"`
}

type docColumn struct {
	Type *string  `json:"type"`
	Enum []string `json:"enum"`
}

type docStringCheck struct {
	Type, Name, Input, Operation, Reference *string
}

type docRun struct {
	Name       *string            `json:"name"`
	Metadata   *map[string]string `json:"metadata"`
	DataSource *struct {
		Type   *string `json:"type"`
		Source *struct {
			Type *string `json:"type"`
			ID   *string `json:"id"`
		} `json:"source"`
	} `json:"data_source"`
}

func strict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("more than one value")
	}
	return nil
}

func checkEvaluator(data []byte) error {
	var e docEvaluator
	if err := strict(data, &e); err != nil {
		return err
	}
	if e.Name == nil || e.EvaluatorType == nil || *e.EvaluatorType != "custom" || e.Categories == nil || e.Definition == nil {
		return fmt.Errorf("a required field is missing")
	}
	for _, c := range *e.Categories {
		if !slices.Contains([]string{"quality", "safety", "agents"}, c) {
			return fmt.Errorf("category %s", c)
		}
	}
	for _, l := range *e.Levels {
		if l != "turn" && l != "conversation" {
			return fmt.Errorf("level %s", l)
		}
	}
	d := e.Definition
	if d.Type == nil || *d.Type != "rubric" || d.Dimensions == nil || len(*d.Dimensions) == 0 || *d.PassThreshold < 0 || *d.PassThreshold > 1 {
		return fmt.Errorf("definition %+v", d)
	}
	for _, x := range *d.Dimensions {
		if x.ID == nil || x.Description == nil || *x.Description == "" || x.Weight == nil || *x.Weight < 1 || *x.Weight > 10 {
			return fmt.Errorf("dimension %+v", x)
		}
	}
	return nil
}

func TestFiles_Shapes(t *testing.T) {
	builtin, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	full := exporttest.Input()
	full.Rubric = builtin
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted(), "built in": full} {
		files := exporttest.Write(t, in, Target{})
		if err := checkEvaluator(files[EvaluatorFile]); err != nil {
			t.Errorf("%s: %s: %v", name, EvaluatorFile, err)
		}
		var run docRun
		if err := strict(files[RunFile], &run); err != nil {
			t.Fatalf("%s: %s: %v", name, RunFile, err)
		}
		if *run.DataSource.Type != "jsonl" || *run.DataSource.Source.Type != "file_id" || !strings.HasPrefix(*run.DataSource.Source.ID, "azureai://accounts/") {
			t.Errorf("%s: run %s", name, files[RunFile])
		}
		checkRows(t, in, files[EvalFile], files[RowsFile])
	}
	file := exporttest.Write(t, exporttest.Small(), Target{})[EvaluatorFile]
	for _, edit := range [][2]string{{`"weight":1`, `"weight":0`}, {`"weight":1`, `"weight":11`}, {`"id":"polite"`, `"id":"polite","gate":true`}, {`"pass_threshold":0.75`, `"pass_threshold":75`},
		{`"definition"`, `"definitions"`}, {`"conversation"`, `"session"`}, {`"agents"`, `"agent"`}} {
		damaged := bytes.Replace(file, []byte(edit[0]), []byte(edit[1]), 1)
		if bytes.Equal(damaged, file) || checkEvaluator(damaged) == nil {
			t.Errorf("damage %v is not seen", edit)
		}
	}
}

// checkRows holds each row against the eval's own schema, and runs its string checks as the platform does: all must hold exactly
// where no verdict is not met.
func checkRows(t *testing.T, in *exports.Input, evalFile, rows []byte) {
	t.Helper()
	var e docEval
	if err := strict(evalFile, &e); err != nil {
		t.Fatalf("%s: %v", EvalFile, err)
	}
	schema := e.DataSourceConfig.ItemSchema
	var keys []string
	for line := range bytes.Lines(rows) {
		if len(line) > 2<<20 {
			t.Errorf("a row of %d bytes", len(line))
		}
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		for _, name := range schema.Required {
			if _, ok := row[name]; !ok {
				t.Errorf("row lacks %s", name)
			}
		}
		for name, v := range row {
			col, ok := schema.Properties[name]
			text, isText := v.(string)
			_, isNumber := v.(float64)
			if !ok || isText != (*col.Type == "string") || isNumber != (*col.Type == "number") || col.Enum != nil && !slices.Contains(col.Enum, text) {
				t.Errorf("column %s = %v is not of the schema", name, v)
			}
		}
		passed := true
		for _, c := range *e.TestingCriteria {
			if *c.Type != "string_check" {
				t.Errorf("criterion of type %s asks a model", *c.Type)
			}
			got := row[strings.TrimSuffix(strings.TrimPrefix(*c.Input, "{{item."), "}}")]
			switch *c.Operation {
			case "eq":
				passed = passed && got == *c.Reference
			case "ne":
				passed = passed && got != *c.Reference
			default:
				t.Errorf("operation %s", *c.Operation)
			}
		}
		if want := row["session_pass"] != "false"; passed != want {
			t.Errorf("the platform says passed %v, we %v: %s", passed, want, line)
		}
		keys = append(keys, row["session_key"].(string))
	}
	var want []string
	for s := range in.Sessions(t.Context()) {
		if s.Graded {
			want = append(want, s.Key)
		}
	}
	if !slices.Equal(keys, want) {
		t.Errorf("rows of %v, want every graded session and no other: %v", keys, want)
	}
}
