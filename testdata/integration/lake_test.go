package integration

import (
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// lake reads the tables of a local data root with DuckDB, as an analyst would: by globs, knowing nothing of the writer.
type lake struct {
	t    testing.TB
	db   *sql.DB
	root string
	held map[string]bool // tables that have objects; each is a view
}

// openLake reads each table that has objects: its columns, its partition columns and filename.
func openLake(t testing.TB, root string) *lake {
	t.Helper()
	l := &lake{t: t, db: duck(t), root: root, held: map[string]bool{}}
	l.exec("SET TimeZone = 'UTC'")
	for _, tab := range schema.All() {
		if files, _ := filepath.Glob(filepath.Join(root, globOf(tab))); len(files) == 0 {
			continue
		}
		l.held[tab.Name] = true
		l.exec(fmt.Sprintf(`CREATE TABLE %s AS SELECT * FROM read_parquet('%s', hive_partitioning = true, filename = true, file_row_number = true)`,
			tab.Name, filepath.Join(root, globOf(tab))))
	}
	return l
}

// globOf is where the objects of a table lie below a data root.
func globOf(t schema.Table) string {
	if t.Partition == schema.ByBucket {
		return t.Name + "/*.parquet"
	}
	return t.Name + "/*/*.parquet"
}

func (l *lake) exec(query string) {
	l.t.Helper()
	if _, err := l.db.Exec(query); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
}

// rows runs a query and returns its rows as text; null is ∅.
func (l *lake) rows(query string, args ...any) [][]string {
	l.t.Helper()
	rows, err := l.db.Query(query, args...)
	if err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	cols, err := rows.Columns()
	if err != nil {
		l.t.Fatal(err)
	}
	var out [][]string
	for rows.Next() {
		values, into := make([]any, len(cols)), make([]any, len(cols))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			l.t.Fatal(err)
		}
		row := make([]string, len(cols))
		for i, v := range values {
			if row[i] = "∅"; v != nil {
				row[i] = fmt.Sprint(v)
			}
		}
		out = append(out, row)
	}
	if err := rows.Err(); err != nil {
		l.t.Fatalf("%s: %v", query, err)
	}
	return out
}

// none fails the test if a query for what must not be finds something.
func (l *lake) none(what, query string, args ...any) {
	l.t.Helper()
	if found := l.rows(query, args...); len(found) > 0 {
		l.t.Errorf("%s: %d rows, the first %v", what, len(found), found[0])
	}
}

// value is the one value of a query.
func (l *lake) value(query string, args ...any) string {
	l.t.Helper()
	rows := l.rows(query, args...)
	if len(rows) != 1 || len(rows[0]) != 1 {
		l.t.Fatalf("%s: %v", query, rows)
	}
	return rows[0][0]
}

// check reads every table back and checks what holds for any data root: columns, order, keys, nulls, places and joins.
func (l *lake) check() {
	l.t.Helper()
	l.checkObjects()
	for _, tab := range schema.All() {
		if !l.held[tab.Name] {
			continue
		}
		l.checkColumns(tab)
		l.checkNulls(tab)
		l.checkKey(tab)
		l.checkPlace(tab)
	}
	l.checkSessionJoins()
	l.checkRunJoins()
}

