package skillpackage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	it "github.com/tracejury/tracejury/judge/evaluator/invocation/invocationtest"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
)

// The platform's own example goes in as it stands there, and comes out with a score and a reason of its form.
func TestAgentArtsExample(t *testing.T) {
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: the platform's example is not here")
	}
	found, err := filepath.Glob(filepath.Join(shared, "seeds", "002_*.txt"))
	if err != nil || len(found) != 1 {
		t.Skipf("seeds %v, error %v", found, err)
	}
	page, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```\n{\n  \"skill_package\"")
	example, _, ended := strings.Cut(rest, "\n```")
	if !ok || !ended {
		t.Fatal("the page holds no example")
	}
	p, err := skillpackage.ParsePackage("{\"skill_package\"" + example)
	if err != nil || p.Name != "pdf-summarizer" || !strings.Contains(p.Body, "\n1. ") || p.Task == "" {
		t.Fatalf("%+v %v", p, err)
	}
	e := mustNew(t, "skill_relevance_zh", skillpackage.Options{Compat: true})
	item := it.Item(t, e, subject(t, p))
	answers, err := e.Read(&item.Request, `{"dimensions":[{"id":"coverage","evidence_lines":[1,2],"assessment":"核心的摘要功能齐全"},`+
		`{"id":"precision","evidence_lines":[2],"assessment":"场景与任务一致"},{"id":"redundancy","evidence_lines":[8],"assessment":"分块细节略多"}],`+
		`"findings":["over_capability"],"rating":"较好匹配"}`)
	if err != nil {
		t.Fatal(err)
	}
	rows := []skillpackage.Row{{Package: p}}
	rows[0].Take(answers[0])
	var out bytes.Buffer
	if err := skillpackage.WriteJSONL(&out, rows); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), `{"reason":"能力覆盖度：核心的摘要功能齐全；能力精确度：场景与任务一致；能力冗余度：分块细节略多。","score":0.75,"skill_package":"{\"skill_name\":\"pdf-summarizer\"`) {
		t.Errorf("got %s", out.String())
	}
}
