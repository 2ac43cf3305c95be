package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// loadMembers finds the models that graded sessions used, the skills that they loaded and the tool servers that they were given.
func loadMembers(ctx context.Context, root *Root, grades []schema.Grade) (map[string]members, error) {
	out := map[string]members{}
	type place struct {
		dt     string
		bucket int
	}
	places := map[place]bool{}
	for i := range grades {
		if grades[i].SessionKey == "" || grades[i].Dt == "" {
			continue
		}
		b, err := root.Layout.Bucket(grades[i].SessionKey)
		if err != nil {
			return nil, err
		}
		out[grades[i].SessionKey] = members{}
		places[place{grades[i].Dt, b}] = true
	}
	spelling := map[string]string{} // of a skill, by its folded name: the smallest, so that one skill is one group
	skills := map[string][]string{}
	for at := range places {
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
			if m, ok := out[r.SessionKey]; ok {
				m.models = r.Models
				out[r.SessionKey] = m
			}
		}
		for _, r := range servers {
			if m, ok := out[r.SessionKey]; ok && r.Server != "" {
				m.servers = append(m.servers, r.Server)
				out[r.SessionKey] = m
			}
		}
		for _, r := range loaded {
			if _, ok := out[r.SessionKey]; ok && r.Outcome == "loaded" {
				skills[r.SessionKey] = append(skills[r.SessionKey], r.SkillKey)
				if s, seen := spelling[r.SkillKey]; !seen || r.Skill < s {
					spelling[r.SkillKey] = r.Skill
				}
			}
		}
	}
	for key, m := range out {
		for _, s := range skills[key] {
			m.skills = append(m.skills, spelling[s])
		}
		out[key] = members{distinct(m.models), distinct(m.skills), distinct(m.servers)}
	}
	return out, nil
}

func distinct(names []string) []string {
	set := map[string]bool{}
	for _, n := range names {
		set[n] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func asUndefined(err error) (*stats.UndefinedError, bool) {
	return errors.AsType[*stats.UndefinedError](err)
}
