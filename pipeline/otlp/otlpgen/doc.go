// Package otlpgen writes OTLP archives: the small one that is committed as testdata/archive, with its ground truth, and
// archives of any size for benchmarks.
//
// Sessions are scripts ([Script]): what a user asked, what an agent said, which tools it called and what came of it. One
// renderer a harness turns a script into the spans, log records and metrics that this harness exports, attribute for
// attribute; own encoders write them as OTLP JSON or protobuf the way a collector does. All text is invented here.
//
// The package reads nothing and knows no reader: it must not import a decoder, a convention or a job, so that what they
// make of an archive can be checked against what it says was put in. The same input gives the same bytes.
package otlpgen
