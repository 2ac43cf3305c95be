package outcomes

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
)

var _ exports.Pusher = Target{}

// DefaultEndpoint is the platform's address.
const DefaultEndpoint = "https://api.anthropic.com"

const (
	apiVersion  = "2023-06-01"
	agentsBeta  = "managed-agents-2026-04-01"
	callRate    = 2
	maxPages    = 1000
	maxFileName = 255
)

var sessionID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Task is work to be started: an outcome for a session of the user's, which the rubric is then held against.
type Task struct {
	SessionID   string
	Description string // what the agent is to produce
}

type pusher struct {
	box    *exports.Outbox
	api    *exports.API
	prefix string // of ledger ids: the address and whose key it is
}

// Push implements exports.Pusher: the rubric becomes a file, once for each content. Where the target has a task, its session gets
// an outcome with that rubric: that is paid work and wants consent.
func (t Target) Push(ctx context.Context, files fs.FS, box *exports.Outbox) error {
	if !exports.Has(files, RubricFile) {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "file", Name: RubricFile}, exports.ErrNothing)
	}
	p, err := t.connect(ctx, box)
	if err != nil {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "workspace", Name: cmp.Or(t.Endpoint, DefaultEndpoint)}, err)
	}
	var req request
	data, err := fs.ReadFile(files, RequestFile)
	if err == nil {
		err = exports.ReadStrict(RequestFile, data, &req)
	}
	if err == nil {
		err = req.check()
	}
	var text []byte
	if err == nil {
		text, err = fs.ReadFile(files, RubricFile)
	}
	if err != nil {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "file", Name: RubricFile}, err)
	}
	var tasks error
	if t.Agent != "" {
		tasks = p.pushTasks(ctx, files, t.Agent, t.Environment)
	}
	fileID, err := p.pushRubric(ctx, &req, text)
	if err == nil && t.Task != nil {
		err = p.pushOutcome(ctx, t.Task, fileID, string(text), req.InitialEvents[0].MaxIterations)
	}
	return errors.Join(err, tasks)
}

// Ready implements exports.Pusher.
func (t Target) Ready(_ context.Context, dryRun bool) error {
	base := t.base()
	if err := exports.CheckBase(base); err != nil {
		return fmt.Errorf("--claude-endpoint %q: %w", exports.Cut(base, 200), err)
	}
	if t.Key == "" && !dryRun {
		return errors.New("no API key: set ANTHROPIC_API_KEY")
	}
	for _, x := range []struct{ flag, id string }{{"--outcome-agent", t.Agent}, {"--outcome-environment", t.Environment}} {
		if x.id != "" && !sessionID.MatchString(x.id) {
			return fmt.Errorf("%s %q: want an id of the platform", x.flag, exports.Cut(x.id, 100))
		}
	}
	switch {
	case t.Task == nil:
	case !sessionID.MatchString(t.Task.SessionID):
		return fmt.Errorf("--outcome-session %q: want an id of the platform", exports.Cut(t.Task.SessionID, 100))
	case strings.TrimSpace(t.Task.Description) == "" || !utf8.ValidString(t.Task.Description):
		return errors.New("--outcome-task: want what the agent is to produce")
	}
	return nil
}

func (t Target) base() string { return strings.TrimSuffix(cmp.Or(t.Endpoint, DefaultEndpoint), "/") }

func (t Target) connect(ctx context.Context, box *exports.Outbox) (*pusher, error) {
	if err := t.Ready(ctx, box.DryRun); err != nil {
		return nil, err
	}
	base := t.base()
	auth := func(_ context.Context, h http.Header) ([]string, error) {
		h.Set("anthropic-version", apiVersion)
		if !box.DryRun {
			h.Set("x-api-key", t.Key)
		}
		return []string{t.Key}, nil
	}
	whose := sha256.Sum256([]byte("tracejury push\x00" + t.Key))
	return &pusher{box: box, api: &exports.API{Base: base, Client: box.Client(callRate, dryAnswer), Box: box, Auth: auth},
		prefix: "outcomes/" + base + "/" + hex.EncodeToString(whose[:6]) + "/"}, nil
}

// pushRubric uploads the rubric unless a file of its name is there. The name holds the hash of the content.
func (p *pusher) pushRubric(ctx context.Context, req *request, text []byte) (string, error) {
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	name := fmt.Sprintf("tracejury_%s_v%s_%s.md", req.Metadata["rubric"], req.Metadata["rubric_version"], hash[:16])
	result := exports.Result{Target: "outcomes", Kind: "file", Name: name}
	if len(name) > maxFileName || strings.ContainsAny(name, `/\<>:"|?*`) {
		return "", p.box.Fail(result, errors.New("the name cannot be one of a file"))
	}
	body, kind, err := form(name, text)
	if err != nil {
		return "", p.box.Fail(result, err)
	}
	find := func() (string, error) {
		return list(ctx, p, "/v1/files", nil, nil, func(f struct{ ID, Filename string }) bool { return f.Filename == name }, func(f struct{ ID, Filename string }) string { return f.ID })
	}
	upload := &exports.Request{Method: http.MethodPost, Path: "/v1/files", ContentType: kind, Once: true, Length: int64(len(body)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }}
	holds := func(id string) (bool, error) {
		err := p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: "/v1/files/" + url.PathEscape(id)}, nil)
		if exports.IsStatus(err, http.StatusNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	result.ID, result.State, err = p.box.Ensure(ctx, exports.Making{LedgerID: p.prefix + "file/" + hash, Find: find, Holds: holds, Create: func() (string, error) {
		var made struct {
			ID string `json:"id"`
		}
		err := p.api.Do(ctx, upload, &made)
		return made.ID, err
	}})
	if err != nil {
		return "", p.box.Fail(result, fmt.Errorf("file %s: %w", name, err))
	}
	p.box.Done(result)
	return result.ID, nil
}

