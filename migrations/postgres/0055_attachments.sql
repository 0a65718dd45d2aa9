-- Small files of a job: plots, configurations, tables. A file is written a part at a time, so that no part keeps the writer for long.
CREATE TABLE attachments (
	job_id bigint NOT NULL,
	attachment_id bigint NOT NULL,
	path text COLLATE "C" NOT NULL, -- in the job, checked: no part of it is '.' or '..'
	content_type text COLLATE "C" NOT NULL,
	bytes bigint NOT NULL,
	sha256 text COLLATE "C" NOT NULL, -- in hex
	created_ms bigint NOT NULL,
	author text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	is_whole bigint NOT NULL, -- 0: parts are still to come
	PRIMARY KEY (job_id, attachment_id)
);
CREATE INDEX attachments_by_path ON attachments (job_id, path, attachment_id);
CREATE TABLE attachment_parts (
	job_id bigint NOT NULL,
	attachment_id bigint NOT NULL,
	part bigint NOT NULL,
	data bytea NOT NULL, -- a zstd frame
	PRIMARY KEY (job_id, attachment_id, part)
);
INSERT INTO counters (name, last) VALUES ('attachment', 0) ON CONFLICT (name) DO NOTHING;
