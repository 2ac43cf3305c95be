package convention

import "testing"

func TestSkillContext(t *testing.T) {
	for _, tt := range []struct{ text, skill, via, dir, body string }{
		{"<skill-context name=\"pdf\">\nBase directory for this skill: /s/pdf\n\n1. Open.\n2. Read.\n</skill-context>", "pdf", "injected", "/s/pdf", "1. Open.\n2. Read."},
		{"<skill-context name=\"pdf\">\nBase directory for this skill: /s/pdf\n\nRelated files (use view tool to read):\n  - /s/pdf/a.md\n  - /s/pdf/b.md\n\n---\nname: pdf\n---\nOpen.\n</skill-context>", "pdf", "injected", "/s/pdf", "---\nname: pdf\n---\nOpen."},
		{"The user explicitly invoked the \"/pdf\" skill. Follow it.\n<skill-context name=\"pdf\">\nOpen.\n</skill-context>", "pdf", "user", "", "Open."},
		{"What does <skill-context name=\"pdf\"> mean?", "", "", "", ""},
		{"<skill-context>x</skill-context>", "", "", "", ""},
	} {
		e, ok := injected(tt.text, History{}).(*SkillLoad)
		if ok != (tt.skill != "") {
			t.Errorf("%q: recognised %t", tt.text, ok)
			continue
		}
		if ok && (e.Skill != tt.skill || string(e.Via) != tt.via || e.Directory != tt.dir || e.Body != tt.body) {
			t.Errorf("%q: %+v", tt.text, e)
		}
	}
}
