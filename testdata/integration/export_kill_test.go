package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tracejury/tracejury/exports/platformtest"
	"github.com/tracejury/tracejury/judge/suite"
)

const (
	killedSessions = 400 // with soakCriteria records each: several batches of CloudWatch Logs
	killedSuite    = "infra_ops_practice"
)

// platforms are the three that a push goes to, and what goes wrong with their calls.
type platforms struct {
	aws     *platformtest.AWS
	foundry *platformtest.Foundry
	claude  *platformtest.Claude

	mu      sync.Mutex
	calls   int // since trouble was last called
	trouble func(n int) platformtest.Fault
}

func newPlatforms(t *testing.T) *platforms {
	p := &platforms{aws: platformtest.NewAWS(t, time.Now()), foundry: platformtest.NewFoundry(t), claude: platformtest.NewClaude(t)}
	for _, s := range []*platformtest.Server{&p.aws.Server, &p.foundry.Server, &p.claude.Server} {
		s.Fail(func(int, platformtest.Recorded) platformtest.Fault {
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.calls++; p.trouble == nil {
				return platformtest.None
			}
			return p.trouble(p.calls)
		})
	}
	return p
}

func (p *platforms) set(f func(n int) platformtest.Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.trouble = 0, f
}

// env is a machine that may use all three: AWS by keys, Entra by a managed identity.
func (p *platforms) env(t *testing.T) []string {
	t.Helper()
	identity := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": platformtest.FoundryToken, "expires_on": fmt.Sprint(time.Now().Add(time.Hour).Unix()), "token_type": "Bearer", "resource": r.URL.Query().Get("resource")})
	}))
	t.Cleanup(identity.Close)
	cfg := p.aws.Config()
	keys, err := cfg.Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return []string{"AWS_ENDPOINT_URL=" + p.aws.URL, "AWS_ACCESS_KEY_ID=" + keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + keys.SecretAccessKey, "AWS_REGION=" + platformtest.Region,
		"AWS_EC2_METADATA_DISABLED=true", "IDENTITY_ENDPOINT=" + identity.URL, "IDENTITY_HEADER=test", "AZURE_TOKEN_CREDENTIALS=managedidentitycredential", "ANTHROPIC_API_KEY=" + platformtest.ClaudeKey}
}

