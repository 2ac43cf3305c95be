package otlp

import "strings"

// kinds are OTLP's span kinds by number.
var kinds = [...]string{"", "internal", "server", "client", "producer", "consumer"}

// kindOf reads a span kind in any spelling: 2, "2", "SERVER", "SPAN_KIND_SERVER", "SpanKind.SERVER". offset is what to add
// to a number: the JavaScript and Python SDKs count from INTERNAL = 0.
func kindOf(s string, offset int64) string {
	if n, ok := parseInt(s); ok {
		if n += offset; n > 0 && n < int64(len(kinds)) {
			return kinds[n]
		}
		return ""
	}
	s = strings.ToLower(s)
	s = strings.TrimPrefix(strings.TrimPrefix(s, "spankind."), "span_kind_")
	for _, k := range kinds {
		if s == k {
			return k
		}
	}
	return ""
}

// statuses are OTLP's status codes by number.
var statuses = [...]string{"unset", "ok", "error"}

// statusOf reads a status code in any spelling.
func statusOf(s string) string {
	if n, ok := parseInt(s); ok {
		if n >= 0 && n < int64(len(statuses)) {
			return statuses[n]
		}
		return "unset"
	}
	s = strings.ToLower(s)
	s = strings.TrimPrefix(strings.TrimPrefix(s, "statuscode."), "status_code_")
	for _, k := range statuses {
		if s == k {
			return k
		}
	}
	return "unset"
}

// severities are the names of OTLP's severity numbers.
var severities = [...]string{
	"", "TRACE", "TRACE2", "TRACE3", "TRACE4", "DEBUG", "DEBUG2", "DEBUG3", "DEBUG4", "INFO", "INFO2", "INFO3", "INFO4",
	"WARN", "WARN2", "WARN3", "WARN4", "ERROR", "ERROR2", "ERROR3", "ERROR4", "FATAL", "FATAL2", "FATAL3", "FATAL4",
}

// severityOf is the name of a severity number, which may itself come as a name.
func severityOf(s string) string {
	if n, ok := parseInt(s); ok {
		if n > 0 && n < int64(len(severities)) {
			return severities[n]
		}
		return ""
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "SEVERITY_NUMBER_"), "SeverityNumber.")
	for _, k := range severities {
		if s == k {
			return k
		}
	}
	return ""
}
