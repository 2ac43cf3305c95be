// Package pipeline runs the four jobs: ingest, evaluate, aggregate and export. Each job reads tables, writes tables, and can
// be run again at any time: the same input gives byte-identical tables, and no completed judge call is repeated.
//
// Every stage is a frozen [Plan] of pure, idempotent [Task] values and one conditional commit. The package knows how the
// stages fit together; formats, vendors and statistics are known by the packages below it.
package pipeline
