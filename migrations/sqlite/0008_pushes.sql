-- What senders that send a body again have sent, for as long as they do: by the hash of all that the body held for a stream.
CREATE TABLE pushes (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	hash_low INTEGER NOT NULL,
	hash_high INTEGER NOT NULL,
	seen_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, stream_id, hash_low, hash_high)
) STRICT, WITHOUT ROWID;
CREATE INDEX pushes_by_time ON pushes (seen_ms);
