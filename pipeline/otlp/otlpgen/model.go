package otlpgen

// TraceID and SpanID are ids as OTLP carries them; the zero value is absent.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// Resource is what produced a group of records. Groups that share a pointer are written under one resource.
type Resource struct {
	Attributes []KeyValue
}

// Scope is the instrumentation scope of a group.
type Scope struct {
	Name, Version string
}

// Group is the records of one scope of one resource; a request is a list of groups.
type Group struct {
	Resource *Resource
	Scope    Scope
	Spans    []Span
	Logs     []Log
	Metrics  []Metric
}

// Span is a span. Attributes keep their order: the renderers write them in the order of the real clients.
type Span struct {
	TraceID       TraceID
	SpanID        SpanID
	ParentID      SpanID
	Name          string
	Kind          uint8 // 1 internal, 2 server, 3 client
	Start, End    int64 // nanoseconds since 1970
	Attributes    []KeyValue
	Events        []SpanEvent
	Status        uint8 // 0 unset, 1 ok, 2 error
	StatusMessage string
}

// SpanEvent is a timed annotation of a span.
type SpanEvent struct {
	Name       string
	At         int64
	Attributes []KeyValue
}

// Log is a log record.
type Log struct {
	At         int64 // also the observed time
	Body       Value
	Attributes []KeyValue
	TraceID    TraceID
	SpanID     SpanID
}

// Metric is a monotonic sum with delta temporality.
type Metric struct {
	Name, Description, Unit string
	Points                  []Point
}

// Point is one data point of a Metric.
type Point struct {
	Start, At  int64
	Value      float64
	Attributes []KeyValue
}

// Signal names one of the three kinds of request.
type Signal string

// The signals, named as in the keys of the collector's S3 exporter.
const (
	Traces  Signal = "traces"
	Logs    Signal = "logs"
	Metrics Signal = "metrics"
)

// records counts the records of a signal; a metric counts its points.
func (s Signal) records(groups []Group) int {
	n := 0
	for _, g := range groups {
		switch s {
		case Traces:
			n += len(g.Spans)
		case Logs:
			n += len(g.Logs)
		case Metrics:
			for _, m := range g.Metrics {
				n += len(m.Points)
			}
		}
	}
	return n
}

// holds says whether a group has records of the signal.
func (s Signal) holds(g Group) bool { return s.records([]Group{g}) > 0 }
