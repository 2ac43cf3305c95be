package integration

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// checkAggregates computes the numbers again in SQL, from verdicts and grades alone, and compares.
func (l *lake) checkAggregates() {
	l.t.Helper()
	l.exec(`CREATE OR REPLACE VIEW recounted AS
		WITH v AS (SELECT run_id, evaluator, criterion, coalesce(service, '') AS service, verdict FROM verdicts WHERE vote = 'final'),
		byCriterion AS (
			SELECT run_id, evaluator, 'criterion' AS group_by, criterion AS "group", criterion, 'met_rate' AS metric, verdict FROM v UNION ALL
			SELECT run_id, evaluator, 'criterion_service', criterion || '/' || service, criterion, 'met_rate', verdict FROM v),
		g AS (SELECT run_id, evaluator, session_key, coalesce(service, '') AS service, coalesce(agent, '') AS agent, coalesce(harness, '') AS harness, dt, metric, CASE WHEN state <> 'graded' THEN 'ungraded' WHEN result IS NULL THEN 'not_applicable' WHEN result THEN 'met' ELSE 'not_met' END AS verdict
			FROM (SELECT *, 'passed' AS metric, pass AS result FROM grades UNION ALL SELECT *, 'safe', safe FROM grades)),
		loaded AS (SELECT DISTINCT session_key, skill FROM skills WHERE outcome = 'loaded'),
		byGroup AS (
			SELECT run_id, evaluator, 'overall' AS group_by, '' AS "group", '' AS criterion, metric, verdict FROM g UNION ALL
			SELECT run_id, evaluator, 'service', service, '', metric, verdict FROM g UNION ALL
			SELECT run_id, evaluator, 'agent', agent, '', metric, verdict FROM g UNION ALL
			SELECT run_id, evaluator, 'harness', harness, '', metric, verdict FROM g UNION ALL
			SELECT run_id, evaluator, 'day', dt, '', metric, verdict FROM g UNION ALL
			SELECT run_id, evaluator, 'model', model, '', metric, verdict FROM g JOIN (SELECT session_key, unnest(list_distinct(models)) AS model FROM sessions) USING (session_key) UNION ALL
			SELECT run_id, evaluator, 'skill', coalesce(skill, ''), '', metric, verdict FROM g LEFT JOIN loaded USING (session_key) UNION ALL
			SELECT run_id, evaluator, 'skill_service', coalesce(skill, '') || '/' || service, '', metric, verdict FROM g LEFT JOIN loaded USING (session_key))
		SELECT run_id, evaluator, group_by, "group", criterion, metric,
			count(*) FILTER (verdict = 'met') AS met, count(*) FILTER (verdict = 'not_met') AS not_met, count(*) FILTER (verdict = 'not_applicable') AS not_applicable,
			count(*) FILTER (verdict = 'unclear') AS unclear, count(*) FILTER (verdict = 'ungraded') AS ungraded
		FROM (FROM byCriterion UNION ALL FROM byGroup) GROUP BY ALL`)
	l.none("numbers that verdicts do not give", `SELECT group_by, "group", criterion, metric, a.met, r.met, a.not_met, r.not_met
		FROM (FROM aggregates WHERE group_by IN (SELECT group_by FROM recounted) AND metric IN (SELECT metric FROM recounted)) a FULL JOIN recounted r USING (run_id, evaluator, group_by, "group", criterion, metric)
		WHERE (a.met IS DISTINCT FROM r.met OR a.not_met IS DISTINCT FROM r.not_met OR a.not_applicable IS DISTINCT FROM r.not_applicable
			OR a.unclear IS DISTINCT FROM r.unclear OR a.ungraded IS DISTINCT FROM r.ungraded)`)
	l.none("denominators other than met and not met", `FROM aggregates WHERE n <> met + not_met`)
	l.none("estimates other than met of n", `FROM aggregates WHERE estimate IS DISTINCT FROM CASE WHEN n > 0 THEN met / n END`)
	l.none("groups without one interval to print", `SELECT run_id, group_by, "group", metric FROM aggregates GROUP BY ALL HAVING count(*) FILTER ("primary") <> 1`)
	l.none("primary intervals that are not Wilson's", `FROM aggregates WHERE "primary" AND method <> 'wilson'`)
	// Wilson's interval with the 97.5 % quantile of the normal distribution.
	l.none("Wilson intervals that SQL computes otherwise", `WITH w AS (SELECT *, met / n AS p, 1.959963984540054 AS z FROM aggregates WHERE method = 'wilson' AND level = 0.95 AND n > 0),
		b AS (SELECT *, (p + z * z / (2 * n)) / (1 + z * z / n) AS mid, z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4.0 * n * n)) AS half FROM w)
		SELECT group_by, "group", metric, met, n, low, mid - half, high, mid + half FROM b WHERE abs(low - greatest(0, mid - half)) > 1e-9 OR abs(high - least(1, mid + half)) > 1e-9`)
	l.none("intervals that do not hold the estimate", `FROM aggregates WHERE n > 0 AND NOT (0 <= low AND low <= estimate AND estimate <= high AND high <= 1)`)
	l.none("intervals of nothing", `FROM aggregates WHERE n = 0 AND (estimate IS NOT NULL OR low IS NOT NULL OR high IS NOT NULL)`)
	l.none("bounds that do not hold the estimate", `FROM aggregates WHERE estimate IS NOT NULL AND NOT (worst <= estimate + 1e-12 AND estimate <= best + 1e-12)`)
	l.none("safety without an exact interval", `SELECT group_by, "group" FROM aggregates WHERE metric = 'safe' AND n > 0 GROUP BY ALL HAVING count(*) FILTER (method = 'clopper_pearson') <> 1`)
	l.none("no result that is not over 10 % ungraded", `FROM aggregates WHERE no_result <> (10 * ungraded > met + not_met + not_applicable + unclear + ungraded)`)
}

// holdsNone fails the test if a file below dir holds one of texts in plain. Parquet pages are compressed: tables are searched
// by value elsewhere, column by column.
func holdsNone(t *testing.T, dir string, texts ...string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for _, text := range texts {
			if bytes.Contains(data, []byte(text)) {
				t.Errorf("%s holds %.8s…", path, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Errorf("%s is empty", dir)
	}
}

// holdsNone fails the test if a text column of any table holds one of texts.
func (l *lake) holdsNone(texts ...string) {
	l.t.Helper()
	for table := range l.held {
		for _, text := range texts {
			l.none(table+" holds a credential", "SELECT * FROM "+table+" WHERE contains(CAST("+table+" AS VARCHAR), ?)", text)
		}
	}
}
