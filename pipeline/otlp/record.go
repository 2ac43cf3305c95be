// Package otlp turns one document of an archive into spans and log records: OTLP JSON and protobuf, and the shapes that
// other writers make of them. It also owns the canonical JSON form in which attribute values are stored.
//
// It does not know what a span means (package convention does) nor where bytes came from (package archive does).
package otlp

// Signal is the OTLP signal of a record.
type Signal uint8

// The signals. Metric points are counted by the decoders and never become records.
const (
	SignalSpan Signal = iota + 1
	SignalLog
	SignalMetric
)

// Quality says how far a record's time can be believed. Values are those of the time_quality column.
type Quality uint8

// Qualities, best first. QualityFuture is set by the reader that knows as-of, never by a decoder.
const (
	QualityOK        Quality = iota
	QualityImprecise         // a float or an ISO text: digits may be lost
	QualityClamped           // negative, or beyond int64 nanoseconds, or an end before its start
	QualityFuture
	QualityMissing
)

// String is the value of the time_quality column.
func (q Quality) String() string {
	return [...]string{"ok", "imprecise", "clamped", "future", "missing"}[q]
}

// Resource is what produced a group of records. It is shared by them and must not be changed.
type Resource struct {
	Attributes []KeyValue // sorted by key, last duplicate wins
}

// SpanEvent is a timed annotation of a span.
type SpanEvent struct {
	Name         string
	TimeUnixNano int64 // 0 when missing
	Attributes   []KeyValue
}

// Record is one span or log record as decoded: ids as lower-case hex or "", times in nanoseconds since 1970 (0 when missing),
// attributes sorted by key with the last duplicate kept. Strings are valid UTF-8 without NUL.
//
// A Record handed to a visitor, its slices and its strings alias the decoder's buffers and are valid until the visitor returns.
type Record struct {
	Signal       Signal
	Resource     *Resource
	ScopeName    string
	ScopeVersion string

	TraceID      string
	SpanID       string
	ParentSpanID string

	Name          string // span name, or a log's event name (attribute event.name first, then the eventName field)
	Kind          string // internal, server, client, producer, consumer, or ""
	StartUnixNano int64  // a log: its own time, else its observed time
	EndUnixNano   int64
	TimeQuality   Quality
	ObservedTime  bool   // the log's own time was 0, the observed time is used
	Status        string // unset, ok, error; "" for logs
	StatusMessage string
	Severity      string // a log's severity text, or the name of its number

	Attributes []KeyValue
	Events     []SpanEvent
	Body       Value // a log's body; KindNull when absent
}
