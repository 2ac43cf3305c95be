package skillpackage_test

import (
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
	"github.com/tracejury/tracejury/judge/evaluator/skillpackage"
)

func TestCanaries(t *testing.T) {
	for _, r := range []string{"skill_relevance", "skill_completeness", "skill_threat"} {
		e := mustNew(t, r, skillpackage.Options{})
		for name, put := range map[string]func(p *evaluator.SkillPackage, x string){
			"SKILL.md": func(p *evaluator.SkillPackage, x string) { p.Body += "\n" + x },
			"manifest": func(p *evaluator.SkillPackage, x string) { p.Manifest += " " + x },
			"a file": func(p *evaluator.SkillPackage, x string) {
				p.Files = []evaluator.SkillFile{{Path: "notes.md", Text: "Notes\n" + x}}
			},
		} {
			t.Run(r+"/"+name, func(t *testing.T) {
				evaluatortest.Canaries(t, e, func(x string) evaluator.Subject {
					p := tables()
					put(&p, x)
					return subject(t, p)
				})
			})
		}
	}
}
