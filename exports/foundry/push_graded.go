package foundry

import (
	"cmp"
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
	var run evalRun
	err := readJSON(files, RunFile, &run)
	name := ""
	if err == nil {
		name, err = nameOf(run.DataSource.Source.ID)
	}
	if err != nil {
		return p.box.Fail(exports.Result{Target: "foundry", Kind: "dataset", Name: RowsFile}, err)
	}
	if run.DataSource.Source.ID, err = p.pushRows(ctx, files, RowsFile, name); err != nil {
		return err
	}
	evalID, err := p.pushEval(ctx, files, EvalFile)
	if err != nil {
		return err
	}
	result := exports.Result{Target: "foundry", Kind: "run", Name: run.Name}
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

// pushTasks uploads the tasks and makes the eval that answers to them are held against, where the export has any. No run is made:
// an agent has to answer first.
func (p *pusher) pushTasks(ctx context.Context, files fs.FS) error {
	var e eval
	err := readJSON(files, TasksEvalFile, &e)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && e.Metadata[datasetKey] == "":
		err = exports.Refuse(TasksEvalFile, "metadata."+datasetKey, "want the dataset's name")
	}
	if err != nil {
		return p.box.Fail(exports.Result{Target: "foundry", Kind: "dataset", Name: TasksFile}, err)
	}
	_, rowsErr := p.pushRows(ctx, files, TasksFile, e.Metadata[datasetKey])
	if ctx.Err() != nil {
		return rowsErr
	}
	_, evalErr := p.pushEval(ctx, files, TasksEvalFile)
	return errors.Join(rowsErr, evalErr)
}

// pushTools uploads the tool descriptions, where the export has any: each content is a version of one dataset.
func (p *pusher) pushTools(ctx context.Context, files fs.FS) error {
	if _, err := fs.Stat(files, ToolsFile); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	_, err := p.pushRows(ctx, files, ToolsFile, toolsDataset)
	return err
}

// pushRows makes the project hold the rows of file as a version of the dataset, and gives that version's id.
func (p *pusher) pushRows(ctx context.Context, files fs.FS, file, name string) (string, error) {
	result := exports.Result{Target: "foundry", Kind: "dataset", Name: cmp.Or(name, file)}
	if !datasetPattern.MatchString(name) {
		return "", p.box.Fail(result, exports.Refuse(file, "dataset", "name %q: want up to %d letters, digits, underscores and hyphens", exports.Cut(name, 100), maxName))
	}
	info, err := fs.Stat(files, file)
	if err != nil {
		return "", p.box.Fail(result, err)
	}
	if info.Size() == 0 {
		return "", p.box.Fail(result, fmt.Errorf("%s is empty: nothing was graded, and the platform takes no empty dataset", file))
	}
	hash, err := hashFile(files, file)
	if err == nil {
		result.ID, result.State, err = p.ensureDataset(ctx, &rowsOf{files: files, file: file, hash: hash, size: info.Size()}, name)
	}
	if err != nil {
		return "", p.box.Fail(result, fmt.Errorf("dataset %s: %w", name, err))
	}
	p.box.Done(result)
	return result.ID, nil
}

// rowsOf is a file of rows that is to be a version of a dataset.
type rowsOf struct {
	files      fs.FS
	file, hash string
	size       int64
}

// pushEval makes the eval unless there is one. When it was exported does not make it another.
func (p *pusher) pushEval(ctx context.Context, files fs.FS, file string) (string, error) {
	result := exports.Result{Target: "foundry", Kind: "eval", Name: file}
	var e eval
	err := readJSON(files, file, &e)
	if err == nil {
		err = e.check(file)
	}
	if err != nil {
		return "", p.box.Fail(result, err)
	}
	result.Name = e.Name
	asOf, dated := e.Metadata["as_of"]
	delete(e.Metadata, "as_of")
	hash, err := hashOf(e)
	if e.Metadata[hashKey] = hash; dated {
		e.Metadata["as_of"] = asOf
	}
	if err == nil {
		err = checkMetadata(file, e.Metadata)
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
	return p.box.Ensure(ctx, exports.Making{LedgerID: p.prefix + strings.TrimPrefix(path, "/") + "/" + hash,
		Find: func() (string, error) { return p.find(ctx, path, hash) },
		Holds: func(id string) (bool, error) {
			err := p.api.Do(ctx, &exports.Request{Method: http.MethodGet, Path: path + "/" + url.PathEscape(id)}, nil)
			if exports.IsStatus(err, http.StatusNotFound) {
				return false, nil
			}
			return err == nil, err
		},
		Create: func() (string, error) {
			var made object
			err := p.api.Do(ctx, &exports.Request{Method: http.MethodPost, Path: path, Body: body, Once: true}, &made)
			return made.ID, err
		}})
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
func (p *pusher) ensureDataset(ctx context.Context, rows *rowsOf, name string) (id, state string, err error) {
	path := "/datasets/" + name + "/versions"
	newest := 0
	look := func() error {
		return p.versions(ctx, path, func(n int, _, gotID, got string) {
			newest = max(newest, n)
			if got == rows.hash {
				id = gotID
			}
		})
	}
	if err := look(); err != nil || id != "" {
		return id, exports.Unchanged, err
	}
	tried := newest + 1
	id, err = p.newVersion(ctx, rows, path+"/"+strconv.Itoa(tried))
	if !exports.IsStatus(err, http.StatusConflict) {
		return id, exports.Created, err
	}
	err = p.settle(ctx, func() (bool, error) { err := look(); return newest >= tried, err })
	if err != nil || id != "" {
		return id, exports.Unchanged, err
	}
	id, err = p.newVersion(ctx, rows, path+"/"+strconv.Itoa(newest+1))
	return id, exports.Created, err
}

func (p *pusher) newVersion(ctx context.Context, rows *rowsOf, path string) (id string, err error) {
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
	blob, err := p.upload(ctx, rows, pending.BlobReference.Credential.SASURI)
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
	}{"uri_file", blob, map[string]string{hashKey: rows.hash}}
	err = p.api.Do(ctx, &exports.Request{Method: http.MethodPatch, Path: path, Query: versioned(), Body: body, ContentType: "application/merge-patch+json"}, &made)
	if err == nil && made.ID == "" {
		err = errors.New("the answer names no id")
	}
	return made.ID, err
}

// upload puts the rows into the container that the signed address leads to, and returns the blob's address without signature.
// The same blob put again is the same blob.
func (p *pusher) upload(ctx context.Context, rows *rowsOf, sas string) (string, error) {
	u, err := url.Parse(sas)
	if err != nil || u.Host == "" {
		return "", errors.New("startPendingUpload: the answer has no address to upload to") // never quoted: it is signed
	}
	if err := exports.CheckBase(u.Scheme + "://" + u.Host); err != nil {
		return "", fmt.Errorf("startPendingUpload: the address to upload to: %w", err)
	}
	blob := *p.blobs
	blob.Base = u.Scheme + "://" + u.Host
	path := strings.TrimSuffix(u.EscapedPath(), "/") + "/" + rows.file[strings.LastIndexByte(rows.file, '/')+1:]
	err = blob.Do(ctx, &exports.Request{Method: http.MethodPut, Path: path, Query: u.Query(), ContentType: "application/jsonl", Length: rows.size,
		Header: http.Header{"X-Ms-Blob-Type": {"BlockBlob"}}, Open: func() (io.ReadCloser, error) { return rows.files.Open(rows.file) }}, nil)
	return blob.Base + path, err
}
