package judge

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

//go:embed rubrics/*.yaml
var builtin embed.FS

// BuiltinNames lists the built-in rubrics in byte order.
func BuiltinNames() []string {
	files, err := fs.Glob(builtin, "rubrics/*.yaml")
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

// Builtin is the built-in rubric of that name. An unknown name is an error that tells the nearest.
func Builtin(name string) (Rubric, error) {
	names := BuiltinNames()
	if !slices.Contains(names, name) {
		return Rubric{}, &RubricError{
			Name: clip(name), Message: fmt.Sprintf("is no built-in rubric: there are %s", strings.Join(names, ", ")), Hint: Nearest(name, names),
		}
	}
	data, err := builtin.ReadFile(path.Join("rubrics", name+".yaml"))
	if err != nil {
		return Rubric{}, fmt.Errorf("read built-in rubric %s: %w", name, err)
	}
	return ParseRubric(data, name)
}