// check holds what the platforms have against the files of the export: everything, and nothing twice.
func (p *platforms) check(t *testing.T, dir string) {
	t.Helper()
	read := func(name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	records := func(lines []string) (ids []string) { // an export made anew has another time
		for _, line := range lines {
			var r struct {
				Attributes map[string]any `json:"attributes"`
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, fmt.Sprint(r.Attributes["session.id"], r.Attributes["gen_ai.evaluation.name"]))
		}
		slices.Sort(ids)
		return ids
	}
	want, got := records(strings.Split(strings.TrimSpace(string(read("agentcore/graded_sessions.cloudwatch.jsonl"))), "\n")), records(p.aws.Messages())
	if !slices.Equal(got, want) {
		t.Errorf("CloudWatch Logs holds %d records, %d of them different; the file has %d", len(got), len(slices.Compact(slices.Clone(got))), len(want))
	}
	if len(p.aws.Evaluators) != 1 || len(p.aws.Datasets) != 1 {
		t.Errorf("AgentCore: %d evaluators, %d datasets", len(p.aws.Evaluators), len(p.aws.Datasets))
	}
	tasks, err := suite.Load(killedSuite)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range p.aws.Datasets {
		if len(d.Examples) != len(tasks.Tasks) || len(d.Versions) != 1 {
			t.Errorf("AgentCore: the dataset has %d of %d tasks in %d versions", len(d.Examples), len(tasks.Tasks), len(d.Versions))
		}
	}
	versions := 0
	for _, v := range p.foundry.Evaluators {
		versions += len(v)
	}
	rows := map[string]int{}
	for _, d := range p.foundry.Datasets {
		for _, v := range d {
			rows[string(v.Rows)]++
		}
	}
	for _, name := range []string{"foundry/graded_sessions.jsonl", "foundry/dataset.jsonl"} {
		if n := rows[string(read(name))]; n != 1 {
			t.Errorf("Foundry has the rows of %s %d times", name, n)
		}
	}
	runs := 0
	for _, e := range p.foundry.Evals {
		runs += len(e.Runs)
	}
	if versions != 1 || len(rows) != 2 || len(p.foundry.Evals) != 2 || runs != 1 {
		t.Errorf("Foundry: %d evaluator versions, %d datasets, %d evals, %d runs", versions, len(rows), len(p.foundry.Evals), runs)
	}
	if len(p.claude.Files) != 1 || !bytes.Equal(p.claude.Files[0].Content, read("claude/rubric.md")) {
		t.Errorf("Claude: %d files", len(p.claude.Files))
	}
	started := map[string]int{}
	for _, s := range p.claude.Sessions {
		started[s.Outcome]++
	}
	if len(p.claude.Sessions) != len(tasks.Tasks) || len(started) != len(tasks.Tasks) {
		t.Errorf("Claude: %d sessions of %d tasks, of %d", len(p.claude.Sessions), len(started), len(tasks.Tasks))
	}
}

// faults is a random fault in some of the calls.
func faults(mix *rand.Rand) platformtest.Fault {
	switch x := mix.IntN(40); {
	case x < 5:
		return platformtest.Throttle + platformtest.Fault(x)
	case x == 5:
		time.Sleep(100 * time.Millisecond)
	}
	return platformtest.None
}

// TestKilledPushGoesOn kills export at random calls, before they are carried out and after, while calls are throttled, fail, are reset and
// are slow. In the end each platform holds everything, and nothing twice.
func TestKilledPushGoesOn(t *testing.T) {
	if os.Getenv("TRACEJURY_SOAK") == "" {
		t.Skip("each push waits for what was on its way; TRACEJURY_SOAK is not set, and kills at every call are tested beside the targets")
	}
	const rounds, kills = 4, 15
	lake := filepath.Join(t.TempDir(), "lake")
	gradedLake(t, lake, killedSessions)
	for round := range rounds {
		w := newWorld(t)
		w.data, w.asOf = lake, time.Now().UTC().Format(time.RFC3339)
		p := newPlatforms(t)
		w.env = p.env(t)
		out := filepath.Join(w.dir, "exports")
		args := []string{"--to", "agentcore,foundry,outcomes", "--push", "agentcore,foundry,outcomes", "--suite", killedSuite, "--out", out, "--yes",
			"--foundry-endpoint", p.foundry.Endpoint(), "--claude-endpoint", p.claude.URL, "--outcome-agent", platformtest.ClaudeAgent, "--outcome-environment", platformtest.ClaudeEnvironment}
		mix := rand.New(rand.NewPCG(uint64(round), 7))
		killed := 0
		for range kills {
			at, after := 1+mix.IntN(60), mix.IntN(2) == 0
			started := make(chan *running, 1)
			var r *running
			p.set(func(n int) platformtest.Fault {
				if n < at {
					return faults(mix)
				}
				if r == nil {
					r = <-started
				}
				_ = r.cmd.Process.Kill() // it may be dead already
				if after && n == at {
					return platformtest.None // carried out, and nobody reads the answer
				}
				return platformtest.DropBefore
			})
			x := w.start("export", args...)
			started <- x
			if o := x.wait(); o.code == -1 {
				killed++
			} else {
				t.Logf("round %d: ended by itself before call %d: exit %d %s", round, at, o.code, o.errorLine())
			}
		}
		p.set(func(int) platformtest.Fault { return faults(mix) })
		for n := 1; ; n++ {
			o := w.start("export", args...).wait()
			if o.code == exitOK {
				break
			}
			if n == 5 || o.code != exitPartial && o.code != exitService {
				t.Fatalf("round %d: push %d: exit %d: %s", round, n, o.code, o.stderr)
			}
		}
		p.check(t, filepath.Join(out, soakRun))
		p.set(nil)
		w.run(nil, "export", args...) // and once more
		p.check(t, filepath.Join(out, soakRun))
		for _, problems := range [][]string{p.aws.Problems(), p.foundry.Problems(), p.claude.Problems()} {
			if len(problems) > 0 {
				t.Errorf("refused: %v", problems)
			}
		}
		t.Logf("round %d: %d kills of %d, %d+%d+%d calls", round, killed, kills, len(p.aws.Calls()), len(p.foundry.Calls()), len(p.claude.Calls()))
	}
}
