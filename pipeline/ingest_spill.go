package pipeline

import (
	"encoding/binary"
	"errors"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// Records on their way through a shuffle are of these kinds. The key of one grouped by session is tenant \0 session_key.
const (
	recNew    = 'n' // a row that was read from the archive
	recStored = 's' // a row of the lake
	recMoved  = 'm' // a row of the session has moved to another one
	recWhole  = 'w' // every row of the session that is stored on one day is among the records
)

// spilled is one row with what reading it found out.
type spilled struct {
	row   schema.Span
	own   session.Candidate // the id that it carries itself
	input int               // index of the input that it was read from; new rows only
	kind  byte
}

// headStrings are the fields of a row that assigning it to a session needs; tailStrings the others, spilled behind them.
func (s *spilled) headStrings() [7]*string {
	return [...]*string{&s.row.Signal, &s.row.TraceID, &s.row.SpanID, &s.row.ParentSpanID, &s.row.Service, &s.own.ID, &s.own.Source}
}

func (s *spilled) tailStrings() [16]*string {
	r := &s.row
	return [...]*string{&r.Tenant, &r.SessionKey, &r.RecordSHA256, &r.Name, &r.Kind, &r.ScopeName, &r.ScopeVersion, &r.TimeQuality, &r.Status, &r.StatusMessage,
		&r.Severity, &r.Attributes, &r.Events, &r.Body, &r.SourceObject, &r.TimeQualityThen}
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendRow encodes a row for spilling.
func appendRow(dst []byte, s *spilled) []byte {
	dst = append(dst, s.kind)
	for _, p := range s.headStrings() {
		dst = appendText(dst, *p)
	}
	dst = binary.AppendVarint(dst, s.row.StartedUnixNano)
	dst = binary.AppendUvarint(dst, uint64(s.input))
	for _, p := range s.tailStrings() {
		dst = appendText(dst, *p)
	}
	dst = appendText(dst, s.row.Resource)
	dst = binary.AppendVarint(dst, s.row.EndedUnixNano)
	return binary.AppendVarint(dst, s.row.SourceIndex)
}

var errSpill = errors.New("damaged spilled row")

// cursor reads what the append functions wrote. Strings alias its bytes.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) fail() { c.b, c.err = nil, errSpill }

func (c *cursor) bytes() []byte {
	n, w := binary.Uvarint(c.b)
	if w <= 0 || n > uint64(len(c.b)-w) {
		c.fail()
		return nil
	}
	s := c.b[w : w+int(n)]
	c.b = c.b[w+int(n):]
	return s
}

func (c *cursor) text() string { return alias(c.bytes()) }

func (c *cursor) int() int64 {
	n, w := binary.Varint(c.b)
	if w <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[w:]
	return n
}

func (c *cursor) uint() uint64 {
	n, w := binary.Uvarint(c.b)
	if w <= 0 {
		c.fail()
		return 0
	}
	c.b = c.b[w:]
	return n
}

// decodeHead reads what assigning a row needs. The row aliases b.
func decodeHead(b []byte) (s spilled, rest cursor) {
	if len(b) == 0 {
		return s, cursor{err: errSpill}
	}
	s.kind, rest.b = b[0], b[1:]
	for _, p := range s.headStrings() {
		*p = rest.text()
	}
	s.row.StartedUnixNano = rest.int()
	s.input = int(rest.uint())
	return s, rest
}

// decodeRow reads a whole row, which aliases b.
func decodeRow(b []byte) (spilled, error) {
	s, c := decodeHead(b)
	for _, p := range s.tailStrings() {
		*p = c.text()
	}
	s.row.Resource = c.text()
	s.row.EndedUnixNano = c.int()
	s.row.SourceIndex = c.int()
	if c.err == nil && len(c.b) > 0 {
		c.fail()
	}
	s.row.StartedAt, s.row.EndedAt = s.row.StartedUnixNano/1000, s.row.EndedUnixNano/1000
	return s, c.err
}

// storedKey is the session key of a spilled row, which stands early in its tail.
func (c cursor) storedKey() (tenant, key string, err error) {
	tenant, key = c.text(), c.text()
	return tenant, key, c.err
}
