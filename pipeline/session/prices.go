package session

import (
	"fmt"
	"math"
	"time"
)

// Price is one line of a dated price table: what a model costs from a date on, in dollars for a million tokens. Tables are
// configuration: no price is built in, and none is guessed for a model that is not in them.
type Price struct {
	Model      string  `yaml:"model"` // exactly as the telemetry, or --judge behind its backend, names it
	Since      string  `yaml:"since"` // first UTC date on which it is valid, 2006-01-02; "" always
	Input      float64 `yaml:"input"` // of input that is not cached
	CacheRead  float64 `yaml:"cache_read"`
	CacheWrite float64 `yaml:"cache_write"`
	Output     float64 `yaml:"output"`
}

// CheckPrices says what is wrong with the first line that cannot be used: no model, a date that is none, a negative price, a
// date that another line of the model has.
func CheckPrices(table []Price) error {
	seen := map[[2]string]bool{}
	for i, p := range table {
		if p.Model == "" {
			return fmt.Errorf("[%d]: model is missing", i)
		}
		if _, err := time.Parse(time.DateOnly, p.Since); p.Since != "" && err != nil {
			return fmt.Errorf("[%d]: since %q: want a date such as 2026-11-30", i, p.Since)
		}
		for _, f := range [...]float64{p.Input, p.CacheRead, p.CacheWrite, p.Output} {
			if math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
				return fmt.Errorf("[%d]: a price of %v: want dollars for a million tokens, 0 or more", i, f)
			}
		}
		k := [2]string{p.Model, p.Since}
		if seen[k] {
			return fmt.Errorf("[%d]: %s has two prices since %q", i, p.Model, p.Since)
		}
		seen[k] = true
	}
	return nil
}

// PriceOn finds the price of model that is in force on a UTC date: the newest that is not later.
func PriceOn(table []Price, model, date string) (Price, bool) {
	best := -1
	for i, p := range table {
		if p.Model == model && p.Since <= date && (best < 0 || p.Since > table[best].Since) {
			best = i
		}
	}
	if best < 0 {
		return Price{}, false
	}
	return table[best], true
}

// priced is the cost of one model call in millionths of a dollar, by the price of its model on its date; nil where there is
// none or a count is unknown. Input that is not told to be cached is not.
func priced(prices []Price, model string, at int64, in, read, write, out *int64) *int64 {
	if model == "" || at <= 0 || in == nil || out == nil {
		return nil
	}
	p, ok := PriceOn(prices, model, time.Unix(0, at).UTC().Format(time.DateOnly))
	if !ok {
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
	cost := plain*p.Input + known(read)*p.CacheRead + known(write)*p.CacheWrite + float64(*out)*p.Output
	if math.IsNaN(cost) || cost < 0 || cost > 1e15 {
		return nil
	}
	micro := int64(math.Round(cost))
	return &micro
}
