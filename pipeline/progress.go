package pipeline

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// progressEvery is how often a long stage says where it is.
const progressEvery = 10 * time.Second

// progress reports how far a stage is, at most every few seconds, through the log.
type progress struct {
	log   *slog.Logger
	stage string
	total int64
	n     atomic.Int64
	stop  chan struct{}
	ended chan struct{}
}

// newProgress starts to report. done must be called.
func newProgress(log *slog.Logger, stage string, total int64) *progress {
	p := &progress{log: log, stage: stage, total: total, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.report()
	return p
}

func (p *progress) report() {
	defer close(p.ended)
	t := time.NewTicker(progressEvery)
	defer t.Stop()
	start := time.Now()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.log.Info(p.stage, "done", p.n.Load(), "of", p.total, "elapsed", time.Since(start).Round(time.Second).String())
		}
	}
}

func (p *progress) add(n int64) { p.n.Add(n) }

func (p *progress) done() {
	close(p.stop)
	<-p.ended
}
