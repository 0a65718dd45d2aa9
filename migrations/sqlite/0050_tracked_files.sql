-- What clients of an experiment tracker (W&B) send as files that grow, line by line: how far each has come, so that a line that is sent
-- again is known. A row changes in the transaction that stores its lines.
CREATE TABLE tracked_files (
	job_id INTEGER NOT NULL,
	name TEXT NOT NULL, -- "wandb-history.jsonl"
	origin INTEGER NOT NULL, -- a hash of its first line: another one is another beginning
	next_line INTEGER NOT NULL,
	content TEXT NOT NULL, -- what of it is asked for again, as the tracker's door has it
	PRIMARY KEY (job_id, name)
) STRICT;
