package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// ExportOptions are the flags of one export that are not configuration.
type ExportOptions struct {
	DryRun bool // check everything, write and send nothing
	Push   PushOptions
}

// ExportSummary is what export reports.
type ExportSummary struct {
	RunID  string                    `json:"run_id"`
	Dir    string                    `json:"dir"` // "" for a dry run
	Files  []exports.ManifestFile    `json:"files"`
	Losses map[string][]exports.Loss `json:"losses"` // by target
	Pushed []exports.Result          `json:"pushed,omitempty"`
}

// Export writes the rubric and the graded sessions of a run in the formats of platforms. A run without a result, or a partial
// one, is refused unless the configuration allows it.
func Export(ctx context.Context, cfg *Config, opts ExportOptions, log *slog.Logger) (*ExportSummary, error) {
	tasks, err := loadSuite(cfg.Export.Suite)
	if err != nil {
		return nil, err
	}
	ts, err := targets(cfg)
	if err != nil {
		return nil, err
	}
	ts, to, err := withPush(ts, cfg)
	if err != nil {
		return nil, err
	}
	for _, p := range to {
		if err := p.Ready(ctx, opts.DryRun); err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--push %s: %w", p.Name(), err), Hint: "nothing was written or sent"}
		}
	}
	in, done, err := exportInput(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	defer done() //nolint:errcheck // only read
	in.Suite = tasks
	sum := &ExportSummary{RunID: in.Run.RunID, Losses: map[string][]exports.Loss{}}
	for _, t := range ts {
		if err := t.Check(ctx, in); err != nil {
			return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("check for %s: %w", t.Name(), err), Hint: "nothing was written"}
		}
	}
	dir := filepath.Join(cfg.Export.Out, exportName(in))
	if err := checkOut(cfg.Export.Out, dir); err != nil {
		return nil, err
	}
	if opts.DryRun {
		return sum, dryRun(ctx, cfg, in, ts, to, &opts.Push, sum, log)
	}
	if sum.Files, err = writeExport(ctx, in, ts, dir, log); err != nil {
		return nil, err
	}
	sum.Dir = dir
	sum.losses(in, ts)
	if len(to) == 0 {
		return sum, nil
	}
	sum.Pushed, err = push(ctx, cfg, sum.Dir, to, &opts.Push, false, log)
	return sum, err
}

// dryRun names the files and, where something is to be pushed, shows every call: those are made from files, which are written
// where nobody looks and removed.
func dryRun(ctx context.Context, cfg *Config, in *exports.Input, ts []exports.Target, to []exports.Pusher, o *PushOptions, sum *ExportSummary, log *slog.Logger) (err error) {
	defer func() { sum.losses(in, ts) }()
	if len(to) == 0 {
		sum.Files, err = exports.Write(ctx, in, ts, discard{})
		return err
	}
	tmp, err := os.MkdirTemp("", "tracejury-export-")
	if err != nil {
		return fmt.Errorf("dry run: %w", err)
	}
	defer os.RemoveAll(tmp)
	if sum.Files, err = exports.Write(ctx, in, ts, dirSink(tmp)); err != nil {
		return err
	}
	_, err = push(ctx, cfg, tmp, to, o, true, log) // its results are of calls that were not made
	return err
}

// losses notes what the written files of each target do not hold.
func (s *ExportSummary) losses(in *exports.Input, ts []exports.Target) {
	for _, t := range ts {
		s.Losses[t.Name()] = exports.Losses(t, in, s.Files)
	}
}

// exportName is the folder of an export: its run, or the rubric that goes out alone.
func exportName(in *exports.Input) string {
	if in.Run.RunID != "" {
		return in.Run.RunID
	}
	return fmt.Sprintf("rubric-%s-v%d", in.Rubric.Name, in.Rubric.Version)
}

func mayExport(run schema.Run, allowPartial bool) error {
	if run.State == "finished" || allowPartial {
		return nil
	}
	code := ExitNoResult
	if run.State == "partial" {
		code = ExitPartial
	}
	return &ExitError{Code: code, Err: fmt.Errorf("run %s is not exported: its state is %s", run.RunID, run.State), Hint: "--allow-partial exports it all the same"}
}

