package session

import (
	"math"
	"time"
)

// Price is what a model costs from a date on, in dollars for a million tokens. It is configuration: no price is built in.
type Price struct {
	Model      string // exactly as the telemetry names it
	Since      time.Time
	Input      float64
	CacheRead  float64
	CacheWrite float64
	Output     float64
}

// priced is the cost of one model call in millionths of a dollar: by the latest price of its model that was valid at its time;
// nil where there is none or a count is unknown. Input that is not told to be cached is not.
func priced(prices []Price, model string, at int64, in, read, write, out *int64) *int64 {
	if model == "" || at <= 0 || in == nil || out == nil {
		return nil
	}
	var best *Price
	for i := range prices {
		p := &prices[i]
		if p.Model == model && !p.Since.After(time.Unix(0, at)) && (best == nil || p.Since.After(best.Since)) {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	known := func(n *int64) float64 {
		if n == nil {
			return 0
		}
		return float64(*n)
	}
	plain := float64(*in) - known(read) - known(write)
	if plain < 0 {
		return nil
	}
	cost := plain*best.Input + known(read)*best.CacheRead + known(write)*best.CacheWrite + float64(*out)*best.Output
	if math.IsNaN(cost) || cost < 0 || cost > 1e15 {
		return nil
	}
	micro := int64(math.Round(cost))
	return &micro
}
