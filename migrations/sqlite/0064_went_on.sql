-- Where and when the steps of a job begin, or those of the jobs that go on with it where it made none: what the job before it has lost by that.
ALTER TABLE goodput ADD COLUMN went_on_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE goodput ADD COLUMN went_on_step_ms INTEGER NOT NULL DEFAULT 0; -- 0: no step yet
ALTER TABLE goodput ADD COLUMN went_on_work_ms INTEGER NOT NULL DEFAULT 0; -- without the time of that step
ALTER TABLE goodput ADD COLUMN went_on_silent_ms INTEGER NOT NULL DEFAULT 0; -- in front of it, which breaks of these jobs count
-- Every job is worked out again.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
