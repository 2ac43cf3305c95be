package otlp

// Stats counts what was read from one document and what had to be mended.
type Stats struct {
	Spans, Logs  int64
	MetricPoints int64 // counted, never visited
	Skipped      int64 // values that should have been records: no telemetry, control messages, ordinary log lines

	DuplicateKeys   int64 // attributes left out because a later one has the same key
	MultipleValues  int64 // AnyValues with two members; the last was taken
	InvalidUTF8     int64 // strings in which wrong bytes were replaced
	NULs            int64 // NUL characters replaced
	ImpreciseTimes  int64
	ClampedTimes    int64
	OddIDs          int64 // ids of no OTel form: padded, or hashed to that form
	TooDeep         int64 // values below the depth limit, kept as text (of protobuf: as bytes)
	TruncatedValues int64 // attribute strings cut at the size limit

	// Shape is the outermost form that was recognised: otlp_json, otlp_proto, cloudwatch_subscription, cloudwatch_export
	// (set by a caller that knows the framing), aws_spans, tempo, jaeger, resource_spans, flat_span, js_readable_span, unknown.
	Shape string
}

// Limits bound what a hostile document can cost. Zero values are the defaults.
type Limits struct {
	MaxDepth          int // nesting of attribute values, default 200
	MaxAttributeBytes int // bytes of one attribute string, no limit by default; longer ones are cut and counted
}

// Fault is a part of a document that could not be read. Everything else of the document was.
type Fault struct {
	Offset, Length int64 // within the document; of a nested document: of the value that holds it
	Reason         string
}

const (
	defaultDepth = 200
	maxNesting   = 8  // documents inside documents
	maxFaults    = 64 // of one document; the last one stands for the rest
)

// Decoder reads documents. It may be used again and again, by one goroutine at a time; the zero value is not usable.
type Decoder struct {
	scanner
	limits Limits
	stats  Stats
	faults []Fault
	visit  func(*Record) error

	visitErr error // ends the document
	dead     bool  // the document ended early and its fault is noted
	base     int   // offset to report faults at while inside a nested document, -1 outside

	shared arena // attributes of the resource and scope at hand
	own    arena // everything of the record at hand
	mem    *arena

	kvs    []KeyValue // open attribute lists, as a stack
	values []Value    // open arrays, as a stack
	events []SpanEvent
	sort   sorter

	resource     *Resource
	scopeName    string
	scopeVersion string
	rec          Record
	aux          recordParts
	bareTimes    bool // bare numbers were rounded by their writer
}

// NewDecoder makes a Decoder with the given limits.
func NewDecoder(l Limits) *Decoder {
	if l.MaxDepth <= 0 {
		l.MaxDepth = defaultDepth
	}
	return &Decoder{limits: l}
}

// begin forgets the last document.
func (d *Decoder) begin(doc []byte, visit func(*Record) error) {
	d.scanner = scanner{buf: doc, keys: d.keys, counts: &d.stats}
	d.stats, d.faults, d.visit = Stats{}, nil, visit
	d.visitErr, d.dead, d.base, d.bareTimes = nil, false, -1, false
	d.kvs, d.values, d.events = d.kvs[:0], d.values[:0], d.events[:0]
	d.keys.reset()
	d.shared.reset()
	d.own.reset()
	d.use(&d.shared)
	d.resource, d.scopeName, d.scopeVersion = nil, "", ""
}

// end is the answer for the document.
func (d *Decoder) end() (Stats, []Fault, error) {
	if d.stats.Shape == "" {
		d.stats.Shape = "unknown"
	}
	d.visit = nil
	return d.stats, d.faults, d.visitErr
}

func (d *Decoder) use(a *arena) { d.mem, d.owned = a, &a.bytes }

func (d *Decoder) shape(name string) {
	if d.stats.Shape == "" {
		d.stats.Shape = name
	}
}

// fault notes a part that could not be read.
func (d *Decoder) fault(offset, length int, reason string) {
	if d.base >= 0 {
		offset = d.base
	}
	if n := len(d.faults); n == maxFaults {
		last := &d.faults[n-1]
		last.Length = max(last.Length, int64(offset+length)-last.Offset)
		return
	}
	d.faults = append(d.faults, Fault{Offset: int64(offset), Length: int64(length), Reason: reason})
}

// salvage leaves a broken piece that began at start, with depth containers open around it, and is false when there is
// nothing behind it. whole says that nothing of the piece was used; else only what follows the defect is lost.
func (d *Decoder) salvage(start, depth int, whole bool) bool {
	if d.visitErr != nil || d.dead {
		return false
	}
	reason, from := d.reason, start
	if !whole {
		from = max(start, d.badAt)
	}
	d.reason = ""
	more := d.depth >= depth && d.resync(depth)
	d.reason = ""
	if !more {
		d.pos, d.dead = len(d.buf), true
	}
	d.fault(from, d.pos-from, reason)
	return more
}

// each reads every element of the array at pos with read, which must consume the element. A lone object counts as an
// array of one; null and anything else as none. Broken elements are left out and noted.
func (d *Decoder) each(whole bool, read func() bool) bool {
	switch d.peek() {
	case '{':
		return d.one(whole, read)
	case '[':
		d.pos++
		d.depth++
	default:
		return d.skip()
	}
	for {
		more, ok := d.element()
		if !ok || !more {
			return ok
		}
		if d.buf[d.pos] != '{' {
			if d.buf[d.pos] != 'n' {
				d.stats.Skipped++
			}
			if !d.skip() {
				return false
			}
			continue
		}
		if !d.one(whole, read) {
			return false
		}
	}
}

func (d *Decoder) one(whole bool, read func() bool) bool {
	start, depth := d.pos, d.depth
	kvs, values, events := len(d.kvs), len(d.values), len(d.events)
	if read() {
		return true
	}
	d.kvs, d.values, d.events = d.kvs[:kvs], d.values[:values], d.events[:events]
	return d.salvage(start, depth, whole)
}

// emit hands over the record at hand.
func (d *Decoder) emit() bool {
	if d.rec.Signal == SignalSpan {
		d.stats.Spans++
	} else {
		d.stats.Logs++
	}
	if err := d.visit(&d.rec); err != nil {
		d.visitErr = err
		return false
	}
	return true
}
