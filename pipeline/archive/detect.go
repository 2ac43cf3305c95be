package archive

import (
	"bytes"
	"unicode/utf8"
)

// signatures are the first bytes of formats that are recognised to be named, not read.
var signatures = []struct{ magic, name string }{
	{"PAR1", "parquet"},
	{"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"},
	{"\xff\xfe\x00\x00", "utf-32"}, {"\x00\x00\xfe\xff", "utf-32"},
	{"\xff\xfe", "utf-16"}, {"\xfe\xff", "utf-16"},
	{"{\x00", "utf-16"}, {"[\x00", "utf-16"}, {"\x00{", "utf-16"}, {"\x00[", "utf-16"},
	{"Obj\x01", "avro"}, {"ARROW1", "arrow"}, {"ORC", "orc"},
	{"BZh", "bzip2"}, {"\xfd7zXZ\x00", "xz"}, {"\xff\x06\x00\x00sNaPpY", "snappy"},
	{"SQLite format 3\x00", "sqlite"}, {"%PDF-", "pdf"}, {"\x89PNG", "png"},
}

// foreign is the name of a format that is not read, "" if b is none.
func foreign(b []byte) string {
	for _, s := range signatures {
		if bytes.HasPrefix(b, []byte(s.magic)) {
			return s.name
		}
	}
	return ""
}

const bom = "\xef\xbb\xbf"

// space is whether c may stand between JSON values: white space or a record separator.
func space(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0x1e }

// notSpace is the opposite, with the byte order mark as white space.
func notSpace(c rune) bool { return (c > ' ' || !space(byte(c))) && c != '\uFEFF' }

// jsonStart is whether b, which begins with no white space, begins like a JSON document.
func jsonStart(b []byte) bool {
	switch b[0] {
	case '[':
		return true
	case '{':
		for _, c := range b[1:] {
			if c > ' ' {
				return c == '"' || c == '}'
			}
		}
		return true
	}
	return string(b) == "null" || len(b) > 4 && string(b[:4]) == "null" && space(b[4])
}

// stampLen is the length of a time in ISO form with the spaces after it, if a JSON value follows; else 0. That is how
// CloudWatch export tasks begin a line.
func stampLen(b []byte) int {
	const shape = "0000-00-00T00:00:00"
	if len(b) < len(shape)+3 {
		return 0
	}
	for i := range len(shape) {
		c := b[i]
		if shape[i] == '0' && (c < '0' || c > '9') || shape[i] != '0' && c != shape[i] && (shape[i] != 'T' || c != ' ') {
			return 0
		}
	}
	i := len(shape)
	for i < len(b) && i < 40 && (b[i] == '.' || b[i] == ',' || b[i] == ':' || b[i] == '+' || b[i] == '-' || b[i] == 'Z' || b[i] >= '0' && b[i] <= '9') {
		i++
	}
	spaces := i
	for i < len(b) && i < spaces+8 && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	if i == spaces || i >= len(b) || b[i] != '{' && b[i] != '[' {
		return 0
	}
	return i
}

// text is whether b looks like text: no NUL and valid UTF-8 in its first 4 KiB.
func text(b []byte) bool {
	head := b[:min(len(b), 4096)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	for len(head) > 0 {
		c, n := utf8.DecodeRune(head)
		if c == utf8.RuneError && n == 1 && len(head) >= utf8.UTFMax {
			return false
		}
		head = head[n:]
	}
	return true
}

// lineWithJSON is the offset of the first line at or after from that begins like a JSON document or with a time before
// one, -1 if there is none.
func lineWithJSON(b []byte, from int) int {
	for at := from; at < len(b); {
		if at == 0 || b[at-1] == '\n' {
			rest := bytes.TrimPrefix(b[at:], []byte(bom))
			if len(rest) > 0 && (rest[0] == '{' || rest[0] == '[') && jsonStart(rest) || stampLen(rest) > 0 {
				return at
			}
		}
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			break
		}
		at += n + 1
	}
	return -1
}
