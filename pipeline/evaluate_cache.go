package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/judge/model"
	"github.com/tracejury/tracejury/pipeline/store"
)

// sharedCache holds replies of earlier runs by their cache key, for other machines and other runs: never prompts, only what the ledger
// holds. Whatever is wrong with it, judging goes on without.
type sharedCache struct {
	st    store.Store
	log   *slog.Logger
	worry sync.Once // a cache that fails is told of once
}

// cachedReply is an object of the cache.
type cachedReply struct {
	Key        string `json:"key"`
	Text       string `json:"text"` // masked
	StopReason string `json:"stop_reason"`
	SHA256     string `json:"sha256"` // of the rest: damage is a miss
}

func (c *cachedReply) sum() string { return hashJSON([]string{c.Key, c.Text, c.StopReason}) }

// maxCached bounds an object of the cache.
const maxCached = 8 << 20

// openCache opens evaluate.cache where a model is asked: code and a dry run need none.
func (e *evaluateRun) openCache(ctx context.Context) error {
	uri := e.cfg.Evaluate.Cache
	if uri == "" || e.offline() && e.agent == nil {
		return nil
	}
	st, err := e.cfg.openStore(ctx, uri, e.cfg.Store.options("", "", maxCached, e.log))
	if err != nil {
		return usagef("evaluate.cache: %w", err)
	}
	e.cache = &sharedCache{st: st, log: e.log}
	return nil
}

// liesBelow says that a place lies in another, both as a user or a store writes them. A cache must not lie among the tables: what lies
// there expires with content, which a cache can not know.
func liesBelow(uri, root string) bool {
	plain := func(s string) string {
		s = strings.TrimPrefix(s, "file://")
		if !strings.Contains(s, "://") {
			if abs, err := filepath.Abs(s); err == nil {
				s = abs
			}
		}
		return strings.TrimSuffix(s, "/") + "/"
	}
	return strings.HasPrefix(plain(uri), plain(root))
}

// cachePrefix is where replies lie in a cache.
const cachePrefix = "replies/"

func cacheKey(key string) string { return cachePrefix + key[:min(2, len(key))] + "/" + key + ".json" }

// get is the reply to a key; false where there is none, or none that can be trusted.
func (c *sharedCache) get(ctx context.Context, key string) (cachedReply, bool) {
	data, _, err := c.st.Get(ctx, cacheKey(key), "")
	var r cachedReply
	switch {
	case errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil:
		return r, false
	case err == nil:
		if err = json.Unmarshal(data, &r); err == nil && (r.Key != key || r.SHA256 != r.sum()) {
			err = errors.New("the object is damaged")
		}
	}
	if err != nil {
		c.tell("read", err)
	}
	return r, err == nil
}

// put keeps a reply.
func (c *sharedCache) put(ctx context.Context, r cachedReply) {
	r.SHA256 = r.sum()
	data, err := json.Marshal(r)
	if err == nil {
		_, err = c.st.Put(ctx, cacheKey(r.Key), bytes.NewReader(data), store.PutOptions{ContentType: "application/json"})
	}
	if err != nil && ctx.Err() == nil {
		c.tell("write", err)
	}
}

func (c *sharedCache) tell(doing string, err error) {
	c.worry.Do(func() {
		c.log.Warn("the shared cache of replies fails; what it can not answer is asked", "doing", doing, "cache", c.st.URI(), "err", err)
	})
}

// fromCache takes the reply of another run or machine into the ledger, if there is one.
func (j *judging) fromCache(ctx context.Context, s *seat, p *part, key string, item *evaluator.Item, req *judge.Request, repair int) (bool, error) {
	if j.run.cache == nil || s.identity.Offline {
		return false, nil
	}
	r, ok := j.run.cache.get(ctx, key)
	if !ok {
		return false, nil
	}
	rec := j.record(s, p, key, item, req, repair, model.Attempt{Number: 1, Reply: judge.Reply{Text: r.Text}, StopReason: r.StopReason})
	rec.Cached = true
	if err := j.ledger.Append(rec); err != nil {
		return false, fmt.Errorf("write ledger: %w", err)
	}
	j.mu.Lock()
	j.cached++
	j.mu.Unlock()
	return true, nil
}

// toCache keeps a reply for others.
func (j *judging) toCache(ctx context.Context, s *seat, rec *ledger.Record) {
	if j.run.cache != nil && !s.identity.Offline && rec.State == ledger.StateReply && rec.Text != "" {
		j.run.cache.put(context.WithoutCancel(ctx), cachedReply{Key: rec.Key, Text: rec.Text, StopReason: rec.StopReason})
	}
}
