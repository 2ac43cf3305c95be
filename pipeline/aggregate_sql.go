package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// SQL is what aggregate --sql reports: statements that make the tables of a data root known to an engine.
type SQL struct {
	Engine string `json:"engine"`
	Text   string `json:"sql"`
}

// WriteText prints the statements.
func (s *SQL) WriteText(w io.Writer) { _, _ = io.WriteString(w, s.Text) } // stdout: nobody could be told

// sqlEngines are the engines that --sql speaks to.
var sqlEngines = map[string]func(root string, t schema.Table) string{"duckdb": duckdbView, "athena": athenaTable, "spark": sparkView}

// rowTypes are the rows of every table, whose tags are its columns.
var rowTypes = map[string]reflect.Type{
	"objects": reflect.TypeFor[schema.Object](), "quarantine": reflect.TypeFor[schema.QuarantineRow](), "traces": reflect.TypeFor[schema.Trace](),
	"sessions_moved": reflect.TypeFor[schema.SessionMoved](), "spans": reflect.TypeFor[schema.Span](), "sessions": reflect.TypeFor[schema.Session](),
	"steps": reflect.TypeFor[schema.Step](), "skills": reflect.TypeFor[schema.Skill](), "tools": reflect.TypeFor[schema.Tool](),
	"materials": reflect.TypeFor[schema.Material](), "runs": reflect.TypeFor[schema.Run](), "verdicts": reflect.TypeFor[schema.Verdict](),
	"grades": reflect.TypeFor[schema.Grade](), "explanations": reflect.TypeFor[schema.Explanation](), "answers": reflect.TypeFor[schema.Answer](),
	"calls": reflect.TypeFor[schema.Call](), "aggregates": reflect.TypeFor[schema.Aggregate](),
}

// PrintSQL makes the statements for an engine and the configured data root. Tables that hold nothing yet are left out, and said.
func PrintSQL(ctx context.Context, cfg *Config, engine string, log *slog.Logger) (*SQL, error) {
	define := sqlEngines[engine]
	if define == nil {
		return nil, usagef("--sql=%s: no such engine: %s", engine, suggest(engine, slices.Sorted(maps.Keys(sqlEngines))))
	}
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	uri := root.Store.URI()
	var b strings.Builder
	fmt.Fprintf(&b, "-- The tables of %s for %s, schema version %d.\n", oneLine(uri), engine, schema.Version)
	b.WriteString(sqlPreamble[engine])
	if engine == "athena" && !strings.HasPrefix(uri, "s3://") {
		uri = "s3://BUCKET/PREFIX"
		b.WriteString("-- Athena reads S3 only: write where the tables are copied to for s3://BUCKET/PREFIX.\n")
	}
	if engine == "duckdb" && strings.HasPrefix(uri, "s3://") {
		b.WriteString("INSTALL httpfs;\nLOAD httpfs;\nCREATE SECRET IF NOT EXISTS (TYPE s3, PROVIDER credential_chain);\n")
	}
	held := map[string]bool{}
	for _, t := range schema.All() {
		some, err := holdsObjects(ctx, root.Store, t.Name+"/")
		if err != nil {
			return nil, err
		}
		if held[t.Name] = some; !some {
			fmt.Fprintf(&b, "\n-- %s holds nothing yet.\n", t.Name)
			continue
		}
		b.WriteString("\n" + define(uri, t))
	}
	for _, v := range sqlViews {
		if slices.ContainsFunc(v.needs, func(t string) bool { return !held[t] }) {
			continue
		}
		body := v.duckdb
		if engine != "duckdb" {
			body = v.other(engine)
		}
		temporary := ""
		if engine == "spark" {
			temporary = "TEMPORARY "
		}
		fmt.Fprintf(&b, "\n-- %s\nCREATE OR REPLACE %sVIEW %s AS\n%s;\n", v.about, temporary, v.name, body)
	}
	return &SQL{engine, b.String()}, nil
}

var sqlPreamble = map[string]string{
	"duckdb": "-- duckdb lake.duckdb -c \".read views.sql\"\n",
	"athena": "-- Choose a database first. dt is projected from 2020 on; sessions without a usable time lie at dt=1970-01-01 and are left out.\n",
	"spark":  "-- spark-sql -f views.sql, or spark.sql(...) for each statement. Off EMR, write s3a:// for s3://.\n",
}

func holdsObjects(ctx context.Context, st store.Store, prefix string) (bool, error) {
	for _, err := range st.List(ctx, prefix, store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return false, fmt.Errorf("list %s: %w", prefix, err)
		}
		return true, nil
	}
	return false, nil
}

// sqlText is a string literal.
func sqlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// localPath is the path of a file:// root, and any other URI as it is.
func localPath(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return u.Path
	}
	return uri
}

func duckdbView(root string, t schema.Table) string {
	glob, hive := "/*.parquet", "false"
	switch t.Partition {
	case schema.BySessionDay, schema.ByIngestDay:
		glob, hive = "/dt=*/*.parquet", "true"
	case schema.ByRun, schema.ByDigest:
		glob = "/*/*.parquet"
	}
	// A path with a star or a bracket of its own cannot be told from a glob: DuckDB has no escape for it but brackets.
	path := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(localPath(root)) + "/" + t.Name + glob
	return fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT * FROM read_parquet(%s, hive_partitioning = %s, union_by_name = true);\n", t.Name, sqlText(path), hive)
}

func sparkView(root string, t schema.Table) string {
	return fmt.Sprintf("CREATE OR REPLACE TEMPORARY VIEW %s USING parquet OPTIONS (path %s, mergeSchema 'true', recursiveFileLookup '%t');\n",
		t.Name, sqlText(root+"/"+t.Name), !t.Dated())
}

