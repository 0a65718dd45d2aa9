-- Runs and projects (experiments) as clients of experiment trackers know them: by ids of their own. Each run is a job; its settings and tags
-- are in the job's document.
CREATE TABLE tracked_projects (
	project_id INTEGER NOT NULL,
	team TEXT NOT NULL, -- whose it is; '': of those who have no team
	name TEXT NOT NULL,
	tags TEXT NOT NULL, -- JSON object of texts
	artifacts TEXT NOT NULL, -- where clients put files
	created_ms INTEGER NOT NULL,
	modified_ms INTEGER NOT NULL,
	PRIMARY KEY (project_id)
) STRICT;
CREATE UNIQUE INDEX tracked_projects_by_name ON tracked_projects (team, name);
CREATE INDEX tracked_projects_of_team ON tracked_projects (team, project_id);
CREATE TABLE tracked_runs (
	job_id INTEGER NOT NULL,
	run_id TEXT NOT NULL, -- 32 hexadecimal digits
	project_id INTEGER NOT NULL, -- 0: the default one, which has no row
	name TEXT NOT NULL, -- as it is shown; the job's may be another
	user_name TEXT NOT NULL,
	status TEXT NOT NULL, -- in the tracker's words
	start_ms INTEGER NOT NULL,
	end_ms INTEGER NOT NULL, -- 0: not said
	artifacts TEXT NOT NULL,
	inputs TEXT NOT NULL, -- JSON array of the datasets that were logged, as they came
	PRIMARY KEY (job_id)
) STRICT;
CREATE UNIQUE INDEX tracked_runs_by_id ON tracked_runs (run_id);
CREATE INDEX tracked_runs_of_project ON tracked_runs (project_id, start_ms, job_id);
INSERT INTO counters (name, last) VALUES ('project', 0) ON CONFLICT (name) DO NOTHING;
