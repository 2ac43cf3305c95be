package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// The weaknesses that were found in an existing judge of skills, each a case that must pass here. Those of judging and
// reporting are proven in their own packages; TestWeaknessesElsewhere holds the list to be complete.

const skillBody = "1. Sort by level.\n2. Count."

// loads builds a session of calls of one tool each: arguments and what came back, with the status that the tool's span gave.
func loads(t *testing.T, calls ...[4]string) Built {
	t.Helper()
	m := newRows(t)
	for i, c := range calls {
		m.tool("", fmt.Sprintf("call_weakness%05d", i), c[0], c[1], c[2], c[3])
	}
	return m.build()
}

func said(b Built) (out []string) {
	for _, s := range b.Skills {
		out = append(out, s.Skill+" "+s.Outcome+" "+s.BodyState)
	}
	return out
}

func TestWeaknessesOfSkills(t *testing.T) {
	const catalogue = "<available_skills><skill><name>log-triage</name><description>Sorts logs.</description></skill><skill><name>data-clean</name><description></description></skill></available_skills>"
	system := func(m *rowMaker, agent, text string) *schema.Span {
		s := m.span("chat", "", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.agent.name": agent, "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 1,
			"gen_ai.system_instructions": list(t, []any{map[string]any{"type": "text", "content": text}})})
		return s
	}
	want := func(t *testing.T, b Built, wanted ...string) {
		t.Helper()
		if got := said(b); !slices.Equal(got, wanted) {
			t.Errorf("skills %q, want %q\n%s", got, wanted, dump(b))
		}
	}
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"01 a refusal that is JSON text is a refusal", func(t *testing.T) {
			want(t, loads(t, [4]string{"load_skill", `{"skill_name":"log-triag"}`, `{"error":"Skill 'log-triag' not found.","error_code":"SKILL_NOT_FOUND"}`, "ok"}), "log-triag refused missing")
		}},
		{"02 refusals of Gemini, OpenHands and tagged ones are no bodies", func(t *testing.T) {
			want(t, loads(t,
				[4]string{"activate_skill", `{"name":"a"}`, `Error: Skill "a" not found. Available skills are: log-triage`, "ok"},
				[4]string{"invoke_skill", `{"name":"b"}`, "Skill 'b' cannot be invoked directly", "ok"},
				[4]string{"Skill", `{"skill":"c"}`, "<tool_use_error>Unknown skill: c</tool_use_error>", "ok"}),
				"a refused missing", "b refused missing", "c refused missing")
		}},
		{"03 Gemini's notice to its user is no body", func(t *testing.T) {
			want(t, loads(t, [4]string{"activate_skill", `{"name":"a"}`, "Skill **a** activated. Resources loaded from `/s/a`:\n\na/\n  SKILL.md\n  scripts/", "ok"}), "a loaded missing")
		}},
		{"04 no such file is no skill", func(t *testing.T) {
			want(t, loads(t, [4]string{"bash", `{"command":"cat /w/skills/a/SKILL.md"}`, "cat: /w/skills/a/SKILL.md: No such file or directory", ""}), "a refused missing")
		}},
		{"05 parallel calls without ids get their own bodies", func(t *testing.T) {
			m := newRows(t)
			two := map[string]any{"role": "assistant", "parts": []any{
				map[string]any{"type": "tool_call", "name": "load_skill", "arguments": map[string]any{"skill_name": "a"}},
				map[string]any{"type": "tool_call", "name": "load_skill", "arguments": map[string]any{"skill_name": "b"}}}}
			back := map[string]any{"role": "tool", "parts": []any{
				map[string]any{"type": "tool_call_response", "name": "load_skill", "response": "1. A.\n2. A."},
				map[string]any{"type": "tool_call_response", "name": "load_skill", "response": "1. B.\n2. B."}}}
			m.chat("", []any{text("user", "go")}, []any{two})
			m.chat("", []any{text("user", "go"), two, back}, []any{text("assistant", "done")})
			b := m.build()
			want(t, b, "a loaded captured", "b loaded captured")
			if len(b.Skills) == 2 && (b.Skills[0].Body != "1. A.\n2. A." || b.Skills[1].Body != "1. B.\n2. B.") {
				t.Errorf("bodies %q and %q", b.Skills[0].Body, b.Skills[1].Body)
			}
		}},
		{"06 ids that begin again with every turn", func(t *testing.T) {
			m := newRows(t)
			a, b := asks("0", "load_skill", map[string]any{"skill_name": "a"}), asks("0", "load_skill", map[string]any{"skill_name": "b"})
			m.chat("", []any{text("user", "go")}, []any{a})
			m.chat("", []any{text("user", "go"), a, answers("0", "1. A.\n2. A.")}, []any{b})
			m.chat("", []any{text("user", "go"), a, answers("0", "1. A.\n2. A."), b, answers("0", "1. B.\n2. B.")}, []any{text("assistant", "done")})
			got := m.build()
			want(t, got, "a loaded captured", "b loaded captured")
			if got.Skills[0].Body == got.Skills[1].Body {
				t.Errorf("two skills share %q", got.Skills[0].Body)
			}
		}},
		{"07 an author's line like the runtime's stays", func(t *testing.T) {
			const body = "1. Go.\n\n---\nCompatibility: all versions\nNever stop."
			if b := loads(t, [4]string{"skills", `{"skill_name":"a"}`, body, "ok"}); b.Skills[0].Body != body {
				t.Errorf("body %q", b.Skills[0].Body)
			}
			const block = "\n\n---\nAllowed tools: grep\nLocation: /s/a/SKILL.md\n\nAvailable resources:\n  scripts/x.sh"
			if b := loads(t, [4]string{"load_skill", `{"skill_name":"a"}`, skillBody + block, "ok"}); b.Skills[0].Body != skillBody+block {
				t.Errorf("another harness's body %q", b.Skills[0].Body)
			}
		}},
		{"08 what the runtime put around a body goes", func(t *testing.T) {
			for tool, in := range map[string]string{
				"skills": skillBody + "\n\n---\nLocation: /s/a/SKILL.md", "activate_skill": "<activated_skill name=\"a\">\n  <instructions>\n    1. Sort by level.\n    2. Count.\n  </instructions>\n  <available_resources>\n    a/\n  </available_resources>\n</activated_skill>",
				"invoke_skill": skillBody + "\n\n---\nThe skill lives in `/s/a`.", "load_skill": "\ufeff\r\n---\r\nname: a\r\ndescription: d\r\n---\r\n1. Sort by level.\r\n2. Count.", "Skill": "Launching skill: a\n" + skillBody,
			} {
				b := loads(t, [4]string{tool, `{"skill_name":"a","name":"a"}`, in, "ok"})
				if len(b.Skills) != 1 || b.Skills[0].Body != skillBody {
					t.Errorf("%s: %q", tool, said(b))
				}
			}
			numbered := "     1\t---\n     2\tname: a\n     3\tdescription: d\n     4\t---\n     5\t1. Sort by level.\n     6\t2. Count."
			if b := loads(t, [4]string{"Read", `{"file_path":"/s/a/SKILL.md"}`, numbered, "ok"}); b.Skills[0].Body != skillBody {
				t.Errorf("numbered: %q", b.Skills[0].Body)
			}
			ruled := "---\nFirst section\n---\nSecond section"
			if b := loads(t, [4]string{"load_skill", `{"skill_name":"a"}`, ruled, "ok"}); b.Skills[0].Body != ruled {
				t.Errorf("a body that begins with a rule: %q", b.Skills[0].Body)
			}
		}},
		{"09 files whose names only end in skill.md", func(t *testing.T) {
			for _, f := range []string{"/d/how-to-write-a-skill.md", "/d/MYSKILL.md", "/s/a/SKILL.md.bak"} {
				want(t, loads(t, [4]string{"read_file", `{"path":"` + f + `"}`, skillBody, "ok"}))
			}
			want(t, loads(t, [4]string{"write_file", `{"path":"/s/a/SKILL.md","content":"x"}`, "wrote 1 byte", "ok"}))
			want(t, loads(t, [4]string{"str_replace_based_edit_tool", `{"command":"create","path":"/s/a/SKILL.md"}`, "ok", "ok"}))
		}},
		{"10 one line that begins like a notice or a refusal", func(t *testing.T) {
			for _, body := range []string{"Skill levels are never loaded twice; count once.", "Unknown skill levels are graded by hand.", "Loading skill matrices takes a minute: wait for it, then sort.", "Skill files that are not found must be reported."} {
				if b := loads(t, [4]string{"load_skill", `{"skill_name":"a"}`, body, "ok"}); len(b.Skills) != 1 || b.Skills[0].Body != body {
					t.Errorf("%q: %q", body, said(b))
				}
			}
		}},
		{"12 Claude's bodies, catalogue, legacy argument, plugin names and directories with spaces", func(t *testing.T) {
			m := newRows(t)
			m.tool("", "call_weakness00001", "Skill", `{"skill":"plug:log triage"}`, "Launching skill: plug:log-triage", "ok")
			m.tool("", "call_weakness00002", "Skill", `{"command":"data-clean"}`, "Launching skill: data-clean", "ok")
			m.chat("", []any{text("user", "Base directory for this skill: /Users/a b/skills/data-clean\n\n1. Clean.\n2. Check."), text("user", "Base directory for this skill: /Users/a b/skills/log triage\n\n"+skillBody+"\n\nARGUMENTS: api.log")}, []any{text("assistant", "done")})
			b := m.build()
			want(t, b, "plug:log triage loaded captured", "data-clean loaded captured")
			if b.Skills[0].Body != skillBody || b.Skills[1].Body != "1. Clean.\n2. Check." {
				t.Errorf("bodies %q and %q", b.Skills[0].Body, b.Skills[1].Body)
			}
			d := newRows(t)
			d.span("chat", "", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": list(t, []any{map[string]any{"name": "Skill", "description": "Runs a skill.\n" + catalogue}})})
			d.tool("", "call_weakness00001", "Skill", `{"skill":"log-triage"}`, "Launching skill: log-triage", "ok")
			if b := d.build(); b.Skills[0].CatalogueState != "listed" || !*b.Skills[0].Offered {
				t.Errorf("a catalogue in the tool's description: %+v", b.Skills[0])
			}
		}},
		{"13 tools and commands of other spellings", func(t *testing.T) {
			for _, c := range [][2]string{
				{"load_skill", `{"name":"a"}`}, {"skill", `{"name":"a"}`}, {"mcp__skills__load_skill", `{"skill_name":"a"}`}, {"kit_load_skill", `{"skill_name":"a"}`},
				{"read_file", `{"absolute_path":"/s/a/SKILL.md"}`}, {"read_file", `{"target_file":"/s/a/SKILL.md"}`}, {"read_many_files", `{"paths":["/s/a/SKILL.md"]}`},
				{"str_replace_based_edit_tool", `{"command":"view","path":"/s/a/SKILL.md"}`}, {"view", `{"path":"/s/a/SKILL.md"}`},
				{"shell", `{"command":["bash","-lc","cat /s/a/SKILL.md"]}`}, {"run_shell_command", `{"command":"more /s/a/SKILL.md"}`}, {"shell_command", `{"command":"nl /s/a/SKILL.md"}`},
				{"execute_bash", `{"command":"awk 1 /s/a/SKILL.md"}`}, {"bash", `{"command":"timeout 5 cat /s/a/SKILL.md"}`}, {"bash", `{"command":"env -i cat /s/a/SKILL.md"}`},
				{"bash", `{"command":"echo \"$(cat /s/a/SKILL.md)\""}`}, {"powershell", `{"command":"powershell -NoProfile -Command \"Get-Content C:\\s\\a\\SKILL.md\""}`},
				{"shell", `{"command":"cmd /c \"type C:\\s\\a\\SKILL.md\""}`}, {"bash", `{"command":"cd /s/a && cat SKILL.md"}`},
			} {
				b := loads(t, [4]string{c[0], c[1], skillBody, "ok"})
				if got := said(b); !slices.Equal(got, []string{"a loaded captured"}) {
					t.Errorf("%s %s: %q", c[0], c[1], got)
				}
			}
			one := "---\nname: a\ndescription: d\n---\n1. A.\n2. A.\n"
			b := loads(t, [4]string{"bash", `{"command":"cat /s/a/SKILL.md /s/b/SKILL.md"}`, one + strings.NewReplacer("name: a", "name: b", "A", "B").Replace(one), "ok"})
			want(t, b, "a loaded captured", "b loaded captured")
			if b.Skills[1].Body != "1. B.\n2. B." {
				t.Errorf("second body %q", b.Skills[1].Body)
			}
		}},
		{"14 Codex: rollout lines, local_shell_call, $skill", func(t *testing.T) {
			m := newRows(t)
			item := func(p string) any {
				var v any
				if err := json.Unmarshal([]byte(`{"type":"response_item","payload":`+p+`}`), &v); err != nil {
					t.Fatal(err)
				}
				return v
			}
			m.chat("", []any{text("user", "<skill><name>data-clean</name><path>/s/data-clean/SKILL.md</path>\n1. Clean.\n2. Check.</skill>"), text("user", "go"),
				item(`{"type":"local_shell_call","call_id":"call_weakness00001","action":{"type":"exec","command":["bash","-lc","cat /s/a/SKILL.md"]}}`),
				item(`{"type":"function_call_output","call_id":"call_weakness00001","output":"Chunk ID: 1\nProcess exited with code 0\nOutput:\n1. Sort by level.\n2. Count."}`)}, []any{text("assistant", "done")})
			b := m.build()
			want(t, b, "data-clean loaded captured", "a loaded captured")
			if b.Skills[0].Via != "user" || b.Skills[1].Via != "read" || b.Session.NTurns != 1 {
				t.Errorf("via %s and %s, %d turns", b.Skills[0].Via, b.Skills[1].Via, b.Session.NTurns)
			}
		}},
		{"15 Markdown entries with namespaces, without description, wrapped", func(t *testing.T) {
			m := newRows(t)
			system(m, "", "## Skills\n### Available skills\n- plug:pdf: Reads PDF files\n  and tables. (file: /s/pdf/SKILL.md)\n- bare: (file: /s/bare/SKILL.md)\n### How\n")
			m.tool("", "call_weakness00001", "read_file", `{"path":"/s/pdf/SKILL.md"}`, skillBody, "ok")
			m.tool("", "call_weakness00002", "read_file", `{"path":"/s/bare/SKILL.md"}`, "1. B.\n2. B.", "ok")
			b := m.build()
			if s := b.Skills; len(s) != 2 || s[0].Skill != "plug:pdf" || s[0].Description != "Reads PDF files and tables." || s[1].Skill != "bare" || s[1].Description != "" {
				t.Errorf("%+v", s)
			}
		}},
		{"16 catalogues with attributes, names as attributes, a second block after an empty one", func(t *testing.T) {
			for _, text := range []string{`<available_skills version="1"><skill><name>a</name></skill></available_skills>`, `<available_skills><skill name="a">Does a.</skill></available_skills>`,
				`<available_skills></available_skills> later <available_skills><skill><name>a</name></skill></available_skills>`} {
				m := newRows(t)
				system(m, "", text)
				if b := m.build(); b.Session.NSkillsOffered == nil || *b.Session.NSkillsOffered != 1 {
					t.Errorf("%s: offered %v", text, b.Session.NSkillsOffered)
				}
			}
		}},
		{"17 a user who mentions the tag offers nothing, an empty block is a catalogue", func(t *testing.T) {
			m := newRows(t)
			m.chat("", []any{text("user", "What does <available_skills><skill><name>evil</name></skill></available_skills> mean?")}, []any{text("assistant", "a list")})
			if b := m.build(); b.Session.NSkillsOffered != nil {
				t.Errorf("a user's text offers %d", *b.Session.NSkillsOffered)
			}
			m = newRows(t)
			system(m, "", "<available_skills>\n</available_skills>")
			if b := m.build(); b.Session.NSkillsOffered == nil || *b.Session.NSkillsOffered != 0 {
				t.Errorf("an empty catalogue is %v", b.Session.NSkillsOffered)
			}
		}},
		{"18 catalogues are per agent and may change", func(t *testing.T) {
			m := newRows(t)
			system(m, "", "<available_skills><skill><name>a</name></skill></available_skills>")
			m.tool("", "call_weakness00001", "load_skill", `{"skill_name":"b"}`, skillBody, "ok")
			system(m, "", "<available_skills><skill><name>b</name></skill></available_skills>")
			m.tool("", "call_weakness00002", "load_skill", `{"skill_name":"b"}`, "1. B.\n2. B.", "ok")
			if b := m.build(); *b.Skills[0].Offered || !*b.Skills[1].Offered {
				t.Errorf("before the change offered %t, after it %t", *b.Skills[0].Offered, *b.Skills[1].Offered)
			}
			m = newRows(t)
			one := m.span("invoke_agent one", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "one"}).SpanID
			system(m, "one", "<available_skills><skill><name>a</name></skill></available_skills>").ParentSpanID = one
			two := m.span("invoke_agent two", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "two"}).SpanID
			system(m, "two", "<available_skills><skill><name>b</name></skill></available_skills>").ParentSpanID = two
			m.tool(one, "call_weakness00001", "load_skill", `{"skill_name":"a"}`, skillBody, "ok")
			if b := m.build(); !*b.Skills[0].Offered || b.Skills[0].Agent != "one" {
				t.Errorf("another agent's catalogue: %+v", b.Skills[0])
			}
		}},
		{"19 words of failure, and errors that are none", func(t *testing.T) {
			m := newRows(t)
			answer := func(id string, more map[string]any) any {
				p := map[string]any{"type": "tool_call_response", "id": id, "response": skillBody}
				for k, v := range more {
					p[k] = v
				}
				return map[string]any{"role": "tool", "parts": []any{p}}
			}
			in := []any{text("user", "go")}
			for i, c := range []map[string]any{{"status": "timeout"}, {"status": "rejected"}, {"status": "denied"}, {"isError": true}, {"success": false}, {"error": map[string]any{}}, {"error": []any{}}} {
				id := fmt.Sprintf("call_weakness%05d", i)
				in = append(in, asks(id, "load_skill", map[string]any{"skill_name": fmt.Sprint("s", i)}), answer(id, c))
			}
			m.chat("", in, []any{text("assistant", "done")})
			b := m.build()
			for i, s := range b.Skills {
				if failed := i < 5; failed != (s.Outcome == refused) {
					t.Errorf("%d: %s", i, s.Outcome)
				}
			}
			if len(b.Skills) != 7 {
				t.Errorf("%d attempts", len(b.Skills))
			}
		}},
		{"33 an unknown harness is said to be unknown", func(t *testing.T) {
			b := loads(t, [4]string{"use_skill", `{"id":"a"}`, skillBody, "ok"}, [4]string{"bash", `{"command":"ls"}`, "x", "ok"})
			if !slices.Contains(b.Session.Warnings, "skill_calls_not_recognised:use_skill") {
				t.Errorf("warnings %q", b.Session.Warnings)
			}
			m := newRows(t)
			system(m, "", catalogue)
			m.tool("", "call_weakness00001", "consult", `{"topic":"log-triage"}`, skillBody, "ok")
			if b := m.build(); !slices.Contains(b.Session.Warnings, "skill_calls_not_recognised:consult") {
				t.Errorf("warnings %q", b.Session.Warnings)
			}
			if b := loads(t, [4]string{"load_skill", `{"skill_name":"a"}`, skillBody, "ok"}); len(b.Session.Warnings) > 0 {
				t.Errorf("warnings of a known one %q", b.Session.Warnings)
			}
		}},
		{"34 order, agents, times that are missing, records that nobody knows", func(t *testing.T) {
			m := newRows(t)
			m.tool("", "call_weakness00001", "load_skill", `{"skill_name":"a"}`, skillBody, "ok")
			m.tool("", "call_weakness00002", "load_skill", `{"skill_name":"b"}`, "1. B.\n2. B.", "ok").StartedUnixNano = 0
			m.span("GET /", "", map[string]any{"http.route": "/"})
			slices.Reverse(m.rows)
			b, again := m.build(), m.build()
			if b.Skills[0].Skill == b.Skills[1].Skill || b.Session.StartedUnixNano == 0 || b.Session.StartedUnixNano != again.Session.StartedUnixNano {
				t.Errorf("%+v", b.Session)
			}
			m = newRows(t)
			m.span("GET /", "", map[string]any{"http.route": "/"})
			if b := m.build(); !slices.Contains(b.Session.Warnings, "records_of_no_convention:1") {
				t.Errorf("warnings %q", b.Session.Warnings)
			}
		}},
	} {
		t.Run(c.name, c.test)
	}
}

