// Package session turns the stored rows of spans and log records into sessions: who belongs together, in what order things
// happened, what was told twice, which calls got which results, which skills were offered and loaded.
//
// Everything is a pure function of a set of rows: their order, batching and duplication never reach a result. The package
// owns identity ([CandidateID], [Key], [Assign]), duplicates ([Dedupe]) and derivation ([Build]). It does not know vendors:
// package convention turns a record into events, and this package reasons over those alone.
package session
