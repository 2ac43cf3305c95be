//go:build !race

package exporttest

const raceEnabled = false
