package pipeline

import (
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// refuseFractions finds a number with a fraction where a whole one belongs. The YAML library cuts it off without a word, and
// retention.content: 0.5 would mean to keep for ever.
func refuseFractions(data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil //nolint:nilerr // the decoder tells it, with what is wanted
	}
	for _, doc := range file.Docs {
		if err := fractions(doc.Body, reflect.TypeFor[Config](), ""); err != nil {
			return err
		}
	}
	return nil
}

func fractions(node ast.Node, t reflect.Type, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := node.(type) {
	case *ast.FloatNode:
		if (t.Kind() == reflect.Int || t.Kind() == reflect.Int64) && n.Value != float64(int64(n.Value)) {
			at := n.GetToken().Position
			return fmt.Errorf("line %d, column %d: %s: %s: want a whole number", at.Line, at.Column, path, n.GetToken().Value)
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := fractions(v, t, path); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		if t.Kind() != reflect.Struct {
			return nil
		}
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "" && key == n.Key.String() {
				if path != "" {
					key = path + "." + key
				}
				return fractions(n.Value, t.Field(i).Type, key)
			}
		}
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return nil
		}
		for i, v := range n.Values {
			if err := fractions(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		return fractions(n.Value, t, path)
	}
	return nil
}
