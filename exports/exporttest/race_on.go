//go:build race

package exporttest

// raceEnabled makes long tests shorter: the race detector costs ten times and more.
const raceEnabled = true
