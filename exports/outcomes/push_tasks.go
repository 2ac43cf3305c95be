package outcomes

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/tracejury/tracejury/exports"
)

// taskKey is the metadata member by which a push knows a session of its own.
const taskKey = "tracejury_task_sha256"

// maxTaskLine caps a line that is read: a rubric and a task have some hundred kilobytes.
const maxTaskLine = 4 << 20

// newSession is the body of POST /v1/sessions.
type newSession struct {
	Agent         string            `json:"agent"`
	EnvironmentID string            `json:"environment_id"`
	Title         string            `json:"title"`
	Metadata      map[string]string `json:"metadata"`
	InitialEvents []defineOutcome   `json:"initial_events"`
}

// readTasks reads the lines of TasksFile, and nothing that is none; without the file there are none.
func readTasks(files fs.FS) ([]taskLine, error) {
	f, err := files.Open(TasksFile)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 0, 64<<10), maxTaskLine)
	var out []taskLine
	for in.Scan() {
		var l taskLine
		if err := exports.ReadStrict(fmt.Sprintf("%s:%d", TasksFile, len(out)+1), in.Bytes(), &l); err != nil {
			return nil, err
		}
		if err := l.check(); err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, in.Err()
}

// pushTasks makes a session of every task: the agent works on each, and the platform's grader holds the rubric against it. All of
// that is paid work, so that nothing is begun without consent.
func (p *pusher) pushTasks(ctx context.Context, files fs.FS, agent, environment string) error {
	result := exports.Result{Target: "outcomes", Kind: "session", Name: TasksFile}
	tasks, err := readTasks(files)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = errors.New("the export holds no tasks: name a suite with --suite")
	case err == nil && !p.box.Yes && !p.box.DryRun:
		err = fmt.Errorf("%w: %s", exports.ErrConsent, Warning(len(tasks), iterations))
	}
	if err != nil {
		return p.box.Fail(result, err)
	}
	known := &sessionIndex{pusher: p, agent: agent}
	var all []error
	for i := range tasks {
		result := exports.Result{Target: "outcomes", Kind: "session", Name: tasks[i].TaskID}
		if result.ID, result.State, err = p.startTask(ctx, &tasks[i], agent, environment, known); err != nil {
			all = append(all, p.box.Fail(result, fmt.Errorf("task %s: %w", tasks[i].TaskID, err)))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		p.box.Done(result)
	}
	return errors.Join(all...)
}

func (p *pusher) startTask(ctx context.Context, task *taskLine, agent, environment string, known *sessionIndex) (id, state string, err error) {
	body := newSession{Agent: agent, EnvironmentID: environment, Title: task.TaskID, Metadata: map[string]string{"task_id": task.TaskID}, InitialEvents: []defineOutcome{task.Event}}
	data, err := exports.JSON(body)
	if err != nil {
		return "", "", err
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:])
	body.Metadata[taskKey] = hash
	return p.box.Ensure(ctx, exports.Making{LedgerID: p.prefix + "task/" + hash, Find: func() (string, error) { return known.find(ctx, hash) }, Create: func() (string, error) {
		var made struct {
			ID string `json:"id"`
		}
		known.stale = true // whatever comes of it, the list is another one now
		err := p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: "/v1/sessions", Body: body, Header: beta(), Once: true}, &made)
		if err == nil {
			known.stale = false
		}
		return made.ID, err
	}})
}

// sessionIndex is the agent's sessions by the hash of their task. It is listed once, and again where an answer was lost.
type sessionIndex struct {
	pusher *pusher
	agent  string
	byHash map[string]string
	stale  bool
}

func (x *sessionIndex) find(ctx context.Context, hash string) (string, error) {
	if x.byHash != nil && !x.stale {
		return x.byHash[hash], nil
	}
	type session struct {
		ID       string            `json:"id"`
		Metadata map[string]string `json:"metadata"`
	}
	byHash := map[string]string{}
	query := url.Values{"agent_id": {x.agent}, "include_archived": {"true"}}
	_, err := list(ctx, x.pusher, "/v1/sessions", query, beta(), func(s session) bool {
		if h := s.Metadata[taskKey]; h != "" {
			byHash[h] = s.ID
		}
		return false
	}, func(s session) string { return s.ID })
	if err != nil {
		return "", err
	}
	x.byHash, x.stale = byHash, byHash[hash] == ""
	return byHash[hash], nil
}

func beta() http.Header { return http.Header{"Anthropic-Beta": {agentsBeta}} }
