-- What clients of CloudWatch Logs made: groups that are jobs of their own, and streams before their first line.
CREATE TABLE log_groups (
	job_id INTEGER NOT NULL PRIMARY KEY,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE log_streams (
	job_id INTEGER NOT NULL,
	stream TEXT NOT NULL,
	suffix TEXT NOT NULL, -- '-1700000000000' where the stream was named so; ''
	created_ms INTEGER NOT NULL, -- 0: it was deleted since
	first_line INTEGER NOT NULL, -- lines below were deleted with it
	PRIMARY KEY (job_id, stream)
) STRICT, WITHOUT ROWID;
