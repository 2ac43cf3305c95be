package pipeline

import (
	"testing"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// A grade is joined with the definition that it is of, also where the tool has another one by now; ungraded takes the newest.
func TestTools_Joined(t *testing.T) {
	tool := func(server, hash, text, seen string) definition {
		return definition{schema.Tool{Server: server, Service: "svc", Tool: "usage", DefinitionSHA256: hash, Description: text, Dt: seen}, seen}
	}
	defined := map[string]definition{"a": tool("disks", "h1", "Old.", "2026-11-01"), "b": tool("disks", "h2", "New.", "2026-11-29"), "c": tool("", "h3", "Own.", "2026-11-02")}
	list := newestDefinitions(defined)
	if len(list) != 2 {
		t.Fatalf("got %+v", list)
	}
	for _, x := range list {
		if x.Server == "disks" && (x.Description != "New." || x.Service != "") || x.Server == "" && (x.Description != "Own." || x.Service != "svc") {
			t.Errorf("got %+v", x)
		}
	}
	score := 0.75
	d := &runData{run: schema.Run{Kind: "tool"}, rubric: judge.Rubric{Criteria: []judge.Criterion{{ID: "purpose"}, {ID: "parameters"}}},
		grades: []schema.Grade{{Subject: "disks/usage@h1", SubjectRevision: "h1", Server: "disks", Tool: "usage", State: "graded", Grade: "B", Score: &score},
			{Subject: "(svc)/usage@h3", SubjectRevision: "h3", Service: "svc", Tool: "usage", State: "ungraded", UngradedReason: "timeout"}},
		verdicts:     []schema.Verdict{{Subject: "disks/usage@h1", Criterion: "parameters", Verdict: "met"}, {Subject: "disks/usage@h1", Criterion: "purpose", Verdict: "scored", Score: &score}},
		explanations: map[string]schema.Explanation{"disks/usage@h1\x00purpose\x00": {Explanation: "Says it."}}}
	got := gradedTools(d, defined, nil, "", true)
	if len(got) != 2 || got[0].Description != "Old." || got[0].Grade != "B" || !got[0].Graded || len(got[0].Criteria) != 2 || got[0].Criteria[0].ID != "purpose" || got[0].Criteria[0].Explanation != "Says it." {
		t.Errorf("got %+v", got)
	}
	if got[1].Graded || got[1].UngradedReason != "timeout" || got[1].Service != "svc" || got[1].Description != "Own." {
		t.Errorf("got %+v", got[1])
	}
	if one := gradedTools(d, defined, nil, "disks", false); len(one) != 1 || one[0].Criteria[0].Explanation != "" {
		t.Errorf("of one server: %+v", one)
	}
}
