-- What profilers' traces say of the time of GPUs. The same trace of a stream, sent again, replaces.
CREATE TABLE gpu_traces (
	job_id bigint NOT NULL,
	stream text COLLATE "C" NOT NULL,
	trace text COLLATE "C" NOT NULL,
	document text COLLATE "C" NOT NULL, -- JSON: server/model/jobs/gpu_trace.h
	received_ms bigint NOT NULL,
	author text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	PRIMARY KEY (job_id, stream, trace)
);
