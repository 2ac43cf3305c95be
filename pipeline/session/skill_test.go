package session

import (
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/convention"
)

func TestBodyOf(t *testing.T) {
	tests := []struct{ name, tool, in, want string }{
		{"frontmatter", "", "---\nname: a\ndescription: d\n---\n\n1. Go.\n2. Stop.", "1. Go.\n2. Stop."},
		{"frontmatter behind a BOM and CRLF", "", "\ufeff---\r\nname: a\r\n---\r\nx\r\ny", "x\ny"},
		{"a rule is no frontmatter", "", "---\nSection one\n---\nSection two\nend", "---\nSection one\n---\nSection two\nend"},
		{"strands block", "skills", "1. Go.\n\n---\nAllowed tools: grep\nLocation: /s/a/SKILL.md\n\nAvailable resources:\n  scripts/x.sh", "1. Go."},
		{"an author's Compatibility line stays", "skills", "1. Go.\n\n---\nCompatibility: all\nDo not stop.", "1. Go.\n\n---\nCompatibility: all\nDo not stop."},
		{"the block of another harness stays", "load_skill", "1. Go.\n\n---\nLocation: /s/a/SKILL.md", "1. Go.\n\n---\nLocation: /s/a/SKILL.md"},
		{"acknowledgement", "Skill", "Launching skill: pdf", ""},
		{"acknowledgement and body", "Skill", "Launching skill: pdf\n1. Go.\n2. On.", "1. Go.\n2. On."},
		{"status only", "load_skill", `{"status":"loaded","path":"/x"}`, ""},
		{"instructions", "load_skill", `{"instructions":"1. Go.\n2. On."}`, "1. Go.\n2. On."},
		{"gemini", "activate_skill", "<activated_skill name=\"x\">\n  <instructions>\n    1. Go.\n      a\n  </instructions>\n  <available_resources>\n  t\n  </available_resources>\n</activated_skill>", "1. Go.\n  a"},
		{"codex preamble", "", "Chunk ID: 7f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n1. Sort.\n2. x", "1. Sort.\n2. x"},
		{"line numbers", "", "     1\t---\n     2\tname: a\n     3\t---\n     4\tGo", "Go"},
		{"shell result", "", `{"exit_code":0,"stdout":"---\nname: a\n---\nGo"}`, "Go"},
		{"a body about not found", "skills", "Skill lookup\n1. If a file is not found, stop.", "Skill lookup\n1. If a file is not found, stop."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bodyOf(tt.tool, tt.in).body; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSkillFiles(t *testing.T) {
	tests := []struct {
		tool, args string
		want       []string
	}{
		{"read_file", `{"path":"/s/a/SKILL.md"}`, []string{"/s/a/SKILL.md"}},
		{"Read", `{"file_path":"C:\\s\\a\\skill.md"}`, []string{`C:\s\a\skill.md`}},
		{"read_file", `{"path":"/docs/how-to-write-a-skill.md"}`, nil},
		{"read_file", `{"path":"/s/a/SKILL.md.bak"}`, nil},
		{"write_file", `{"path":"/s/a/SKILL.md"}`, nil},
		{"bash", `{"command":"cat /s/a/SKILL.md"}`, []string{"/s/a/SKILL.md"}},
		{"bash", `{"command":"bash -lc 'sed -n 1,90p /s/a/SKILL.md'"}`, []string{"/s/a/SKILL.md"}},
		{"shell", `{"command":["bash","-lc","cat /s/a/SKILL.md"]}`, []string{"/s/a/SKILL.md"}},
		{"bash", `{"command":"cd /s/a && cat SKILL.md | head -50"}`, []string{"/s/a/SKILL.md"}},
		{"bash", `{"command":"sudo cat '/s/my skill/SKILL.md'"}`, []string{"/s/my skill/SKILL.md"}},
		{"bash", `{"command":"cat /s/a/SKILL.md /s/b/SKILL.md"}`, []string{"/s/a/SKILL.md", "/s/b/SKILL.md"}},
		{"bash", `{"command":"sed -i s/a/b/ /s/a/SKILL.md"}`, nil},
		{"bash", `{"command":"sed -ni p /s/a/SKILL.md"}`, nil},
		{"bash", `{"command":"echo x > /s/a/SKILL.md"}`, nil},
		{"bash", `{"command":"grep name /s/a/SKILL.md"}`, nil},
		{"bash", `{"command":"tee /s/a/SKILL.md"}`, nil},
		{"exec_command", `{"cmd":"cat /s/a/SKILL.md"}`, []string{"/s/a/SKILL.md"}},
	}
	for _, tt := range tests {
		if got := skillFiles(tt.tool, tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: got %v, want %v", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestRefusedSkill(t *testing.T) {
	c := &call{tool: "load_skill"}
	for text, want := range map[string]bool{
		"Skill 'x' not found. Available skills: a, b":         true,
		`Error: Skill "x" not found. Available skills are: a`: true,
		"<tool_use_error>Unknown skill: x</tool_use_error>":   true,
		"No such skill: x": true,
		`{"error":"Skill 'x' not found.","error_code":"SKILL_NOT_FOUND"}`:                 true,
		"Error: skill_name is required.":                                                  true,
		"Skill x was not found in the list\n1. But this is a body.\n2. It goes on.":       false,
		"---\nname: unknown-skill\ndescription: d\n---\nUnknown skill levels are graded.": false,
		"1. Check that the file was found.":                                               false,
	} {
		if got := refusedSkill(c, text); got != want {
			t.Errorf("%q: refused %v", text, got)
		}
	}
	if refusedSkill(&call{tool: "search"}, "Skill 'x' not found") {
		t.Error("another tool's text is no refusal of a skill")
	}
}

func TestExitCode(t *testing.T) {
	for text, want := range map[string]int32{
		`{"exit_code":3,"stdout":"x"}`:                             3,
		"Chunk ID: 1\nProcess exited with code 2\nOutput:\nfailed": 2,
		"Exit code: 1\nboom":                                       1,
		"Exit code 127":                                            127,
		"the manual says: exit code 5 means trouble":               -1,
		`{"code":4}`:                                               -1,
	} {
		got := exitCode(text)
		if want < 0 && got != nil || want >= 0 && (got == nil || *got != want) {
			t.Errorf("%q: %v, want %d", text, got, want)
		}
	}
}

func TestSkillsOfSession(t *testing.T) {
	m := newRows(t)
	system := "Use them.\n<available_skills><skill><name>pdf</name><description>Read &amp; write</description><location>/s/pdf-v2/SKILL.md</location></skill></available_skills>"
	chat := m.span("chat", "", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": list(t, []any{map[string]any{"type": "text", "content": system}}),
		"gen_ai.input.messages": list(t, []any{text("user", "go")}), "gen_ai.output.messages": list(t, []any{text("assistant", "ok")})})
	_ = chat
	m.tool("", "call_abcdefghijk1", "read_file", `{"path":"/s/pdf-v2/SKILL.md"}`, "1. Go.\n2. On.", "ok")
	m.tool("", "call_abcdefghijk2", "Skill", `{"skill":"plug:PDF"}`, "Launching skill: plug:PDF", "ok")
	m.tool("", "call_abcdefghijk3", "Skill", `{"skill":"nope"}`, "Unknown skill: nope", "ok")
	m.tool("", "call_abcdefghijk4", "read_file", `{"path":"/w/SKILL.md.bak"}`, "x", "ok")
	m.chat("", []any{text("user", "go"), text("assistant", "ok"), text("user", "Base directory for this skill: /c/skills/pdf\n\n1. First.\n2. Then.\n\nARGUMENTS: a.log")}, []any{text("assistant", "fine")})
	b := m.build()
	if len(b.Skills) != 3 {
		t.Fatalf("%d attempts: %s", len(b.Skills), dump(b))
	}
	read, tool, no := b.Skills[0], b.Skills[1], b.Skills[2]
	if read.Skill != "pdf" || read.Via != "read" || read.Body != "1. Go.\n2. On." || read.Description != "Read & write" || !*read.Offered {
		t.Errorf("read: %+v", read)
	}
	if tool.SkillKey != "plug:pdf" || tool.Outcome != "loaded" || tool.Body != "1. First.\n2. Then." || !*tool.Offered {
		t.Errorf("tool: %+v", tool)
	}
	if no.Outcome != "refused" || *no.Offered || no.BodyState != "missing" || !strings.Contains(no.Refusal, "nope") {
		t.Errorf("refused: %+v", no)
	}
	if b.Session.NTurns != 1 || *b.Session.NSkillsOffered != 1 || b.Session.NSkillsLoaded != 2 || b.Session.NSkillsRefused != 1 {
		t.Errorf("session: %+v", b.Session)
	}
}

func TestCatalogueStates(t *testing.T) {
	for system, want := range map[string]string{
		"Nothing here.": "unrecorded",
		"<available_skills>No skills are available.</available_skills>": "empty",
		"### Available skills\n- a: b (file: /a/SKILL.md)":              "listed",
	} {
		m := newRows(t)
		m.span("chat", "", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": list(t, []any{map[string]any{"type": "text", "content": system}})})
		m.tool("", "call_abcdefghijk1", "load_skill", `{"skill_name":"a"}`, "1. x\n2. y", "ok")
		if b := m.build(); len(b.Skills) != 1 || b.Skills[0].CatalogueState != want {
			t.Errorf("%q: %+v", system, b.Skills)
		}
	}
}

func FuzzBodyOf(f *testing.F) {
	for _, s := range []string{"---\nname: a\n---\nx", "{\"stdout\":\"x\"}", "<skill>x</skill>", "Output:\n", "\n---\nLocation: x", "1\ta\n2\tb"} {
		f.Add("skills", s)
	}
	f.Fuzz(func(t *testing.T, tool, s string) {
		if b := bodyOf(tool, s).body; len(b) > 2*len(s)+16 {
			t.Errorf("a body of %d bytes from %d", len(b), len(s))
		}
		skillFiles("bash", `{"command":"cat SKILL.md `+strings.ReplaceAll(s, `"`, "")+`"}`)
		exitCode(s)
		deniedText(s)
		refusedSkill(&call{tool: tool}, s)
		catalogueResult(s)
		_ = foldSkill(string(convention.ViaTool) + s)
	})
}
