-- Transitions with who said them; what is newest of an event, and when a job was heard of.

-- Who said a transition, since not all are to be trusted alike: 0 stated (REST, sm-ship, EventBridge), 1 the server itself
-- ("created", "the first line arrived"), 2 the log.
ALTER TABLE transitions ADD COLUMN source INTEGER NOT NULL DEFAULT 0;
UPDATE transitions SET source = 1 WHERE position = 0 AND message IN ('created', 'the first line arrived');

-- How new the newest EventBridge event was by which a job's document was changed: older ones must not change it back.
CREATE TABLE job_events (
	job_id INTEGER NOT NULL PRIMARY KEY,
	newest_ms INTEGER NOT NULL
) STRICT;

-- When a line or point of the job arrived last; 0: not known yet. last_line_ms is log time, which a wrong clock shifts.
ALTER TABLE job_counts ADD COLUMN last_heard_ms INTEGER NOT NULL DEFAULT 0;