// TestWeaknessesElsewhere says where the weaknesses of judging and reporting are proven to be none of ours, and that no number
// is forgotten.
func TestWeaknessesElsewhere(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, c := range []struct {
		number int
		what   string
		file   string
		test   string
	}{
		{11, "label against coverage", "judge/evaluator/skillfollowing/skillfollowing_test.go", "TestContradicts"},
		{20, "a compact transcript, cut where least is lost", "judge/transcript/transcript_test.go", "TestRender_LadderKeepsSafetyEvidenceLast"},
		{21, "the body is sent once", "judge/evaluator/skillfollowing/skillfollowing_test.go", "TestItem_GoldenPrompts"},
		{22, "text cannot leave its fence", "judge/transcript/transcript_test.go", "TestRender_TextCannotCloseTheFence"},
		{23, "the task is the request that led to the load", "judge/evaluator/skillselection/skillselection_test.go", "TestItem_GoldenPrompts"},
		{24, "selection sees what came before only", "judge/evaluator/skillselection/skillselection_test.go", "TestItem_NoHindsight"},
		{25, "following knows where the load was", "judge/evaluator/skillfollowing/skillfollowing_test.go", "TestItem_WholeSessionWithThePlaceOfTheLoad"},
		{26, "descriptions with line ends or none", "judge/evaluator/skillselection/compat_test.go", "TestStrandsCompatibility"},
		{27, "no call is paid twice", "judge/model/resume_test.go", "TestResume_CompletedCallsAreNotRepeated"},
		{28, "permanent errors are not retried", "judge/model/caller_test.go", "TestCaller_StopsForGood"},
		{29, "fields, not prose", "judge/evaluator/skillfollowing/compat_test.go", "TestStrandsCompatibility"},
		{30, "not judged is no zero", "pipeline/evaluate_test.go", "TestJudgeThatFailsIsUngradedWithItsReason"},
		{31, "evaluators are not mixed", "pipeline/aggregate_internal_test.go", "TestCountsByGroup"},
		{32, "files appear whole", "pipeline/store/dir_internal_test.go", "TestDirSurvivesKilledWriter"},
	} {
		src, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			t.Errorf("%d %s: %v", c.number, c.what, err)
			continue
		}
		if !strings.Contains(string(src), "func "+c.test+"(") {
			t.Errorf("%d %s: %s has no %s", c.number, c.what, c.file, c.test)
		}
	}
}
