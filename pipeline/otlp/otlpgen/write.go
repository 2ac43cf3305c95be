package otlpgen

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteDemo writes the demo archive into dir and its truth beside it, as <dir>-truth.json. Objects of an earlier
// version that are no longer part of the archive are an error: they would be read as data.
func WriteDemo(dir string) error {
	objects, truth, err := Demo()
	if err != nil {
		return err
	}
	keys := make(map[string]bool, len(objects))
	for _, o := range objects {
		keys[o.Key] = true
		path := filepath.Join(dir, filepath.FromSlash(o.Key))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("otlpgen: make folder of %s: %w", o.Key, err)
		}
		if err := os.WriteFile(path, o.Body, 0o644); err != nil {
			return fmt.Errorf("otlpgen: write %s: %w", o.Key, err)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !keys[filepath.ToSlash(rel)] {
			return fmt.Errorf("%s is not part of the archive: delete it", path)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("otlpgen: check %s: %w", dir, err)
	}
	b, err := truth.JSON()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Clean(dir)+"-truth.json", b, 0o644); err != nil {
		return fmt.Errorf("otlpgen: write truth: %w", err)
	}
	return nil
}
