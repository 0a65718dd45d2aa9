-- Small files of a job: plots, configurations, tables. A file is written a part at a time, so that no part keeps the writer for long.
CREATE TABLE attachments (
	job_id INTEGER NOT NULL,
	attachment_id INTEGER NOT NULL,
	path TEXT NOT NULL, -- in the job, checked: no part of it is '.' or '..'
	content_type TEXT NOT NULL,
	bytes INTEGER NOT NULL,
	sha256 TEXT NOT NULL, -- in hex
	created_ms INTEGER NOT NULL,
	author TEXT NOT NULL, -- the token's name; '' without tokens
	is_whole INTEGER NOT NULL, -- 0: parts are still to come
	PRIMARY KEY (job_id, attachment_id)
) STRICT;
CREATE INDEX attachments_by_path ON attachments (job_id, path, attachment_id);
CREATE TABLE attachment_parts (
	job_id INTEGER NOT NULL,
	attachment_id INTEGER NOT NULL,
	part INTEGER NOT NULL,
	data BLOB NOT NULL, -- a zstd frame
	PRIMARY KEY (job_id, attachment_id, part)
) STRICT;
INSERT INTO counters (name, last) VALUES ('attachment', 0) ON CONFLICT (name) DO NOTHING;
