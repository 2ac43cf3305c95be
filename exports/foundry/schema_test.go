package foundry

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
)

// schemas of the files, made of the platform's own type packages by schemas/generate.sh.
var schemas = map[string]string{EvaluatorFile: "schemas/evaluator.schema.json", EvalFile: "schemas/eval.schema.json", TasksEvalFile: "schemas/eval.schema.json", RunFile: "schemas/run.schema.json"}

// valid holds a file against the schema of its name.
func valid(t *testing.T, name string, data []byte) error {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	schema, err := compiler.Compile(schemas[name])
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(parsed(t, data))
}

func parsed(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func TestFiles_AreOfThePlatformsTypes(t *testing.T) {
	builtin, err := judge.Builtin("session")
	if err != nil {
		t.Fatal(err)
	}
	built := exporttest.Input()
	built.Rubric = builtin
	explained := exporttest.Full()
	explained.WithExplanations = true
	for name, in := range map[string]*exports.Input{"small": exporttest.Small(), "weighted": exporttest.Weighted(), "built in": built, "full": explained} {
		files := exporttest.Write(t, in, Target{})
		for file := range schemas {
			if data, ok := files[file]; ok {
				if err := valid(t, file, data); err != nil {
					t.Errorf("%s: %s: %v", name, file, err)
				}
			}
		}
		checkChecks(t, in, files[EvalFile], files[RowsFile])
		checkItems(t, files[EvalFile], files[RowsFile])
		if in.Suite != nil {
			if rows := checkItems(t, files[TasksEvalFile], files[TasksFile]); rows != len(in.Suite.Tasks) {
				t.Errorf("%d rows of %d tasks", rows, len(in.Suite.Tasks))
			}
		}
	}
}

// A test that accepts everything proves nothing: damaged files must be seen.
func TestFiles_DamageIsSeen(t *testing.T) {
	files := exporttest.Write(t, exporttest.Full(), Target{})
	for _, damage := range []struct{ file, old, new string }{
		{EvaluatorFile, `"weight":1`, `"weight":"1"`}, {EvaluatorFile, `,"weight":1}`, `}`}, {EvaluatorFile, `"id":"polite"`, `"id":"polite","gate":true`}, {EvaluatorFile, `"pass_threshold"`, `"threshold"`},
		{EvaluatorFile, `"definition"`, `"definitions"`}, {EvaluatorFile, `"conversation"`, `"session"`}, {EvaluatorFile, `"agents"`, `"agent"`}, {EvaluatorFile, `"name"`, `"title"`},
		{EvalFile, `"operation":"eq"`, `"operation":"is"`}, {EvalFile, `"reference":"true"`, `"value":"true"`}, {EvalFile, `"type":"custom"`, `"type":"own"`}, {EvalFile, `"metadata"`, `"meta"`},
		{TasksEvalFile, `"deployment_name"`, `"model"`}, {TasksEvalFile, `"evaluator_name"`, `"evaluator"`}, {RunFile, `"file_id"`, `"file"`}, {RunFile, `"jsonl"`, `"json"`}, {RunFile, `"id":`, `"file":`},
	} {
		damaged := bytes.Replace(files[damage.file], []byte(damage.old), []byte(damage.new), 1)
		if bytes.Equal(damaged, files[damage.file]) {
			t.Fatalf("%s: nothing was damaged: no %s", damage.file, damage.old)
		}
		if valid(t, damage.file, damaged) == nil {
			t.Errorf("%s: %s for %s is not seen", damage.file, damage.new, damage.old)
		}
	}
	row, _, _ := bytes.Cut(files[RowsFile], []byte("\n"))
	for _, edit := range [][2]string{{`"verdict_polite":"met"`, `"verdict_polite":"fine"`}, {`"session_pass":"true"`, `"session_pass":true`}, {`,"verdict_polite":"met"`, ``}} {
		damaged := strings.Replace(string(row), edit[0], edit[1], 1)
		if damaged == string(row) || itemSchemaOf(t, files[EvalFile]).Validate(parsed(t, []byte(damaged))) == nil {
			t.Errorf("a row of %s is not seen", edit[1])
		}
	}
}

func itemSchemaOf(t *testing.T, evalFile []byte) *jsonschema.Schema {
	t.Helper()
	var e struct {
		DataSourceConfig struct {
			ItemSchema map[string]any `json:"item_schema"`
		} `json:"data_source_config"`
	}
	if err := json.Unmarshal(evalFile, &e); err != nil {
		t.Fatal(err)
	}
	e.DataSourceConfig.ItemSchema["additionalProperties"] = false // a column that the eval does not name would be lost
	data, err := json.Marshal(e.DataSourceConfig.ItemSchema)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("item.json", parsed(t, data)); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("item.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// checkItems holds each row against the eval's own schema.
func checkItems(t *testing.T, evalFile, rows []byte) (n int) {
	t.Helper()
	schema := itemSchemaOf(t, evalFile)
	for line := range bytes.Lines(rows) {
		n++
		if err := schema.Validate(parsed(t, line)); err != nil || len(line) > maxRowBytes {
			t.Errorf("row %d of %d bytes: %v", n, len(line), err)
		}
	}
	return n
}

// checkChecks runs the eval's string checks as the platform does: all must hold exactly where no verdict is not met.
func checkChecks(t *testing.T, in *exports.Input, evalFile, rows []byte) {
	t.Helper()
	var e eval
	if err := exports.ReadStrict(EvalFile, evalFile, &e); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for line := range bytes.Lines(rows) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		passed := true
		for _, c := range e.TestingCriteria {
			if c.Type != "string_check" {
				t.Errorf("criterion of type %s asks a model", c.Type)
			}
			got := row[strings.TrimSuffix(strings.TrimPrefix(c.Input, "{{item."), "}}")]
			passed = passed && (got == c.Reference) == (c.Operation == "eq")
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

// A row of a tool is its definition as the platform's tool evaluators take it, with the grade beside it.
func TestTools_Rows(t *testing.T) {
	var got []string
	for line := range bytes.Lines(exporttest.Write(t, exporttest.Full(), Target{})[ToolsFile]) {
		var row struct {
			Name        string `json:"tool_name"`
			Definitions []struct {
				Name, Description string
				Parameters        map[string]any
			} `json:"tool_definitions"`
			Grade   string
			Verdict string `json:"verdict_purpose"`
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		if len(row.Definitions) != 1 || row.Definitions[0].Name != row.Name || row.Definitions[0].Parameters["type"] != "object" {
			t.Errorf("row %s", line)
		}
		got = append(got, row.Name+" "+row.Grade+" "+row.Verdict)
	}
	if want := []string{"disk_usage B scored", "purge  ungraded", "ask  ", "noop  "}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
