-- A fault that somebody says is not the machine's: why; '': nobody does, and it counts.
ALTER TABLE node_faults ADD COLUMN cleared TEXT NOT NULL DEFAULT '';
-- A fault is found by its place in the job's log.
CREATE INDEX node_faults_by_line ON node_faults (job_id, stream_id, line);
