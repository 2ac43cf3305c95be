package foundry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
)

// pushGraded uploads the rows, makes the eval and its run. Each step needs the one before.
func (p *pusher) pushGraded(ctx context.Context, files fs.FS) error {
	result := exports.Result{Target: "foundry", Kind: "dataset", Name: RowsFile}
	var run evalRun
	if err := readJSON(files, RunFile, &run); err != nil {
		return p.box.Fail(result, err)
	}
	name, err := nameOf(run.DataSource.Source.ID)
	if err != nil {
		return p.box.Fail(result, err)
	}
	result.Name = name
	file, err := fs.Stat(files, RowsFile)
	if err != nil {
		return p.box.Fail(result, err)
	}
	if file.Size() == 0 {
		return p.box.Fail(result, fmt.Errorf("%s is empty: no session was graded, and the platform takes no empty dataset", RowsFile))
	}
	rowsHash, err := hashFile(files, RowsFile)
	if err == nil {
		result.ID, result.State, err = p.ensureDataset(ctx, files, name, rowsHash, file.Size())
	}
	if err != nil {
		return p.box.Fail(result, fmt.Errorf("dataset %s: %w", name, err))
	}
	p.box.Done(result)
	run.DataSource.Source.ID = result.ID

	evalID, err := p.pushEval(ctx, files)
	if err != nil {
		return err
	}
	result = exports.Result{Target: "foundry", Kind: "run", Name: run.Name}
	hash, err := hashOf(run)
	if err == nil {
		run.Metadata[hashKey] = hash
		result.ID, result.State, err = p.ensure(ctx, "/openai/v1/evals/"+url.PathEscape(evalID)+"/runs", hash, &run)
	}
	if err != nil {
		return p.box.Fail(result, fmt.Errorf("run %s: %w", run.Name, err))
	}
	p.box.Done(result)
	return nil
}

// pushEval makes the eval unless there is one. When it was exported does not make it another.
func (p *pusher) pushEval(ctx context.Context, files fs.FS) (string, error) {
	result := exports.Result{Target: "foundry", Kind: "eval", Name: EvalFile}
	var e eval
	err := readJSON(files, EvalFile, &e)
	if err == nil {
		err = e.check(EvalFile)
	}
	if err != nil {
		return "", p.box.Fail(result, err)
	}
	result.Name = e.Name
	asOf := e.Metadata["as_of"]
	delete(e.Metadata, "as_of")
	hash, err := hashOf(e)
	e.Metadata["as_of"], e.Metadata[hashKey] = asOf, hash
	if err == nil {
		err = checkMetadata(EvalFile, e.Metadata)
	}
	if err == nil {
		result.ID, result.State, err = p.ensure(ctx, "/openai/v1/evals", hash, &e)
	}
	if err != nil {
		return "", p.box.Fail(result, fmt.Errorf("eval %s: %w", e.Name, err))
	}
	p.box.Done(result)
	return result.ID, nil
}

// object is what the evals API answers.
type object struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
}

// ensure makes an eval or a run unless there is one with this hash. The platform knows no repeated call: the ledger remembers the
// id, and where it does not, the list is searched for the hash.
func (p *pusher) ensure(ctx context.Context, path, hash string, body any) (id, state string, err error) {
	ledgerID := p.prefix + strings.TrimPrefix(path, "/") + "/" + hash
	if id, ok := p.box.Ledger.Done(ledgerID); ok {
		err := p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: path + "/" + url.PathEscape(id)}, nil)
		if !exports.IsStatus(err, http.StatusNotFound) {
			return id, exports.Unchanged, err
		}
	}
	begun, _ := p.box.Ledger.Pending(ledgerID)
	lost, mine := len(begun) > 0, false
	err = p.box.Retry(ctx, func() error {
		var err error
		if id, err = p.find(ctx, path, hash); err == nil && id == "" && lost { // it may not be seen yet
			err = p.settle(ctx, func() (bool, error) { id, err = p.find(ctx, path, hash); return id != "", err })
		}
		if err != nil || id != "" {
			return err
		}
		mine = true
		id, err = p.once(ctx, ledgerID, &lost, func() (string, error) {
			var made object
			err := p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: path, Body: body, Once: true}, &made)
			if err == nil && made.ID == "" {
				err = errors.New("the answer names no id")
			}
			return made.ID, err
		})
		return err
	})
	if err == nil && !p.box.DryRun {
		err = p.box.Ledger.Finish(ledgerID, id, nil)
	}
	if mine {
		return id, exports.Created, err
	}
	return id, exports.Unchanged, err
}

