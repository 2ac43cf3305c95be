package exports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLedgerLine caps a line that is read: a batch of ten thousand keys has about 400 kB.
const maxLedgerLine = 4 << 20

// ErrLedgerHeld says that another push holds the ledger.
var ErrLedgerHeld = errors.New("another push is under way with this state directory")

// Ledger remembers what was sent, for calls that a platform carries out twice when asked twice. A call is begun before it is
// made and finished after its answer; one that was begun and not finished may or may not have been carried out, and is looked
// up. It is a file of JSON lines, each synced before the call goes on; the last line may be torn by a crash and is then as if
// it had not been begun. A ledger is used by one push at a time and not safe for concurrent use.
type Ledger struct {
	file    *os.File // nil: in memory
	done    map[string]string
	pending map[string]entry
	sent    map[string]bool
}

type entry struct {
	ID    string   `json:"id"`
	State string   `json:"state"` // begun, done, dropped
	Value string   `json:"value,omitempty"`
	Keys  []string `json:"keys,omitempty"`
}

const (
	stateBegun   = "begun"
	stateDone    = "done"
	stateDropped = "dropped"
)

// NewLedger is a ledger in memory.
func NewLedger() *Ledger {
	return &Ledger{done: map[string]string{}, pending: map[string]entry{}, sent: map[string]bool{}}
}

// OpenLedger opens or creates the ledger at path and holds it until Close.
func OpenLedger(path string) (*Ledger, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open push ledger: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open push ledger: %w", err)
	}
	l := NewLedger()
	l.file = f
	if err := hold(f); err != nil {
		return nil, errors.Join(fmt.Errorf("open push ledger %s: %w", path, err), f.Close())
	}
	if err := l.load(f, true); err != nil {
		return nil, errors.Join(fmt.Errorf("open push ledger %s: %w", path, err), f.Close())
	}
	return l, nil
}

// ReadLedger is a copy in memory of the ledger at path, for a dry run; a missing one is empty.
func ReadLedger(path string) (*Ledger, error) {
	l := NewLedger()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read push ledger: %w", err)
	}
	defer f.Close()
	if err := l.load(f, false); err != nil {
		return nil, fmt.Errorf("read push ledger %s: %w", path, err)
	}
	return l, nil
}

// load reads the lines and, where mend is set, cuts a torn end off.
func (l *Ledger) load(f *os.File, mend bool) error {
	in := bufio.NewReaderSize(f, 64<<10)
	var good int64
	for n := 1; ; n++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break // what stands there without a newline is torn
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		var e entry
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&e); err != nil {
			return fmt.Errorf("line %d is damaged: %w", n, err)
		}
		if e.ID == "" || e.State != stateBegun && e.State != stateDone && e.State != stateDropped {
			return fmt.Errorf("line %d is damaged: id %q, state %q", n, Cut(e.ID, 40), Cut(e.State, 40))
		}
		l.take(e)
		good += int64(len(line)) + 1
	}
	if !mend {
		return nil
	}
	if err := f.Truncate(good); err != nil {
		return err
	}
	_, err := f.Seek(good, io.SeekStart)
	return err
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLedgerLine {
			return nil, fmt.Errorf("over %d bytes", maxLedgerLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(line, []byte("\n")), err
		}
	}
}

func (l *Ledger) take(e entry) {
	switch e.State {
	case stateBegun:
		l.pending[e.ID] = e
		return
	case stateDone:
		keys := e.Keys
		if keys == nil {
			keys = l.pending[e.ID].Keys
		}
		for _, k := range keys {
			l.sent[k] = true
		}
		l.done[e.ID] = e.Value
	case stateDropped:
		delete(l.done, e.ID)
	}
	delete(l.pending, e.ID)
}

func (l *Ledger) write(e entry) error {
	if l.file != nil {
		line, err := JSON(e)
		if err == nil {
			_, err = l.file.Write(append(line, '\n'))
		}
		if err == nil {
			err = l.file.Sync()
		}
		if err != nil {
			return fmt.Errorf("write push ledger: %w", err)
		}
	}
	l.take(e)
	return nil
}

// Begin notes that a call is about to be made, with what it takes to look it up and the keys of what it carries.
func (l *Ledger) Begin(id, value string, keys []string) error {
	return l.write(entry{ID: id, State: stateBegun, Value: value, Keys: keys})
}

// Finish notes that a call was carried out, with what it gave. Keys, where not nil, are those of what was taken; otherwise all
// that it carried was.
func (l *Ledger) Finish(id, value string, keys []string) error {
	return l.write(entry{ID: id, State: stateDone, Value: value, Keys: keys})
}

// Drop notes that a call was not carried out, or that what it made is gone.
func (l *Ledger) Drop(id string) error { return l.write(entry{ID: id, State: stateDropped}) }

// Done is what a finished call gave.
func (l *Ledger) Done(id string) (value string, ok bool) {
	value, ok = l.done[id]
	return value, ok
}

// Sent says whether what has this key was taken.
func (l *Ledger) Sent(key string) bool { return l.sent[key] }

// Pending lists the calls below prefix that were begun and not finished, by id, with their values.
func (l *Ledger) Pending(prefix string) (ids, values []string) {
	for _, id := range slices.Sorted(maps.Keys(l.pending)) {
		if strings.HasPrefix(id, prefix) {
			ids, values = append(ids, id), append(values, l.pending[id].Value)
		}
	}
	return ids, values
}

// Close lets the ledger go.
func (l *Ledger) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}
