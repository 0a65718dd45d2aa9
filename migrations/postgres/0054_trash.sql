-- Jobs that were deleted and can be restored: their rows, away from `jobs` so that nothing finds them. All else of them stays where it is.
CREATE TABLE trashed_jobs (
	job_id bigint NOT NULL PRIMARY KEY,
	name text COLLATE "C" NOT NULL, -- as it was: by now another job may have it
	team text COLLATE "C" NOT NULL,
	status text COLLATE "C" NOT NULL,
	secondary text COLLATE "C" NOT NULL,
	failure_reason text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	announced_ms bigint NOT NULL,
	started_ms bigint NOT NULL,
	ended_ms bigint NOT NULL,
	modified_ms bigint NOT NULL,
	generation bigint NOT NULL,
	is_implicit bigint NOT NULL,
	deleted_ms bigint NOT NULL,
	deleted_by text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	bytes bigint NOT NULL, -- of its blocks and chunks
	document text COLLATE "C" NOT NULL
);
CREATE INDEX trashed_jobs_by_name ON trashed_jobs (name, deleted_ms, job_id);
CREATE INDEX trashed_jobs_by_time ON trashed_jobs (deleted_ms, job_id);
