package model

import (
	"math"
	"time"
)

// Constants of the pace.
const (
	paceBelow  = 32.0            // calls in flight below which whole calls are too coarse a measure of how fast to ask
	paceWindow = 5 * time.Second // over which the delivered rate is measured, at least
	paceShrink = 0.9             // on a throttle
	paceGrowth = 0.004           // per answered call: one call in 26 meets the quota's edge
	paceCalm   = 10 * time.Second
	paceProof  = 4 // answers from which a rate can be told
)

// pace spreads calls in time. The number of calls in flight is a coarse measure where few are: two of 200 ms are ten a
// second, three are fifteen, and one of 10 ms is a hundred. So once a service throttles there, calls are started at the rate at which
// it was seen to answer, which falls on a throttle and rises on answers, faster the longer all is calm.
//
// Throttles that do not depend on how fast we ask would drive the rate to nothing: at a quarter of where it began the pace is given
// up, and found anew.
type pace struct {
	rate     float64 // calls a second; 0: none
	began    float64 // rate at which pacing began
	next     time.Time
	changed  time.Time // of the last decrease
	settled  time.Time // until then calls start whose turns the old rate gave
	answered []time.Time
	latency  float64 // of answered calls, seconds, smoothed
}

func (p *pace) on() bool { return p.rate > 0 }

// inFlight is the number of calls that the rate keeps running.
func (p *pace) inFlight() float64 { return p.rate * p.latency }

// wait is how long the next call has to wait for its turn, which it takes.
func (p *pace) wait(now time.Time) time.Duration {
	if !p.on() {
		return 0
	}
	if p.next.Before(now) {
		p.next = now
	}
	d := p.next.Sub(now)
	p.next = p.next.Add(time.Duration(float64(time.Second) / p.rate))
	return d
}

// answer learns from a call that was answered.
func (p *pace) answer(now time.Time, latency time.Duration) {
	if p.latency == 0 {
		p.latency = latency.Seconds()
	}
	p.latency += (latency.Seconds() - p.latency) / 8
	if len(p.answered) >= 256 {
		p.answered = append(p.answered[:0], p.answered[128:]...)
	}
	p.answered = append(p.answered, now)
	if p.on() {
		calm := now.Sub(p.changed).Seconds() / paceCalm.Seconds()
		p.rate *= 1 + paceGrowth*math.Exp2(min(max(calm-1, 0), 6))
	}
}

// delivered is the rate at which calls were answered lately; false where too few were.
func (p *pace) delivered(now time.Time) (float64, bool) {
	window := max(paceWindow, time.Duration(5*p.latency*float64(time.Second)))
	from := 0
	for from < len(p.answered) && now.Sub(p.answered[from]) > window {
		from++
	}
	list := p.answered[from:]
	if len(list) < paceProof {
		return 0, false
	}
	return float64(len(list)-1) / max(now.Sub(list[0]).Seconds(), 1e-3), true
}

// throttle learns from a throttled call. limit is how many calls may run.
func (p *pace) throttle(now time.Time, limit float64) {
	switch rate, ok := p.delivered(now); {
	case p.on() && now.Before(p.settled): // tells nothing of the new rate
	case p.on():
		p.rate *= paceShrink
		p.changed, p.settled = now, p.next
		if p.rate < p.began/4 {
			p.off()
		}
	case ok && limit < paceBelow:
		p.rate, p.began, p.changed, p.settled, p.next = rate, rate, now, now, now
	}
}

// off gives the pace up.
func (p *pace) off() { p.rate, p.answered = 0, p.answered[:0] }
