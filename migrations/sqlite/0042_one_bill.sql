-- What of a job's time is billed, in the fleet's sums as everywhere: as stated, or until it was silent; -1: it runs and grows.
ALTER TABLE goodput ADD COLUMN is_over INTEGER NOT NULL DEFAULT 0; -- nobody ended it, but its time is over: it was of the past, or is silent
ALTER TABLE fleet_jobs ADD COLUMN billed_ms INTEGER NOT NULL DEFAULT -1;
UPDATE fleet_jobs SET billed_ms = max(iif(started_ms > 0 AND ended_ms > started_ms, ended_ms - started_ms, 0) - unbilled_ms, 0)
	WHERE ended_ms > 0; -- as it is in the sums
CREATE INDEX fleet_jobs_open ON fleet_jobs (started_ms) WHERE ended_ms = 0 AND billed_ms < 0;
CREATE INDEX fleet_jobs_over ON fleet_jobs (billed_ms) WHERE ended_ms = 0;

-- What jobs cost that were deleted, in the currency of then: prices put in another one are none of theirs. Before this the fleet's
-- days had it among what cost the jobs that are there.
CREATE TABLE goodput_deleted (
	day INTEGER NOT NULL,
	currency TEXT NOT NULL, -- '': that of the list when it is changed next
	cost INTEGER NOT NULL, -- millionths
	lost_cost INTEGER NOT NULL,
	PRIMARY KEY (day, currency)
) STRICT, WITHOUT ROWID;
INSERT INTO goodput_deleted (day, currency, cost, lost_cost)
	SELECT t.day, '', t.cost - ifnull(sum(d.cost), 0), t.lost_cost - ifnull(sum(d.lost_cost), 0)
	FROM goodput_totals AS t LEFT JOIN goodput_days AS d ON d.day = t.day GROUP BY t.day
	HAVING t.cost <> ifnull(sum(d.cost), 0) OR t.lost_cost <> ifnull(sum(d.lost_cost), 0);
UPDATE goodput_totals SET cost = goodput_totals.cost - x.cost, lost_cost = goodput_totals.lost_cost - x.lost_cost
	FROM goodput_deleted AS x WHERE x.day = goodput_totals.day;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
UPDATE settings SET value = CAST('42' AS BLOB) WHERE key = 'min_reader';
