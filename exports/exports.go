// Package exports turns a rubric and the graded sessions of a run into the files that evaluation platforms import. It owns
// the Target interface, the loss report and the manifest; each platform is a package of its own below this one.
//
// It does not read tables: the job hands it sessions in order.
package exports

import (
	"context"
	"io"
	"iter"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/suite"
	"github.com/tracejury/tracejury/schema"
)

// Criterion is one final verdict of a graded session.
type Criterion struct {
	ID             string
	Item           string // below a criterion, e.g. a skill; "" otherwise
	Safety         bool
	Verdict        judge.Verdict
	Label          string
	Score          *float64
	UngradedReason string
	EvidenceSteps  []int32
	Explanation    string // "" unless Input.WithExplanations; masked
}

// Session is one graded session.
type Session struct {
	Key             string // session_key
	ID              string // the harness's own id, "" when the trace is the session
	Service         string
	Agent           string
	Harness         string
	TraceID         string // its first trace, "" none
	StartedUnixNano int64
	Revision        string
	Graded          bool
	UngradedReason  string
	Pass, Safe      *bool
	Undecided       bool
	Criteria        []Criterion // in the rubric's order
}

// Package is one graded skill package.
type Package struct {
	Name, Manifest, Body, Task string // the skill's, as they were judged; masked
	Criteria                   []Criterion
}

// Input is what is exported: one evaluator's part of one run.
type Input struct {
	Run    schema.Run
	Rubric judge.Rubric
	// Sessions yields the sampled sessions in key order; it may be ranged over several times. An error comes once, last.
	Sessions func(ctx context.Context) iter.Seq2[Session, error]
	// Suite is the suite whose tasks go out, nil none. A sealed one is refused.
	Suite *suite.Suite
	// Tools are the tool descriptions that go out, nil none.
	Tools *Tools
	// Packages yields the graded skill packages of a run of that kind, by name; nil where the run graded none.
	Packages func(ctx context.Context) iter.Seq2[Package, error]
	// AsOf is every date that a file holds.
	AsOf             time.Time
	WithExplanations bool
	// Mask is applied to every text that leaves; never nil.
	Mask func(string) string
}

// Sink takes files. Paths are slash separated, relative, made of safe characters.
type Sink interface {
	Create(path string) (io.WriteCloser, error)
}

// Loss is one thing that a target cannot hold.
type Loss struct {
	File string `json:"file"` // path within the export, or "" for the whole target
	What string `json:"what"` // weight, gate, unclear, explanation, …
	How  string `json:"how"`  // what became of it
}

// Target is one platform. Implementations are stateless values.
type Target interface {
	// Name is the value of --to.
	Name() string
	// Check refuses what the platform would refuse, before anything is written. Errors name file, field and rule.
	Check(ctx context.Context, in *Input) error
	// Files writes the file set. The same input gives the same bytes.
	Files(ctx context.Context, in *Input, sink Sink) error
	// Loss lists what the files of this input cannot hold.
	Loss(in *Input) []Loss
}

// ManifestFile is one file of an export, as manifest.json lists it.
type ManifestFile struct {
	Path   string `json:"path"`
	Target string `json:"target"` // "" for criteria.json and manifest.json
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Lines  int64  `json:"lines"`
}
