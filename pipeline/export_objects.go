package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// toolsUngraded is the value of --tools that asks for descriptions that nobody graded.
const toolsUngraded = "ungraded"

// loadSuite reads the suite of --suite. A sealed one is refused here, before anything else is looked at.
func loadSuite(name string) (*suite.Suite, error) {
	if name == "" {
		return nil, nil
	}
	s, err := suite.Load(name)
	if err != nil {
		return nil, usagef("--suite: %w", err)
	}
	if s.Sealed {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--suite %s: suite %s is sealed: its tasks never leave (%s)", name, s.Name, s.Counts()),
			Hint: "without --suite the rubric is exported alone"}
	}
	return &s, nil
}

// exportTools gathers the tool descriptions of --tools: those that a run graded, or all that sessions were given.
func exportTools(ctx context.Context, cfg *Config, root *Root) (*exports.Tools, error) {
	e := &cfg.Export
	if e.Tools == "" {
		if e.Server != "" {
			return nil, usagef("--server %q: want --tools as well", e.Server)
		}
		return nil, nil
	}
	if e.Tools == toolsUngraded {
		defined, err := definitions(ctx, root, e.Server)
		if err != nil {
			return nil, err
		}
		return toolsOf(root, &exports.Tools{}, newestDefinitions(defined), e.Server)
	}
	run, err := findPart(ctx, root.Store, e.Tools, cfg.latestUntil(), "tool", func(r schema.Run) bool { return r.Kind == "tool" })
	if err != nil {
		return nil, err
	}
	if err := mayExport(run, e.AllowPartial); err != nil {
		return nil, err
	}
	d, err := loadRun(ctx, root.Store, run)
	if err != nil {
		return nil, err
	}
	return runTools(ctx, root, d, e.Server, e.WithExplanations)
}

// runTools are the tool descriptions that a run graded.
func runTools(ctx context.Context, root *Root, d *runData, server string, explain bool) (*exports.Tools, error) {
	defined, err := definitions(ctx, root, server)
	if err != nil {
		return nil, err
	}
	listed, err := listedTools(ctx, root.Store, d.run.Materials)
	if err != nil {
		return nil, err
	}
	return toolsOf(root, &exports.Tools{RunID: d.run.RunID, Rubric: d.rubric}, gradedTools(d, defined, listed, server, explain), server)
}

// toolsOf orders tools and hands them out.
func toolsOf(root *Root, out *exports.Tools, list []exports.Tool, server string) (*exports.Tools, error) {
	if len(list) == 0 {
		where := root.Store.URI() + " holds no tool definition"
		if server != "" {
			where += fmt.Sprintf(" of a server or service %q", server)
		}
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--tools: %s", where), Hint: "sessions define tools where their harness records definitions"}
	}
	slices.SortFunc(list, func(a, b exports.Tool) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Name, b.Name), cmp.Compare(a.DefinitionSHA256, b.DefinitionSHA256))
	})
	out.All = func(ctx context.Context) iter.Seq2[exports.Tool, error] {
		return func(yield func(exports.Tool, error) bool) {
			for _, t := range list {
				if err := ctx.Err(); err != nil {
					yield(exports.Tool{}, err)
					return
				}
				t.Criteria = slices.Clone(t.Criteria)
				if !yield(t, nil) {
					return
				}
			}
		}
	}
	return out, nil
}

// definition is a tool's definition and the last day on which a session was given it.
type definition struct {
	tool schema.Tool
	seen string
}

// definitions reads every tool definition that sessions were given, one for each hash. Without a server the tools of an agent itself
// count too.
func definitions(ctx context.Context, root *Root, server string) (map[string]definition, error) {
	out := map[string]definition{}
	for key, err := range root.keys(ctx, schema.Tools.Name+"/") {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		rows, _, err := table.Read[schema.Tool](ctx, root.Store, key)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range rows {
			if server != "" && t.Server != server && owner(&t) != server {
				continue
			}
			t.SessionKey = ""
			id := t.Server + "\x00" + t.Service + "\x00" + t.Tool + "\x00" + t.DefinitionSHA256
			if old, ok := out[id]; !ok || t.Dt > old.seen {
				out[id] = definition{t, t.Dt}
			}
		}
	}
	return out, nil
}

// newestDefinitions keeps of each tool the definition that was seen last: one that changed since is history.
func newestDefinitions(all map[string]definition) (list []exports.Tool) {
	newest := map[string]definition{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		d := all[id]
		name := d.tool.Server + "\x00" + owner(&d.tool) + "\x00" + d.tool.Tool
		if old, ok := newest[name]; !ok || d.seen > old.seen {
			newest[name] = d
		}
	}
	for _, d := range newest {
		list = append(list, exportTool(&d.tool))
	}
	return list
}

// owner is whose a tool is: that of a server is one tool, whatever service uses it.
func owner(t *schema.Tool) string {
	if t.Server != "" {
		return ""
	}
	return t.Service
}

func exportTool(t *schema.Tool) exports.Tool {
	return exports.Tool{Server: t.Server, Service: owner(t), Name: t.Tool, DefinitionSHA256: t.DefinitionSHA256, Description: t.Description, InputSchema: t.InputSchema}
}

// gradedTools joins the grades of a run with the definitions that they are of: those of the table tools, else those of the lists that
// the run was given.
func gradedTools(d *runData, defined map[string]definition, listed map[listedName]listedTool, server string, explain bool) (list []exports.Tool) {
	byHash := map[string]schema.Tool{}
	for _, id := range slices.Sorted(maps.Keys(defined)) {
		byHash[defined[id].tool.DefinitionSHA256] = defined[id].tool
	}
	verdicts := verdictsBySubject(d)
	for _, g := range d.grades {
		if server != "" && g.Server != server && (g.Server != "" || g.Service != server) {
			continue
		}
		t := exports.Tool{Server: g.Server, Name: g.Tool, DefinitionSHA256: g.SubjectRevision}
		if g.Server == "" {
			t.Service = g.Service
		}
		if def, ok := byHash[g.SubjectRevision]; ok {
			t.Description, t.InputSchema = def.Description, def.InputSchema
			t.Name = cmp.Or(t.Name, def.Tool)
		} else if l, ok := listed[listedName{listOwner(g.Server, g.Service), g.Tool}]; ok {
			t.Description, t.InputSchema = l.Description, string(l.InputSchema)
		}
		t.Graded, t.UngradedReason, t.Grade, t.Score = g.State == "graded", g.UngradedReason, g.Grade, g.Score
		for _, v := range verdicts[subjectID(g.Subject, g.Arm)] {
			t.Criteria = append(t.Criteria, exportCriterion(d, v, explain))
		}
		if t.Name == "" { // a name is what joins; the subject ends in it where the column is empty
			t.Name = g.Subject[strings.LastIndexByte(g.Subject, '/')+1:]
		}
		list = append(list, t)
	}
	return list
}

// exportCriterion is a final verdict as exports know it.
func exportCriterion(d *runData, v schema.Verdict, explain bool) exports.Criterion {
	c := exports.Criterion{ID: v.Criterion, Item: v.Item, Safety: v.Safety, Verdict: judge.Verdict(v.Verdict), Label: v.Label, Score: v.Score,
		UngradedReason: v.UngradedReason, EvidenceSteps: v.EvidenceSteps}
	if explain {
		c.Explanation = d.explanations[subjectID(v.Subject, v.Arm)+"\x00"+v.Criterion+"\x00"+v.Item].Explanation
	}
	return c
}
