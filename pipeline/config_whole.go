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
	w := wholeNumbers{anchors: map[string]ast.Node{}}
	for _, doc := range file.Docs {
		if err := w.check(doc.Body, reflect.TypeFor[Config](), "", 0); err != nil {
			return err
		}
	}
	return nil
}

// wholeNumbers walks a file beside the configuration's types.
type wholeNumbers struct{ anchors map[string]ast.Node }

const maxAliases = 20

func (w *wholeNumbers) check(node ast.Node, t reflect.Type, path string, aliases int) error {
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
			if err := w.check(v, t, path, aliases); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		if n.Key.IsMergeKey() {
			return w.check(n.Value, t, path, aliases)
		}
		if t.Kind() != reflect.Struct {
			return nil
		}
		for i := range t.NumField() {
			if key := t.Field(i).Tag.Get("yaml"); key != "" && key == n.Key.GetToken().Value {
				if path != "" {
					key = path + "." + key
				}
				return w.check(n.Value, t.Field(i).Type, key, aliases)
			}
		}
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice {
			return nil
		}
		for i, v := range n.Values {
			if err := w.check(v, t.Elem(), fmt.Sprintf("%s[%d]", path, i), aliases); err != nil {
				return err
			}
		}
	case *ast.AnchorNode:
		w.anchors[n.Name.GetToken().Value] = n.Value
		return w.check(n.Value, t, path, aliases)
	case *ast.AliasNode:
		if to := w.anchors[n.Value.GetToken().Value]; to != nil && aliases < maxAliases {
			return w.check(to, t, path, aliases+1)
		}
	}
	return nil
}
