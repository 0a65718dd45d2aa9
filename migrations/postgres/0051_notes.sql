-- Notes of people at a place of a job: a step, a time, a line or a checkpoint.
CREATE TABLE notes (
	job_id bigint NOT NULL,
	note_id bigint NOT NULL,
	place bigint NOT NULL, -- 0 step, 1 time, 2 line, 3 checkpoint
	step bigint NOT NULL, -- where it is, or what the loss says of the time; see has_step
	has_step bigint NOT NULL,
	ts_ms bigint NOT NULL, -- when it is, or what the loss says of the step; 0: not known
	stream text COLLATE "C" NOT NULL, -- of the line; '': of none
	line bigint NOT NULL,
	text text COLLATE "C" NOT NULL,
	author text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	created_ms bigint NOT NULL,
	modified_ms bigint NOT NULL,
	deleted_ms bigint NOT NULL, -- 0: it is there; else it may be taken back for an hour
	PRIMARY KEY (job_id, note_id)
);
INSERT INTO counters (name, last) VALUES ('note', 0) ON CONFLICT (name) DO NOTHING;
