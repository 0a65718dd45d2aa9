-- Back-fills: a job's whole log extracted again by other metric definitions. What they make waits beside what is shown, under
-- series numbers of its own, until one transaction puts it in place; what it replaces is taken away a little later, in slices.

-- The newest of each job.
CREATE TABLE backfills (
	job_id INTEGER NOT NULL PRIMARY KEY,
	generation INTEGER NOT NULL, -- of the definitions that it extracts by
	state INTEGER NOT NULL, -- enum backfill_state: 0 running, 1 done, 2 failed, 3 cancelled
	started_ms INTEGER NOT NULL,
	updated_ms INTEGER NOT NULL,
	lines INTEGER NOT NULL, -- looked at so far
	lines_total INTEGER NOT NULL,
	bytes INTEGER NOT NULL,
	bytes_total INTEGER NOT NULL,
	error TEXT NOT NULL
) STRICT;
CREATE INDEX backfills_running ON backfills (started_ms, job_id) WHERE state = 0;

-- Where a running one stands in each stream, so that it goes on after a restart.
CREATE TABLE backfill_streams (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	generation INTEGER NOT NULL, -- of its definitions
	next_line INTEGER NOT NULL,
	is_final INTEGER NOT NULL, -- made while the sealer waited; to be made anew when the change did not come
	state BLOB NOT NULL, -- as streams.state
	incidents BLOB NOT NULL, -- what detectors said on the way
	PRIMARY KEY (job_id, stream_id)
) STRICT;

-- Numbers of series that nobody shows any more. not_before_ms: a reader may still be at them.
CREATE TABLE dead_series (
	job_id INTEGER NOT NULL,
	first_id INTEGER NOT NULL,
	last_id INTEGER NOT NULL,
	not_before_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, first_id)
) STRICT, WITHOUT ROWID;

-- Two generations of a metric are two series of one name.
DROP INDEX series_by_name;
CREATE INDEX series_by_name ON series (job_id, stream_id, metric, labels);

-- An incident that a back-fill finds again keeps its number.
CREATE INDEX incidents_by_step ON incidents (job_id, series_id, kind, opened_step);

-- The state of a stream has a format that older programs do not read.
UPDATE settings SET value = CAST('7' AS BLOB) WHERE key = 'min_reader';
