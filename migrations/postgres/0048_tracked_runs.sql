-- Runs and projects (experiments) as clients of experiment trackers know them: by ids of their own. Each run is a job; its settings and tags
-- are in the job's document.
CREATE TABLE tracked_projects (
	project_id bigint NOT NULL,
	team text COLLATE "C" NOT NULL, -- whose it is; '': of those who have no team
	name text COLLATE "C" NOT NULL,
	tags text COLLATE "C" NOT NULL, -- JSON object of texts
	artifacts text COLLATE "C" NOT NULL, -- where clients put files
	created_ms bigint NOT NULL,
	modified_ms bigint NOT NULL,
	PRIMARY KEY (project_id)
);
CREATE UNIQUE INDEX tracked_projects_by_name ON tracked_projects (team, name);
CREATE INDEX tracked_projects_of_team ON tracked_projects (team, project_id);
CREATE TABLE tracked_runs (
	job_id bigint NOT NULL,
	run_id text COLLATE "C" NOT NULL, -- 32 hexadecimal digits
	project_id bigint NOT NULL, -- 0: the default one, which has no row
	name text COLLATE "C" NOT NULL, -- as it is shown; the job's may be another
	user_name text COLLATE "C" NOT NULL,
	status text COLLATE "C" NOT NULL, -- in the tracker's words
	start_ms bigint NOT NULL,
	end_ms bigint NOT NULL, -- 0: not said
	artifacts text COLLATE "C" NOT NULL,
	inputs text COLLATE "C" NOT NULL, -- JSON array of the datasets that were logged, as they came
	PRIMARY KEY (job_id)
);
CREATE UNIQUE INDEX tracked_runs_by_id ON tracked_runs (run_id);
CREATE INDEX tracked_runs_of_project ON tracked_runs (project_id, start_ms, job_id);
INSERT INTO counters (name, last) VALUES ('project', 0) ON CONFLICT (name) DO NOTHING;
