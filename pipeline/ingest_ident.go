package pipeline

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// identFinder finds how a session is known, from the rows that belong to it, in any order. The attribute that carried the id
// may differ between records: the one asked first counts.
type identFinder struct {
	tenant  string
	extra   []string // configured session attributes
	id      session.Ident
	found   bool
	carrier map[string]string // id that a row carries ─► the attribute asked first of those that carry it
}

func (r *ingestRun) newIdentFinder(tenant, key string) *identFinder {
	return &identFinder{tenant: tenant, extra: r.sessionKeys(tenant), id: session.Ident{Key: key}, carrier: map[string]string{}}
}

// add looks at a row, of which it keeps nothing.
func (f *identFinder) add(s *spilled) {
	if c := s.own; c.ID != "" {
		if best, ok := f.carrier[c.ID]; !ok {
			f.carrier[strings.Clone(c.ID)] = strings.Clone(c.Source)
		} else if session.Outranks(c.Source, best, f.extra) {
			f.carrier[strings.Clone(c.ID)] = strings.Clone(c.Source) // assigning may take the new key for the old one
		}
	}
	if f.found {
		return
	}
	found := session.Ident{Key: f.id.Key, ID: s.own.ID, Source: s.own.Source, Service: s.row.Service}
	if s.own.Source == session.SourceTurn && session.Key(f.tenant, found.Service, found.ID) != f.id.Key {
		found.ID = "" // its trace was the session all the same
	}
	switch {
	case found.ID != "":
	case s.row.TraceID != "":
		found = session.Ident{Key: f.id.Key, ID: s.row.TraceID, Source: session.SourceTrace}
	default:
		found = session.AssignCandidates(f.tenant, []*schema.Span{&s.row}, []session.Candidate{s.own}, f.extra)[0]
	}
	if session.Key(f.tenant, found.Service, found.ID) == f.id.Key {
		f.id, f.found = session.Ident{Key: f.id.Key, ID: strings.Clone(found.ID), Source: strings.Clone(found.Source), Service: strings.Clone(found.Service)}, true
	}
}

// ident is how the session is known by the rows so far.
func (f *identFinder) ident() session.Ident {
	id := f.id
	if source, ok := f.carrier[id.ID]; ok && session.Outranks(source, id.Source, f.extra) {
		id.Source = source
	}
	return id
}
