package session

import (
	"path"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// Rules by which an attempt is joined to an entry of its agent's catalogue, in the order in which they are tried. They are
// the values of skills.match_rule.
const (
	matchExact       = "exact"        // the name that was said is the entry's
	matchFolded      = "folded"       // but for case, and _ for -
	matchLastSegment = "last_segment" // but for the plugin or directory before one of them
	matchLocation    = "location"     // its SKILL.md lies where the entry says
	matchDirectory   = "directory"    // the directory of one's SKILL.md is the other's name
	matchNone        = "none"         // the catalogue holds no such entry
)

// foldSkill is the key under which spellings of a skill's name are one: case, and _ as -.
func foldSkill(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "_", "-")
}

// bareSkill is a folded name without its plugin or directory.
func bareSkill(key string) string { return key[strings.LastIndexAny(key, ":/")+1:] }

// sameSkill joins names: equal when folded, or equal in their last segment when one of them has no plugin.
func sameSkill(x, y string) bool {
	if x == y {
		return true
	}
	bx, by := bareSkill(x), bareSkill(y)
	return bx == by && bx != "" && (bx == x || by == y)
}

// offer is a catalogue as an agent saw it.
type offer struct {
	found  bool
	skills []convention.CatalogueSkill
}

// find is the entry of an attempt and the rule that joined them; the zero entry where several fit the rule alike, for none of
// their descriptions is known to be its. A name that was only made of a path is no name that was said.
func (o offer) find(a *attempt) (entry convention.CatalogueSkill, rule string) {
	key, dir := foldSkill(a.name), skillDir(a.file)
	rules := [...]struct {
		name string
		on   bool
		fits func(convention.CatalogueSkill) bool
	}{
		{matchExact, !a.unnamed, func(s convention.CatalogueSkill) bool { return s.Name == a.name }},
		{matchFolded, !a.unnamed, func(s convention.CatalogueSkill) bool { return foldSkill(s.Name) == key }},
		{matchLastSegment, !a.unnamed, func(s convention.CatalogueSkill) bool { return sameSkill(foldSkill(s.Name), key) }},
		{matchLocation, dir != "", func(s convention.CatalogueSkill) bool { return samePlace(dir, skillDir(s.Location)) }},
		{matchDirectory, true, func(s convention.CatalogueSkill) bool {
			named := bareSkill(foldSkill(s.Name))
			at := foldSkill(lastDir(skillDir(s.Location)))
			return named != "" && named == foldSkill(lastDir(dir)) || !a.unnamed && at != "" && at == bareSkill(key)
		}},
	}
	for _, r := range rules {
		if !r.on {
			continue
		}
		n := 0
		for _, s := range o.skills {
			if !r.fits(s) {
				continue
			}
			if n++; n > 1 && s != entry {
				return convention.CatalogueSkill{}, r.name
			}
			entry = s
		}
		if n > 0 {
			return entry, r.name
		}
	}
	return convention.CatalogueSkill{}, matchNone
}

// skillDir is the directory of a skill, of the path of its SKILL.md, its directory or the URI of either; "" of no path.
func skillDir(location string) string {
	p := strings.ReplaceAll(strings.TrimSpace(location), `\`, "/")
	p = strings.TrimPrefix(p, "file://")
	if p == "" {
		return ""
	}
	if p = path.Clean(p); isSkillFile(p) {
		p = path.Dir(p)
	}
	if p == "." || p == "/" || p == ".." {
		return ""
	}
	return p
}

// samePlace says whether two directories are one: equal, or one relative to a place that the other tells. A single name is no
// place.
func samePlace(x, y string) bool {
	if x == "" || y == "" {
		return false
	}
	if x == y {
		return true
	}
	if path.IsAbs(x) || len(x) > len(y) {
		x, y = y, x
	}
	x = strings.TrimPrefix(x, "~/")
	return !path.IsAbs(x) && strings.Contains(x, "/") && strings.HasSuffix(y, "/"+x)
}

// lastDir is the last component of a directory.
func lastDir(dir string) string {
	if d := path.Base(dir); dir != "" && d != "." && d != "/" && d != ".." {
		return d
	}
	return ""
}

// fileSkill is the name of the skill whose SKILL.md lies at file: the catalogue's for that location, else the directory's.
func fileSkill(file string, catalogue []convention.CatalogueSkill) string {
	dir := skillDir(file)
	for _, s := range catalogue {
		if samePlace(dir, skillDir(s.Location)) {
			return s.Name
		}
	}
	return lastDir(dir)
}
