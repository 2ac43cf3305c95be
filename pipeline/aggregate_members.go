package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// The columns of session tables that groups need. Others are not decoded.
type (
	sessionModels struct {
		SessionKey string   `parquet:"session_key"`
		Models     []string `parquet:"models,list"`
	}
	sessionSkill struct {
		SessionKey string `parquet:"session_key,dict"`
		Skill      string `parquet:"skill,dict"`
		SkillKey   string `parquet:"skill_key,dict"`
		Outcome    string `parquet:"outcome,dict"`
	}
	sessionServer struct {
		Server     string `parquet:"server,optional,dict"`
		SessionKey string `parquet:"session_key,dict"`
	}
)

// members are the groups of a session that its grade does not name.
type members struct{ models, skills, servers []string }

// loadMembers finds the models that sessions used, the skills that they loaded and the tool servers that they were given, in the order
// of b.sessions, which is that of their keys. A session that is not there was erased, and belongs to none.
func (b *factBuilder) loadMembers(ctx context.Context, root *Root) (map[int]*members, error) {
	places, err := b.places(root.Layout)
	if err != nil {
		return nil, err
	}
	refs := b.sessions
	out := map[int]*members{}
	each := func(key string, do func(m *members)) { // a session may have several subjects
		i, _ := slices.BinarySearchFunc(refs, key, func(r sessionRef, key string) int { return strings.Compare(b.sessionKey(&r), key) })
		for ; i < len(refs) && b.sessionKey(&refs[i]) == key; i++ {
			if out[i] == nil {
				out[i] = new(members)
			}
			do(out[i])
		}
	}
	spelling := map[string]string{} // of a skill, by its folded name: the smallest, so that one skill is one group
	for _, at := range places {
		key := func(t schema.Table) string { return t.DayKey(at.dt, at.bucket) }
		models, _, err := table.Read[sessionModels](ctx, root.Store, key(schema.Sessions))
		if err != nil {
			return nil, fmt.Errorf("read models of sessions: %w", err)
		}
		loaded, _, err := table.Read[sessionSkill](ctx, root.Store, key(schema.Skills))
		if err != nil {
			return nil, fmt.Errorf("read skills: %w", err)
		}
		servers, _, err := table.Read[sessionServer](ctx, root.Store, key(schema.Tools))
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, r := range models {
			each(r.SessionKey, func(m *members) { m.models = r.Models })
		}
		for _, r := range servers {
			if r.Server != "" {
				each(r.SessionKey, func(m *members) { m.servers = append(m.servers, r.Server) })
			}
		}
		for _, r := range loaded {
			if r.Outcome != "loaded" {
				continue
			}
			each(r.SessionKey, func(m *members) {
				m.skills = append(m.skills, r.SkillKey)
				if s, seen := spelling[r.SkillKey]; !seen || r.Skill < s {
					spelling[r.SkillKey] = r.Skill
				}
			})
		}
	}
	for _, m := range out {
		for j, folded := range m.skills {
			m.skills[j] = spelling[folded]
		}
		m.models, m.skills, m.servers = distinct(m.models), distinct(m.skills), distinct(m.servers)
	}
	return out, nil
}

// place is where sessions lie.
type place struct {
	dt     string
	bucket int
}

// places are those of all sessions. Sessions are in the order of their keys, so buckets come one after the other.
func (b *factBuilder) places(layout schema.Layout) ([]place, error) {
	days := b.book.book[dimDay].names
	seen := make([]bool, len(days))
	var out []place
	const digits = 2 // of a key, which tell its bucket
	before, bucket := "", -1
	for i := range b.sessions {
		r := &b.sessions[i]
		s := &b.subjects[r.subject]
		prefix := b.idText[s.from:min(s.from+digits, s.to)]
		if key, ok := b.keys[r.subject]; ok {
			prefix = key[:min(digits, len(key))]
		}
		if prefix != before {
			next, err := layout.Bucket(prefix)
			if err != nil {
				return nil, err
			}
			if before = prefix; next != bucket {
				bucket = next
				clear(seen)
			}
		}
		if !seen[r.day] {
			seen[r.day] = true
			out = append(out, place{days[r.day], bucket})
		}
	}
	return out, nil
}

func distinct(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func asUndefined(err error) (*stats.UndefinedError, bool) {
	return errors.AsType[*stats.UndefinedError](err)
}
