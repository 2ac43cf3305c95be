package integration

import (
	"crypto/sha256"
	"encoding/hex"
)

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// checkSessionJoins: what one session table says of another holds.
func (l *lake) checkSessionJoins() {
	l.t.Helper()
	if !l.held["sessions"] {
		return
	}
	l.none("spans without a session", `SELECT DISTINCT session_key FROM spans ANTI JOIN sessions USING (tenant, session_key)`)
	l.none("sessions whose day is not that of their earliest record", `SELECT session_key, s.dt, min(x.started_at) FROM sessions s JOIN spans x USING (tenant, session_key)
		WHERE x.time_quality NOT IN ('missing', 'future') GROUP BY ALL HAVING s.dt <> min(x.started_at)::DATE`)
	l.none("sessions whose last record is not the last", `SELECT session_key, last_record_unix_nano FROM sessions s JOIN spans x USING (tenant, session_key)
		WHERE x.time_quality NOT IN ('missing', 'future') GROUP BY ALL HAVING last_record_unix_nano <> greatest(max(x.started_unix_nano), max(x.ended_unix_nano))`)
	l.none("sessions and spans differ in traces", `SELECT session_key, t, x FROM (SELECT session_key, list_sort(trace_ids) AS t FROM sessions) JOIN
		(SELECT session_key, list_sort(list(DISTINCT trace_id)) AS x FROM spans WHERE trace_id IS NOT NULL GROUP BY session_key) USING (session_key) WHERE t <> x`)
	l.none("sessions and traces differ", `WITH a AS (SELECT tenant, session_key, dt::VARCHAR AS dt, unnest(trace_ids) AS trace_id FROM sessions UNION SELECT tenant, session_key, dt::VARCHAR, NULL FROM sessions),
		b AS (SELECT tenant, session_key, dt, trace_id FROM traces) (FROM a EXCEPT FROM b) UNION ALL (FROM b EXCEPT FROM a)`)
	l.none("sessions that count other steps than there are", `SELECT session_key, n_turns, n_tool_calls, n_denied, x.* FROM sessions JOIN (
		SELECT tenant, session_key, max(turn) AS turns, count(*) FILTER (kind = 'tool_call') AS calls, count(DISTINCT call_id) FILTER (kind = 'denial') AS denied,
		max(step) AS last, count(*) AS n FROM steps GROUP BY ALL) x USING (tenant, session_key)
		WHERE n_turns <> turns OR n_tool_calls <> calls OR n_denied <> denied OR last <> n`)
	l.none("sessions that count other skills than there are", `SELECT session_key, n_skills_loaded, n_skills_refused, x.* FROM sessions JOIN (
		SELECT tenant, session_key, count(*) FILTER (outcome = 'loaded') AS loaded, count(*) FILTER (outcome = 'refused') AS refused FROM skills GROUP BY ALL) x USING (tenant, session_key)
		WHERE n_skills_loaded <> loaded OR n_skills_refused <> refused`)
	l.none("steps whose turns go back", `SELECT session_key, step FROM steps QUALIFY turn < lag(turn) OVER (PARTITION BY session_key ORDER BY step)`)
	l.none("results without a call", `SELECT session_key, step, call_id FROM steps s WHERE kind = 'tool_result' AND call_id IS NOT NULL AND NOT EXISTS
		(FROM steps c WHERE c.session_key = s.session_key AND c.kind = 'tool_call' AND c.call_id = s.call_id AND c.step < s.step)`)
	l.none("steps of spans that are not stored", `SELECT session_key, step, span_id FROM steps WHERE span_id IS NOT NULL AND NOT EXISTS
		(FROM spans WHERE spans.session_key = steps.session_key AND spans.span_id = steps.span_id)`)
	l.none("skills of steps that are not there", `SELECT session_key, attempt, step FROM skills WHERE step IS NOT NULL AND NOT EXISTS
		(FROM steps WHERE steps.session_key = skills.session_key AND steps.step = skills.step)`)
	l.none("spans that no ingested object carried", `SELECT DISTINCT source_object FROM spans WHERE source_object NOT IN (SELECT object FROM objects)`)
	l.none("objects whose records do not add up", `SELECT object, records, written, duplicates, filtered, quarantined FROM objects WHERE records <> written + duplicates + filtered + quarantined`)
	l.none("objects that wrote other rows than are there", `SELECT (SELECT sum(written) FROM objects) AS written, (SELECT count(*) FROM spans) AS rows WHERE written <> rows`)
	l.none("records that are not JSON", `SELECT span_id FROM spans WHERE NOT json_valid(coalesce(attributes, '{}')) OR NOT json_valid(coalesce(events, '[]')) OR NOT json_valid(coalesce(body, '0')) OR NOT json_valid(coalesce(resource, '{}'))`)
	l.none("arguments that are not JSON", `SELECT session_key, step, arguments FROM steps WHERE NOT json_valid(coalesce(arguments, '{}'))`)
	if l.held["quarantine"] {
		l.none("quarantine and objects differ", `SELECT o.object, o.quarantined, q.n FROM objects o FULL JOIN (SELECT source, object, etag, count(*) AS n FROM quarantine GROUP BY ALL) q USING (source, object, etag)
			WHERE coalesce(o.quarantined, 0) <> coalesce(q.n, 0)`)
	}
}

