-- sm-ship --import stated when a job began and ended, of which it knew no more than the log: both are assumed, as of any log. Known by its
-- tag, and by times that are exactly those of the log. An older program takes such an end for none: it must not.
CREATE TEMP TABLE imported AS SELECT t.job_id, t.start_ms, t.status FROM told AS t
	WHERE t.source = 0 AND t.message = '' AND t.reason = '' AND t.is_whole = 0 AND t.is_undated = 0
	AND EXISTS (SELECT 1 FROM attributes AS a WHERE a.job_id = t.job_id AND a.key = 'tag.imported')
	AND ((t.status = 'Training' AND (
		t.start_ms = (SELECT min(s.first_ms) FROM streams AS s WHERE s.job_id = t.job_id AND s.first_ms > 0)
		OR EXISTS (SELECT 1 FROM told AS o WHERE o.job_id = t.job_id AND o.source = 1 AND o.status = 'Training' AND o.start_ms = t.start_ms)))
	OR (t.status = 'Completed' AND (
		t.start_ms = (SELECT max(s.last_ms) FROM streams AS s WHERE s.job_id = t.job_id)
		OR t.start_ms = (SELECT c.work_to_ms FROM job_counts AS c WHERE c.job_id = t.job_id))));
DELETE FROM told WHERE source = 0 AND EXISTS (SELECT 1 FROM imported AS i
	WHERE i.job_id = told.job_id AND i.start_ms = told.start_ms AND i.status = told.status);
-- When it trained is known by its first line, which was noted; where that is a stray date, it was noted as it is believed.
INSERT OR IGNORE INTO told (job_id, source, start_ms, status, message, reason, is_whole, lifts_ms, is_undated)
	SELECT i.job_id, 1, i.start_ms, 'Training', 'the first line arrived', '', 0, 0, 0 FROM imported AS i WHERE i.status = 'Training'
	AND NOT EXISTS (SELECT 1 FROM told AS o WHERE o.job_id = i.job_id AND o.source = 1 AND o.status = 'Training');
INSERT OR IGNORE INTO told (job_id, source, start_ms, status, message, reason, is_whole, lifts_ms, is_undated)
	SELECT i.job_id, 1, iif(ifnull(c.work_to_ms, 0) > 0, c.work_to_ms, i.start_ms), 'Completed', 'its log that was imported ends here', '', 0, 0, 1
	FROM imported AS i LEFT JOIN job_counts AS c ON c.job_id = i.job_id WHERE i.status = 'Completed';
INSERT OR IGNORE INTO told_anew (job_id) SELECT DISTINCT job_id FROM imported;
DROP TABLE imported;

UPDATE settings SET value = CAST('39' AS BLOB) WHERE key = 'min_reader';
