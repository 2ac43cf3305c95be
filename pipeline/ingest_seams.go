package pipeline

import (
	"slices"
	"strings"

	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
)

// A secret may be cut over the texts of one message: over parts in a structured value, over attributes that hold one part
// each, over events that hold one delta each. Here they are looked at together, before each is masked for itself: then the beginning
// of a secret would be gone, and its end would look like nothing.

// lastSegment is the last name of a dotted key.
func lastSegment(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// joinValues masks what crosses from one text of a structured value to the next. It returns v itself where nothing does.
func (m *rowMaker) joinValues(v otlp.Value) otlp.Value {
	if k := v.Kind(); k != otlp.KindArray && k != otlp.KindMap {
		return v
	}
	texts := valueTexts(nil, "", v)
	joined, changed := m.joined(texts)
	if !changed {
		return v
	}
	return replaceTexts("", v, &joined)
}

// joined is the texts masked as one; changed says whether any is another now.
func (m *rowMaker) joined(texts []string) (out []string, changed bool) {
	if len(texts) < 2 {
		return texts, false
	}
	out = m.mask.Joined(texts, m.counts)
	return out, !slices.Equal(out, texts)
}

// valueTexts lists the texts of messages in a value, in order.
func valueTexts(dst []string, key string, v otlp.Value) []string {
	switch v.Kind() {
	case otlp.KindString:
		if mask.TextKey(key) {
			dst = append(dst, v.Str())
		}
	case otlp.KindArray:
		for _, e := range v.Array() {
			dst = valueTexts(dst, key, e)
		}
	case otlp.KindMap:
		for _, kv := range v.Map() {
			dst = valueTexts(dst, kv.Key, kv.Value)
		}
	}
	return dst
}

// replaceTexts is v with the texts that valueTexts listed replaced, which it takes from the front of texts.
func replaceTexts(key string, v otlp.Value, texts *[]string) otlp.Value {
	switch v.Kind() {
	case otlp.KindString:
		if mask.TextKey(key) {
			v = otlp.StringValue((*texts)[0])
			*texts = (*texts)[1:]
		}
	case otlp.KindArray:
		list := slices.Clone(v.Array())
		for i := range list {
			list[i] = replaceTexts(key, list[i], texts)
		}
		return otlp.ArrayValue(list)
	case otlp.KindMap:
		list := slices.Clone(v.Map())
		for i := range list {
			list[i].Value = replaceTexts(list[i].Key, list[i].Value, texts)
		}
		return otlp.MapValue(list)
	}
	return v
}

// isPart reports an attribute that holds one of several texts: an index in its key and a text at its end.
func isPart(kv *otlp.KeyValue) bool {
	if kv.Value.Kind() != otlp.KindString || !mask.TextKey(lastSegment(kv.Key)) {
		return false
	}
	for i := 0; i+2 < len(kv.Key); i++ {
		if kv.Key[i] == '.' && '0' <= kv.Key[i+1] && kv.Key[i+1] <= '9' {
			return true
		}
	}
	return false
}

// joinAttributes masks what crosses from one attribute to the next, and inside structured ones. Where nothing does it returns the
// list itself.
func (m *rowMaker) joinAttributes(kvs []otlp.KeyValue) []otlp.KeyValue {
	out := kvs
	set := func(i int, v otlp.Value) {
		if &out[0] == &kvs[0] {
			out = slices.Clone(kvs)
		}
		out[i].Value = v
	}
	var texts []string
	for i := range kvs {
		switch kvs[i].Value.Kind() {
		case otlp.KindArray, otlp.KindMap:
			if n := len(valueTexts(nil, "", kvs[i].Value)); n > 1 {
				set(i, m.joinValues(kvs[i].Value))
			}
		case otlp.KindString:
			if isPart(&kvs[i]) {
				texts = append(texts, kvs[i].Value.Str())
			}
		}
	}
	joined, changed := m.joined(texts)
	if !changed {
		return out
	}
	for i := range kvs {
		if isPart(&kvs[i]) {
			set(i, otlp.StringValue(joined[0]))
			joined = joined[1:]
		}
	}
	return out
}

// joinEvents masks what crosses from one event of a span to the next. Where nothing does it returns the list itself.
func (m *rowMaker) joinEvents(events []otlp.SpanEvent) []otlp.SpanEvent {
	each := func(do func(at *[]otlp.KeyValue, i int)) {
		for e := range events {
			list := &events[e].Attributes
			for i := range *list {
				if kv := &(*list)[i]; kv.Value.Kind() == otlp.KindString && mask.TextKey(lastSegment(kv.Key)) {
					do(list, i)
				}
			}
		}
	}
	var texts []string
	each(func(at *[]otlp.KeyValue, i int) { texts = append(texts, (*at)[i].Value.Str()) })
	joined, changed := m.joined(texts)
	if !changed {
		return events
	}
	events = slices.Clone(events)
	each(func(at *[]otlp.KeyValue, i int) {
		if text := joined[0]; text != (*at)[i].Value.Str() {
			*at = slices.Clone(*at)
			(*at)[i].Value = otlp.StringValue(text)
		}
		joined = joined[1:]
	})
	return events
}

// pairedKey is the key that says what the value of kvs[i] is: its own, or the name that a sibling gives, as in param.name and
// param.value.
func (m *rowMaker) pairedKey(kvs []otlp.KeyValue, i int) string {
	key := kvs[i].Key
	last := lastSegment(key)
	if last != "value" && last != "Value" {
		return key
	}
	prefix := key[:len(key)-len(last)]
	for k := range kvs {
		if kvs[k].Value.Kind() != otlp.KindString || !strings.HasPrefix(kvs[k].Key, prefix) {
			continue
		}
		switch kvs[k].Key[len(prefix):] {
		case "name", "key", "Name", "Key":
			if name := kvs[k].Value.Str(); m.mask.SensitiveKey(name) {
				return name
			}
		}
	}
	return key
}
