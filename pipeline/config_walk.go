package pipeline

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// Defaults gives the value of every scalar key of the configuration that has a default, by its path with underscores:
// evaluate_days is "7". Help texts take their numbers from here.
func Defaults() map[string]string {
	c := &Config{Data: "-"}
	if err := c.Complete(time.Unix(0, 0)); err != nil {
		return nil
	}
	c.Data, c.Evaluate.Seed = "", "" // not defaults: they depend on who runs it
	out := make(map[string]string)
	walkConfig(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		if !v.IsZero() {
			out[strings.ReplaceAll(path, ".", "_")] = fmt.Sprint(v.Interface())
		}
	})
	return out
}

// refuseNegative finds the first number below zero or not finite: no key has a use for one; a default would hide the first, and a
// budget of NaN or infinity would bound nothing.
func (c *Config) refuseNegative() error {
	var err error
	walkConfig(reflect.ValueOf(c).Elem(), "", func(path string, v reflect.Value) {
		if err == nil && (v.CanInt() && v.Int() < 0 || v.CanFloat() && v.Float() < 0) {
			err = usagef("%s: %v: must not be negative", path, v.Interface())
		}
		if err == nil && v.CanFloat() && (math.IsNaN(v.Float()) || math.IsInf(v.Float(), 0)) {
			err = usagef("%s: %v: want a finite number", path, v.Interface())
		}
	})
	return err
}

// walkConfig visits every scalar below v with its path of keys.
func walkConfig(v reflect.Value, path string, visit func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walkConfig(v.Elem(), path, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walkConfig(v.Index(i), fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("yaml")
			if name == "" || name == "-" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			walkConfig(v.Field(i), name, visit)
		}
	default:
		visit(path, v)
	}
}
