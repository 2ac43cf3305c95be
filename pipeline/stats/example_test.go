package stats_test

import (
	"context"
	"fmt"

	"github.com/tracejury/tracejury/pipeline/stats"
)

// A night in which every session passed: the bootstrap has nothing to say, and the interval tells that it is Wilson's.
func ExampleBootstrapProportion() {
	iv, err := stats.BootstrapProportion(20, 20, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("[%.3f, %.3f] %s instead of %s: %s\n", iv.Low, iv.High, iv.Method, iv.FallbackFrom, iv.Reason)
	// Output: [0.839, 1.000] wilson instead of bootstrap_percentile_exact: all 20 observations are equal
}

// Forty tasks, tried with and without a skill.
func ExampleTango() {
	p := stats.Pairs{Both: 20, Gained: 6, Lost: 2, Neither: 12}
	iv, err := stats.Tango(p, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	test, err := stats.McNemarMidP(p.Gained, p.Lost)
	if err != nil {
		fmt.Println(err)
		return
	}
	smallest, err := stats.DetectableDifference(p.N(), float64(p.Gained+p.Lost)/float64(p.N()), 0.95, 0.8)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+.3f [%.3f, %.3f], p = %.3f; less than %.2f would hardly be seen\n",
		p.Difference(), iv.Low, iv.High, test.P, smallest)
	// Output: +0.100 [-0.046, 0.253], p = 0.180; less than 0.20 would hardly be seen
}

// The interval of an agreement coefficient comes from resampling the items.
func ExampleBootstrapStatistic() {
	person := []int{1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1}
	judge := []int{1, 0, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1}
	ac1 := func(index []int) (float64, bool) {
		a, b := make([]int, len(index)), make([]int, len(index))
		for to, from := range index {
			a[to], b[to] = person[from], judge[from]
		}
		table, err := stats.Table(a, b, 2)
		if err != nil {
			return 0, false
		}
		agreement, err := stats.GwetAC(table, stats.Nominal)
		return agreement.Coefficient, err == nil
	}
	iv, err := stats.BootstrapStatistic(context.Background(), len(person), ac1, stats.BCa, 0.95,
		stats.Resampling{Seed: "2026-11-30"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("[%.1f, %.1f] %s\n", iv.Low, iv.High, iv.Method)
	// Output: [0.3, 0.9] bca
}
