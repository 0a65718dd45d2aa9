-- Settings that were found in a job's log lines, each with the line that said it first. What the job's document states is in
-- the document; both are in attributes, and there the document's win. And how far a job is, as of its last flush.

CREATE TABLE job_settings (
	job_id INTEGER NOT NULL,
	key TEXT NOT NULL,
	value TEXT NOT NULL, -- known secret shapes as *** and four hash digits
	stream_id INTEGER NOT NULL,
	line INTEGER NOT NULL,
	PRIMARY KEY (job_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE job_progress (
	job_id INTEGER NOT NULL PRIMARY KEY,
	total_steps INTEGER NOT NULL,
	total_from TEXT NOT NULL,
	eta_ms INTEGER NOT NULL -- at the pace of the last steps; 0: not known
) STRICT;