// form is the upload as multipart/form-data. Its boundary is fixed by the name, so that the same upload has the same bytes.
func form(name string, text []byte) (body []byte, kind string, err error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	sum := sha256.Sum256(append([]byte(name+"\x00"), text...))
	if err := w.SetBoundary("tracejury-" + hex.EncodeToString(sum[:20])); err != nil {
		return nil, "", err
	}
	part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="file"; filename="` + name + `"`}, "Content-Type": {"text/markdown"}})
	if err == nil {
		_, err = part.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	return buf.Bytes(), w.FormDataContentType(), err
}

// pushed is the body of POST /v1/sessions/{id}/events.
type pushed struct {
	Events []fileOutcome `json:"events"`
}

type fileOutcome struct {
	Type          string   `json:"type"`
	Description   string   `json:"description"`
	Rubric        fileText `json:"rubric"`
	MaxIterations int      `json:"max_iterations"`
}

type fileText struct {
	Type   string `json:"type"`
	FileID string `json:"file_id"`
}

// Warning tells what tasks cost before they are begun.
func Warning(tasks, iterations int) string {
	many := "s"
	if tasks == 1 {
		many = ""
	}
	return fmt.Sprintf("this starts %d outcome%s with up to %d rounds each of paid work by the agent and by the platform's grader", tasks, many, iterations)
}

// pushOutcome sends the event unless the session has it. The platform starts work on each that it gets.
func (p *pusher) pushOutcome(ctx context.Context, task *Task, fileID, rubric string, iterations int) error {
	result := exports.Result{Target: "outcomes", Kind: "outcome", Name: task.SessionID}
	if !p.box.Yes && !p.box.DryRun {
		return p.box.Fail(result, fmt.Errorf("%w: %s", exports.ErrConsent, Warning(1, iterations)))
	}
	event := fileOutcome{Type: "user.define_outcome", Description: task.Description, Rubric: fileText{"file", fileID}, MaxIterations: iterations}
	path := "/v1/sessions/" + task.SessionID + "/events"
	header := beta()
	sum := sha256.Sum256([]byte(task.SessionID + "\x00" + task.Description + "\x00" + rubric))
	type seen struct {
		ID, Type, Description string
		Rubric                struct {
			Type, Content string
			FileID        string `json:"file_id"`
		}
	}
	find := func() (string, error) {
		return list(ctx, p, path, url.Values{"types[]": {event.Type}}, header, func(e seen) bool { // a file comes back resolved to its text
			return e.Type == event.Type && e.Description == event.Description && (e.Rubric.FileID == fileID || e.Rubric.Content == rubric)
		}, func(e seen) string { return e.ID })
	}
	var err error
	result.ID, result.State, err = p.box.Ensure(ctx, exports.Making{LedgerID: p.prefix + "outcome/" + hex.EncodeToString(sum[:]), Find: find, Create: func() (string, error) {
		var made struct {
			Data []struct {
				ID string `json:"id"`
			} `json:"data"`
		}
		err := p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: path, Body: pushed{[]fileOutcome{event}}, Header: header, Once: true}, &made)
		if err == nil && len(made.Data) == 1 {
			return made.Data[0].ID, nil
		}
		return "", err
	}})
	if err != nil {
		return p.box.Fail(result, fmt.Errorf("outcome for session %s: %w", task.SessionID, err))
	}
	p.box.Done(result)
	return nil
}

// list goes through the pages of a list until one is the one sought.
func list[T any](ctx context.Context, p *pusher, path string, query url.Values, header http.Header, is func(T) bool, id func(T) string) (string, error) {
	q := url.Values{"limit": {"100"}}
	for k, v := range query {
		q[k] = v
	}
	for range maxPages {
		var page struct {
			Data     []T    `json:"data"`
			NextPage string `json:"next_page"`
		}
		if err := p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: path, Query: q, Header: header}, &page); err != nil {
			return "", err
		}
		for _, item := range page.Data {
			if is(item) {
				return id(item), nil
			}
		}
		if page.NextPage == "" || page.NextPage == q.Get("page") {
			return "", nil
		}
		q.Set("page", page.NextPage)
	}
	return "", fmt.Errorf("GET %s: over %d pages", path, maxPages)
}

// dryAnswer answers as the platform does when nothing is there yet.
func dryAnswer(r *http.Request, _ []byte) (int, string) {
	switch {
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/files/"):
		return http.StatusOK, `{"id":"file_DRY_RUN"}`
	case r.Method == http.MethodGet:
		return http.StatusOK, `{"data":[]}`
	case r.URL.Path == "/v1/files":
		return http.StatusOK, `{"id":"file_DRY_RUN"}`
	}
	return http.StatusOK, `{"data":[{"id":"sevt_DRY_RUN"}]}`
}
