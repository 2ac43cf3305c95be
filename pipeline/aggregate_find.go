package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// printable makes untrusted text fit for a terminal: one line, no control or invisible character, at most limit characters.
func printable(s string, limit int) string {
	if len(s) > 8*limit {
		s = s[:8*limit]
	}
	var out []rune
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case unicode.IsSpace(r):
			if len(out) > 0 && out[len(out)-1] != ' ' {
				out = append(out, ' ')
			}
		case !unicode.IsPrint(r):
			out = append(out, '\uFFFD')
		default:
			out = append(out, r)
		}
		if len(out) > limit {
			out = append(out[:limit-1], '…')
			break
		}
	}
	return strings.TrimSpace(string(out))
}

// foundSession is where a session lies.
type foundSession struct {
	sessionName
	dt, key string // key: object of sessions that holds it
}

// sessionName is the part of a session by which it is found.
type sessionName struct {
	SessionKey string `parquet:"session_key"`
	SessionID  string `parquet:"session_id,optional"`
	Service    string `parquet:"service,optional,dict"`
}

// maxCandidates is how many sessions are named when a prefix fits several.
const maxCandidates = 10

// findSession finds the one session of this key, id or beginning of either. What fits exactly goes before what only begins so.
func findSession(ctx context.Context, st store.Store, name string) (foundSession, error) {
	if name == "" {
		return foundSession{}, usagef("--show session: name a session: its id, its key or the beginning of either")
	}
	var exact, begins []foundSession
	for obj, err := range st.List(ctx, schema.Sessions.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return foundSession{}, fmt.Errorf("list sessions: %w", err)
		}
		m := dayBucket.FindStringSubmatch(obj.Key)
		if m == nil {
			continue
		}
		rows, _, err := table.Read[sessionName](ctx, st, obj.Key)
		if err != nil {
			return foundSession{}, fmt.Errorf("read sessions: %w", err)
		}
		for _, r := range rows {
			f := foundSession{r, m[2], obj.Key}
			switch {
			case r.SessionKey == name || r.SessionID == name:
				exact = append(exact, f)
			case strings.HasPrefix(r.SessionKey, name) || strings.HasPrefix(r.SessionID, name):
				begins = append(begins, f)
			}
		}
	}
	found := exact
	if len(found) == 0 {
		found = begins
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) == 0 {
		return foundSession{}, movedSession(ctx, st, name)
	}
	slices.SortFunc(found, func(a, b foundSession) int { return strings.Compare(a.SessionKey, b.SessionKey) })
	var names []string
	for _, f := range found[:min(len(found), maxCandidates)] {
		names = append(names, fmt.Sprintf("%s (%s, %s)", f.SessionKey, dash(printable(f.SessionID, 48)), dash(printable(f.Service, 32))))
	}
	if len(found) > maxCandidates {
		names = append(names, fmt.Sprintf("and %d more", len(found)-maxCandidates))
	}
	return foundSession{}, &ExitError{Code: ExitUsage, Err: fmt.Errorf("--show session:%s fits %d sessions", printable(name, 64), len(found)),
		Hint: "name one by its key: " + strings.Join(names, "; ")}
}

// movedSession says where a session went that is not there, if the tables know.
func movedSession(ctx context.Context, st store.Store, name string) error {
	missing := &ExitError{Code: ExitUsage, Err: fmt.Errorf("%s holds no session whose key or id is or begins with %q", st.URI(), printable(name, 64)),
		Hint: "it may be older than the archive that was read, or lie under another service's key"}
	for obj, err := range st.List(ctx, schema.SessionsMoved.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return errors.Join(missing, err)
		}
		rows, _, err := table.Read[schema.SessionMoved](ctx, st, obj.Key)
		if err != nil {
			return errors.Join(missing, err)
		}
		for _, r := range rows {
			if strings.HasPrefix(r.OldKey, name) {
				missing.Hint = fmt.Sprintf("session %s is now %s: --show session:%[2]s", r.OldKey, r.NewKey)
				return missing
			}
		}
	}
	return missing
}
