package convention

// isLog says whether the record is a log record.
func (r *Record) isLog() bool { return r.Row.Signal == "log" }

// end is the record's end; of a log, and of a span that never ended, its start.
func (r *Record) end() int64 { return max(r.Row.EndedUnixNano, r.Row.StartedUnixNano) }

// failed says whether the span ended in error.
func (r *Record) failed() bool { return r.Row.Status == "error" }
