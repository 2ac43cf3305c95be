package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/tooldescription"
	"github.com/tracejury/tracejury/pipeline/mcptools"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// ToolOptions says which tools are graded: those of the table tools, or of one server.
type ToolOptions struct {
	DryRun    bool
	Server    string   // of the table: only this one; of a list or a live server: what it is called, "" takes its own name
	From      string   // file with an answer to tools/list
	Stdio     string   // command line of a server on stdio
	HTTP      string   // endpoint of a server
	Env       []string // variables that the command is given
	BearerEnv string   // variable that holds the token for HTTP
	Again     bool     // also tools whose definition an earlier run graded
}

// ToolSummary is what an evaluation of tools reports.
type ToolSummary struct {
	*EvaluateSummary
	Unchanged int           `json:"unchanged"` // tools whose grades an earlier run had given
	Servers   []ServerGrade `json:"servers"`
}

// ServerGrade is the grade of a server: the median of its tools'.
type ServerGrade struct {
	Server string      `json:"server"`
	Median string      `json:"median"` // A–F; "" where more than 10 % of the tools have no grade
	Graded int         `json:"graded"`
	Tools  []ToolGrade `json:"tools"`
}

// ToolGrade is one definition of a tool with its grade.
type ToolGrade struct {
	Tool   string   `json:"tool"`
	Grade  string   `json:"grade"` // A–F; "" undecided or ungraded
	Score  *float64 `json:"score"`
	Hidden bool     `json:"hidden_instructions,omitempty"`
	Reason string   `json:"reason,omitempty"` // why there is no grade
}

// EvaluateTools grades the descriptions of tools. A definition that an earlier run graded in the same way keeps that grade.
func EvaluateTools(ctx context.Context, cfg *Config, opts ToolOptions, log *slog.Logger) (*ToolSummary, error) {
	c := &cfg.Evaluate
	c.Evaluators, c.Service, c.Agent, c.Seed, c.Compat = []string{"tool-description"}, "", "", "", ""
	g := &given{of: evaluator.OfTools, noun: "tool", again: opts.Again, left: map[string]int{}}
	tools, err := opts.list(ctx, cfg, g, log)
	if err != nil {
		return nil, err
	}
	subjects, left := tooldescription.Subjects(tools, c.MaxTools)
	if left > 0 {
		g.left["beyond_the_first_of_a_server"] = left
	}
	dt := cfg.asOf.Format("2006-01-02")
	for i := range subjects {
		t := subjects[i].Tool
		g.candidates = append(g.candidates, candidate{dt: dt, row: schema.Session{Tenant: t.Tenant, Service: t.Service}, given: &subjects[i]})
	}
	if len(g.candidates) == 0 {
		return nil, &ExitError{Code: ExitNoResult, Err: opts.nothing(), Hint: "--from FILE, --mcp-stdio 'COMMAND' or --mcp-http URL name a server that no session used"}
	}
	sum, err := Evaluate(ctx, cfg, EvaluateOptions{DryRun: opts.DryRun, given: g}, log)
	if sum == nil {
		return nil, err
	}
	out := &ToolSummary{EvaluateSummary: sum, Unchanged: g.taken}
	if !opts.DryRun {
		var gerr error
		if out.Servers, gerr = serverGrades(ctx, cfg, sum.RunID, log); gerr != nil && err == nil {
			err = gerr
		}
	}
	return out, err
}

func (o *ToolOptions) nothing() error {
	if o.Server != "" {
		return fmt.Errorf("no tool of the server %q was found", o.Server)
	}
	return fmt.Errorf("no tool was found")
}

