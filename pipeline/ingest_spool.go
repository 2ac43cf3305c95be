package pipeline

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// spool holds sessions with their rows, written once and read once, in the same order: the first ones in memory while there is
// room, the others in a local file.
type spool struct {
	path string
	room *int64 // bytes of rows that may stay in memory, shared with the other spools of a bucket
	mem  []spooled
	f    *os.File
	w    *bufio.Writer
	buf  []byte
	row  []byte
	n    int
}

// spooled is one session in memory.
type spooled struct {
	tenant string
	id     session.Ident
	rows   []schema.Span
}

// add appends a session, whose rows are the spool's from then on.
func (s *spool) add(tenant string, id session.Ident, rows []schema.Span) error {
	if s.f == nil {
		size := int64(0)
		for i := range rows {
			size += int64(rows[i].ByteSize())
		}
		if size <= *s.room {
			*s.room -= size
			s.mem = append(s.mem, spooled{tenant, id, rows})
			return nil
		}
		f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		s.f, s.w = f, bufio.NewWriterSize(f, 64<<10)
	}
	b := s.buf[:0]
	for _, t := range []string{tenant, id.Key, id.ID, id.Source, id.Service} {
		b = appendText(b, t)
	}
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for i := range rows {
		s.row = appendRow(s.row[:0], &spilled{row: rows[i], kind: recStored})
		b = append(binary.AppendUvarint(b, uint64(len(s.row))), s.row...)
	}
	s.buf, s.n = b, s.n+1
	var head [binary.MaxVarintLen64]byte
	_, _ = s.w.Write(binary.AppendUvarint(head[:0], uint64(len(b)))) // errors stay in w
	_, err := s.w.Write(b)
	return err
}

// each reads the sessions. Rows are the callee's to keep.
func (s *spool) each(do func(tenant string, id session.Ident, rows []schema.Span) error) error {
	for i := range s.mem {
		m := s.mem[i]
		s.mem[i] = spooled{} // read once
		if err := do(m.tenant, m.id, m.rows); err != nil {
			return err
		}
	}
	if s.f == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.w, s.buf, s.row = nil, nil, nil
	if _, err := s.f.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	in := bufio.NewReaderSize(s.f, 256<<10)
	for range s.n {
		n, err := binary.ReadUvarint(in)
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		b := make([]byte, n)
		if _, err := io.ReadFull(in, b); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		c := cursor{b: b}
		tenant := c.text()
		id := session.Ident{Key: c.text(), ID: c.text(), Source: c.text(), Service: c.text()}
		rows := make([]schema.Span, min(c.uint(), n))
		for i := range rows {
			rec := c.bytes()
			if c.err != nil {
				return c.err
			}
			row, err := decodeRow(rec)
			if err != nil {
				return err
			}
			rows[i] = row.row
		}
		if err := do(tenant, id, rows); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) close() error {
	if s.f == nil {
		return nil
	}
	err := errors.Join(s.f.Close(), os.Remove(s.path))
	s.f = nil
	return err
}
