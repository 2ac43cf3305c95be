package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
)

const commitPrefix = "_commits/"

// Commit is the content of _commits/<20-digit seq>.json: what one ingest read and wrote. It is written last.
type Commit struct {
	Seq           int64               `json:"seq"`
	SchemaVersion int                 `json:"schema_version"`
	Buckets       int                 `json:"buckets"` // of the layout
	AsOf          time.Time           `json:"as_of"`
	InputsSHA256  string              `json:"inputs_sha256"` // of the plan: sources, objects and their ETags
	Counts        IngestCounts        `json:"counts"`
	Written       []CommitEntry       `json:"written"` // in key order; with rebuilt objects that came out as they were
	Deleted       []string            `json:"deleted,omitempty"`
	Listed        map[string]ListMark `json:"listed,omitempty"` // by source
	Horizon       time.Time           `json:"horizon"`          // latest as-of of all ingests: times more than a day after it are of the future
	Future        map[string]int64    `json:"future,omitempty"` // objects of spans that hold times of the future, and the earliest one
	ContentOn     bool                `json:"content_on"`
	ContentFloor  string              `json:"content_floor,omitempty"` // last day whose content has expired; such days stay sealed
	ContentSince  time.Time           `json:"content_since"`           // as-of of the commit that last turned content storage on
}

// CommitEntry is one object that a commit wrote.
type CommitEntry struct {
	Key  string `json:"key"`
	ETag string `json:"etag"`
	Rows int    `json:"rows"`
}

func commitKey(seq int64) string { return fmt.Sprintf("%s%020d.json", commitPrefix, seq) }

// lastCommit finds the newest commit, nil when there is none.
func lastCommit(ctx context.Context, st store.Store) (*Commit, error) {
	seqs, err := commits(ctx, st)
	if err != nil || len(seqs) == 0 {
		return nil, err
	}
	return readCommit(ctx, st, seqs[len(seqs)-1])
}

// commits lists the sequence numbers of all commits, in order.
func commits(ctx context.Context, st store.Store) (seqs []int64, err error) {
	for obj, err := range st.List(ctx, commitPrefix, store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return nil, fmt.Errorf("list commits: %w", err)
		}
		name := strings.TrimSuffix(path.Base(obj.Key), ".json")
		if n, err := strconv.ParseInt(name, 10, 64); err == nil && len(name) == 20 && n >= 0 {
			seqs = append(seqs, n)
		}
	}
	slices.Sort(seqs)
	return seqs, nil
}

func readCommit(ctx context.Context, st store.Store, seq int64) (*Commit, error) {
	data, _, err := st.Get(ctx, commitKey(seq), "")
	if err != nil {
		return nil, fmt.Errorf("read last commit: %w", err)
	}
	var c Commit
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("read %s/%s: %w: %w", st.URI(), commitKey(seq), table.ErrDamaged, err)
	}
	return &c, nil
}

// putCommit publishes c under its sequence number. Whoever is second fails.
func putCommit(ctx context.Context, st store.Store, c *Commit) error {
	data, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return fmt.Errorf("encode commit: %w", err)
	}
	_, err = st.PutIfAbsent(ctx, commitKey(c.Seq), bytes.NewReader(append(data, '\n')), store.PutOptions{ContentType: "application/json"})
	if errors.Is(err, fs.ErrExist) {
		return &ExitError{Code: ExitLocked, Err: fmt.Errorf("commit %d exists already: another ingest wrote to %s", c.Seq, st.URI())}
	}
	if err != nil {
		return fmt.Errorf("write commit %d: %w", c.Seq, err)
	}
	return nil
}
