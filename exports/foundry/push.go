package foundry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
)

var _ exports.Pusher = Target{}

// TokenSource gives Entra tokens for Scope.
type TokenSource interface {
	Token(ctx context.Context) (string, error)
}

// Scope is what a token must be for.
const Scope = "https://ai.azure.com/.default"

const (
	apiVersion = "v1"
	callRate   = 5
	maxPages   = 1000
	// hashKey is the metadata member, and the tag, by which a push knows its own.
	hashKey = "tracejury_sha256"
)

var projectPath = regexp.MustCompile(`^/api/projects/[^/]+$`)

type pusher struct {
	box    *exports.Outbox
	api    *exports.API
	blobs  *exports.API // no token goes there: the address is signed
	prefix string       // of ledger ids: the project
}

// Push implements exports.Pusher: the evaluator gets a new version only when its definition changed, the graded sessions are
// uploaded as a dataset, and an eval with one run holds them against our pass rule. Tasks and tools are uploaded too, and the eval of tasks.
func (t Target) Push(ctx context.Context, files fs.FS, box *exports.Outbox) error {
	if !exports.Has(files, EvaluatorFile) && !exports.Has(files, ToolsFile) {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "evaluator", Name: EvaluatorFile}, exports.ErrNothing)
	}
	p, err := t.connect(ctx, box)
	if err != nil {
		return box.Fail(exports.Result{Target: t.Name(), Kind: "project", Name: t.Endpoint}, err)
	}
	var errs []error
	if exports.Has(files, EvaluatorFile) {
		errs = append(errs, p.pushEvaluator(ctx, files))
	}
	if exports.Has(files, RowsFile) {
		errs = append(errs, p.pushGraded(ctx, files))
	}
	return errors.Join(append(errs, p.pushTasks(ctx, files), p.pushTools(ctx, files))...)
}

// Ready implements exports.Pusher.
func (t Target) Ready(_ context.Context, dryRun bool) error {
	_, err := t.base(dryRun)
	return err
}

// base is the project's address. A dry run needs none.
func (t Target) base(dryRun bool) (string, error) {
	base := strings.TrimSuffix(t.Endpoint, "/")
	switch {
	case base == "" && dryRun:
		return "https://ACCOUNT_REPLACE.services.ai.azure.com/api/projects/PROJECT_REPLACE", nil
	case base == "":
		return "", errors.New("no project: want --foundry-endpoint https://ACCOUNT.services.ai.azure.com/api/projects/PROJECT, or AZURE_AI_PROJECT_ENDPOINT")
	}
	if err := exports.CheckBase(base); err != nil {
		return "", fmt.Errorf("--foundry-endpoint %q: %w", exports.Cut(base, 200), err)
	}
	if u, err := url.Parse(base); err != nil || !projectPath.MatchString(u.Path) {
		return "", fmt.Errorf("--foundry-endpoint %q: want https://ACCOUNT.services.ai.azure.com/api/projects/PROJECT", exports.Cut(base, 200))
	}
	return base, nil
}

func (t Target) connect(ctx context.Context, box *exports.Outbox) (*pusher, error) {
	base, err := t.base(box.DryRun)
	if err != nil {
		return nil, err
	}
	if !box.DryRun { // asked for once here, what is missing is told once
		if t.Tokens == nil {
			return nil, errors.New("no source of Entra tokens is configured")
		}
		if _, err := t.Tokens.Token(ctx); err != nil {
			return nil, err
		}
	}
	dry := &dryProject{base: base}
	auth := func(ctx context.Context, h http.Header) ([]string, error) {
		if box.DryRun {
			return nil, nil
		}
		token, err := t.Tokens.Token(ctx)
		if err != nil {
			return nil, err
		}
		h.Set("Authorization", "Bearer "+token)
		return []string{token}, nil
	}
	client := box.Client(callRate, dry.answer)
	return &pusher{box: box, api: &exports.API{Base: base, Client: client, Box: box, Auth: auth}, blobs: &exports.API{Client: client, Box: box},
		prefix: "foundry/" + base + "/"}, nil
}

