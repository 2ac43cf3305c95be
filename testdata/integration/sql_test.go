package integration

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// The views that aggregate --sql prints are run as printed, and say what the tables say.
func TestPrintedViews(t *testing.T) {
	w := newWorld(t)
	w.ingest()
	run := w.evaluate(nil)
	w.run(nil, "aggregate")
	views := w.run(nil, "aggregate", "--sql").stdout
	db := duck(t)
	if _, err := db.Exec(views); err != nil {
		t.Fatalf("%v\n%s", err, views)
	}
	one := func(query string) string {
		t.Helper()
		var v sql.NullString
		if err := db.QueryRow(query).Scan(&v); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return v.String
	}
	for query, want := range map[string]string{
		"SELECT count(*) FROM grades":                           fmt.Sprint(run.Graded),
		"SELECT count(*) FROM graded_sessions WHERE unchanged":  fmt.Sprint(run.Graded),
		"SELECT run_id FROM latest_runs":                        run.RunID,
		"SELECT count(*) FROM final_verdicts":                   fmt.Sprint(6 * run.Graded),
		"SELECT count(DISTINCT dt) > 1 FROM sessions":           "true",
		"SELECT count(*) FROM rates WHERE group_by = 'overall'": "2",
		"SELECT count(*) FROM rates WHERE ungraded_share > 0":   "0",
		"SELECT sum(sessions)::VARCHAR FROM pass_rate_by_day":   fmt.Sprint(run.Graded),
		"SELECT (SELECT count(*) FROM evidence) = (SELECT sum(len(evidence_steps)) FROM final_verdicts WHERE verdict = 'not_met')":    "true",
		"SELECT count(*) > 0 AND count(kind) = count(*) FROM evidence":                                                                "true",
		"SELECT (SELECT n FROM rates WHERE group_by = 'overall' AND metric = 'passed') = (SELECT sum(counted) FROM pass_rate_by_day)": "true",
	} {
		if got := one(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	// The other dialects know the same tables and views.
	spark := w.run(nil, "aggregate", "--sql=spark").stdout
	for _, s := range []string{"VIEW sessions USING parquet", "VIEW rates AS", "LATERAL VIEW explode"} {
		if !strings.Contains(spark, s) {
			t.Errorf("spark lacks %q", s)
		}
	}
	if o := w.run([]int{exitUsage}, "aggregate", "--sql=duckbd"); !strings.Contains(o.errorLine(), `did you mean "duckdb"`) {
		t.Errorf("unknown engine: %s", o.stderr)
	}
}

// The Athena DDL names every column that DuckDB finds in the files, with the type that Athena has for it.
func TestAthenaColumns(t *testing.T) {
	w := newWorld(t)
	w.ingest()
	w.evaluate(nil)
	w.run(nil, "aggregate")
	ddl := w.run(nil, "aggregate", "--sql=athena").stdout
	db := duck(t)
	types := map[string]string{"VARCHAR": "string", "INTEGER": "int", "BIGINT": "bigint", "BOOLEAN": "boolean", "DOUBLE": "double", "VARCHAR[]": "array<string>",
		"INTEGER[]": "array<int>", "TIMESTAMP": "timestamp", "TIMESTAMP WITH TIME ZONE": "timestamp", "DECIMAL(18,6)": "decimal(18,6)"}
	for _, table := range []string{"sessions", "steps", "skills", "verdicts", "grades", "runs", "aggregates", "calls"} {
		_, rest, ok := strings.Cut(ddl, "EXISTS `"+table+"` (\n")
		if !ok {
			t.Errorf("%s is not defined", table)
			continue
		}
		columns, _, _ := strings.Cut(rest, "\n)")
		rows, err := db.Query(fmt.Sprintf("SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_parquet('%s/%s/*/*.parquet', hive_partitioning = false))", w.data, table))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for rows.Next() {
			var name, kind string
			if err := rows.Scan(&name, &kind); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprintf("  `%s` %s", name, types[kind]))
		}
		rows.Close()
		if got := strings.ReplaceAll(columns, ",\n", "\n"); got != strings.Join(want, "\n") {
			t.Errorf("%s: DDL\n%s\nfiles\n%s", table, got, strings.Join(want, "\n"))
		}
	}
}
