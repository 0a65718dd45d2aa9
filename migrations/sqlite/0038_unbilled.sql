-- What of a job's time is not billed, its pauses among it: as Failed before it was resumed, or waiting for machines. Older programs,
-- which do not know it, would leave it in the fleet's sums.
ALTER TABLE fleet_jobs ADD COLUMN unbilled_ms INTEGER NOT NULL DEFAULT 0;
UPDATE fleet_jobs SET unbilled_ms = paused_ms; -- as it is in the sums

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
UPDATE settings SET value = CAST('38' AS BLOB) WHERE key = 'min_reader';