// verdictsBySubject sorts the final verdicts of each subject, and of each of its arms, in the rubric's order.
func verdictsBySubject(d *runData) map[string][]schema.Verdict {
	place := map[string]int{}
	for i, c := range d.rubric.Criteria {
		place[c.ID] = i
	}
	out := map[string][]schema.Verdict{}
	for _, v := range d.verdicts {
		id := subjectID(v.Subject, v.Arm)
		out[id] = append(out[id], v)
	}
	for _, vs := range out {
		slices.SortStableFunc(vs, func(a, b schema.Verdict) int { return place[a.Criterion] - place[b.Criterion] })
	}
	return out
}

// sessionRows reads the session rows of grades. A session that was erased or moved since is missing.
func sessionRows(ctx context.Context, root *Root, grades []schema.Grade) (map[string]schema.Session, error) {
	wanted := map[string]bool{}
	objects := map[string]bool{}
	for _, g := range grades {
		if g.SessionKey == "" {
			continue // a tool, a package
		}
		b, err := root.Layout.Bucket(g.SessionKey)
		if err != nil {
			return nil, err
		}
		wanted[g.SessionKey] = true
		objects[schema.Sessions.DayKey(g.Dt, b)] = true
	}
	rows := map[string]schema.Session{}
	for key := range objects {
		got, _, err := table.Read[schema.Session](ctx, root.Store, key)
		if err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		for _, s := range got {
			if wanted[s.SessionKey] {
				rows[s.SessionKey] = s
			}
		}
	}
	return rows, nil
}

// labelSheet is filled in by people: an export never takes it away.
const labelSheet = "labels/sheet.csv"

// checkOut refuses what is no directory to write to, and a folder whose files an export would take away although it did not write
// them: what an earlier export wrote is named in its manifest.
func checkOut(out, dir string) error {
	if scheme, _, ok := strings.Cut(out, "://"); ok {
		return usagef("--out %q: want a directory of this machine; copy it to %s afterwards", out, scheme)
	}
	written := map[string]string{}
	if data, err := os.ReadFile(filepath.Join(dir, "manifest.json")); err == nil {
		var m exports.Manifest
		if err := json.Unmarshal(data, &m); err == nil {
			for _, f := range m.Files {
				written[f.Path] = f.SHA256
			}
		}
	}
	var foreign []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if name = filepath.ToSlash(name); err != nil || name == "manifest.json" {
			return err
		}
		sum, known := written[name]
		if known && name != labelSheet {
			return nil // ours: it is written anew
		}
		data, err := os.ReadFile(path)
		if err == nil && (!known || sha256Hex(data) != sum) {
			foreign = append(foreign, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at --out: %w", err)
	}
	if len(foreign) > 0 {
		return &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s holds %s, which no export wrote so: it would be lost", dir, strings.Join(foreign[:min(len(foreign), 3)], ", ")),
			Hint: "move it away, or give another --out"}
	}
	return nil
}

// writeExport writes into a directory beside dir and then takes its place, so that dir is never half an export.
func writeExport(ctx context.Context, in *exports.Input, ts []exports.Target, dir string, log *slog.Logger) ([]exports.ManifestFile, error) {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	tmp, err := newExportDir(parent, log)
	if err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	defer tmp.close()
	files, err := exports.Write(ctx, in, ts, dirSink(tmp.path))
	if err != nil {
		return nil, err
	}
	if err := tmp.unlock(); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	// The old export makes way in one step, too: a run that dies here leaves it beside, never a half one in its place.
	old := tmp.path + ".old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("write export: %w", err)
	}
	if err := os.Rename(tmp.path, dir); err != nil {
		_ = os.Rename(old, dir) // the earlier export is better than none; if someone else was faster, theirs stands there
		return nil, fmt.Errorf("write export: %w", err)
	}
	_ = os.RemoveAll(old) // only an earlier export
	return files, nil
}

// dirSink creates files below a directory.
type dirSink string

// Create implements exports.Sink.
func (d dirSink) Create(path string) (io.WriteCloser, error) {
	name, err := filepath.Localize(path)
	if err != nil {
		return nil, fmt.Errorf("export file %q: %w", path, err)
	}
	name = filepath.Join(string(d), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

// discard takes files and keeps nothing.
type discard struct{}

// Create implements exports.Sink.
func (discard) Create(string) (io.WriteCloser, error) { return nopCloser{io.Discard}, nil }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// rubricMaterial is the kind under which a run's rubric is kept in materials.
const rubricMaterial = "rubric"

// materialKey is not below sha256=…: engines that read Hive partitions would put the two digits in the column's place.
func materialKey(sum string) string {
	return schema.Materials.Name + "/prefix=" + sum[:2] + "/" + sum + ".parquet"
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
