-- What lines of the log say outright (server/data/signatures.json), whose machine is at fault, and where checkpoints were written.

-- A stretch of lines of one stream with one signature; a quarter of an hour without it ends the stretch. Which incident it belongs
-- to is decided once, when its first line is taken: a replay finds the row.
CREATE TABLE signature_hits (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	signature TEXT NOT NULL,
	first_line INTEGER NOT NULL,
	incident_id INTEGER NOT NULL,
	count INTEGER NOT NULL,
	last_line INTEGER NOT NULL,
	first_ms INTEGER NOT NULL,
	last_ms INTEGER NOT NULL,
	text TEXT NOT NULL, -- of the last line
	PRIMARY KEY (job_id, stream_id, signature, first_line)
) STRICT, WITHOUT ROWID;
CREATE INDEX signature_hits_by_incident ON signature_hits (job_id, incident_id, stream_id);
CREATE INDEX signature_hits_by_time ON signature_hits (job_id, signature, last_ms);
CREATE INDEX signature_hits_by_signature ON signature_hits (signature, job_id);

-- Faults of machines, over all jobs: the same stretches, of signatures that speak of a machine. They outlive their job.
CREATE TABLE node_faults (
	host TEXT NOT NULL,
	ts_ms INTEGER NOT NULL, -- log time of the first line
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	line INTEGER NOT NULL, -- the first
	signature TEXT NOT NULL,
	is_drain INTEGER NOT NULL, -- the machine should not be given to the next job
	count INTEGER NOT NULL,
	last_ms INTEGER NOT NULL,
	text TEXT NOT NULL, -- of the first line
	PRIMARY KEY (host, ts_ms, job_id, stream_id, line)
) STRICT, WITHOUT ROWID;
CREATE INDEX node_faults_by_time ON node_faults (ts_ms);
CREATE INDEX IF NOT EXISTS streams_by_host ON streams (host, created_ms) WHERE host <> '';

-- Checkpoints that a job's log tells of. Of many ranks that say so the stream that came first.
CREATE TABLE job_checkpoints (
	job_id INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	step INTEGER NOT NULL,
	ts_ms INTEGER NOT NULL, -- log time
	stream_id INTEGER NOT NULL,
	line INTEGER NOT NULL,
	PRIMARY KEY (job_id, attempt, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_checkpoints_by_time ON job_checkpoints (job_id, ts_ms);

-- What was asked of a job's senders because of an incident; a job is stopped once.
CREATE TABLE emergencies (
	job_id INTEGER NOT NULL PRIMARY KEY,
	incident_id INTEGER NOT NULL,
	asked_ms INTEGER NOT NULL,
	stop_due_ms INTEGER NOT NULL, -- it is stopped then, if no checkpoint is seen before; 0: it is not, or was already
	checkpoint_step INTEGER NOT NULL -- the newest one known before it asked; -1: none
) STRICT;

CREATE INDEX emergencies_waiting ON emergencies (stop_due_ms) WHERE stop_due_ms > 0;

-- What an incident is about beside figures: members of a JSON object, as they were when it opened.
ALTER TABLE incidents ADD COLUMN facts TEXT NOT NULL DEFAULT '';
