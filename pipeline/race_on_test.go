//go:build race

package pipeline_test

// raceEnabled leaves out tests that the race detector has nothing to find in: it costs ten times and more.
const raceEnabled = true
