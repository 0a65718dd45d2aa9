-- What evaluation suites found of a job's checkpoints: a score of a task by a metric. Said again, it replaces.
CREATE TABLE evaluations (
	job_id bigint NOT NULL,
	has_step bigint NOT NULL,
	step bigint NOT NULL, -- of the checkpoint; see has_step
	path text COLLATE "C" NOT NULL, -- '': it was not said
	task text COLLATE "C" NOT NULL,
	metric text COLLATE "C" NOT NULL, -- with its filter, unless that is none: "exact_match,strict-match"
	step_from bigint NOT NULL, -- 0 nothing, 1 stated, 2 digits of the path
	value double precision NOT NULL,
	error double precision NOT NULL, -- its standard error; -1: not known
	samples bigint NOT NULL, -- -1: not known
	shots bigint NOT NULL, -- -1: not known
	is_lower bigint NOT NULL, -- less is better
	lower_from bigint NOT NULL, -- 0 assumed, 1 stated, 2 by the metric's name
	is_part bigint NOT NULL, -- of a group of tasks that has a score of its own
	suite text COLLATE "C" NOT NULL,
	evaluated_ms bigint NOT NULL, -- 0: not known
	received_ms bigint NOT NULL,
	author text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	PRIMARY KEY (job_id, has_step, step, path, task, metric)
);
