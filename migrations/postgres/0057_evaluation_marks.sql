-- Jobs whose scores have come or gone since it was looked whether one fell (server/pipeline/alert/evaluation_watch.h).
CREATE TABLE evaluation_marks (
	job_id bigint NOT NULL,
	mark bigint NOT NULL, -- counts up with each change: a look ends the mark that it found, and none that came meanwhile
	PRIMARY KEY (job_id)
);
