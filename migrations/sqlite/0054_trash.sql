-- Jobs that were deleted and can be restored: their rows, away from `jobs` so that nothing finds them. All else of them stays where it is.
CREATE TABLE trashed_jobs (
	job_id INTEGER NOT NULL PRIMARY KEY,
	name TEXT NOT NULL, -- as it was: by now another job may have it
	team TEXT NOT NULL,
	status TEXT NOT NULL,
	secondary TEXT NOT NULL,
	failure_reason TEXT NOT NULL,
	created_ms INTEGER NOT NULL,
	announced_ms INTEGER NOT NULL,
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL,
	modified_ms INTEGER NOT NULL,
	generation INTEGER NOT NULL,
	is_implicit INTEGER NOT NULL,
	deleted_ms INTEGER NOT NULL,
	deleted_by TEXT NOT NULL, -- the token's name; '' without tokens
	bytes INTEGER NOT NULL, -- of its blocks and chunks
	document TEXT NOT NULL
) STRICT;
CREATE INDEX trashed_jobs_by_name ON trashed_jobs (name, deleted_ms, job_id);
CREATE INDEX trashed_jobs_by_time ON trashed_jobs (deleted_ms, job_id);
