package pipeline

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// configError says in the words of the file what the decoder says in those of Go: the place, the key, what is there and what
// is wanted.
func configError(err error) error {
	var ye yaml.Error
	if !errors.As(err, &ye) {
		return err
	}
	place := ""
	if tk := ye.GetToken(); tk != nil && tk.Position != nil {
		place = fmt.Sprintf("line %d, column %d: ", tk.Position.Line, tk.Position.Column)
	}
	var wrongType *yaml.TypeError
	var wrongNode *yaml.UnexpectedNodeTypeError
	var overflow *yaml.OverflowError
	switch {
	case errors.As(err, &wrongType):
		return fmt.Errorf("%s%swant %s", place, keyAndValue(wrongType.Token), wanted(wrongType.DstType))
	case errors.As(err, &overflow):
		return fmt.Errorf("%s%swant a smaller number", place, keyAndValue(overflow.Token))
	case errors.As(err, &wrongNode):
		return fmt.Errorf("%s%swant %s", place, keyAndValue(wrongNode.Token), wantedNode(wrongNode.Expected))
	}
	if m := unknownField.FindStringSubmatch(ye.GetMessage()); m != nil {
		return fmt.Errorf("%sunknown key %q: %s", place, m[1], suggest(m[1], configKeys(reflect.TypeFor[Config]())))
	}
	return errors.New(place + ye.GetMessage())
}

// keyAndValue is `key: value: ` of the value at tk, as far as both can be told.
func keyAndValue(tk *token.Token) string {
	if tk == nil {
		return ""
	}
	var b strings.Builder
	if colon := tk.Prev; colon != nil && colon.Type == token.MappingValueType && colon.Prev != nil {
		b.WriteString(colon.Prev.Value + ": ")
	}
	switch tk.Type {
	case token.SequenceStartType, token.SequenceEntryType:
		b.WriteString("a list: ")
	case token.MappingStartType, token.MappingValueType, token.MappingKeyType:
		b.WriteString("keys and values: ")
	default:
		fmt.Fprintf(&b, "%.40q: ", tk.Value)
	}
	return b.String()
}

func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "keys and values"
	}
	return "text"
}

func wantedNode(n ast.NodeType) string {
	switch n {
	case ast.SequenceType:
		return "a list (lines that start with -)"
	case ast.MappingType:
		return "keys and values (key: value)"
	}
	return strings.ToLower(n.String())
}
