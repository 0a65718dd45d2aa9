-- Tables of the first version. migrate.c runs this file in one transaction that also sets user_version; page_size 8192 and
-- auto_vacuum=INCREMENTAL are set before it, because neither can be set once a table exists.
--
-- Conventions:
--   ..._ms      Unix milliseconds; 0 where the event has not happened yet.
--   job_id      comes first in the key of every table of a job, so that a job is one range of each table.
--   text        valid UTF-8 without NUL. Bytes that users logged are in blobs only.
--   folded      the lower-cased text beside it, made in C (store/fold.h): SQL folds nothing.
--   X, X_kind   a double that may be anything. SQLite turns NaN into NULL and -0 into 0, so the kind tells: 0 X itself,
--               1 NaN (X is 0), 2 +Inf (X is the largest double), 3 -Inf (X is the lowest double), 4 -0 (X is 0).
--               X alone therefore compares rightly wherever the kind is not 1.
--   enums       are the numbers of the C enums, which only ever grow at the end.

-- What the server remembers about itself. min_reader: the oldest user_version whose programs can use this database.
CREATE TABLE settings (
	key TEXT NOT NULL PRIMARY KEY,
	value BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO settings (key, value) VALUES ('min_reader', CAST('1' AS BLOB));

-- The last number given, so that no id is ever given twice: journal rows may still name a job that was deleted.
CREATE TABLE counters (
	name TEXT NOT NULL PRIMARY KEY,
	last INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, last) VALUES ('job', 0), ('webhook', 0), ('delivery', 0), ('token', 0);

-- ---- jobs ----

CREATE TABLE jobs (
	job_id INTEGER NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	folded TEXT NOT NULL, -- of the name
	team TEXT NOT NULL,
	status TEXT NOT NULL, -- SageMaker's TrainingJobStatus: InProgress, Completed, Failed, Stopping, Stopped
	secondary TEXT NOT NULL,
	failure_reason TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL,
	modified_ms INTEGER NOT NULL,
	generation INTEGER NOT NULL, -- of the metric definitions in force
	is_implicit INTEGER NOT NULL,
	document TEXT NOT NULL -- JSON; last, because what lies behind a long column is reached through its overflow pages
) STRICT;
CREATE UNIQUE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_folded ON jobs (folded);
CREATE INDEX jobs_by_created ON jobs (created_ms, job_id);
CREATE INDEX jobs_by_started ON jobs (started_ms, job_id);
CREATE INDEX jobs_by_ended ON jobs (ended_ms, job_id);
CREATE INDEX jobs_by_modified ON jobs (modified_ms, job_id);
CREATE INDEX jobs_by_status ON jobs (status, created_ms, job_id);
CREATE INDEX jobs_by_team ON jobs (team, created_ms, job_id);

-- The leaves of the document, for search; written with the job, never by hand.
--   key       the dotted path ("ResourceConfig.InstanceType"; elements of an array share the path of the array), and
--             "hp.KEY", "env.KEY", "tag.KEY" for the families.
--   position  grows in the order of the document: the elements of one key are told apart and ordered by it.
--   text      as text, at most 2560 bytes; true and false as such. Nulls have no row.
--   number    the text as a finite number when all of it is one, else NULL.
CREATE TABLE attributes (
	job_id INTEGER NOT NULL,
	key TEXT NOT NULL,
	position INTEGER NOT NULL,
	text TEXT NOT NULL,
	folded TEXT NOT NULL,
	number REAL,
	PRIMARY KEY (job_id, key, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX attributes_by_number ON attributes (key, number, job_id) WHERE number IS NOT NULL;
CREATE INDEX attributes_by_text ON attributes (key, folded, job_id);

CREATE TABLE transitions (
	job_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	status TEXT NOT NULL, -- SageMaker's SecondaryStatus
	message TEXT NOT NULL,
	start_ms INTEGER NOT NULL,
	end_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE definitions (
	job_id INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	json TEXT NOT NULL,
	PRIMARY KEY (job_id, generation)
) STRICT;

-- Beside jobs, not in it: flushed every other second, and a job's row has a long tail to write again.
CREATE TABLE job_counts (
	job_id INTEGER NOT NULL PRIMARY KEY,
	streams INTEGER NOT NULL,
	lines INTEGER NOT NULL,
	last_line_ms INTEGER NOT NULL
) STRICT;

-- One row a metric of a job, folded over its streams.
--   main_role  the role (enum role) whose main metric of the job this is, else 0: the metric of exactly the role's name,
--              else the one of that role with the most points. A query's `loss.last` is main_role = 1.
--   mean       of the finite values; NaN while there are none, and min and max mean nothing then
--              (count = nan_count + inf_count).
-- The two indexes cover all that a query's term asks (last count min max mean step), so that a term over all jobs reads
-- one range of one index.
CREATE TABLE summaries (
	job_id INTEGER NOT NULL,
	metric TEXT NOT NULL,
	role INTEGER NOT NULL,
	main_role INTEGER NOT NULL,
	unit TEXT NOT NULL,
	count INTEGER NOT NULL,
	nan_count INTEGER NOT NULL,
	inf_count INTEGER NOT NULL,
	last REAL NOT NULL,
	last_kind INTEGER NOT NULL,
	min REAL NOT NULL,
	min_kind INTEGER NOT NULL,
	max REAL NOT NULL,
	max_kind INTEGER NOT NULL,
	mean REAL NOT NULL,
	mean_kind INTEGER NOT NULL,
	sum REAL NOT NULL,
	sum_kind INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	last_ts_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, metric)
) STRICT, WITHOUT ROWID;
CREATE INDEX summaries_by_metric ON summaries (metric, last, last_kind, job_id, min, max, mean, mean_kind, count, nan_count,
	inf_count, last_step);
CREATE INDEX summaries_by_role ON summaries (main_role, last, last_kind, job_id, min, max, mean, mean_kind, count, nan_count,
	inf_count, last_step) WHERE main_role > 0;

-- ---- streams and series ----

CREATE TABLE streams (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	name TEXT NOT NULL,
	host TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	sealed_seq INTEGER NOT NULL,
	sealed_lines INTEGER NOT NULL,
	sealed_bytes INTEGER NOT NULL,
	first_ms INTEGER NOT NULL,
	last_ms INTEGER NOT NULL,
	state BLOB NOT NULL,
	PRIMARY KEY (job_id, stream_id)
) STRICT;
CREATE UNIQUE INDEX streams_by_name ON streams (job_id, name);

CREATE TABLE series (
	job_id INTEGER NOT NULL,
	series_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	metric TEXT NOT NULL,
	labels TEXT NOT NULL,
	unit TEXT NOT NULL,
	role INTEGER NOT NULL,
	sealed_points INTEGER NOT NULL,
	-- the summary of the sealed points that are not superseded
	count INTEGER NOT NULL,
	nan_count INTEGER NOT NULL,
	inf_count INTEGER NOT NULL,
	last REAL NOT NULL,
	last_kind INTEGER NOT NULL,
	min REAL NOT NULL,
	min_kind INTEGER NOT NULL,
	max REAL NOT NULL,
	max_kind INTEGER NOT NULL,
	sum REAL NOT NULL,
	sum_kind INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	last_ts_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, series_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX series_by_name ON series (job_id, stream_id, metric, labels);
CREATE INDEX series_by_metric ON series (job_id, metric);

-- ---- journal ----

-- One row a commit: the lines as they came, store/journal_record.h. Gone once everything in it is sealed.
CREATE TABLE journal (
	seq INTEGER NOT NULL PRIMARY KEY,
	record BLOB NOT NULL
) STRICT;

-- ---- sealed text and points: the format number is the first byte of the blob ----

CREATE TABLE blocks (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	first_line INTEGER NOT NULL,
	line_count INTEGER NOT NULL,
	first_ms INTEGER NOT NULL,
	last_ms INTEGER NOT NULL,
	raw_bytes INTEGER NOT NULL,
	data BLOB NOT NULL, -- store/block.h
	PRIMARY KEY (job_id, stream_id, first_line)
) STRICT;

CREATE TABLE chunks (
	job_id INTEGER NOT NULL,
	series_id INTEGER NOT NULL,
	first_ordinal INTEGER NOT NULL,
	point_count INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	first_ms INTEGER NOT NULL,
	last_ms INTEGER NOT NULL,
	data BLOB NOT NULL, -- store/chunk.h
	PRIMARY KEY (job_id, series_id, first_ordinal)
) STRICT;

-- ---- incidents ----

-- (series_id, kind, opened_ordinal) is what an incident is: a detector that replays the journal finds its own row again.
CREATE TABLE incidents (
	job_id INTEGER NOT NULL,
	incident_id INTEGER NOT NULL,
	series_id INTEGER NOT NULL,
	kind INTEGER NOT NULL,
	opened_ordinal INTEGER NOT NULL,
	severity INTEGER NOT NULL,
	state INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	opened_step INTEGER NOT NULL,
	opened_ms INTEGER NOT NULL,
	closed_ms INTEGER NOT NULL,
	line INTEGER NOT NULL, -- -1: it did not come from a line
	is_historic INTEGER NOT NULL,
	value REAL NOT NULL,
	value_kind INTEGER NOT NULL,
	expected REAL NOT NULL,
	expected_kind INTEGER NOT NULL,
	spread REAL NOT NULL,
	spread_kind INTEGER NOT NULL,
	score REAL NOT NULL,
	score_kind INTEGER NOT NULL,
	worst REAL NOT NULL,
	worst_kind INTEGER NOT NULL,
	worst_step INTEGER NOT NULL,
	acknowledged_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, incident_id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX incidents_by_key ON incidents (job_id, series_id, kind, opened_ordinal);
CREATE INDEX incidents_by_time ON incidents (opened_ms, job_id, incident_id);
CREATE INDEX incidents_by_job_time ON incidents (job_id, opened_ms, incident_id);
CREATE INDEX incidents_open ON incidents (job_id, opened_ms, incident_id) WHERE state = 0;

-- ---- webhooks and their outbox ----

CREATE TABLE webhooks (
	webhook_id INTEGER NOT NULL PRIMARY KEY,
	url TEXT NOT NULL,
	format TEXT NOT NULL,
	sealed_secret BLOB NOT NULL,
	minimum_severity INTEGER NOT NULL,
	is_enabled INTEGER NOT NULL,
	team TEXT NOT NULL,
	created_ms INTEGER NOT NULL
) STRICT;

-- delivery_id is given in the order of the commits, so it is also the order within one (webhook, incident).
CREATE TABLE deliveries (
	delivery_id INTEGER NOT NULL PRIMARY KEY,
	webhook_id INTEGER NOT NULL,
	job_id INTEGER NOT NULL,
	incident_id INTEGER NOT NULL,
	message_id TEXT NOT NULL,
	state INTEGER NOT NULL, -- enum delivery_state: 0 pending, 1 done, 2 dead
	attempts INTEGER NOT NULL,
	created_ms INTEGER NOT NULL,
	next_ms INTEGER NOT NULL,
	done_ms INTEGER NOT NULL,
	last_code INTEGER NOT NULL,
	last_error TEXT NOT NULL,
	payload TEXT NOT NULL
) STRICT;
CREATE INDEX deliveries_due ON deliveries (next_ms, delivery_id) WHERE state = 0;
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, job_id, incident_id, delivery_id) WHERE state = 0;
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, delivery_id);
CREATE INDEX deliveries_by_job ON deliveries (job_id);

-- ---- tokens ----

CREATE TABLE tokens (
	token_id INTEGER NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	hash BLOB NOT NULL, -- SHA-256: the token itself is nowhere
	scope TEXT NOT NULL,
	team TEXT NOT NULL,
	created_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX tokens_by_name ON tokens (name);
