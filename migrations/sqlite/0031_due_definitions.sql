-- Definitions without a step of their own take the one that stands on the line, where steps were counted before. Of the jobs that
-- run the log is extracted again by a generation of the same definitions, so that no point of a series is of the other kind; the
-- server looks which of these need it, and takes the row away. Ended jobs stay as they are.
CREATE TABLE due_definitions (
	job_id INTEGER NOT NULL PRIMARY KEY
) STRICT;
INSERT INTO due_definitions (job_id) SELECT job_id FROM jobs WHERE status IN ('InProgress', 'Stopping')
	AND EXISTS (SELECT 1 FROM definitions WHERE definitions.job_id = jobs.job_id);

-- The state of a stream has a format that older programs do not read.
UPDATE settings SET value = CAST('31' AS BLOB) WHERE key = 'min_reader';
