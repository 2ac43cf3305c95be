package judge

import (
	"fmt"
	"path"
)

// BuiltinFile is the YAML of a built-in rubric, to start one of your own from.
func BuiltinFile(name string) ([]byte, error) {
	if _, err := Builtin(name); err != nil {
		return nil, err
	}
	data, err := builtin.ReadFile(path.Join("rubrics", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("read built-in rubric %s: %w", name, err)
	}
	return data, nil
}
