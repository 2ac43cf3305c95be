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
	Subject         *Subject    // what was graded in place of the whole session; nil for a session
}

// Subject is what a further evaluator graded: a part of a session, or a thing of its own, of which the session is empty.
type Subject struct {
	ID     string // as in the tables
	Kind   string // skill, tool_call, tool, skill_package, task
	Skill  string
	Server string
	Tool   string
	SpanID string
	Grade  string   // A to F; "" where the evaluator gives none
	Score  *float64 // of the whole subject
	// Arm is which of two ways a task was done; Category and TaskKind are the task's. All "" elsewhere.
	Arm, Category, TaskKind string
}

// Part is what a further evaluator of the run found, about skills, calls, tools or packages.
type Part struct {
	Run    schema.Run
	Rubric judge.Rubric
	// Subjects yields what was graded, in the order of the tables; as Input.Sessions does.
	Subjects func(ctx context.Context) iter.Seq2[Session, error]
}

// Package is one graded skill package.
type Package struct {
	Name, Manifest, Body, Task string // the skill's, as they were judged; masked
	Criteria                   []Criterion
}

// Packages are the graded skill packages of a run.
type Packages struct {
	Rubric judge.Rubric // the criteria of all its evaluators
	// All yields the packages by name; it may be ranged over several times. An error comes once, last.
	All func(ctx context.Context) iter.Seq2[Package, error]
}

// Input is what is exported: of one run, or without one a rubric and tasks.
type Input struct {
	Run    schema.Run   // zero without a run
	Rubric judge.Rubric // of the sessions; zero where the run graded none and no other was asked for
	// Sessions yields the sampled sessions in key order; it may be ranged over several times. An error comes once, last. Nil where
	// the run graded none.
	Sessions func(ctx context.Context) iter.Seq2[Session, error]
	// Parts are what the run's other evaluators found.
	Parts []Part
	// Suite is the suite whose tasks go out, nil none. A sealed one is refused.
	Suite *suite.Suite
	// Tools are the tool descriptions that go out, nil none.
	Tools *Tools
	// Packages are the graded skill packages of a run of that kind; nil where the run graded none.
	Packages *Packages
	// AsOf is every date that a file holds.
	AsOf             time.Time
	WithExplanations bool
	// Mask is applied to every text that leaves; never nil.
	Mask func(string) string

	part string // what file names carry of the evaluator, where this is a part of another input
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
