-- What evaluation suites found of a job's checkpoints: a score of a task by a metric. Said again, it replaces.
CREATE TABLE evaluations (
	job_id INTEGER NOT NULL,
	has_step INTEGER NOT NULL,
	step INTEGER NOT NULL, -- of the checkpoint; see has_step
	path TEXT NOT NULL, -- '': it was not said
	task TEXT NOT NULL,
	metric TEXT NOT NULL, -- with its filter, unless that is none: "exact_match,strict-match"
	step_from INTEGER NOT NULL, -- 0 nothing, 1 stated, 2 digits of the path
	value REAL NOT NULL,
	error REAL NOT NULL, -- its standard error; -1: not known
	samples INTEGER NOT NULL, -- -1: not known
	shots INTEGER NOT NULL, -- -1: not known
	is_lower INTEGER NOT NULL, -- less is better
	lower_from INTEGER NOT NULL, -- 0 assumed, 1 stated, 2 by the metric's name
	is_part INTEGER NOT NULL, -- of a group of tasks that has a score of its own
	suite TEXT NOT NULL,
	evaluated_ms INTEGER NOT NULL, -- 0: not known
	received_ms INTEGER NOT NULL,
	author TEXT NOT NULL, -- the token's name; '' without tokens
	PRIMARY KEY (job_id, has_step, step, path, task, metric)
) STRICT, WITHOUT ROWID;
