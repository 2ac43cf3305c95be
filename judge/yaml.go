package judge

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// emptyFile is the message of a file that holds nothing but comments.
const emptyFile = "is empty"

// ReadYAML decodes the one document of a file that may come from anyone: over limit bytes, nested deeply, with unknown or
// duplicate keys, aliases or a second document it is a *RubricError with its line. Check,
// where not nil, sees the tree before it is decoded. Root is that tree, to find lines in.
func ReadYAML(data []byte, name string, limit int, into any, check func(root ast.Node) error) (root ast.Node, err error) {
	// The YAML library is not ours and has met inputs that made it panic.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, &RubricError{Name: name, Message: "not readable as YAML"}
		}
	}()
	if len(data) > limit {
		return nil, &RubricError{Name: name, Message: fmt.Sprintf("%d bytes: at most %d are allowed", len(data), limit)}
	}
	if line := nestedTooDeep(data); line > 0 {
		return nil, &RubricError{Name: name, Line: line, Message: fmt.Sprintf("nested more than %d deep", maxNesting)}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, yamlError(name, err)
	}
	switch {
	case len(file.Docs) == 0, len(file.Docs) == 1 && blankDocument(file.Docs[0].Body):
		return nil, &RubricError{Name: name, Message: emptyFile}
	case len(file.Docs) > 1:
		return nil, &RubricError{Name: name, Message: fmt.Sprintf("holds %d documents: want one", len(file.Docs))}
	}
	root = file.Docs[0].Body
	if bad := findAlias(root); bad != nil {
		return nil, &RubricError{Name: name, Line: line(bad), Message: "anchors, aliases and merge keys are not allowed"}
	}
	if check != nil {
		if err := check(root); err != nil {
			return nil, err
		}
	}
	if err := yaml.UnmarshalWithOptions(data, into, yaml.Strict()); err != nil {
		return nil, yamlError(name, err)
	}
	return root, nil
}
