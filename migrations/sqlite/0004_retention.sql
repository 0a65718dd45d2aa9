-- Log text is the one thing that a limit may delete. A job's own limits and its pin; a team's; what was deleted, so that a
-- reader is told what was there; and jobs whose rows are still being taken away, a few at a time.

CREATE TABLE job_retention (
	job_id INTEGER NOT NULL PRIMARY KEY,
	is_pinned INTEGER NOT NULL,
	max_age_ms INTEGER NOT NULL, -- after the job's end; 0: as its team's
	max_bytes INTEGER NOT NULL -- of text as sent; 0: as its team's
) STRICT;

CREATE TABLE team_retention (
	team TEXT NOT NULL PRIMARY KEY, -- '': the server's, for all teams without a row
	max_age_ms INTEGER NOT NULL, -- 0: no limit
	max_bytes INTEGER NOT NULL -- of one job; 0: no limit
) STRICT, WITHOUT ROWID;

CREATE TABLE expired_text (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	first_kept_line INTEGER NOT NULL,
	bytes INTEGER NOT NULL, -- as sent, of what was deleted
	first_ms INTEGER NOT NULL, -- log times of what was deleted
	last_ms INTEGER NOT NULL,
	deleted_ms INTEGER NOT NULL,
	reason TEXT NOT NULL, -- budget, age, size
	PRIMARY KEY (job_id, stream_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE dead_jobs (
	job_id INTEGER NOT NULL PRIMARY KEY
) STRICT;
