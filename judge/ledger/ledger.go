// Package ledger owns the record of judge calls: an append-only log in a local directory to which every attempt is written
// before anything is made of it, so that a run that was killed never pays twice, and its sealed segments, so that a run can
// go on elsewhere.
//
// A record holds hashes, counts and the masked reply; never a prompt. The package does not know what a verdict means.
//
// The file is a sequence of frames: length, CRC-32C, payload. A frame that is cut or damaged ends the log: it is the tail
// that a dying process left, and Open cuts it.
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/tracejury/tracejury/judge"
)

// State says what a record means for its key.
type State string

// The states.
const (
	StateAttempt State = ""       // one attempt of several, or a failure that may be tried again in a later run
	StateReply   State = "reply"  // the final reply: never to be asked again
	StateFailed  State = "failed" // a final failure, such as a refusal: never to be asked again
)

// Record is one attempt at a judge call.
type Record struct {
	Seq           int64       `json:"seq"` // given by Append, from 1
	Key           string      `json:"key"` // see [Key]
	RequestSHA256 string      `json:"request_sha256"`
	Question      string      `json:"question,omitempty"` // model.QuestionSHA256: finds the reply again without knowing the judge
	Evaluator     string      `json:"evaluator"`
	Subject       string      `json:"subject"`
	Repeat        int         `json:"repeat"`
	Repair        int         `json:"repair"`  // 0 the question, 1 its repair
	Attempt       int         `json:"attempt"` // from 1
	Model         string      `json:"model"`
	Mode          string      `json:"mode"`
	Text          string      `json:"text,omitempty"` // the reply, masked
	StopReason    string      `json:"stop_reason,omitempty"`
	Usage         judge.Usage `json:"usage"`
	LatencyMicros int64       `json:"latency_micros"`
	ErrorClass    judge.Class `json:"error_class,omitempty"`
	Cached        bool        `json:"cached,omitempty"` // taken from a shared cache: nobody was asked
	Batch         bool        `json:"batch,omitempty"`  // answered by a batch job, which costs less
	State         State       `json:"state,omitempty"`
}

// KeyParts is everything that makes two answers interchangeable. A changed judge, prompt, rubric, schema or rendering is
// another question; so is another repetition.
type KeyParts struct {
	Identity        judge.Identity `json:"identity"`
	Evaluator       string         `json:"evaluator"`
	Subject         string         `json:"subject"` // the order of the criteria hangs on it
	PromptSHA256    string         `json:"prompt_sha256"`
	RubricSHA256    string         `json:"rubric_sha256"`
	SchemaSHA256    string         `json:"schema_sha256"`
	RenderingSHA256 string         `json:"rendering_sha256"` // of this subject's rendered transcript
	MaxTokens       int            `json:"max_tokens"`
	Repeat          int            `json:"repeat"`
	Repair          int            `json:"repair"`
	RepairSHA256    string         `json:"repair_sha256"` // of the invalid reply and what was wrong; "" for the question
}

// Key is the cache key of a call: a hash over its parts.
func Key(p KeyParts) string {
	b, err := judge.CanonicalJSON(p)
	if err != nil { // strings and numbers always encode
		return ""
	}
	sum := sha256.Sum256(append([]byte("tracejury call v1\x00"), b...))
	return hex.EncodeToString(sum[:])
}

// When a segment is due.
const (
	SealInterval = 5 * time.Second
	SealRecords  = 100
)

// ErrLocked says that another process has the ledger open.
var ErrLocked = errors.New("the ledger is in use by another process")

// Ledger is an open log. Its methods are safe for concurrent use.
type Ledger struct {
	file  *os.File
	runID string

	mu      sync.Mutex
	cond    *sync.Cond // a flush ended
	pending []byte     // frames not yet on disk
	coming  []noted    // of the records among them
	next    int64      // sequence number of the next record
	durable int64      // all records up to here are on disk
	size    int64      // bytes on disk
	flying  int64      // bytes that a flush is writing
	busy    bool       // a flush is under way
	failed  error      // a write that failed: the log takes no more
	closed  bool
	index   map[string]span // last final record of a key, on disk
	seen    map[[sha256.Size]byte]bool
	frames  []frameSpan // of records not yet sealed
	due     chan struct{}
}

