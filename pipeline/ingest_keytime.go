package pipeline

import (
	"regexp"
	"strings"
	"time"
)

// keyTime finds the time that a source's keys name: what was uploaded in a span of time lies in one folder.
type keyTime struct {
	re     *regexp.Regexp
	fields []byte // the directive of each group: Y m d H M S
	layout string // of package time, up to the day, which sorts as the keys do; "" where keys do not sort by time
}

var directives = map[byte]struct{ re, layout string }{
	'Y': {`(\d{4})`, "2006"}, 'm': {`(\d{2})`, "01"}, 'd': {`(\d{2})`, "02"}, 'H': {`(\d{2})`, "15"}, 'M': {`(\d{2})`, "04"}, 'S': {`(\d{2})`, "05"},
}

// newKeyTime reads a strftime template with the directives %Y %m %d %H %M %S.
func newKeyTime(template string) (*keyTime, error) {
	k := new(keyTime)
	var re, layout strings.Builder
	sorted := "YmdHMS"
	re.WriteString(`(?:^|/|[^0-9])`)
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c != '%' {
			re.WriteString(regexp.QuoteMeta(string(c)))
			layout.WriteByte(c)
			continue
		}
		if i++; i == len(template) {
			return nil, usagef("key_time_layout %q ends in %%", template)
		}
		d, ok := directives[template[i]]
		if !ok {
			return nil, usagef("key_time_layout %q: %%%c is not one of %%Y %%m %%d %%H %%M %%S", template, template[i])
		}
		k.fields = append(k.fields, template[i])
		re.WriteString(d.re)
		layout.WriteString(d.layout)
		if template[i] == 'd' && len(k.fields) == 3 && strings.HasPrefix(sorted, string(k.fields)) && !strings.ContainsAny(layout.String(), "_PMJFSZ") {
			k.layout = layout.String()
		}
	}
	if f := string(k.fields); !strings.Contains(f, "Y") || !strings.Contains(f, "m") || !strings.Contains(f, "d") {
		return nil, usagef("key_time_layout %q: want at least %%Y, %%m and %%d", template)
	}
	var err error
	k.re, err = regexp.Compile(re.String())
	return k, err
}

// defaultKeyTimes are the layouts of the collector's exporter and of Firehose, finest first.
func defaultKeyTimes() []*keyTime {
	var all []*keyTime
	for _, t := range []string{"year=%Y/month=%m/day=%d/hour=%H", "year=%Y/month=%m/day=%d", "%Y/%m/%d/%H/", "%Y/%m/%d/"} {
		if k, err := newKeyTime(t); err == nil { // they are right
			all = append(all, k)
		}
	}
	return all
}

// find is the end of the span of time that key names, and where in key its text begins.
func (k *keyTime) find(key string) (end time.Time, at int, ok bool) {
	m := k.re.FindStringSubmatchIndex(key)
	if m == nil {
		return end, 0, false
	}
	n := map[byte]int{'m': 1, 'd': 1}
	for i, f := range k.fields {
		n[f] = atoi(key[m[2*i+2]:m[2*i+3]])
	}
	if n['m'] < 1 || n['m'] > 12 || n['d'] < 1 || n['d'] > 31 || n['H'] > 23 || n['M'] > 59 || n['S'] > 60 {
		return end, 0, false
	}
	length := 24 * time.Hour
	switch fields := string(k.fields); {
	case strings.Contains(fields, "S"):
		length = time.Second
	case strings.Contains(fields, "M"):
		length = time.Minute
	case strings.Contains(fields, "H"):
		length = time.Hour
	}
	at = m[2]
	// The text before the first field belongs to the template: find where the layout begins.
	if i := strings.Index(k.layout, "2006"); i > 0 {
		at -= i
	}
	return time.Date(n['Y'], time.Month(n['m']), n['d'], n['H'], n['M'], n['S'], 0, time.UTC).Add(length), max(at, 0), true
}

// before is the key that sorts before all keys with the same beginning that name t's day or a later one; "" where there is
// no such key.
func (k *keyTime) before(key string, at int, t time.Time) string {
	if k.layout == "" {
		return ""
	}
	return key[:at] + t.Format(k.layout)
}

// atoi reads digits.
func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = 10*n + int(c-'0')
	}
	return n
}
