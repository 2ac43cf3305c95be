package reply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Limits of a checked reply. Judges are asked for 10 numbers and 300 characters.
const (
	MaxEvidence = 50
	MaxReason   = 2000
)

// Invalid is err as the reason for which a reply is no answer.
func Invalid(class judge.Class, err error) error {
	return &evaluator.InvalidReply{Class: class, Message: err.Error()}
}

// Whole parses a reply and checks that it has exactly these keys. Its errors are *evaluator.InvalidReply.
func Whole(text string, keys ...string) (Object, error) {
	o, err := Parse(text)
	if err == nil {
		err = o.Only("the reply", keys...)
	}
	if err != nil {
		return nil, Invalid(judge.ClassSchema, err)
	}
	return o, nil
}

// One reads a reply that is one answer. What answer finds wrong is a fault of the reply's form unless it says otherwise.
func One(text string, answer func(Object) (judge.Answer, error), keys ...string) ([]judge.Answer, error) {
	o, err := Whole(text, keys...)
	if err != nil {
		return nil, err
	}
	a, err := answer(o)
	if _, told := errors.AsType[*evaluator.InvalidReply](err); told {
		return nil, err
	}
	if err != nil {
		return nil, Invalid(judge.ClassSchema, err)
	}
	return []judge.Answer{a}, nil
}

// Enum is the text at key, one of allowed.
func (o Object) Enum(where, key string, allowed []string) (string, error) {
	s, err := o.String(where, key)
	if err != nil || slices.Contains(allowed, s) {
		return s, err
	}
	msg := fmt.Errorf("%s.%s: %q is none of %s", where, key, clip(s), strings.Join(allowed, ", "))
	if near := judge.Nearest(s, allowed); near != "" {
		msg = fmt.Errorf("%w (did you mean %q?)", msg, near)
	}
	return "", msg
}

// Text is the text at key: not empty, and cut to most characters.
func (o Object) Text(where, key string, most int) (string, error) {
	s, err := o.String(where, key)
	if err != nil {
		return "", err
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", fmt.Errorf("%s.%s is empty", where, key)
	}
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s, nil
}

// Enums is the list of texts at key, each one of allowed and none twice, in the order of allowed.
func (o Object) Enums(where, key string, allowed []string) ([]string, error) {
	list, ok := o[key].([]any)
	if !ok {
		return nil, fmt.Errorf("%s.%s must be a list", where, key)
	}
	seen := map[string]bool{}
	for i, v := range list {
		s, ok := v.(string)
		if !ok || !slices.Contains(allowed, s) {
			return nil, fmt.Errorf("%s.%s[%d] is none of %s", where, key, i, strings.Join(allowed, ", "))
		}
		seen[s] = true
	}
	var out []string
	for _, s := range allowed {
		if seen[s] {
			out = append(out, s)
		}
	}
	return out, nil
}

// Evidence is the list of numbers at key, sorted and none twice: at most most, each of them shown.
func (o Object) Evidence(where, key string, most int, shown map[int]bool) ([]int, error) {
	list, err := o.Ints(where, key)
	if err != nil {
		return nil, err
	}
	slices.Sort(list)
	list = slices.Compact(list)
	if len(list) > most {
		return nil, fmt.Errorf("%s.%s names %d numbers: name the most telling, at most 10", where, key, len(list))
	}
	for _, n := range list {
		if !shown[n] {
			return nil, fmt.Errorf("%s.%s: %d is not among the numbers shown", where, key, n)
		}
	}
	return list, nil
}
