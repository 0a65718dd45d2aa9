-- When it became known to this server, by which a report counts it (docs/report.md): what comes late is news then. Of the past: when it happened.
ALTER TABLE incidents ADD COLUMN known_ms INTEGER NOT NULL DEFAULT 0;
UPDATE incidents SET known_ms = opened_ms;
CREATE INDEX incidents_by_known ON incidents (known_ms, job_id, incident_id);
-- Of its times as they are; less than these: just them.
ALTER TABLE jobs ADD COLUMN started_known_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN ended_known_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trashed_jobs ADD COLUMN started_known_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trashed_jobs ADD COLUMN ended_known_ms INTEGER NOT NULL DEFAULT 0;
DROP INDEX jobs_in_short;
CREATE INDEX jobs_in_short ON jobs (job_id, created_ms, started_ms, ended_ms, modified_ms, started_known_ms, ended_known_ms, status,
	secondary, team, name, failure_reason);
