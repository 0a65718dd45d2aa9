-- created_ms was what jobs were sorted, searched and listed by, and the earlier of it and the start what was shown: both are one now.
-- Beside it stands when the job's document or first line came, or what an event says outright; 0: created_ms.
ALTER TABLE jobs ADD COLUMN announced_ms INTEGER NOT NULL DEFAULT 0;

-- What was told before its start took the announcement's place; that it was announced was told, too.
UPDATE jobs SET announced_ms = t.start_ms FROM told AS t WHERE t.job_id = jobs.job_id AND t.source = 1 AND t.status = 'Starting'
	AND t.start_ms > jobs.created_ms AND jobs.job_id NOT IN (SELECT e.job_id FROM job_events AS e);
-- As history_created_ms has it.
UPDATE jobs SET created_ms = d.created_ms, announced_ms = d.announced_ms FROM (SELECT job_id, announced_ms,
	min(announced_ms, iif(started_ms > 0, started_ms, announced_ms), iif(ended_ms > 0, ended_ms, announced_ms), told_ms) AS created_ms
	FROM (SELECT j.job_id, j.started_ms, j.ended_ms, iif(j.announced_ms > 0, j.announced_ms, j.created_ms) AS announced_ms,
		ifnull((SELECT t.start_ms FROM transitions AS t WHERE t.job_id = j.job_id AND t.position = 0 AND t.source <> 1),
			9223372036854775807) AS told_ms FROM jobs AS j)) AS d
	WHERE d.job_id = jobs.job_id AND d.created_ms <> jobs.created_ms;
-- Of those in a chain the place would have to follow: with their next change.
UPDATE pool_jobs SET begun_ms = j.created_ms FROM jobs AS j WHERE j.job_id = pool_jobs.job_id AND pool_jobs.pool_id = 0
	AND j.created_ms <> pool_jobs.begun_ms;