func athenaTable(root string, t schema.Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE EXTERNAL TABLE IF NOT EXISTS `%s` (\n", t.Name)
	row := rowTypes[t.Name]
	for i := range row.NumField() {
		name, kind := athenaColumn(row.Field(i))
		end := ",\n"
		if i == row.NumField()-1 {
			end = "\n"
		}
		fmt.Fprintf(&b, "  `%s` %s%s", name, kind, end)
	}
	b.WriteString(")\n")
	location := root + "/" + t.Name + "/"
	if t.Dated() {
		fmt.Fprintf(&b, "PARTITIONED BY (`dt` string)\nSTORED AS PARQUET\nLOCATION %s\nTBLPROPERTIES ('projection.enabled'='true', 'projection.dt.type'='date', 'projection.dt.format'='yyyy-MM-dd',\n  'projection.dt.range'='2020-01-01,NOW+1DAY', 'storage.location.template'=%s);\n",
			sqlText(location), sqlText(location+"dt=${dt}/"))
		return b.String()
	}
	fmt.Fprintf(&b, "STORED AS PARQUET\nLOCATION %s;\n", sqlText(location))
	return b.String()
}

// athenaColumn is the name and Hive type of a column.
func athenaColumn(f reflect.StructField) (name, kind string) {
	name, options, _ := strings.Cut(f.Tag.Get("parquet"), ",")
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case strings.Contains(options, "timestamp("):
		return name, "timestamp"
	case strings.Contains(options, "decimal(6:18)"):
		return name, "decimal(18,6)"
	case t.Kind() == reflect.Slice:
		return name, "array<" + hiveType(t.Elem()) + ">"
	}
	return name, hiveType(t)
}

func hiveType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int32:
		return "int"
	case reflect.Int64:
		return "bigint"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "double"
	}
	return "string"
}

// sqlView is a view beside the tables that answers a question which people ask first.
type sqlView struct {
	name, about string
	needs       []string
	duckdb      string
}

// other is the view in the dialect of another engine.
func (v *sqlView) other(engine string) string {
	s := v.duckdb
	for _, r := range sqlDialects[engine] {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// sqlDialects are the places where the engines differ from DuckDB, in the views below.
var sqlDialects = map[string][][2]string{
	"spark": {{"CROSS JOIN UNNEST(v.evidence_steps) AS e(step)", "LATERAL VIEW explode(v.evidence_steps) e AS step"}, {`"group"`, "`group`"}, {`"primary"`, "`primary`"}},
}

var sqlViews = []sqlView{
	{"latest_runs", "The last run of each evaluator.", []string{"runs"},
		`SELECT r.* FROM runs r JOIN (SELECT evaluator, max(run_id) AS run_id FROM runs
  WHERE as_of_unix_nano = (SELECT max(l.as_of_unix_nano) FROM runs l WHERE l.evaluator = runs.evaluator) GROUP BY evaluator) l
  ON r.evaluator = l.evaluator AND r.run_id = l.run_id`},
	{"final_verdicts", "What was decided: one row a criterion and subject, after the vote of repeats.", []string{"verdicts"},
		`SELECT * FROM verdicts WHERE vote = 'final'`},
	{"rates", "The numbers of the reports: one row a group and metric, with the interval to print.", []string{"aggregates"},
		`SELECT run_id, evaluator, group_by, "group", criterion, metric, met, n, not_applicable, unclear, ungraded, estimate, low, high, method, level, worst, best,
  no_result, baseline_run, change, change_low, change_high, adjusted_p, reason,
  CASE WHEN n + not_applicable + unclear + ungraded > 0 THEN CAST(ungraded AS DOUBLE) / (n + not_applicable + unclear + ungraded) END AS ungraded_share
FROM aggregates WHERE "primary"`},
	{"graded_sessions", "Results beside what the sessions were. A session that was erased since has no row in sessions.", []string{"grades", "sessions"},
		`SELECT g.run_id, g.evaluator, g.subject, g.dt AS session_dt, g.state, g.ungraded_reason, g.pass, g.safe, g.undecided, s.tenant, s.session_key, s.session_id, s.service, s.agent,
  s.harness, s.harness_version, s.started_at, s.n_turns, s.n_tool_calls, s.n_tool_errors, s.n_denied, s.input_tokens, s.output_tokens, s.content_state,
  g.subject_revision = s.revision AS unchanged
FROM grades g JOIN sessions s ON g.tenant = s.tenant AND g.session_key = s.session_key`},
	{"evidence", "What stands at the steps that a Not met points at.", []string{"verdicts", "steps"},
		`SELECT f.run_id, f.evaluator, f.criterion, f.safety, f.service, f.session_key, f.step, t.kind, t.tool, t.outcome, t.arguments, t.text
FROM (SELECT v.run_id, v.evaluator, v.criterion, v.safety, v.service, v.tenant, v.session_key, e.step
  FROM final_verdicts v CROSS JOIN UNNEST(v.evidence_steps) AS e(step)
  WHERE v.verdict = 'not_met') f
JOIN steps t ON t.tenant = f.tenant AND t.session_key = f.session_key AND t.step = f.step`},
	{"pass_rate_by_day", "Nights beside each other.", []string{"grades", "runs"},
		`SELECT r.window_to AS night, g.run_id, g.evaluator, g.service, count(*) AS sessions, sum(CASE WHEN g.pass THEN 1 ELSE 0 END) AS passed,
  sum(CASE WHEN g.pass IS NOT NULL THEN 1 ELSE 0 END) AS counted, sum(CASE WHEN g.state = 'ungraded' THEN 1 ELSE 0 END) AS ungraded
FROM grades g JOIN runs r ON g.run_id = r.run_id AND g.evaluator = r.evaluator GROUP BY r.window_to, g.run_id, g.evaluator, g.service`},
}
