-- An end, or a stop that was asked for, of which nobody said when it was: of a log of the past it was when its log ended.
ALTER TABLE told ADD COLUMN is_undated INTEGER NOT NULL DEFAULT 0;
-- When the last line or point came that belongs to the job's work; 0: not known.
ALTER TABLE job_counts ADD COLUMN work_to_ms INTEGER NOT NULL DEFAULT 0;
UPDATE job_counts SET work_to_ms = ifnull((SELECT g.work_to_ms FROM goodput AS g WHERE g.job_id = job_counts.job_id), 0);
-- Before, the time at which it was told was taken for it.
UPDATE told SET is_undated = 1 WHERE source = 0 AND status IN ('Completed', 'Failed', 'Stopped', 'Stopping')
	AND start_ms >= (SELECT c.last_heard_ms FROM job_counts AS c WHERE c.job_id = told.job_id AND c.work_to_ms > 0
	AND c.work_to_ms < c.last_heard_ms - 900000);
INSERT OR IGNORE INTO told_anew (job_id) SELECT job_id FROM told WHERE is_undated = 1;

-- How their processes ended was not looked at, either: all that ever sent have an exit.
INSERT OR IGNORE INTO told_anew (job_id) SELECT j.job_id FROM jobs AS j WHERE j.status = 'InProgress'
	AND EXISTS (SELECT 1 FROM exits AS e WHERE e.job_id = j.job_id)
	AND NOT EXISTS (SELECT 1 FROM streams AS s WHERE s.job_id = j.job_id AND s.name NOT LIKE 'system/%'
	AND NOT EXISTS (SELECT 1 FROM exits AS e WHERE e.job_id = s.job_id AND e.stream_id = s.stream_id));
