package agentcore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockagentcorecontrol/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/exports"
)

// maxParts caps the datasets of one export: a suite has at most ten thousand tasks.
const maxParts = 10

// pushDatasets makes the account hold every dataset of the export, each published as a version.
func (p *pusher) pushDatasets(ctx context.Context, files fs.FS) error {
	var all []error
	for n := 1; n <= maxParts; n++ {
		d, err := readDataset(files, n)
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		result := exports.Result{Target: "agentcore", Kind: "dataset", Name: numbered(DatasetFile, n)}
		if err != nil {
			all = append(all, p.box.Fail(result, err))
			continue
		}
		result.Name = d.request.DatasetName
		if err := p.ensureDataset(ctx, d, &result); err != nil {
			all = append(all, p.box.Fail(result, fmt.Errorf("dataset %s: %w", d.request.DatasetName, err)))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		p.box.Done(result)
	}
	return errors.Join(all...)
}

// readDataset reads the nth dataset, and nothing that is not one.
func readDataset(files fs.FS, n int) (*dataset, error) {
	d := &dataset{file: numbered(DatasetFile, n), requestFile: numbered(DatasetRequestFile, n)}
	data, err := fs.ReadFile(files, d.requestFile)
	if err != nil {
		return nil, err
	}
	if err := exports.ReadStrict(d.requestFile, data, &d.request); err != nil {
		return nil, err
	}
	if err := d.request.check(d.requestFile); err != nil {
		return nil, err
	}
	f, err := files.Open(d.file)
	if err != nil {
		return nil, fmt.Errorf("%s has no lines: %s", d.requestFile, err) // not fs.ErrNotExist: half a dataset is none
	}
	defer f.Close()
	if d.lines, err = readLines(f); err != nil {
		return nil, fmt.Errorf("read %s: %w", d.file, err)
	}
	if len(d.lines) == 0 || len(d.lines) > maxExamples {
		return nil, exports.Refuse(d.file, "lines", "%d: want 1 to %d", len(d.lines), maxExamples)
	}
	for i, line := range d.lines {
		var s scenario
		if err := exports.ReadStrict(fmt.Sprintf("%s:%d", d.file, i+1), line, &s); err != nil {
			return nil, err
		}
		if err := s.check(d.file, fmt.Sprintf("line %d", i+1)); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func readLines(r io.Reader) ([][]byte, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 0, 64<<10), maxExampleBytes+1)
	var out [][]byte
	for in.Scan() {
		out = append(out, bytes.Clone(in.Bytes()))
	}
	return out, in.Err()
}

// create is the call that makes a dataset of these lines.
func (r *datasetRequest) create(lines [][]byte) *bedrockagentcorecontrol.CreateDatasetInput {
	in := &bedrockagentcorecontrol.CreateDatasetInput{DatasetName: &r.DatasetName, Description: &r.Description, SchemaType: types.DatasetSchemaType(r.SchemaType),
		ClientToken: &r.ClientToken, Tags: r.Tags, Source: inline(lines)}
	if r.Source != nil {
		in.Source = &types.DataSourceTypeMemberS3Source{Value: types.S3Source{S3Uri: &r.Source.S3.URI}}
	}
	return in
}

func inline(lines [][]byte) types.DataSourceType {
	return &types.DataSourceTypeMemberInlineExamples{Value: types.InlineExamplesSource{Examples: documents(lines)}}
}

func documents(lines [][]byte) (out []document.Interface) {
	for _, line := range lines {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			v = map[string]any{} // was read strictly before: the service refuses an empty one
		}
		out = append(out, document.NewLazyDocument(v))
	}
	return out
}

// batches cuts lines into pieces that one request may carry.
func batches(lines [][]byte) (out [][][]byte) {
	from, size := 0, 0
	for i, line := range lines {
		if i > from && (size+len(line) > maxRequestBytes || i-from == maxExamples) {
			out, from, size = append(out, lines[from:i]), i, 0
		}
		size += len(line)
	}
	if from < len(lines) {
		out = append(out, lines[from:])
	}
	return out
}

