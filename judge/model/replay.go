package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/ledger"
)

// replay answers from the records of a ledger: what a model said once is read again, under today's checks. A question that was
// not asked then, or is worded otherwise now, is not answered.
type replay struct {
	identity judge.Identity
	records  map[string]ledger.Record
}

// openReplay reads a ledger file, a sealed segment, or all of a directory.
func openReplay(path string) (judge.Judge, error) {
	files, err := ledgerFiles(path)
	if err != nil {
		return nil, fmt.Errorf("judge replay:%s: %w", path, err)
	}
	r := &replay{records: map[string]ledger.Record{}}
	sum := sha256.New()
	models, modes := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		records, err := ledger.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("judge replay:%s: %w", path, err)
		}
		for _, rec := range records {
			if rec.State == ledger.StateAttempt || rec.Question == "" {
				continue
			}
			if _, known := r.records[rec.Question]; !known {
				fmt.Fprintf(sum, "%s\x00%s\x00%s\x00", rec.Question, rec.Text, rec.ErrorClass)
			}
			r.records[rec.Question] = rec
			models[rec.Model], modes[rec.Mode] = true, true
		}
	}
	if len(r.records) == 0 {
		return nil, fmt.Errorf("judge replay:%s: holds no reply that can be replayed", path)
	}
	r.identity = judge.Identity{Model: joined(models), Mode: joined(modes), Parameters: fmt.Sprintf(`{"replay":%q}`, hex.EncodeToString(sum.Sum(nil))[:16])}
	return r, nil
}

func ledgerFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var out []string
	for _, pattern := range []string{"*.ledger", "*.segment"} {
		found, err := filepath.Glob(filepath.Join(path, pattern))
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	slices.Sort(out)
	return out, nil
}

func joined(set map[string]bool) string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return strings.Join(list, "+")
}

// Identity is that of the model that was recorded, with a hash of the records.
func (r *replay) Identity() judge.Identity { return r.identity }

// Judge answers with what the ledger holds.
func (r *replay) Judge(ctx context.Context, req *judge.Request) (judge.Reply, error) {
	if err := ctx.Err(); err != nil {
		return judge.Reply{}, &judge.CallError{Class: judge.ClassUnknown, Err: err}
	}
	rec, ok := r.records[QuestionSHA256(req)]
	switch {
	case !ok:
		return judge.Reply{}, &judge.CallError{Class: judge.ClassInvalid, Err: fmt.Errorf("the ledger holds no answer to this question about %s", req.Subject)}
	case rec.State == ledger.StateFailed:
		return judge.Reply{}, &judge.CallError{Class: rec.ErrorClass, StopReason: rec.StopReason, Usage: rec.Usage, Err: errors.New("failed when it was recorded")}
	}
	stop := rec.StopReason
	if stop == "" {
		stop = "end_turn"
	}
	return judge.Reply{Text: rec.Text, StopReason: stop}, nil // its tokens were paid for then
}
