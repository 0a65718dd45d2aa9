-- What profilers' traces say of the time of GPUs. The same trace of a stream, sent again, replaces.
CREATE TABLE gpu_traces (
	job_id INTEGER NOT NULL,
	stream TEXT NOT NULL,
	trace TEXT NOT NULL,
	document TEXT NOT NULL, -- JSON: server/model/jobs/gpu_trace.h
	received_ms INTEGER NOT NULL,
	author TEXT NOT NULL, -- the token's name; '' without tokens
	PRIMARY KEY (job_id, stream, trace)
) STRICT, WITHOUT ROWID;