// ensureDataset makes the dataset, adds and mends what differs, and publishes it where its draft has what no version has. What
// others put into it stays.
func (p *pusher) ensureDataset(ctx context.Context, d *dataset, result *exports.Result) error {
	ledgerID := p.prefix + "dataset/" + d.request.DatasetName
	var err error
	if result.ID, result.State, err = p.findOrCreate(ctx, ledgerID, d); err != nil {
		return err
	}
	if result.State == exports.Created {
		result.Count = int64(len(d.lines))
	}
	got, err := p.settledDataset(ctx, result.ID)
	if err != nil {
		return err
	}
	missing, changed, err := p.compare(ctx, result.ID, d)
	if err != nil {
		return err
	}
	if p.box.DryRun { // nothing is there but what was created with the request
		missing, changed = nil, nil
		if parts := batches(d.lines); d.request.Source == nil && len(parts) > 1 {
			for _, part := range parts[1:] {
				missing = append(missing, part...)
			}
		}
	}
	if len(missing)+len(changed) > 0 {
		if result.State == exports.Unchanged {
			result.State, result.Count = exports.Updated, int64(len(missing)+len(changed))
		}
		if err := p.fill(ctx, result.ID, missing, changed, aws.ToTime(got.UpdatedAt)); err != nil {
			return err
		}
		if got, err = p.settledDataset(ctx, result.ID); err != nil {
			return err
		}
	}
	if got.DraftStatus != types.DraftStatusUnmodified {
		if result.State == exports.Unchanged {
			result.State = exports.Updated
		}
		if err := p.publish(ctx, result.ID, d, aws.ToTime(got.UpdatedAt)); err != nil {
			return err
		}
	}
	if p.box.DryRun {
		return nil
	}
	return p.box.Ledger.Finish(ledgerID, result.ID, nil)
}

// findOrCreate gives the id of the dataset. The ledger knows it, or it is created, or its name is taken and it is found.
func (p *pusher) findOrCreate(ctx context.Context, ledgerID string, d *dataset) (id, state string, err error) {
	clientToken := d.request.ClientToken
	if id, ok := p.box.Ledger.Done(ledgerID); ok {
		_, err := p.getDataset(ctx, id)
		if !isCode(err, "ResourceNotFoundException") {
			return id, exports.Unchanged, err
		}
		clientToken = token("dataset", clientToken, id) // deleted since: the old token would be ignored
	}
	if d.request.Source != nil {
		if err := p.putLines(ctx, d); err != nil {
			return "", "", err
		}
	}
	in := d.request.create(batches(d.lines)[0])
	in.ClientToken = &clientToken
	err = p.call(ctx, func() error {
		out, err := p.control.CreateDataset(ctx, in)
		if err == nil {
			id = or(out.DatasetId, "")
		}
		return err
	})
	if !isCode(err, "ConflictException") {
		return id, exports.Created, err
	}
	id, err = p.findDataset(ctx, d.request.DatasetName)
	return id, exports.Unchanged, err
}

// putLines puts the file of lines where the request says that they lie. The key holds the hash of the lines: it is never another
// file's.
func (p *pusher) putLines(ctx context.Context, d *dataset) error {
	u, err := url.Parse(d.request.Source.S3.URI)
	if err != nil {
		return fmt.Errorf("address of the lines: %w", err)
	}
	key := strings.TrimPrefix(u.Path, "/")
	body := append(bytes.Join(d.lines, []byte("\n")), '\n')
	err = p.call(ctx, func() error {
		_, err := p.objects.PutObject(ctx, &s3.PutObjectInput{Bucket: &u.Host, Key: &key, Body: bytes.NewReader(body), ContentType: aws.String("application/jsonl")})
		return err
	})
	if err != nil {
		return fmt.Errorf("put %s: %w", d.request.Source.S3.URI, err)
	}
	return nil
}

func (p *pusher) getDataset(ctx context.Context, id string) (out *bedrockagentcorecontrol.GetDatasetOutput, err error) {
	err = p.call(ctx, func() error {
		out, err = p.control.GetDataset(ctx, &bedrockagentcorecontrol.GetDatasetInput{DatasetId: &id})
		return err
	})
	return out, err
}