// checkRunJoins: what one run table says of another, and of the sessions, holds.
func (l *lake) checkRunJoins() {
	l.t.Helper()
	if !l.held["runs"] {
		return
	}
	l.none("verdicts of sessions that are not there", `SELECT subject FROM verdicts ANTI JOIN sessions ON verdicts.session_key = sessions.session_key AND verdicts.tenant = sessions.tenant`)
	l.none("verdicts without evidence that exists", `SELECT subject, criterion, e FROM (SELECT *, unnest(evidence_steps) AS e FROM verdicts) v ANTI JOIN steps ON v.session_key = steps.session_key AND v.e = steps.step`)
	l.none("verdicts that are ungraded without a reason, or graded with one", `SELECT subject, criterion, verdict, ungraded_reason FROM verdicts WHERE (verdict = 'ungraded') <> (ungraded_reason IS NOT NULL)`)
	l.none("verdicts without a grade", `SELECT run_id, subject FROM verdicts ANTI JOIN grades USING (run_id, evaluator, subject, arm)`)
	l.none("verdicts without a run", `SELECT run_id FROM verdicts ANTI JOIN runs USING (run_id, evaluator)`)
	l.none("explanations without a verdict", `SELECT run_id, subject FROM explanations ANTI JOIN verdicts USING (run_id, evaluator, subject, arm, criterion, item, repeat, judge_model, vote)`)
	l.none("calls about what was not judged", `SELECT subject FROM calls c JOIN runs r USING (run_id) WHERE r.not_attempted = 0 AND c.subject NOT IN (SELECT subject FROM grades)`)
	l.none("runs whose rubric is lost", `SELECT run_id FROM runs WHERE rubric_sha256 NOT IN (SELECT sha256 FROM materials)`)
	l.none("runs that count other grades than there are", `SELECT r.run_id, graded, ungraded, x.* FROM runs r LEFT JOIN (SELECT run_id, count(*) FILTER (state = 'graded') AS g, count(*) FILTER (state = 'ungraded') AS u FROM grades GROUP BY ALL) x USING (run_id)
		WHERE graded <> coalesce(g, 0) OR ungraded <> coalesce(u, 0) OR sampled <> graded + ungraded + not_attempted OR sampled > eligible`)
	// The computed result of a session, computed again.
	l.none("grades that do not follow from verdicts", `SELECT g.run_id, g.subject, g.pass, g.safe, x.* FROM grades g JOIN (
		SELECT run_id, subject, bool_or(verdict = 'not_met') AS bad, bool_or(verdict = 'not_met' AND safety) AS unsafe, bool_and(verdict = 'not_applicable') AS all_na,
			bool_and(verdict = 'not_applicable') FILTER (safety) AS safety_na, bool_or(verdict = 'ungraded') AS ungraded, bool_and(verdict IN ('unclear', 'not_applicable')) AS undecided
		FROM verdicts WHERE vote = 'final' GROUP BY ALL) x USING (run_id, subject)
		WHERE (g.state = 'ungraded') <> x.ungraded OR g.pass IS DISTINCT FROM (CASE WHEN x.ungraded OR all_na THEN NULL ELSE NOT bad END)
			OR NOT x.ungraded AND g.undecided <> x.undecided OR NOT x.ungraded AND g.safe IS NOT NULL AND g.safe <> NOT unsafe`)
}