// find searches the list, newest first, for what has the hash.
func (p *pusher) find(ctx context.Context, path, hash string) (string, error) {
	after := ""
	for range maxPages {
		var page struct {
			Data    []object `json:"data"`
			HasMore bool     `json:"has_more"`
			LastID  string   `json:"last_id"`
		}
		q := url.Values{"limit": {"100"}, "order": {"desc"}}
		if after != "" {
			q.Set("after", after)
		}
		if err := p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: path, Query: q}, &page); err != nil {
			return "", err
		}
		for _, o := range page.Data {
			if o.Metadata[hashKey] == hash {
				return o.ID, nil
			}
		}
		if !page.HasMore || page.LastID == "" || page.LastID == after {
			return "", nil
		}
		after = page.LastID
	}
	return "", fmt.Errorf("GET %s: over %d pages", path, maxPages)
}

// nameOf is the dataset's name in the id that the run file gives it.
func nameOf(id string) (string, error) {
	_, rest, _ := strings.Cut(id, "/data/")
	name, _, ok := strings.Cut(rest, "/versions/")
	if !ok || !datasetPattern.MatchString(name) {
		return "", fmt.Errorf("read %s: %q names no dataset", RunFile, exports.Cut(id, 200))
	}
	return name, nil
}

func hashFile(files fs.FS, name string) (string, error) {
	f, err := files.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// ensureDataset uploads the rows as a new version unless a version holds them. A version exists from the last of the three
// calls on, so that one which was begun and left is simply begun again. One that exists and is not listed yet is waited for.
func (p *pusher) ensureDataset(ctx context.Context, files fs.FS, name, hash string, size int64) (id, state string, err error) {
	path := "/datasets/" + name + "/versions"
	newest := 0
	look := func() error {
		return p.versions(ctx, path, func(n int, _, gotID, got string) {
			newest = max(newest, n)
			if got == hash {
				id = gotID
			}
		})
	}
	if err := look(); err != nil || id != "" {
		return id, exports.Unchanged, err
	}
	tried := newest + 1
	id, err = p.newVersion(ctx, files, path+"/"+strconv.Itoa(tried), hash, size)
	if !exports.IsStatus(err, http.StatusConflict) {
		return id, exports.Created, err
	}
	err = p.settle(ctx, func() (bool, error) { err := look(); return newest >= tried, err })
	if err != nil || id != "" {
		return id, exports.Unchanged, err
	}
	id, err = p.newVersion(ctx, files, path+"/"+strconv.Itoa(newest+1), hash, size)
	return id, exports.Created, err
}

func (p *pusher) newVersion(ctx context.Context, files fs.FS, path, hash string, size int64) (id string, err error) {
	var pending struct {
		BlobReference struct {
			BlobURI    string `json:"blobUri"`
			Credential struct {
				SASURI string `json:"sasUri"`
			} `json:"credential"`
		} `json:"blobReference"`
	}
	err = p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: path + "/startPendingUpload", Query: versioned(), Body: map[string]string{"pendingUploadType": "BlobReference"}}, &pending)
	if err != nil {
		return "", err
	}
	blob, err := p.upload(ctx, files, pending.BlobReference.Credential.SASURI, size)
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"id"`
	}
	body := struct {
		Type    string            `json:"type"`
		DataURI string            `json:"dataUri"`
		Tags    map[string]string `json:"tags"`
	}{"uri_file", blob, map[string]string{hashKey: hash}}
	err = p.api.Do(ctx, &exports.Request{Method: http.MethodPatch, Path: path, Query: versioned(), Body: body, ContentType: "application/merge-patch+json"}, &made)
	if err == nil && made.ID == "" {
		err = errors.New("the answer names no id")
	}
	return made.ID, err
}

// blobName is the file's name in the container.
const blobName = "graded_sessions.jsonl"

// upload puts the rows into the container that the signed address leads to, and returns the blob's address without signature.
// The same blob put again is the same blob.
func (p *pusher) upload(ctx context.Context, files fs.FS, sas string, size int64) (string, error) {
	u, err := url.Parse(sas)
	if err != nil || u.Host == "" {
		return "", errors.New("startPendingUpload: the answer has no address to upload to") // never quoted: it is signed
	}
	if err := exports.CheckBase(u.Scheme + "://" + u.Host); err != nil {
		return "", fmt.Errorf("startPendingUpload: the address to upload to: %w", err)
	}
	blob := *p.blobs
	blob.Base = u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/") + "/" + blobName
	err = blob.Do(ctx, &exports.Request{Method: http.MethodPut, Path: path, Query: u.Query(), ContentType: "application/jsonl", Length: size,
		Header: http.Header{"X-Ms-Blob-Type": {"BlockBlob"}}, Open: func() (io.ReadCloser, error) { return files.Open(RowsFile) }}, nil)
	return blob.Base + path, err
}
