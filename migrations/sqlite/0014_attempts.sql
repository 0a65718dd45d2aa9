-- The highest attempt that a stream of the job is in, as of its last flush; 0: not known yet. Transitions may tell of more.
ALTER TABLE job_counts ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
