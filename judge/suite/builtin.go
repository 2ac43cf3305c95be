package suite

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

//go:embed suites/*.yaml
var builtin embed.FS

// BuiltinNames lists the built-in suites in byte order. All of them are practice suites: whoever has the program has their tasks.
func BuiltinNames() []string {
	files, err := fs.Glob(builtin, "suites/*.yaml")
	if err != nil { // the pattern is constant
		return nil
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	slices.Sort(names)
	return names
}

// BuiltinText is the file of a built-in suite, to start one of your own from.
func BuiltinText(name string) ([]byte, error) {
	if names := BuiltinNames(); !slices.Contains(names, name) {
		return nil, fmt.Errorf("%q is no built-in suite: there are %s", cut(name), strings.Join(names, ", "))
	}
	return builtin.ReadFile(path.Join("suites", name+".yaml"))
}

// Load is the suite that name means: a built-in one (dashes may stand for underscores), else a file.
func Load(name string) (Suite, error) {
	if folded := strings.ReplaceAll(name, "-", "_"); slices.Contains(BuiltinNames(), folded) {
		data, err := BuiltinText(folded)
		if err != nil {
			return Suite{}, err
		}
		return Parse(data, folded)
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		near := ""
		if n := judge.Nearest(strings.ReplaceAll(name, "-", "_"), BuiltinNames()); n != "" {
			near = fmt.Sprintf(" (did you mean %s?)", n)
		}
		return Suite{}, fmt.Errorf("%q is no file and no built-in suite%s: there are %s", cut(name), near, strings.Join(BuiltinNames(), ", "))
	}
	if err != nil {
		return Suite{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return Suite{}, err
	}
	return Parse(data, name)
}
