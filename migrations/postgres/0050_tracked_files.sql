-- What clients of an experiment tracker (W&B) send as files that grow, line by line: how far each has come, so that a line that is sent
-- again is known. A row changes in the transaction that stores its lines.
CREATE TABLE tracked_files (
	job_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL, -- "wandb-history.jsonl"
	origin bigint NOT NULL, -- a hash of its first line: another one is another beginning
	next_line bigint NOT NULL,
	content text COLLATE "C" NOT NULL, -- what of it is asked for again, as the tracker's door has it
	PRIMARY KEY (job_id, name)
);
