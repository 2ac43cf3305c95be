package session

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/otlp"
)

// Sources of an Ident that are no attribute.
const (
	SourceTrace = "trace" // the trace is the session
	SourceNone  = "none"  // neither id nor trace: the day of the service is
)

// maxIDBytes caps a session id; longer ones are kept by their hash, so that a hostile value cannot fill a column.
const maxIDBytes = 1024

// IDRule lists the attributes that may carry a session id.
type IDRule struct {
	Keys []string // in priority order
}

// DefaultIDKeys is the order in which attributes are asked for a session id: the general convention, the GenAI one, then
// those of single products.
func DefaultIDKeys() IDRule {
	return IDRule{Keys: []string{
		"session.id",
		"gen_ai.conversation.id",
		"langfuse.session.id",
		"gcp.vertex.agent.session_id",
		"conversation.id",
		"langsmith.metadata.session_id",
		"langsmith.metadata.thread_id",
		"langsmith.metadata.conversation_id",
		"traceloop.association.properties.session_id",
		"traceloop.association.properties.thread_id",
		"traceloop.association.properties.conversation_id",
		"lmnr.association.properties.session_id",
		"ai.telemetry.metadata.sessionId",
		"ai.settings.context.sessionId",
		"mastra.metadata.sessionId",
		"mlflow.trace.session",
		"lk.session_id",
		"plano.session_id",
	}}
}

// resourceIDKeys are asked last, of the resource.
var resourceIDKeys = [...]string{"session.id", "service_session.id", "gen_ai.conversation.id"}

// CandidateID finds a record's own session id: its attributes first by priority, extra keys before the usual ones, its
// resource last. source is the key that carried it. ok is false when there is none.
func CandidateID(attrs, resource []otlp.KeyValue, extra []string) (id, source string, ok bool) {
	for _, k := range extra {
		if id = idAt(attrs, k); id != "" {
			return id, k, true
		}
	}
	for _, k := range defaultIDKeys {
		if id = idAt(attrs, k); id != "" {
			return id, k, true
		}
	}
	for _, k := range extra {
		if id = idAt(resource, k); id != "" {
			return id, k, true
		}
	}
	for _, k := range resourceIDKeys {
		if id = idAt(resource, k); id != "" {
			return id, k, true
		}
	}
	return "", "", false
}

var defaultIDKeys = DefaultIDKeys().Keys

func idAt(attrs []otlp.KeyValue, key string) string {
	v, ok := convention.Attributes(attrs).Get(key)
	if !ok {
		return ""
	}
	id := strings.TrimSpace(v.Str())
	if v.Kind() == otlp.KindInt {
		id = strconv.FormatInt(v.Int(), 10)
	}
	if len(id) > maxIDBytes {
		sum := sha256.Sum256([]byte(id))
		return "sha256:" + hex.EncodeToString(sum[:])
	}
	return id
}

// priority is the rank of a source among all keys, lower is better.
func priority(source string, extra []string) int {
	for i, k := range extra {
		if k == source {
			return i
		}
	}
	for i, k := range defaultIDKeys {
		if k == source {
			return len(extra) + i
		}
	}
	return len(extra) + len(defaultIDKeys)
}

// Outranks says whether a session id found at source counts before one found at other.
func Outranks(source, other string, extra []string) bool {
	a, b := priority(source, extra), priority(other, extra)
	return a < b || a == b && source < other
}

// Ident is the identity of the session that a record belongs to.
type Ident struct {
	Key     string // session_key
	ID      string // session_id
	Source  string // the attribute that carried the id, SourceTrace or SourceNone
	Service string // service of the record that carries the id; "" when the trace is the session
}

// Key is a session's key: 32 hex of SHA-256 over tenant, service and id, separated by zero bytes.
func Key(tenant, service, id string) string {
	h := sha256.New()
	h.Write([]byte(tenant))
	h.Write([]byte{0})
	h.Write([]byte(service))
	h.Write([]byte{0})
	h.Write([]byte(id))
	return hex.EncodeToString(h.Sum(nil))[:32]
}

func ident(tenant, service, id, source string) Ident {
	return Ident{Key: Key(tenant, service, id), ID: id, Source: source, Service: service}
}
