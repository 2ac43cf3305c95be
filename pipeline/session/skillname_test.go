package session

import (
	"slices"
	"testing"

	"github.com/tracejury/tracejury/pipeline/convention"
)

func TestMatchRule(t *testing.T) {
	at := func(name, location string) convention.CatalogueSkill {
		return convention.CatalogueSkill{Name: name, Description: "about " + name + " at " + location, Location: location}
	}
	for _, tt := range []struct {
		name      string
		catalogue []convention.CatalogueSkill
		attempt   attempt
		rule      string
		entry     string // name of the entry; "" for none or several
	}{
		{"exact before folded", []convention.CatalogueSkill{at("PDF", ""), at("pdf", "")}, attempt{name: "pdf"}, matchExact, "pdf"},
		{"folded", []convention.CatalogueSkill{at("data_clean", "")}, attempt{name: "Data-Clean"}, matchFolded, "data_clean"},
		{"folded, of two", []convention.CatalogueSkill{at("data_clean", ""), at("data-clean", "")}, attempt{name: "DATA-CLEAN"}, matchFolded, ""},
		{"a dot is no hyphen", []convention.CatalogueSkill{at("data.clean", "")}, attempt{name: "data-clean"}, matchNone, ""},
		{"last segment of the entry", []convention.CatalogueSkill{at("office:pdf", "")}, attempt{name: "pdf"}, matchLastSegment, "office:pdf"},
		{"last segment of what was said", []convention.CatalogueSkill{at("pdf", "")}, attempt{name: "apps/web:pdf"}, matchLastSegment, "pdf"},
		{"two plugins are two skills", []convention.CatalogueSkill{at("office:pdf", "")}, attempt{name: "print:pdf"}, matchNone, ""},
		{"last segment, of two plugins", []convention.CatalogueSkill{at("office:pdf", ""), at("print:pdf", "")}, attempt{name: "pdf"}, matchLastSegment, ""},
		{"one entry told twice", []convention.CatalogueSkill{at("office:pdf", ""), at("office:pdf", "")}, attempt{name: "pdf"}, matchLastSegment, "office:pdf"},
		{"location", []convention.CatalogueSkill{at("triage", "/s/log/SKILL.md"), at("log", "/s/other/SKILL.md")}, attempt{name: "log", unnamed: true, file: "/s/log/SKILL.md"}, matchLocation, "triage"},
		{"location as a URI of a directory", []convention.CatalogueSkill{at("triage", "file:///s/log")}, attempt{name: "log", unnamed: true, file: "/s/log/SKILL.md"}, matchLocation, "triage"},
		{"location with back-slashes", []convention.CatalogueSkill{at("triage", `C:\s\log\SKILL.md`)}, attempt{name: "log", unnamed: true, file: "C:/s/log/skill.md"}, matchLocation, "triage"},
		{"location, read by a relative path", []convention.CatalogueSkill{at("triage", "/w/.agents/skills/log/SKILL.md")}, attempt{name: "log", unnamed: true, file: "./.agents/skills/log/SKILL.md"}, matchLocation, "triage"},
		{"location below the home directory", []convention.CatalogueSkill{at("triage", "~/.agents/skills/log")}, attempt{name: "log", unnamed: true, file: "/home/u/.agents/skills/log/SKILL.md"}, matchLocation, "triage"},
		{"the name that its file says comes first", []convention.CatalogueSkill{at("a", "/s/log/SKILL.md"), at("b", "")}, attempt{name: "b", file: "/s/log/SKILL.md"}, matchExact, "b"},
		{"location where its file says another name", []convention.CatalogueSkill{at("triage", "/s/log/SKILL.md")}, attempt{name: "Log triage", file: "/s/log/SKILL.md"}, matchLocation, "triage"},
		{"directory of the file that was read", []convention.CatalogueSkill{at("office:log_triage", "")}, attempt{name: "log-triage", unnamed: true, file: "/s/log-triage/SKILL.md"}, matchDirectory, "office:log_triage"},
		{"directory of the entry", []convention.CatalogueSkill{at("Log Triage", "/s/log-triage/SKILL.md")}, attempt{name: "log_triage"}, matchDirectory, "Log Triage"},
		{"a single name is no place", []convention.CatalogueSkill{at("triage", "/s/log/SKILL.md")}, attempt{name: "log", unnamed: true, file: "log/SKILL.md"}, matchNone, ""},
		{"no such entry", []convention.CatalogueSkill{at("pdf", "/s/pdf/SKILL.md")}, attempt{name: "pfd", file: "/s/pfd/SKILL.md"}, matchNone, ""},
		{"an empty catalogue", nil, attempt{name: "pdf"}, matchNone, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := convention.CatalogueSkill{}
			for _, s := range tt.catalogue {
				if s.Name == tt.entry {
					want = s
				}
			}
			if got, rule := (offer{true, tt.catalogue}).find(&tt.attempt); rule != tt.rule || got != want {
				t.Errorf("joined %q by %s, want %q by %s", got.Name, rule, tt.entry, tt.rule)
			}
			slices.Reverse(tt.catalogue)
			if got, rule := (offer{true, tt.catalogue}).find(&tt.attempt); rule != tt.rule || got != want {
				t.Errorf("the order of the catalogue reached the result: %q by %s", got.Name, rule)
			}
		})
	}
}

// TestMatchRuleIsRecorded looks at the rows, by a harness that loads by a tool and by reading.
func TestMatchRuleIsRecorded(t *testing.T) {
	const body = "1. Open it.\n2. Close it."
	session := func(catalogue string) []string {
		m := newRows(t)
		var in []any
		if catalogue != "" {
			in = append(in, text("system", catalogue))
		}
		in = append(in, text("user", "Tidy up."))
		m.chat("", in, []any{asks("call-aaaaaaaaaaa1", "load_skill", map[string]any{"skill_name": "Tidy_Up"}), asks("call-aaaaaaaaaaa2", "read_file", map[string]any{"path": "/s/sweep/SKILL.md"}),
			asks("call-aaaaaaaaaaa3", "load_skill", map[string]any{"skill_name": "mop"})})
		m.tool("", "call-aaaaaaaaaaa1", "load_skill", `{"skill_name":"Tidy_Up"}`, body, "ok")
		m.tool("", "call-aaaaaaaaaaa2", "read_file", `{"path":"/s/sweep/SKILL.md"}`, body, "ok")
		m.tool("", "call-aaaaaaaaaaa3", "load_skill", `{"skill_name":"mop"}`, "Skill 'mop' not found.", "error")
		var got []string
		for _, s := range m.build().Skills {
			got = append(got, s.Skill+" "+s.CatalogueState+" "+s.MatchRule)
		}
		return got
	}
	if got, want := session("<available_skills><skill><name>tidy-up</name><description>Tidies.</description></skill><skill><name>sweep</name><description>Sweeps.</description></skill></available_skills>"),
		[]string{"Tidy_Up listed folded", "sweep listed directory", "mop listed none"}; !slices.Equal(got, want) {
		t.Errorf("listed: %q, want %q", got, want)
	}
	if got, want := session("<available_skills></available_skills>"), []string{"Tidy_Up empty none", "sweep empty none", "mop empty none"}; !slices.Equal(got, want) {
		t.Errorf("empty: %q, want %q", got, want)
	}
	if got, want := session(""), []string{"Tidy_Up unrecorded ", "sweep unrecorded ", "mop unrecorded "}; !slices.Equal(got, want) {
		t.Errorf("unrecorded: %q, want %q", got, want)
	}
}
