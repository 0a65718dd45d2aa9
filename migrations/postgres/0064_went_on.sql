-- Where and when the steps of a job begin, or those of the jobs that go on with it where it made none: what the job before it has lost by that.
ALTER TABLE goodput ADD COLUMN went_on_from bigint NOT NULL DEFAULT 0;
ALTER TABLE goodput ADD COLUMN went_on_step_ms bigint NOT NULL DEFAULT 0; -- 0: no step yet
ALTER TABLE goodput ADD COLUMN went_on_work_ms bigint NOT NULL DEFAULT 0; -- without the time of that step
ALTER TABLE goodput ADD COLUMN went_on_silent_ms bigint NOT NULL DEFAULT 0; -- in front of it, which breaks of these jobs count
-- Every job is worked out again.
INSERT INTO settings (key, value) VALUES ('goodput.sweep', convert_to('0', 'UTF8')) ON CONFLICT (key) DO UPDATE SET value = excluded.value;
