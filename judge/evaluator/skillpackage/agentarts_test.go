package skillpackage_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
)

func TestParsePackage(t *testing.T) {
	flat := `{"skill_name":"a","skill_manifest":"name: a","instruction_body":"1. x","task_description":"t"}`
	want := evaluator.SkillPackage{Name: "a", Manifest: "name: a", Body: "1. x", Task: "t"}
	for name, text := range map[string]string{
		"object":    flat,
		"string":    `"{\"skill_name\":\"a\",\"skill_manifest\":\"name: a\",\"instruction_body\":\"1. x\",\"task_description\":\"t\"}"`,
		"whole row": `{"skill_package":"{\"skill_name\":\"a\",\"skill_manifest\":\"name: a\",\"instruction_body\":\"1. x\",\"task_description\":\"t\"}"}`,
		"more keys": strings.Replace(flat, "{", `{"version":2,`, 1),
	} {
		if got, err := skillpackage.ParsePackage(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
	if p, err := skillpackage.ParsePackage(`{"skill_name":"a","skill_manifest":{"b":1,"a":"x"}}`); err != nil || p.Manifest != `{"a":"x","b":1}` {
		t.Errorf("manifest as object: %+v %v", p, err)
	}
	for _, bad := range []string{"", "null", "{}", "[]", "5", `"text"`, `{"skill_name":5}`, `{"task_description":"only"}`} {
		if p, err := skillpackage.ParsePackage(bad); err == nil {
			t.Errorf("%q was read as %+v", bad, p)
		}
	}
}

func TestEvaluationSets(t *testing.T) {
	rows := []skillpackage.Row{
		{Package: evaluator.SkillPackage{Name: "a", Manifest: "name: a\nx: \"q\"", Body: "1. 摘要 <b>", Task: "对文档, \"摘要\""}, Extra: map[string]string{"id": "7", "note": "x,y\nz"}},
		{Package: evaluator.SkillPackage{Name: "b", Body: "2."}, Extra: map[string]string{"id": "8", "note": ""}},
	}
	for _, judged := range []bool{false, true} {
		if judged {
			score := 0.75
			rows[0].Take(judge.Answer{Score: &score, Explanation: "=coverage: good"})
			rows[1].Take(judge.Answer{Label: "unclear", Explanation: "not shown"})
		}
		var lines, table bytes.Buffer
		if err := skillpackage.WriteJSONL(&lines, rows); err != nil {
			t.Fatal(err)
		}
		if err := skillpackage.WriteCSV(&table, rows); err != nil {
			t.Fatal(err)
		}
		if judged && !strings.Contains(table.String(), ",0.75,'=coverage") {
			t.Errorf("a formula in:\n%s", table.String())
		}
		fromLines, err := skillpackage.ReadJSONL(&lines)
		if err != nil || !reflect.DeepEqual(fromLines, rows) {
			t.Errorf("JSONL: %+v %v", fromLines, err)
		}
		fromTable, err := skillpackage.ReadCSV(strings.NewReader("\ufeff" + table.String()))
		if judged {
			fromTable[0].Reason = strings.TrimPrefix(fromTable[0].Reason, "'")
		}
		if err != nil || !reflect.DeepEqual(fromTable, rows) {
			t.Errorf("CSV: %+v %v", fromTable, err)
		}
	}
}

func TestReadSets_Errors(t *testing.T) {
	if _, err := skillpackage.ReadJSONL(strings.NewReader("{\"skill_package\":\"{\\\"skill_name\\\":\\\"a\\\"}\"}\n\n{\"x\":1}\n")); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("error %v", err)
	}
	if _, err := skillpackage.ReadCSV(strings.NewReader("id,package\n1,2\n")); err == nil || !strings.Contains(err.Error(), "no column skill_package") {
		t.Errorf("error %v", err)
	}
	if _, err := skillpackage.ReadCSV(strings.NewReader("id,skill_package\n1,{}\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v", err)
	}
}

func TestFromFolder(t *testing.T) {
	folder := fstest.MapFS{
		"SKILL.md":         {Data: []byte("---\nname: \"pdf\"\ndescription: Reads PDF files.\n---\n\n# PDF\n\n---\nA rule above stays.\n")},
		"scripts/run.sh":   {Data: []byte("echo hi\n")},
		"assets/logo.png":  {Data: []byte{0x89, 'P', 0, 1}},
		".git/config":      {Data: []byte("x")},
		"references/a.txt": {Data: []byte("a")},
	}
	p, err := skillpackage.FromFolder(folder, "Read a PDF.")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "pdf" || p.Manifest != "name: \"pdf\"\ndescription: Reads PDF files." || p.Body != "# PDF\n\n---\nA rule above stays." || p.Task != "Read a PDF." {
		t.Errorf("%+v", p)
	}
	var paths []string
	for _, f := range p.Files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "assets/logo.png references/a.txt scripts/run.sh" || !strings.Contains(p.Files[0].Text, "not shown") {
		t.Errorf("files %q", got)
	}
	if _, err := skillpackage.FromFolder(fstest.MapFS{"README.md": {}}, ""); err == nil {
		t.Error("a folder without SKILL.md was read")
	}
}

func TestSplitSkill(t *testing.T) {
	for name, tc := range map[string]struct{ text, manifest, body string }{
		"frontmatter":        {"---\nname: a\n---\nx", "name: a", "x"},
		"crlf and mark":      {"\ufeff---\r\nname: a\r\n---\r\nx\r\n", "name: a", "x"},
		"none":               {"# x", "", "# x"},
		"never closed":       {"---\nname: a\nx", "", "---\nname: a\nx"},
		"a rule, no fields":  {"---\nintro\n---\nx", "", "---\nintro\n---\nx"},
		"description only":   {"---\ndescription: a\n---\nx", "description: a", "x"},
		"nothing after":      {"---\nname: a\n---", "name: a", ""},
		"blank lines before": {"\n\n---\nname: a\n---\nx", "name: a", "x"},
	} {
		if m, b := skillpackage.SplitSkill(tc.text); m != tc.manifest || b != tc.body {
			t.Errorf("%s: %q %q", name, m, b)
		}
	}
}

func FuzzParsePackage(f *testing.F) {
	f.Add(`{"skill_name":"a","skill_manifest":{"b":1},"instruction_body":"x","task_description":"t"}`)
	f.Add(`"{\"skill_package\":\"x\"}"`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := skillpackage.ParsePackage(text)
		if err != nil {
			return
		}
		written, err := skillpackage.FormatPackage(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := skillpackage.ParsePackage(written)
		if err != nil || !reflect.DeepEqual(again, p) {
			t.Errorf("%q: %+v, then %+v, error %v", text, p, again, err)
		}
	})
}
