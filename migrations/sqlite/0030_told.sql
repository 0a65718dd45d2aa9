-- What was told of a job's life, by whom, whatever follows from it; transitions are what is shown, made of all of it each time.
-- An older program writes transitions alone: it must not.
CREATE TABLE told (
	job_id INTEGER NOT NULL,
	source INTEGER NOT NULL, -- as in transitions; 3: an exit, 4: a session
	start_ms INTEGER NOT NULL,
	status TEXT NOT NULL, -- SageMaker's SecondaryStatus
	message TEXT NOT NULL,
	reason TEXT NOT NULL, -- FailureReason, of an end
	is_whole INTEGER NOT NULL, -- said with all that ever was
	lifts_ms INTEGER NOT NULL, -- of a session that goes on with a job that had ended then; 0
	PRIMARY KEY (job_id, source, start_ms, status)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO told (job_id, source, start_ms, status, message, reason, is_whole, lifts_ms)
	SELECT t.job_id, t.source, t.start_ms, t.status, t.message,
		CASE WHEN t.status = j.secondary THEN j.failure_reason ELSE '' END, 0, 0
	FROM transitions AS t JOIN jobs AS j ON j.job_id = t.job_id;

-- Streams that somebody holds a session on, or held: who has no exit yet is still at work.
CREATE TABLE sessions (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	opened_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, stream_id)
) STRICT, WITHOUT ROWID;
INSERT INTO sessions (job_id, stream_id, opened_ms) SELECT job_id, stream_id, 0 FROM exits;

-- What an event says outright of when it trained; 0: nothing.
ALTER TABLE job_events ADD COLUMN started_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job_events ADD COLUMN ended_ms INTEGER NOT NULL DEFAULT 0;
UPDATE job_events SET started_ms = ifnull((SELECT j.started_ms FROM jobs AS j WHERE j.job_id = job_events.job_id), 0),
	ended_ms = ifnull((SELECT j.ended_ms FROM jobs AS j WHERE j.job_id = job_events.job_id), 0);

-- Announced jobs that logged and never left Starting: their history is made anew at the next start.
CREATE TABLE told_anew (
	job_id INTEGER NOT NULL PRIMARY KEY
) STRICT;
INSERT INTO told_anew (job_id) SELECT j.job_id FROM jobs AS j WHERE j.status = 'InProgress' AND j.secondary = 'Starting'
	AND EXISTS (SELECT 1 FROM streams AS s WHERE s.job_id = j.job_id AND s.first_ms > 0 AND s.name NOT LIKE 'system/%');
INSERT OR IGNORE INTO told (job_id, source, start_ms, status, message, reason, is_whole, lifts_ms)
	SELECT a.job_id, 1, min(s.first_ms), 'Training', 'the first line arrived', '', 0, 0
	FROM told_anew AS a JOIN streams AS s ON s.job_id = a.job_id
	WHERE s.first_ms > 0 AND s.name NOT LIKE 'system/%' GROUP BY a.job_id;

UPDATE settings SET value = CAST('30' AS BLOB) WHERE key = 'min_reader';