// settledDataset waits until the dataset takes writes.
func (p *pusher) settledDataset(ctx context.Context, id string) (got *bedrockagentcorecontrol.GetDatasetOutput, err error) {
	err = p.box.Poll(ctx, activeWithin, func() (bool, error) {
		if got, err = p.getDataset(ctx, id); err != nil {
			return false, err
		}
		return p.box.DryRun || got.Status != types.DatasetStatusCreating && got.Status != types.DatasetStatusUpdating, nil
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil, fmt.Errorf("its status is still %s after %s", got.Status, activeWithin)
	case err != nil || p.box.DryRun:
		return got, err
	case got.Status != types.DatasetStatusActive && got.Status != types.DatasetStatusUpdateFailed: // a failed update is mended by the next
		return nil, fmt.Errorf("its status is %s: %s", got.Status, exports.Cut(or(got.FailureReason, "no reason is given"), 300))
	}
	return got, nil
}

// findDataset finds a name, which is unique whatever its case.
func (p *pusher) findDataset(ctx context.Context, name string) (string, error) {
	var next *string
	for range maxPages {
		var out *bedrockagentcorecontrol.ListDatasetsOutput
		err := p.call(ctx, func() (err error) {
			out, err = p.control.ListDatasets(ctx, &bedrockagentcorecontrol.ListDatasetsInput{NextToken: next})
			return err
		})
		if err != nil {
			return "", err
		}
		for _, d := range out.Datasets {
			if strings.EqualFold(or(d.DatasetName, ""), name) {
				return or(d.DatasetId, ""), nil
			}
		}
		if next = out.NextToken; or(next, "") == "" {
			return "", errors.New("the name is taken, but no dataset has it: it is being deleted, or is not yours to list")
		}
	}
	return "", fmt.Errorf("over %d pages of datasets", maxPages)
}

// compare says which lines the draft lacks, and which it has otherwise: those carry the id of their example.
func (p *pusher) compare(ctx context.Context, id string, d *dataset) (missing, changed [][]byte, err error) {
	there := map[string]map[string]any{} // by scenario
	var next *string
	for page := 0; ; page++ {
		var out *bedrockagentcorecontrol.ListDatasetExamplesOutput
		err := p.call(ctx, func() (err error) {
			out, err = p.control.ListDatasetExamples(ctx, &bedrockagentcorecontrol.ListDatasetExamplesInput{DatasetId: &id, NextToken: next})
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		for _, doc := range out.Examples {
			var v map[string]any
			if err := doc.UnmarshalSmithyDocument(&v); err != nil {
				return nil, nil, fmt.Errorf("read examples: %w", err)
			}
			if name, ok := v["scenario_id"].(string); ok && there[name] == nil {
				there[name] = v
			}
		}
		if next = out.NextToken; or(next, "") == "" {
			break
		}
		if page == maxPages {
			return nil, nil, fmt.Errorf("over %d pages of examples", maxPages)
		}
	}
	for _, line := range d.lines {
		var want map[string]any
		if err := json.Unmarshal(line, &want); err != nil {
			return nil, nil, err
		}
		got := there[want["scenario_id"].(string)]
		if got == nil {
			missing = append(missing, line)
			continue
		}
		exampleID := got["exampleId"]
		delete(got, "exampleId")
		if reflect.DeepEqual(got, want) {
			continue
		}
		want["exampleId"] = exampleID
		data, err := exports.JSON(want)
		if err != nil {
			return nil, nil, err
		}
		changed = append(changed, data)
	}
	return missing, changed, nil
}

// fill adds and updates examples. Each call is one of the dataset's state: its token is of that state too, so that what was
// removed since can be added again.
func (p *pusher) fill(ctx context.Context, id string, missing, changed [][]byte, state time.Time) error {
	for _, part := range batches(missing) {
		clientToken := token("add", id, state.UTC().Format(time.RFC3339Nano), string(bytes.Join(part, nil)))
		err := p.call(ctx, func() error {
			_, err := p.control.AddDatasetExamples(ctx, &bedrockagentcorecontrol.AddDatasetExamplesInput{DatasetId: &id, ClientToken: &clientToken, Source: inline(part)})
			return err
		})
		if err != nil {
			return err
		}
		if _, err := p.settledDataset(ctx, id); err != nil {
			return err
		}
	}
	for _, part := range batches(changed) {
		clientToken := token("change", id, state.UTC().Format(time.RFC3339Nano), string(bytes.Join(part, nil)))
		err := p.call(ctx, func() error {
			_, err := p.control.UpdateDatasetExamples(ctx, &bedrockagentcorecontrol.UpdateDatasetExamplesInput{DatasetId: &id, ClientToken: &clientToken, Examples: documents(part)})
			return err
		})
		if err != nil {
			return err
		}
		if _, err := p.settledDataset(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// publish makes a version of the draft, so that runs can be held against what does not change.
func (p *pusher) publish(ctx context.Context, id string, d *dataset, state time.Time) error {
	clientToken := token("version", id, d.request.ClientToken, state.UTC().Format(time.RFC3339Nano))
	err := p.call(ctx, func() error {
		_, err := p.control.CreateDatasetVersion(ctx, &bedrockagentcorecontrol.CreateDatasetVersionInput{DatasetId: &id, ClientToken: &clientToken})
		return err
	})
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	_, err = p.settledDataset(ctx, id)
	return err
}