func versioned(more ...string) url.Values {
	q := url.Values{"api-version": {apiVersion}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return q
}

// readJSON reads one strict JSON value of a file.
func readJSON(files fs.FS, name string, into any) error {
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	return exports.ReadStrict(name, data, into)
}

// hashOf is the hash of v as it would be sent.
func hashOf(v any) (string, error) {
	data, err := exports.JSON(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// evaluatorBody is an evaluator without its name, which stands in the path.
type evaluatorBody struct {
	DisplayName   string            `json:"display_name"`
	Description   string            `json:"description,omitempty"`
	EvaluatorType string            `json:"evaluator_type"`
	Categories    []string          `json:"categories"`
	Levels        []string          `json:"supported_evaluation_levels"`
	Metadata      map[string]string `json:"metadata"`
	Definition    definition        `json:"definition"`
}

// versionPage is a page of versions of an evaluator or dataset.
type versionPage struct {
	Value []struct {
		Version  string            `json:"version"`
		ID       string            `json:"id"`
		Metadata map[string]string `json:"metadata"`
		Tags     map[string]string `json:"tags"`
	} `json:"value"`
	NextLink string `json:"nextLink"`
}

// versions goes through all versions of something; none is none.
func (p *pusher) versions(ctx context.Context, path string, each func(version int, raw, id, hash string)) error {
	r := &exports.Request{Method: http.MethodGet, Path: path, Query: versioned()}
	for range maxPages {
		var page versionPage
		err := p.api.Do(ctx, r, &page)
		if exports.IsStatus(err, http.StatusNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, v := range page.Value {
			n, err := strconv.Atoi(v.Version)
			if err != nil || n < 0 {
				n = 0 // a person's version name counts as none of ours
			}
			hash := v.Metadata[hashKey]
			if hash == "" {
				hash = v.Tags[hashKey]
			}
			each(n, v.Version, v.ID, hash)
		}
		if page.NextLink == "" {
			return nil
		}
		next, ok := strings.CutPrefix(page.NextLink, p.api.Base)
		if !ok || !strings.HasPrefix(next, "/") { // the token would go to a stranger
			return fmt.Errorf("GET %s: the next page lies elsewhere", path)
		}
		u, err := url.Parse(next)
		if err != nil {
			return fmt.Errorf("GET %s: the next page has no address", path)
		}
		r = &exports.Request{Method: http.MethodGet, Path: u.Path, Query: u.Query()}
	}
	return fmt.Errorf("GET %s: over %d pages", path, maxPages)
}

func (p *pusher) pushEvaluator(ctx context.Context, files fs.FS) error {
	result := exports.Result{Target: "foundry", Kind: "evaluator", Name: EvaluatorFile}
	var e evaluator
	err := readJSON(files, EvaluatorFile, &e)
	if err == nil {
		err = e.check()
	}
	if err != nil {
		return p.box.Fail(result, err)
	}
	result.Name = e.Name
	body := evaluatorBody{e.DisplayName, e.Description, e.EvaluatorType, e.Categories, e.Levels, e.Metadata, e.Definition}
	hash, err := hashOf(body)
	if err == nil {
		body.Metadata[hashKey] = hash
		err = checkMetadata(EvaluatorFile, body.Metadata)
	}
	if err == nil {
		result.ID, result.State, err = p.ensureEvaluator(ctx, e.Name, hash, &body)
	}
	if err != nil {
		return p.box.Fail(result, fmt.Errorf("evaluator %s: %w", e.Name, err))
	}
	p.box.Done(result)
	return nil
}

// ensureEvaluator makes a new version unless the newest one is this.
func (p *pusher) ensureEvaluator(ctx context.Context, name, hash string, body *evaluatorBody) (version, state string, err error) {
	path := "/evaluators/" + name + "/versions"
	newest := func() (number int, raw, found string, err error) {
		number = -1
		err = p.versions(ctx, path, func(n int, r, _, h string) {
			if n > number {
				number, raw, found = n, r, h
			}
		})
		return number, raw, found, err
	}
	return p.box.Ensure(ctx, exports.Making{LedgerID: p.prefix + "evaluator/" + name + "/" + hash,
		Find: func() (string, error) {
			_, raw, found, err := newest()
			if found != hash {
				raw = ""
			}
			return raw, err
		},
		Holds: func(known string) (bool, error) {
			number, raw, found, err := newest()
			n, numErr := strconv.Atoi(known)
			if err != nil || numErr != nil || n <= number { // another definition is newer: this one is made anew
				return found == hash && raw == known, err
			}
			err = p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: path + "/" + known, Query: versioned()}, nil) // not listed yet, or deleted since
			if exports.IsStatus(err, http.StatusNotFound) {
				return false, nil
			}
			return err == nil, err
		},
		Create: func() (string, error) {
			var made struct {
				Version string `json:"version"`
			}
			err := p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: path, Query: versioned(), Body: body, Once: true}, &made)
			return made.Version, err
		}})
}

// settle asks until found or until the platform had time to show what it has.
func (p *pusher) settle(ctx context.Context, f func() (bool, error)) error {
	err := p.box.Poll(ctx, p.box.SettleTime(), f)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}
