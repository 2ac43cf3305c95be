package judge

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// shape is what a value of a rubric file must be.
type shape struct {
	want   string // in words
	is     func(ast.Node) bool
	fields map[string]shape // of a mapping; nil: of any keys, each like each
	each   *shape           // of a list, or of a mapping of any keys
}

var (
	aText    = shape{want: "text", is: scalar}
	aWhole   = shape{want: "a whole number", is: func(n ast.Node) bool { _, ok := n.(*ast.IntegerNode); return ok }}
	aNumber  = shape{want: "a number", is: func(n ast.Node) bool { return kindOf(n) == "a number" }}
	aTruth   = shape{want: "true or false", is: func(n ast.Node) bool { _, ok := n.(*ast.BoolNode); return ok }}
	someText = shape{want: "a list of texts", is: isList, each: &aText}
)

var criterionShape = shape{want: "a mapping with id, question and anchors", is: isMapping, fields: map[string]shape{
	"id": aText, "question": aText, "safety": aTruth, "scale": aText, "weight": aWhole, "gate": aTruth, "applies_when": aText, "applies_fact": aText,
	"anchors": {want: "a mapping of verdicts to texts", is: isMapping, each: &aText}, "services": someText, "agents": someText,
}}

var rubricShape = shape{want: "a mapping with name, version, title, evaluator and criteria", is: isMapping, fields: map[string]shape{
	"name": aText, "version": aWhole, "title": aText, "description": aText, "evaluator": aText,
	"criteria": {want: "a list of criteria", is: isList, each: &criterionShape},
	"judge": {want: "a mapping of options", is: isMapping, fields: map[string]shape{
		"max_tokens": aWhole, "repeat": aWhole, "safety_unanimous": aTruth,
	}},
	"pass": {want: "a mapping with a rule", is: isMapping, fields: map[string]shape{"min_score": aNumber}},
}}

// scalar says that a node is one value: a number or a word that YAML takes for something else may well be meant as text.
func scalar(n ast.Node) bool { return !isList(n) && !isMapping(n) && kindOf(n) != "nothing" }

func isList(n ast.Node) bool { _, ok := n.(*ast.SequenceNode); return ok }

func isMapping(n ast.Node) bool {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return true
	}
	return false
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	case *ast.NullNode, nil:
		return "nothing"
	}
	return "text"
}

// wrongType is the first value that is not what its key takes, with its line; nil where all are. Unknown keys are left to the decoder.
func (s *shape) wrongType(name, where string, n ast.Node) error {
	if t, ok := n.(*ast.TagNode); ok {
		n = t.Value
	}
	if !s.is(n) {
		msg := fmt.Sprintf("want %s, found %s", s.want, kindOf(n))
		if where != "" {
			msg = where + ": " + msg
		}
		return &RubricError{Name: name, Line: line(n), Message: msg}
	}
	switch n := n.(type) {
	case *ast.SequenceNode:
		for i, v := range n.Values {
			if err := s.each.wrongType(name, fmt.Sprintf("%s[%d]", where, i), v); err != nil {
				return err
			}
		}
	case *ast.MappingNode:
		for _, v := range n.Values {
			if err := s.wrongField(name, where, v); err != nil {
				return err
			}
		}
	case *ast.MappingValueNode:
		return s.wrongField(name, where, n)
	}
	return nil
}

func (s *shape) wrongField(name, where string, v *ast.MappingValueNode) error {
	if v.Key == nil || v.Key.GetToken() == nil {
		return nil
	}
	key := v.Key.GetToken().Value
	field, known := s.fields[key]
	if s.each != nil && s.fields == nil {
		field, known = *s.each, true
	}
	if !known {
		return nil
	}
	return field.wrongType(name, strings.TrimPrefix(where+"."+clip(key), "."), v.Value)
}
