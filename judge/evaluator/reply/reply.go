// Package reply reads the JSON object that a judge answered with, strictly: one object, no key twice, no key missing, none
// unknown. What judges often add (a code fence, a sentence before it) is tolerated only when exactly one object is there.
//
// It does not know what the fields mean: each evaluator asks for its own.
package reply

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Limits of a reply. A judge is asked for some kilobytes.
const (
	maxBytes  = 1 << 20
	maxDepth  = 8
	maxStarts = 64 // opening braces that are tried in surrounding prose
)

// Object is a decoded JSON object. Values are string, bool, json.Number, nil, []any and Object.
type Object map[string]any

// Parse finds the one JSON object of a reply. Errors are worded for the judge that is asked to mend it.
func Parse(text string) (Object, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the reply is %d bytes long: at most %d are read", len(text), maxBytes)
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if text == "" {
		return nil, errors.New("the reply is empty: answer with one JSON object of the schema")
	}
	if text[0] == '{' && json.Valid([]byte(text)) {
		return decode(text)
	}
	found := candidates(text)
	switch len(found) {
	case 0:
		return nil, errors.New("no complete JSON object in the reply: answer with one JSON object of the schema and nothing else")
	case 1:
		return decode(found[0])
	}
	return nil, fmt.Errorf("%d JSON objects in the reply: answer with exactly one and nothing else", len(found))
}

// candidates are the JSON objects that stand in a text and not inside of one another.
func candidates(text string) []string {
	var found []string
	for at, starts := 0, 0; at < len(text) && starts < maxStarts; starts++ {
		open := strings.IndexByte(text[at:], '{')
		if open < 0 {
			break
		}
		at += open
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			at++
			continue
		}
		found = append(found, text[at:at+int(dec.InputOffset())])
		at += int(dec.InputOffset())
	}
	return found
}

func decode(text string) (Object, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	v, err := value(dec, 0, "the reply")
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON object")
	}
	o, ok := v.(Object)
	if !ok {
		return nil, errors.New("the reply is JSON but no object")
	}
	return o, nil
}

func value(dec *json.Decoder, depth int, where string) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%s is nested more than %d deep", where, maxDepth)
	}
	t, err := dec.Token()
	if err != nil {
		return nil, fmt.Errorf("%s is no valid JSON: %w", where, err)
	}
	d, ok := t.(json.Delim)
	switch {
	case !ok:
		return t, nil
	case d == '{':
		return object(dec, depth, where)
	}
	list := []any{}
	for dec.More() {
		v, err := value(dec, depth+1, fmt.Sprintf("%s[%d]", where, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err = dec.Token() // the closing bracket
	return list, err
}

func object(dec *json.Decoder, depth int, where string) (any, error) {
	o := Object{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%s is no valid JSON: %w", where, err)
		}
		key, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("%s has a key that is no string", where)
		}
		if _, twice := o[key]; twice {
			return nil, fmt.Errorf("%s has the key %q twice", where, clip(key))
		}
		if o[key], err = value(dec, depth+1, where+"."+clip(key)); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return o, err
}

// Only checks that o has exactly these keys.
func (o Object) Only(where string, keys ...string) error {
	for _, k := range keys {
		if _, ok := o[k]; !ok {
			return fmt.Errorf("%s lacks the key %q", where, k)
		}
	}
	if len(o) == len(keys) {
		return nil
	}
	var extra []string
	for k := range o {
		if !slices.Contains(keys, k) {
			extra = append(extra, clip(k))
		}
	}
	slices.Sort(extra)
	return fmt.Errorf("%s has the unknown key %q", where, extra[0])
}

// String is the text at key.
func (o Object) String(where, key string) (string, error) {
	s, ok := o[key].(string)
	if !ok {
		return "", fmt.Errorf("%s.%s must be a string", where, key)
	}
	return s, nil
}

// Bool is the truth value at key.
func (o Object) Bool(where, key string) (bool, error) {
	b, ok := o[key].(bool)
	if !ok {
		return false, fmt.Errorf("%s.%s must be true or false", where, key)
	}
	return b, nil
}

// Objects is the list of objects at key.
func (o Object) Objects(where, key string) ([]Object, error) {
	list, ok := o[key].([]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s must be a list", where, key)
	}
	out := make([]Object, len(list))
	for i, v := range list {
		if out[i], ok = v.(Object); !ok {
			return nil, fmt.Errorf("%s.%s[%d] must be an object", where, key, i)
		}
	}
	return out, nil
}

// Ints is the list of whole numbers at key.
func (o Object) Ints(where, key string) ([]int, error) {
	list, ok := o[key].([]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s must be a list of step numbers", where, key)
	}
	out := make([]int, len(list))
	for i, v := range list {
		n, ok := v.(json.Number)
		if !ok {
			return nil, fmt.Errorf("%s.%s[%d] must be a step number", where, key, i)
		}
		whole, err := n.Int64()
		if err != nil || whole != int64(int32(whole)) {
			return nil, fmt.Errorf("%s.%s[%d] must be a whole number", where, key, i)
		}
		out[i] = int(whole)
	}
	return out, nil
}

func clip(s string) string {
	if len(s) > 60 {
		s = string(bytes.ToValidUTF8([]byte(s[:60]), nil)) + "…"
	}
	return s
}
