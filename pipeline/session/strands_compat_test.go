package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// told are the attempts to load skills of a session, one a line: name, via, outcome, body or refusal, what was offered.
func told(b Built) []string {
	var out []string
	for _, k := range b.Skills {
		line := fmt.Sprintf("%s %s %s %s", k.Skill, k.Via, k.Outcome, k.CatalogueState)
		if t := k.Body + k.Refusal; t != "" {
			line += " " + strings.ReplaceAll(t, "\n", "/")
		}
		out = append(out, line)
	}
	return out
}

// The cases that the skill extractor of Strands Evals is tested by, as OpenTelemetry tells them: which loads there are, and
// with which body. Cases of its own types and of message lists without telemetry have no counterpart here.
func TestStrandsCompatibility_Loads(t *testing.T) {
	const a, b = "call_abcdefghijk1", "call_abcdefghijk2"
	const body = "1. Go.\n2. On."
	for name, tc := range map[string]struct {
		rows func(m *rowMaker)
		want []string
	}{
		// One load per harness.
		"Strands": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"x"}`, body+"\n\n---\nLocation: /s/x/SKILL.md", "ok")
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"Claude Code": {func(m *rowMaker) {
			m.tool("", a, "Skill", `{"skill":"x"}`, "Launching skill: x", "ok")
			m.chat("", []any{text("user", "go"), asks(a, "Skill", map[string]any{"skill": "x"}), answers(a, "Launching skill: x"), text("user", "Base directory for this skill: /c/x\n\n"+body)}, []any{text("assistant", "fine")})
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"Codex": {func(m *rowMaker) {
			m.tool("", a, "exec_command", `{"cmd":"cat /s/x/SKILL.md"}`, "Chunk ID: 7f\nProcess exited with code 0\nOutput:\n"+body, "ok")
		}, []string{"x read loaded unrecorded 1. Go./2. On."}},
		"Gemini CLI": {func(m *rowMaker) {
			m.tool("", a, "activate_skill", `{"name":"x"}`, "<activated_skill name=\"x\">\n<instructions>\n1. Go.\n2. On.\n</instructions>\n</activated_skill>", "ok")
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"OpenHands": {func(m *rowMaker) { m.tool("", a, "invoke_skill", `{"name":"x"}`, body, "ok") }, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"ADK": {func(m *rowMaker) {
			m.tool("", a, "load_skill", `{"skill_name":"x"}`, `{"skill_name":"x","instructions":"1. Go.\n2. On."}`, "ok")
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"ADK with a prefix":  {func(m *rowMaker) { m.tool("", a, "My_load_skill", `{"skill_name":"x"}`, body, "ok") }, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"a SKILL.md is read": {func(m *rowMaker) { m.tool("", a, "read_file", `{"path":"/s/x/SKILL.md"}`, body, "ok") }, []string{"x read loaded unrecorded 1. Go./2. On."}},
		"in a shell":         {func(m *rowMaker) { m.tool("", a, "bash", `{"command":"cat /s/x/SKILL.md"}`, body, "ok") }, []string{"x read loaded unrecorded 1. Go./2. On."}},
		"several in order": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"y"}`, body, "ok")
			m.tool("", b, "skills", `{"skill_name":"x"}`, body, "ok")
		}, []string{"y tool loaded unrecorded 1. Go./2. On.", "x tool loaded unrecorded 1. Go./2. On."}},
		"a name in prose": {func(m *rowMaker) {
			m.chat("", []any{text("user", "use the skill x")}, []any{text("assistant", "I load skill x")})
		}, nil},
		"a read without body": {func(m *rowMaker) { m.tool("", a, "read_file", `{"path":"SKILL.md"}`, "", "ok") }, nil},
		"nothing":             {func(m *rowMaker) { m.chat("", []any{text("user", "hi")}, []any{text("assistant", "ho")}) }, nil},

		// Refusals.
		"a typo": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"xx"}`, "Skill 'xx' not found. Available skills: x", "ok")
		}, []string{"xx tool refused unrecorded Skill 'xx' not found. Available skills: x"}},
		"an empty mount": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"x"}`, "Skill 'x' not found. Available skills: ", "ok")
		}, []string{"x tool refused unrecorded Skill 'x' not found. Available skills:"}},
		"a failed span": {func(m *rowMaker) { m.tool("", a, "skills", `{"skill_name":"x"}`, "boom", "error") }, []string{"x tool refused unrecorded boom"}},
		"a nested error": {func(m *rowMaker) {
			m.tool("", a, "load_skill", `{"skill_name":"x"}`, `{"error":"Skill 'x' not found.","error_code":"SKILL_NOT_FOUND"}`, "ok")
		}, []string{`x tool refused unrecorded {"error":"Skill 'x' not found.","error_code":"SKILL_NOT_FOUND"}`}},
		"no instructions": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"x"}`, "Skill 'x' activated (no instructions available).", "ok")
		}, []string{"x tool loaded unrecorded"}},
		"an empty name": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":""}`, "Error: skill_name is required", "ok")
			m.tool("", b, "load_skill", `{}`, `{"error":"x","error_code":"INVALID_ARGUMENTS"}`, "ok")
		}, nil},
		"a read that fails": {func(m *rowMaker) { m.tool("", a, "read_file", `{"path":"/w/x/SKILL.md"}`, "no such file", "error") }, nil},

		// Bodies.
		"exit code 0": {func(m *rowMaker) {
			m.tool("", a, "bash", `{"command":"cat /s/x/SKILL.md"}`, `{"exit_code":"0","stdout":"1. Go.\n2. On."}`, "ok")
		}, []string{"x read loaded unrecorded 1. Go./2. On."}},
		"a pipe that closes early": {func(m *rowMaker) {
			m.tool("", a, "bash", `{"command":"cat /s/x/SKILL.md | head -2"}`, `{"exit_code":141,"stdout":"1. Go.\n2. On."}`, "ok")
		}, []string{"x read loaded unrecorded 1. Go./2. On."}},
		"a shell that fails": {func(m *rowMaker) {
			m.tool("", a, "bash", `{"command":"cat /w/x/SKILL.md"}`, `{"exit_code":1,"stdout":"1. Go.\n2. On."}`, "ok")
		}, nil},
		"a body that says not found": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"x"}`, "1. If a skill is not found, stop.\n2. On.", "ok")
		}, []string{"x tool loaded unrecorded 1. If a skill is not found, stop./2. On."}},
		"an acknowledgement only": {func(m *rowMaker) { m.tool("", a, "Skill", `{"skill":"x"}`, "Launching skill: x", "ok") }, []string{"x tool loaded unrecorded"}},
		"an acknowledgement and a body": {func(m *rowMaker) {
			m.tool("", a, "load_skill", `{"skill_name":"x"}`, "Loaded skill x\n1. Go.\n2. On.", "ok")
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"frontmatter beats directory": {func(m *rowMaker) {
			m.tool("", a, "read_file", `{"path":"/s/dir/SKILL.md"}`, "---\nname: real\ndescription: d\n---\n1. Go.", "ok")
		}, []string{"real read loaded unrecorded 1. Go."}},
		"malformed frontmatter": {func(m *rowMaker) {
			m.tool("", a, "read_file", `{"path":"/s/dir/SKILL.md"}`, "---\n[broken\n---\n1. Go.", "ok")
		}, []string{"dir read loaded unrecorded ---/[broken/---/1. Go."}},
		"an opaque load and a read": {func(m *rowMaker) {
			m.tool("", a, "load_skill", `{"skill_name":"x"}`, `{"status":"loaded","skill_name":"x","path":"/s/x"}`, "ok")
			m.tool("", b, "read_file", `{"path":"/s/x/SKILL.md"}`, "---\nname: x\ndescription: d\n---\n"+body, "ok")
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},

		// Pairing and events.
		"two parallel bodies in swapped order": {func(m *rowMaker) {
			m.tool("", a, "Skill", `{"skill":"x"}`, "Launching skill: x", "ok")
			m.tool("", b, "Skill", `{"skill":"y"}`, "Launching skill: y", "ok")
			m.chat("", []any{text("user", "go"), text("user", "Base directory for this skill: /c/y\n\nY body.\nY2."), text("user", "Base directory for this skill: /c/x\n\nX body.\nX2.")}, []any{text("assistant", "fine")})
		}, []string{"x tool loaded unrecorded X body./X2.", "y tool loaded unrecorded Y body./Y2."}},
		"a single body of an alias directory": {func(m *rowMaker) {
			m.tool("", a, "Skill", `{"skill":"x"}`, "Launching skill: x", "ok")
			m.chat("", []any{text("user", "go"), text("user", "Base directory for this skill: /c/other\n\n"+body)}, []any{text("assistant", "fine")})
		}, []string{"x tool loaded unrecorded 1. Go./2. On."}},
		"a refusal and a retry are two attempts": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"x"}`, "Skill 'x' not found. Available skills: y", "ok")
			m.tool("", b, "skills", `{"skill_name":"x"}`, body, "ok")
		}, []string{"x tool refused unrecorded Skill 'x' not found. Available skills: y", "x tool loaded unrecorded 1. Go./2. On."}},
		"a call without a result is attempted": {func(m *rowMaker) {
			m.chat("", []any{text("user", "go")}, []any{asks(a, "skills", map[string]any{"skill_name": "x"})})
		}, []string{"x tool attempted unrecorded"}},
		"a dot is no hyphen": {func(m *rowMaker) {
			m.tool("", a, "skills", `{"skill_name":"data.clean"}`, body, "ok")
			m.tool("", b, "skills", `{"skill_name":"data-clean"}`, "3. Other.\n4. End.", "ok")
		}, []string{"data.clean tool loaded unrecorded 1. Go./2. On.", "data-clean tool loaded unrecorded 3. Other./4. End."}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRows(t)
			tc.rows(m)
			if got := told(m.build()); !slices.Equal(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// Which catalogue there is: listed, empty and unrecorded are three things, and only those who may tell of one are believed.
func TestStrandsCompatibility_Catalogues(t *testing.T) {
	const a, b = "call_abcdefghijk1", "call_abcdefghijk2"
	system := func(m *rowMaker, s string) {
		m.span("chat", "", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.system_instructions": list(t, []any{map[string]any{"type": "text", "content": s}})})
	}
	for name, tc := range map[string]struct {
		rows        func(m *rowMaker)
		state       string
		description string
	}{
		"XML in the system prompt": {func(m *rowMaker) {
			system(m, "<available_skills><skill><name>x</name><description>Reads.</description></skill></available_skills>")
		}, "listed", "Reads."},
		"entities": {func(m *rowMaker) {
			system(m, "<available_skills><skill><name>x</name><description>A &lt;b&gt; &amp; c</description></skill></available_skills>")
		}, "listed", "A <b> & c"},
		"Markdown":                 {func(m *rowMaker) { system(m, "### Available skills\n- x: Reads. (file: /s/x/SKILL.md)") }, "listed", "Reads."},
		"an empty block":           {func(m *rowMaker) { system(m, "<available_skills></available_skills>") }, "empty", ""},
		"a prompt without a block": {func(m *rowMaker) { system(m, "You are kind.") }, "unrecorded", ""},
		"no prompt":                {func(*rowMaker) {}, "unrecorded", ""},
		"a discovery tool's XML": {func(m *rowMaker) {
			m.tool("", b, "list_skills", `{}`, "<available_skills><skill><name>x</name><description>Reads.</description></skill></available_skills>", "ok")
		}, "listed", "Reads."},
		"a discovery tool's list": {func(m *rowMaker) {
			m.tool("", b, "my_list_skills", `{}`, `{"result":{"skills":[{"name":"x","description":"Reads."}]}}`, "ok")
		}, "listed", "Reads."},
		"another tool's text": {func(m *rowMaker) {
			m.tool("", b, "fetch_page", `{}`, "<available_skills><skill><name>x</name><description>Reads.</description></skill></available_skills>", "ok")
		}, "unrecorded", ""},
		"a user's JSON": {func(m *rowMaker) {
			m.chat("", []any{text("user", `{"skills":[{"name":"x","description":"Reads."}]}`)}, []any{text("assistant", "ok")})
		}, "unrecorded", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newRows(t)
			tc.rows(m)
			m.tool("", a, "skills", `{"skill_name":"x"}`, "1. Go.\n2. On.", "ok")
			got := m.build().Skills
			if len(got) != 1 || got[0].CatalogueState != tc.state || got[0].Description != tc.description {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Position, call and agent of an attempt are columns of its row.
func TestStrandsCompatibility_WhereALoadStands(t *testing.T) {
	m := newRows(t)
	agent := m.span("invoke_agent", "", map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "worker"})
	m.chat(agent.SpanID, []any{text("user", "go")}, []any{text("assistant", "ok")})
	load := m.tool(m.rows[0].SpanID, "call_abcdefghijk1", "skills", `{"skill_name":"x"}`, "1. Go.\n2. On.", "ok").SpanID
	got := m.build().Skills
	if len(got) != 1 || got[0].Step == nil || *got[0].Step != 3 || got[0].CallID != "call_abcdefghijk1" || got[0].Agent != "worker" || got[0].SpanID != load {
		t.Errorf("%+v", got)
	}
}
