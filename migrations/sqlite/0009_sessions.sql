-- What senders agree on with the server: the name that all processes of one start have, where each source stands in its stream,
-- how each stream's process ended, and what it was told to do.
CREATE TABLE run_names (
	asked TEXT NOT NULL,
	run_key TEXT NOT NULL,
	name TEXT NOT NULL,
	PRIMARY KEY (asked, run_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_names_by_name ON run_names (name);
CREATE TABLE sources (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	source TEXT NOT NULL,
	next_byte INTEGER NOT NULL,
	PRIMARY KEY (job_id, stream_id, source)
) STRICT, WITHOUT ROWID;
CREATE TABLE exits (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	code INTEGER NOT NULL,
	signal INTEGER NOT NULL,
	reason TEXT NOT NULL,
	at_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, stream_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE commands (
	job_id INTEGER NOT NULL,
	command_id INTEGER NOT NULL,
	command TEXT NOT NULL,
	stream TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, command_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE command_acks (
	job_id INTEGER NOT NULL,
	command_id INTEGER NOT NULL,
	stream TEXT NOT NULL,
	delivered_ms INTEGER NOT NULL,
	acknowledged_ms INTEGER NOT NULL,
	result TEXT NOT NULL,
	PRIMARY KEY (job_id, command_id, stream)
) STRICT, WITHOUT ROWID;
