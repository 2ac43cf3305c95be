package prompt_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
)

func TestLoad(t *testing.T) {
	files := fstest.MapFS{}
	for name, text := range map[string]string{"v0/system": `old`, "v0/user": `u {{.X}}`, "v1/system": `new {{template "fence"}}`, "v1/user": `U {{.X}}`} {
		files["prompts/"+name+".tmpl"] = &fstest.MapFile{Data: []byte(text)}
	}
	hashes := map[string]bool{}
	for _, tc := range []struct {
		over             evaluator.Prompts
		version, sys, us string
	}{
		{evaluator.Prompts{}, "v0", "old", "u 1"},
		{evaluator.Prompts{Version: "v1"}, "v1", "new The user message holds data", "U 1"},
		{evaluator.Prompts{System: "Mine."}, "v0+system", "Mine.", "u 1"},
		{evaluator.Prompts{System: `Mine. {{template "fence"}}`, User: "only {{.X}}", Version: "v1"}, "v1+system+user", "Mine. The user message", "only 1"},
	} {
		set, err := prompt.Load(files, "", tc.over)
		if err != nil {
			t.Fatal(err)
		}
		sys, err := prompt.Fill(set.System, map[string]any{"X": 1})
		if err != nil || set.Version != tc.version || !strings.HasPrefix(sys, tc.sys) {
			t.Errorf("%+v: version %s, system %.40q %v", tc.over, set.Version, sys, err)
		}
		if us, err := prompt.Fill(set.User, map[string]any{"X": 1}); err != nil || us != tc.us {
			t.Errorf("%+v: user %q %v", tc.over, us, err)
		}
		hashes[set.SHA256] = true
	}
	if len(hashes) != 4 {
		t.Error("other prompts, the same hash")
	}
	for want, over := range map[string]evaluator.Prompts{
		"there is v0 or v1":   {Version: "v9"},
		"parse prompt system": {System: "{{.X"},
		"parse prompt user":   {User: `{{template "other"`},
	} {
		if _, err := prompt.Load(files, "", over); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", over, err, want)
		}
	}
	set, err := prompt.Load(files, "", evaluator.Prompts{User: "{{.Nothing}}"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := prompt.Fill(set.User, map[string]any{"X": 1}); err == nil {
		t.Error("a template that names what there is not was filled")
	}
}
