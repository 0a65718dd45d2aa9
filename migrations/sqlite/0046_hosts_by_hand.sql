-- Whose a stream is, as somebody set it. What was told of its machines is kept beside it, and goes on to be: it counts again when the
-- setting is taken back.
CREATE TABLE hosts_by_hand (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	host TEXT NOT NULL,
	PRIMARY KEY (job_id, stream_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE told_hosts ( -- as stream_hosts, of these streams
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	number INTEGER NOT NULL,
	from_line INTEGER NOT NULL,
	from_ms INTEGER NOT NULL,
	since_ms INTEGER NOT NULL,
	until_ms INTEGER NOT NULL,
	host TEXT NOT NULL,
	is_shared INTEGER NOT NULL,
	PRIMARY KEY (job_id, stream_id, number)
) STRICT, WITHOUT ROWID;