// list comes by the tools. What is not from the tables is masked here, as ingest masks what it writes.
func (o *ToolOptions) list(ctx context.Context, cfg *Config, g *given, log *slog.Logger) ([]schema.Tool, error) {
	sources := 0
	for _, s := range []string{o.From, o.Stdio, o.HTTP} {
		if s != "" {
			sources++
		}
	}
	if sources > 1 {
		return nil, usagef("--from, --mcp-stdio and --mcp-http: name one of them")
	}
	if sources == 0 {
		g.tables, g.windowed = true, true
		return o.fromTables(ctx, cfg, log)
	}
	data, name, err := o.fetch(ctx)
	if err != nil {
		return nil, err
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	tools, err := tooldescription.ParseToolsList(data, cmp.Or(o.Server, name))
	if err != nil {
		return nil, usagef("%w", err)
	}
	for i := range tools {
		t := &tools[i]
		t.Tenant = "default"
		for _, s := range []*string{&t.Server, &t.Tool, &t.Description, &t.InputSchema} {
			*s = m.String(*s, nil)
		}
		t.DefinitionSHA256 = tooldescription.DefinitionSHA256(t)
	}
	return tools, nil
}

// fetch is a list of tools as JSON, and the name of what gave it.
func (o *ToolOptions) fetch(ctx context.Context) (data []byte, name string, err error) {
	if o.From != "" {
		f, err := os.Open(o.From)
		if err != nil {
			return nil, "", usagef("--from: %w", err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, tooldescription.MaxListBytes+1))
		if err != nil {
			return nil, "", usagef("--from: %w", err)
		}
		base := filepath.Base(o.From)
		return data, strings.TrimSuffix(base, filepath.Ext(base)), nil
	}
	opts := mcptools.Options{Env: o.Env}
	if o.BearerEnv != "" {
		if opts.Bearer = os.Getenv(o.BearerEnv); opts.Bearer == "" {
			return nil, "", usagef("--mcp-bearer-env names %s, which is not set", o.BearerEnv)
		}
	}
	var l mcptools.Listing
	if o.HTTP != "" {
		l, err = mcptools.HTTP(ctx, o.HTTP, opts)
	} else {
		words, werr := mcptools.Words(o.Stdio)
		if werr != nil || len(words) == 0 {
			return nil, "", usagef("--mcp-stdio %q: want a command", o.Stdio)
		}
		l, err = mcptools.Stdio(ctx, words, opts)
		name = filepath.Base(words[0])
	}
	if err != nil {
		return nil, "", &ExitError{Code: ExitService, Err: err, Hint: "start the server by hand to see what it says; the command gets only variables such as PATH and HOME, --mcp-env names more"}
	}
	return l.Tools, cmp.Or(l.Server, name, "server"), nil
}

// fromTables reads the tools that sessions of the window were given.
func (o *ToolOptions) fromTables(ctx context.Context, cfg *Config, log *slog.Logger) ([]schema.Tool, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	w := newWindow(cfg.asOf, cfg.Evaluate.Days)
	var out []schema.Tool
	servers := map[string]bool{}
	for obj, err := range root.Store.List(ctx, schema.Tools.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if m := dayBucket.FindStringSubmatch(obj.Key); m == nil || !w.holds(m[2]) {
			continue
		}
		rows, _, err := table.Read[schema.Tool](ctx, root.Store, obj.Key)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range rows {
			servers[cmp.Or(t.Server, "("+t.Service+")")] = true
			if o.Server == "" || t.Server == o.Server || t.Server == "" && "("+t.Service+")" == o.Server {
				t.SessionKey = "" // a definition is many sessions'
				out = append(out, t)
			}
		}
	}
	if len(out) == 0 && o.Server != "" && len(servers) > 0 {
		return nil, usagef("--server %q: no session from %s to %s had tools of it: %s", o.Server, w.from, w.to, suggest(o.Server, sortedKeys(servers)))
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// serverGrades reads the grades of a run by server; an agent's own tools are its service's.
func serverGrades(ctx context.Context, cfg *Config, runID string, log *slog.Logger) ([]ServerGrade, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	grades, _, err := table.Read[schema.Grade](ctx, root.Store, schema.Grades.RunKey(runID))
	if err != nil {
		return nil, fmt.Errorf("read grades: %w", err)
	}
	verdicts, _, err := table.Read[schema.Verdict](ctx, root.Store, schema.Verdicts.RunKey(runID))
	if err != nil {
		return nil, fmt.Errorf("read verdicts: %w", err)
	}
	return gradesByServer(grades, verdicts), nil
}

func gradesByServer(grades []schema.Grade, verdicts []schema.Verdict) []ServerGrade {
	byServer := map[string]*ServerGrade{}
	for _, g := range grades {
		name := listOwner(g.Server, g.Service)
		if byServer[name] == nil {
			byServer[name] = &ServerGrade{Server: name}
		}
		t := ToolGrade{Tool: g.Tool, Grade: g.Grade, Score: g.Score, Hidden: g.Safe != nil && !*g.Safe, Reason: whyNoGrade(&g, verdicts)}
		byServer[name].Tools = append(byServer[name].Tools, t)
	}
	out := make([]ServerGrade, 0, len(byServer))
	for _, n := range sortedKeys(byServer) {
		s := byServer[n]
		slices.SortStableFunc(s.Tools, func(a, b ToolGrade) int { return strings.Compare(a.Tool, b.Tool) })
		var letters []string
		for _, t := range s.Tools {
			if t.Grade != "" {
				letters = append(letters, t.Grade)
			}
		}
		// A median of the few tools that could be graded would be taken for the server's.
		if s.Graded = len(letters); !overUngradedLimit(len(s.Tools)-s.Graded, len(s.Tools)) {
			s.Median = tooldescription.Median(letters)
		}
		out = append(out, *s)
	}
	return out
}

// WriteText prints the summary for a person.
func (s *ToolSummary) WriteText(w io.Writer) {
	s.EvaluateSummary.WriteText(w)
	if s.Unchanged > 0 {
		fmt.Fprintf(w, "unchanged %d tools keep the grades that an earlier run gave to the same definition\n", s.Unchanged)
	}
	writeServers(w, s.Servers)
}

func writeServers(w io.Writer, servers []ServerGrade) {
	for _, s := range servers {
		median := "median " + s.Median
		if s.Median == "" {
			median = "no median"
		}
		fmt.Fprintf(w, "\n%s: %s, %d of %d tools have a grade\n", printable(s.Server, 64), median, s.Graded, len(s.Tools))
		for _, t := range s.Tools {
			score, notes := "", []string{}
			if t.Score != nil {
				score = fmt.Sprintf("%.3f", *t.Score)
			}
			if t.Reason != "" {
				notes = append(notes, t.Reason)
			}
			if t.Hidden {
				notes = append(notes, "hidden instructions")
			}
			fmt.Fprintf(w, "  %s  %5s  %s%s\n", dash(t.Grade), score, printable(t.Tool, 64), parens(strings.Join(notes, ", ")))
		}
	}
}
