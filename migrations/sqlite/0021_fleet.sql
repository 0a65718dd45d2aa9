-- Pools: what derives a change of one job from its neighbours in time alone, and the order in which pools changed, for who listens.
ALTER TABLE pool_jobs ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
INSERT OR IGNORE INTO counters (name, last) VALUES ('pool_change', 0);
CREATE INDEX pool_jobs_changed ON pool_jobs (change) WHERE is_last = 1 AND pool_id != 0;
CREATE INDEX pool_jobs_open ON pool_jobs (shape, max(ended_ms, begun_ms)) WHERE keep_alive_ms > 0 AND ended_ms > 0 AND heir_id = 0;
CREATE INDEX pool_jobs_ended ON pool_jobs (max(ended_ms, begun_ms)) WHERE keep_alive_ms > 0 AND ended_ms > 0;
CREATE INDEX pool_jobs_by_time ON pool_jobs (begun_ms);
CREATE INDEX pool_jobs_cold ON pool_jobs (shape, begun_ms, job_id, startup_ms) WHERE position = 0 AND startup_ms >= 0;
CREATE INDEX pool_jobs_by_heir ON pool_jobs (heir_id) WHERE heir_id != 0;
CREATE INDEX pool_jobs_told ON pool_jobs (told_heir) WHERE told_heir != '';

-- What of each job is counted in fleet_totals; a job of a database older than this has no row until maintenance made it.
CREATE TABLE fleet_jobs (
	job_id INTEGER NOT NULL PRIMARY KEY,
	status TEXT NOT NULL,
	instance_type TEXT NOT NULL, -- '': not said
	nodes INTEGER NOT NULL, -- at least 1
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX fleet_jobs_live ON fleet_jobs (started_ms) WHERE ended_ms = 0;
CREATE INDEX fleet_jobs_nodes ON fleet_jobs (nodes) WHERE ended_ms = 0;

-- Sums that follow each change of a job or a pool in its transaction; the highest value that each ever had.
CREATE TABLE fleet_totals (
	name TEXT NOT NULL,
	instance_type TEXT NOT NULL, -- '': of all
	value INTEGER NOT NULL,
	highest INTEGER NOT NULL,
	highest_ms INTEGER NOT NULL,
	PRIMARY KEY (name, instance_type)
) STRICT, WITHOUT ROWID;

CREATE TABLE quotas (
	name TEXT NOT NULL,
	instance_type TEXT NOT NULL, -- '': of all
	configured INTEGER NOT NULL,
	PRIMARY KEY (name, instance_type)
) STRICT, WITHOUT ROWID;

-- Of all jobs the incidents that one stream was slower than the others: few, and wanted by host.
CREATE INDEX incidents_stragglers ON incidents (job_id, series_id) WHERE kind = 11;
