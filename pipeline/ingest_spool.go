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
	logs []*recordLog // of sessions in the file
}

// spooled is one session, with its rows in memory or, where they do not fit, in a log.
type spooled struct {
	tenant string
	id     session.Ident
	rows   []schema.Span
	log    *recordLog
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
			s.mem = append(s.mem, spooled{tenant: tenant, id: id, rows: rows})
			return nil
		}
	}
	if err := s.open(); err != nil {
		return err
	}
	b := s.head(tenant, id)
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for i := range rows {
		s.row = appendRow(s.row[:0], &spilled{row: rows[i], kind: recStored})
		b = append(binary.AppendUvarint(b, uint64(len(s.row))), s.row...)
	}
	return s.write(b)
}

// addLarge appends a session whose rows lie in a log, which is the spool's from then on.
func (s *spool) addLarge(tenant string, id session.Ident, log *recordLog) error {
	s.logs = append(s.logs, log)
	if err := s.open(); err != nil {
		return err
	}
	return s.write(append(s.head(tenant, id), inLog))
}

// inLog stands where the number of rows would: a session in the file has rows.
const inLog = 0

func (s *spool) open() error {
	if s.f != nil {
		return nil
	}
	f, err := os.OpenFile(s.path, os.O_CREATE|os.O_RDWR|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.f, s.w = f, bufio.NewWriterSize(f, 64<<10)
	return nil
}

func (s *spool) head(tenant string, id session.Ident) []byte {
	b := s.buf[:0]
	for _, t := range []string{tenant, id.Key, id.ID, id.Source, id.Service} {
		b = appendText(b, t)
	}
	return b
}

func (s *spool) write(b []byte) error {
	s.buf, s.n = b, s.n+1
	var head [binary.MaxVarintLen64]byte
	_, _ = s.w.Write(binary.AppendUvarint(head[:0], uint64(len(b)))) // errors stay in w
	_, err := s.w.Write(b)
	return err
}

// each reads the sessions. Rows are the callee's to keep, a log is the spool's.
func (s *spool) each(do func(*spooled) error) error {
	for i := range s.mem {
		m := s.mem[i]
		s.mem[i] = spooled{} // read once
		if err := do(&m); err != nil {
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
	logs := s.logs
	for range s.n {
		m, err := readSpooled(in)
		if err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		if m.rows == nil {
			m.log, logs = logs[0], logs[1:]
		}
		if err := do(m); err != nil {
			return err
		}
	}
	return nil
}

// readSpooled reads the next session of the file; without rows it is one in a log.
func readSpooled(in *bufio.Reader) (*spooled, error) {
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, err
	}
	c := cursor{b: b}
	m := &spooled{tenant: c.text()}
	m.id = session.Ident{Key: c.text(), ID: c.text(), Source: c.text(), Service: c.text()}
	for range min(c.uint(), n) {
		rec := c.bytes()
		if c.err != nil {
			break
		}
		row, err := decodeRow(rec)
		if err != nil {
			return nil, err
		}
		m.rows = append(m.rows, row.row)
	}
	return m, c.err
}

func (s *spool) close() error {
	var errs []error
	for _, log := range s.logs {
		errs = append(errs, log.close())
	}
	s.logs = nil
	if s.f != nil {
		errs = append(errs, s.f.Close(), os.Remove(s.path))
		s.f = nil
	}
	return errors.Join(errs...)
}