// checkObjects: every Parquet object below the root belongs to a table and lies where its glob finds it.
func (l *lake) checkObjects() {
	l.t.Helper()
	var lost []string
	err := filepath.WalkDir(l.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		known := slices.ContainsFunc(schema.All(), func(t schema.Table) bool {
			ok, _ := filepath.Match(globOf(t), rel)
			return ok
		})
		first, _, _ := strings.Cut(rel, "/")
		if !known && !slices.Contains([]string{"_layout.json", "_commits", "_ledger", ".tracejury"}, first) {
			lost = append(lost, rel)
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if len(lost) > 0 {
		l.t.Errorf("objects that no table's glob finds: %v", lost)
	}
}

// checkColumns: what the engine makes of the types.
func (l *lake) checkColumns(tab schema.Table) {
	l.t.Helper()
	for _, c := range l.rows(fmt.Sprintf("SELECT column_name, column_type FROM (DESCRIBE %s)", tab.Name)) {
		name, typ := c[0], c[1]
		switch {
		case strings.HasSuffix(name, "_at") || name == "at" || name == "as_of":
			if typ != "TIMESTAMP WITH TIME ZONE" {
				l.t.Errorf("%s.%s is %s", tab.Name, name, typ)
			}
			nano := strings.TrimSuffix(strings.TrimSuffix(name, "_at"), "quarantined") + "_unix_nano"
			if name == "quarantined_at" {
				nano = "quarantined_unix_nano"
			}
			l.none(tab.Name+"."+name+" and its nanoseconds differ", fmt.Sprintf(
				`SELECT %[2]q, %[3]s FROM %[1]s WHERE (%[2]q IS NULL) <> (%[3]s IS NULL) OR epoch_us(%[2]q) <> %[3]s // 1000`, tab.Name, name, nano))
		case name == "cost_usd":
			if typ != "DECIMAL(18,6)" {
				l.t.Errorf("%s.%s is %s", tab.Name, name, typ)
			}
		case strings.HasSuffix(name, "_tokens") || strings.HasSuffix(name, "_unix_nano"):
			if typ != "BIGINT" {
				l.t.Errorf("%s.%s is %s", tab.Name, name, typ)
			}
		case strings.HasSuffix(name, "_sha256") && name != "rendering_sha256":
			l.none(tab.Name+"."+name+" is no SHA-256", fmt.Sprintf(`SELECT %[2]s FROM %[1]s WHERE NOT regexp_full_match(%[2]s, '[0-9a-f]{64}')`, tab.Name, name))
		}
	}
	meta := fmt.Sprintf("parquet_metadata('%s')", filepath.Join(l.root, globOf(tab)))
	l.none(tab.Name+": a column is not zstd", "SELECT file_name, path_in_schema FROM "+meta+" WHERE compression <> 'ZSTD'")
	for _, b := range tab.Bloom {
		l.none(tab.Name+"."+b+" has no bloom filter", "SELECT file_name FROM "+meta+" WHERE path_in_schema = ? AND num_values > 0 AND bloom_filter_offset IS NULL", b)
	}
	l.none(tab.Name+": columns or their types differ between objects", fmt.Sprintf(
		`SELECT shape, count(*) OVER () AS shapes FROM (SELECT DISTINCT shape FROM (SELECT file_name, string_agg(concat_ws(' ', name, type, repetition_type, logical_type), ',' ORDER BY rowid) AS shape
		FROM (SELECT *, row_number() OVER () AS rowid FROM parquet_schema('%s')) GROUP BY file_name)) QUALIFY shapes > 1`, filepath.Join(l.root, globOf(tab))))
}

// enumerations are the values that the columns of a table may hold, where the schema lists them.
var enumerations = map[string]string{
	"objects.status": "ok partial unreadable empty vanished", "spans.signal": "span log", "spans.kind": "internal server client producer consumer",
	"spans.time_quality": "ok imprecise clamped future missing", "sessions.content_state": "full partial missing",
	"steps.role": "system user assistant tool harness", "steps.kind": "message reasoning tool_call tool_result denial error skill_catalogue",
	"steps.outcome": "ok error denied refused not_executed unknown", "skills.via": "tool read injected user attribute",
	"skills.outcome": "loaded refused attempted", "skills.catalogue_state": "listed empty unrecorded", "skills.body_state": "captured missing truncated",
	"runs.state": "finished no_result partial failed", "runs.kind": "session skill tool skill_package task", "verdicts.vote": "one final",
	"verdicts.verdict": "met not_met not_applicable unclear scored ungraded", "verdicts.subject_kind": "session skill tool skill_package task",
	"grades.state": "graded ungraded", "grades.grade": "A B C D F", "aggregates.metric": "passed safe met_rate mean_score",
}

// checkNulls: unknown is null, never 0 or "".
func (l *lake) checkNulls(tab schema.Table) {
	l.t.Helper()
	schemaOf := fmt.Sprintf("parquet_schema('%s')", filepath.Join(l.root, globOf(tab)))
	for _, c := range l.rows("SELECT DISTINCT name, type FROM " + schemaOf + " WHERE repetition_type = 'OPTIONAL' ORDER BY name") {
		switch name := c[0]; {
		case c[1] == "BYTE_ARRAY":
			l.none(tab.Name+"."+name+" is empty where it should be null", fmt.Sprintf(`SELECT * FROM %s WHERE %q = ''`, tab.Name, name))
		case strings.HasSuffix(name, "_at") || name == "at" || strings.HasSuffix(name, "_unix_nano"):
			l.none(tab.Name+"."+name+" is 1970 where it should be null", fmt.Sprintf(`SELECT * FROM %s WHERE %q IS NOT NULL AND %[2]q::VARCHAR IN ('0', '1970-01-01 00:00:00+00')`, tab.Name, name))
		}
	}
	for _, c := range l.rows(fmt.Sprintf("SELECT column_name FROM (DESCRIBE %s) WHERE column_type = 'VARCHAR[]'", tab.Name)) {
		l.none(tab.Name+"."+c[0]+" holds an empty text", fmt.Sprintf("SELECT %[2]s FROM %[1]s WHERE list_contains(%[2]s, '')", tab.Name, c[0]))
	}
	for column, values := range enumerations {
		table, name, _ := strings.Cut(column, ".")
		if table == tab.Name {
			l.none(column+" has a value that the schema does not list", fmt.Sprintf("SELECT DISTINCT %[2]s FROM %[1]s WHERE NOT list_contains(string_split('%[3]s', ' '), %[2]s)", table, name, values))
		}
	}
}

// checkKey: the key tells rows apart, and rows lie in its order.
func (l *lake) checkKey(tab schema.Table) {
	l.t.Helper()
	quoted := make([]string, len(tab.Key))
	order := make([]string, len(tab.Key))
	for i, k := range tab.Key {
		quoted[i] = fmt.Sprintf("%q", k)
		order[i] = quoted[i] + " NULLS FIRST"
	}
	key := strings.Join(quoted, ", ")
	l.none(tab.Name+": two rows of one key", fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY %[1]s HAVING count(*) > 1", key, tab.Name))
	l.none(tab.Name+": rows out of order", fmt.Sprintf(
		"SELECT filename, file_row_number FROM %s QUALIFY row_number() OVER (PARTITION BY filename ORDER BY %s) - 1 <> file_row_number", tab.Name, strings.Join(order, ", ")))
	for _, k := range quoted {
		if k == `"trace_id"` || k == `"span_id"` || k == `"service"` || k == `"server"` {
			continue // may be unknown
		}
		l.none(tab.Name+": no "+k, fmt.Sprintf("SELECT * FROM %s WHERE %s IS NULL", tab.Name, k))
	}
}

// checkPlace: a row lies in the object that its key says, and a session in one object.
func (l *lake) checkPlace(tab schema.Table) {
	l.t.Helper()
	switch tab.Partition {
	case schema.BySessionDay:
		if !slices.Contains(tab.Key, "session_key") {
			return
		}
		l.none(tab.Name+": a session in two objects", fmt.Sprintf("SELECT session_key FROM %s GROUP BY ALL HAVING count(DISTINCT filename) > 1", tab.Name))
		l.none(tab.Name+": a session in another's bucket", fmt.Sprintf(
			`SELECT session_key, filename FROM %s WHERE ('0x' || left(session_key, 2))::INTEGER * 16 // 256 <> regexp_extract(filename, 'bucket=(\d+)\.parquet$', 1)::INTEGER`, tab.Name))
		l.none(tab.Name+": a session on another day", fmt.Sprintf(
			`SELECT x.session_key, x.dt, s.dt FROM %s x LEFT JOIN sessions s USING (tenant, session_key) WHERE s.dt IS DISTINCT FROM x.dt`, tab.Name))
	case schema.ByRun:
		l.none(tab.Name+": a run in another's object", fmt.Sprintf("SELECT run_id, run FROM %s WHERE run_id <> run::VARCHAR", tab.Name))
	case schema.ByDigest:
		l.none(tab.Name+": a material under another's hash", fmt.Sprintf(`SELECT sha256, filename FROM %s WHERE NOT ends_with(filename, '/prefix=' || left(sha256, 2) || '/' || sha256 || '.parquet')`, tab.Name))
	case schema.ByBucket:
	}
}

// hashes maps every object of a local data root to its bytes' hash, locks aside.
func hashes(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if rel, _ := filepath.Rel(root, path); rel != "_lock" && !strings.HasPrefix(rel, ".tracejury/") {
			out[rel] = sum(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same fails the test where two data roots differ, below the given tables or prefixes; none means all.
func same(t testing.TB, what string, want, got map[string]string, only ...string) {
	t.Helper()
	in := func(key string) bool {
		return len(only) == 0 || slices.ContainsFunc(only, func(p string) bool { return strings.HasPrefix(key, p+"/") })
	}
	var diff []string
	for key, h := range want {
		if g, ok := got[key]; in(key) && g != h {
			diff = append(diff, map[bool]string{true: "changed ", false: "missing "}[ok]+key)
		}
	}
	for key := range got {
		if _, ok := want[key]; in(key) && !ok {
			diff = append(diff, "new "+key)
		}
	}
	if slices.Sort(diff); len(diff) > 0 {
		t.Errorf("%s: %d objects differ: %s", what, len(diff), strings.Join(diff[:min(len(diff), 8)], ", "))
	}
}
