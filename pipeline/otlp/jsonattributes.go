package otlp

// attributes reads an attribute list: an array of {key, value}, a map, or an array of pairs.
func (d *Decoder) attributes(level int) ([]KeyValue, bool) {
	mark := len(d.kvs)
	switch d.peek() {
	case '{':
		return d.plainMap(level)
	case '[':
		d.pos++
		d.depth++
	default:
		return nil, d.skip()
	}
	for {
		more, ok := d.element()
		if !ok {
			return nil, false
		}
		if !more {
			return d.sorted(mark), true
		}
		switch d.buf[d.pos] {
		case '{':
			ok = d.keyValue(level)
		case '[':
			ok = d.pair(level)
		default:
			ok = d.skip()
		}
		if !ok {
			return nil, false
		}
	}
}

// sorted takes the attributes above mark off the stack.
func (d *Decoder) sorted(mark int) []KeyValue {
	out, dups := d.sort.into(&d.mem.kvs, d.kvs[mark:])
	d.kvs = d.kvs[:mark]
	d.stats.DuplicateKeys += dups
	return out
}

// keyValue pushes one {key, value}; without a key it is left out.
func (d *Decoder) keyValue(level int) bool {
	var kv KeyValue
	var hasKey bool
	if d.has(`{"key":"`) {
		d.pos--
		d.depth++
		var ok bool
		if kv.Key, ok = d.str(); !ok {
			return false
		}
		hasKey = true
		if d.has(`,"value":`) {
			if kv.Value, ok = d.anyValue(level); !ok {
				return false
			}
			if d.pos < len(d.buf) && d.buf[d.pos] == '}' {
				d.pos++
				d.depth--
				d.kvs = append(d.kvs, kv)
				return true
			}
		}
	} else if !d.open('{') {
		return false
	}
	for {
		name, more, ok := d.member()
		if !ok {
			return false
		}
		if !more {
			if hasKey {
				d.kvs = append(d.kvs, kv)
			}
			return true
		}
		switch name {
		case "key":
			hasKey = !d.null()
			if hasKey {
				kv.Key, ok = d.text()
			}
		case "value":
			kv.Value, ok = d.anyValue(level)
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

// pair pushes one ["key", value], as the JavaScript SDK holds resource attributes.
func (d *Decoder) pair(level int) bool {
	if !d.open('[') {
		return false
	}
	var kv KeyValue
	for n := 0; ; n++ {
		more, ok := d.element()
		if !ok {
			return false
		}
		if !more {
			if n >= 2 {
				d.kvs = append(d.kvs, kv)
			}
			return true
		}
		switch n {
		case 0:
			kv.Key, ok = d.text()
		case 1:
			kv.Value, ok = d.plainValue(level)
		default:
			ok = d.skip()
		}
		if !ok {
			return false
		}
	}
}

// plainMap reads an object as attributes.
func (d *Decoder) plainMap(level int) ([]KeyValue, bool) {
	if !d.open('{') {
		return nil, false
	}
	mark := len(d.kvs)
	for {
		name, more, ok := d.member()
		if !ok {
			return nil, false
		}
		if !more {
			return d.sorted(mark), true
		}
		v, ok := d.plainValue(level + 1)
		if !ok {
			return nil, false
		}
		d.kvs = append(d.kvs, KeyValue{Key: name, Value: v})
	}
}