type span struct {
	offset int64
	length int
}

type frameSpan struct {
	seq int64
	span
}

// noted is what of a record stays in memory.
type noted struct {
	frameSpan
	key      string
	state    State
	identity [sha256.Size]byte
}

var runIDForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// Open opens or creates the ledger of a run below dir and reads what it holds.
func Open(dir, runID string) (*Ledger, error) {
	if !runIDForm.MatchString(runID) {
		return nil, fmt.Errorf("open ledger: run id %q: want letters, digits, dots, dashes", runID)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	name := filepath.Join(dir, runID+".ledger")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := lock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", name, err), file.Close())
	}
	l := &Ledger{
		file: file, runID: runID, next: 1, index: map[string]span{}, seen: map[[sha256.Size]byte]bool{}, due: make(chan struct{}, 1),
	}
	l.cond = sync.NewCond(&l.mu)
	if err := l.recover(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("open ledger %s: %w", name, err), file.Close())
	}
	return l, nil
}

// recover reads the log and cuts a torn tail.
func (l *Ledger) recover(dir string) error {
	info, err := l.file.Stat()
	if err != nil {
		return err
	}
	end, err := frames(io.NewSectionReader(l.file, 0, info.Size()), func(offset int64, kind byte, payload []byte) error {
		return l.learn(offset, kind, payload)
	})
	if err != nil {
		return err
	}
	if end < info.Size() {
		if err := l.file.Truncate(end); err != nil {
			return fmt.Errorf("cut the torn tail: %w", err)
		}
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	l.size = end
	l.durable = l.next - 1
	d, err := os.Open(dir) // the name of a new file is durable too
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// learn takes one frame of the log into the index.
func (l *Ledger) learn(offset int64, kind byte, payload []byte) error {
	switch kind {
	case kindSealed:
		var s sealedMark
		if err := json.Unmarshal(payload, &s); err != nil {
			return fmt.Errorf("mark at %d: %w", offset, err)
		}
		l.sealedTo(s.Through)
	case kindRecord:
		var r Record
		if err := json.Unmarshal(payload, &r); err != nil {
			return fmt.Errorf("record at %d: %w", offset, err)
		}
		l.noteLocked(noted{frameSpan{r.Seq, span{offset, frameLength(payload)}}, r.Key, r.State, identity(&r)})
		l.next = max(l.next, r.Seq+1)
	}
	return nil
}

// noteLocked indexes a record that is on disk. Records are noted in the order of their numbers, so that a mark of what is
// sealed covers all before it.
func (l *Ledger) noteLocked(n noted) {
	if n.state != StateAttempt {
		l.index[n.key] = n.span
	}
	l.frames = append(l.frames, n.frameSpan)
	l.seen[n.identity] = true
}

// identity tells two records apart whatever their sequence numbers: those of segments differ from ours.
func identity(r *Record) [sha256.Size]byte {
	c := *r
	c.Seq = 0
	b, err := json.Marshal(c)
	if err != nil { // strings and numbers always encode
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(b)
}

// Append writes a record and returns when it is on disk. Records that are appended at the same time share one sync.
func (l *Ledger) Append(r Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.appendLocked(r)
}

func (l *Ledger) appendLocked(r Record) error {
	switch {
	case l.closed:
		return fmt.Errorf("append to ledger %s: %w", l.runID, os.ErrClosed)
	case l.failed != nil:
		return fmt.Errorf("append to ledger %s: an earlier write failed: %w", l.runID, l.failed)
	}
	r.Seq = l.next
	payload, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("append to ledger %s: %w", l.runID, err)
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("append to ledger %s: a record of %d bytes: at most %d are allowed", l.runID, len(payload), maxPayload)
	}
	l.next++
	at := span{l.size + l.flying + int64(len(l.pending)), frameLength(payload)}
	l.pending = appendFrame(l.pending, kindRecord, payload)
	l.coming = append(l.coming, noted{frameSpan{r.Seq, at}, r.Key, r.State, identity(&r)})
	mine := r.Seq
	for l.durable < mine && l.failed == nil {
		if l.busy {
			l.cond.Wait()
			continue
		}
		l.flushLocked()
	}
	if l.durable < mine {
		return fmt.Errorf("append to ledger %s: %w", l.runID, l.failed)
	}
	return nil
}
