-- Notes of people at a place of a job: a step, a time, a line or a checkpoint.
CREATE TABLE notes (
	job_id INTEGER NOT NULL,
	note_id INTEGER NOT NULL,
	place INTEGER NOT NULL, -- 0 step, 1 time, 2 line, 3 checkpoint
	step INTEGER NOT NULL, -- where it is, or what the loss says of the time; see has_step
	has_step INTEGER NOT NULL,
	ts_ms INTEGER NOT NULL, -- when it is, or what the loss says of the step; 0: not known
	stream TEXT NOT NULL, -- of the line; '': of none
	line INTEGER NOT NULL,
	text TEXT NOT NULL,
	author TEXT NOT NULL, -- the token's name; '' without tokens
	created_ms INTEGER NOT NULL,
	modified_ms INTEGER NOT NULL,
	deleted_ms INTEGER NOT NULL, -- 0: it is there; else it may be taken back for an hour
	PRIMARY KEY (job_id, note_id)
) STRICT;
INSERT INTO counters (name, last) VALUES ('note', 0) ON CONFLICT (name) DO NOTHING;
