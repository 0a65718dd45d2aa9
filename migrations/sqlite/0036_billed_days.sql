-- What of a day is billed: sums by day and month are shared as a job's days have it, not by the clock.
ALTER TABLE goodput_days ADD COLUMN billed INTEGER NOT NULL DEFAULT 0; -- node-milliseconds, with a price and without
ALTER TABLE goodput_totals ADD COLUMN billed INTEGER NOT NULL DEFAULT 0;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
