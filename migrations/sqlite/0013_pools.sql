-- Warm pools: what each job's cluster was, and what became of it. The second half of a row is derived from the first halves of all
-- rows of its shape (server/fleet/pool.h), and written anew whenever one of them changes.
CREATE TABLE pool_jobs (
	job_id INTEGER NOT NULL PRIMARY KEY,
	shape INTEGER NOT NULL, -- hash of what two jobs must have in common
	begun_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL, -- 0: it runs
	keep_alive_ms INTEGER NOT NULL, -- 0: none
	released_ms INTEGER NOT NULL, -- 0: not released before its time
	is_retained INTEGER NOT NULL, -- its end left the cluster usable
	startup_ms INTEGER NOT NULL, -- until training began; -1: not known
	told_heir TEXT NOT NULL, -- the job that a report says got the cluster
	pool_id INTEGER NOT NULL, -- the chain's first job; 0: in no pool
	position INTEGER NOT NULL,
	is_last INTEGER NOT NULL,
	state INTEGER NOT NULL, -- enum pool_state
	heir_id INTEGER NOT NULL, -- the job that got the cluster; 0: none did
	retained_ms INTEGER NOT NULL,
	until_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX pool_jobs_by_shape ON pool_jobs (shape, begun_ms, job_id);
CREATE INDEX pool_jobs_keeping ON pool_jobs (shape) WHERE keep_alive_ms > 0;
CREATE INDEX pool_jobs_by_pool ON pool_jobs (pool_id, position) WHERE pool_id != 0;
CREATE INDEX pool_jobs_last ON pool_jobs (state, pool_id) WHERE is_last = 1 AND pool_id != 0;
CREATE INDEX pool_jobs_due ON pool_jobs (until_ms) WHERE state = 2;

CREATE TABLE pool_shapes (
	shape INTEGER NOT NULL PRIMARY KEY,
	fields TEXT NOT NULL -- as pool_shape_print
) STRICT;
