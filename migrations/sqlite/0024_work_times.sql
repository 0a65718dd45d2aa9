-- When a job's lines and points say that it was at work, recomputed with its goodput; and its pauses in the fleet's sums. The
-- states of streams have a new format from here on, which older programs take for damaged.
ALTER TABLE goodput ADD COLUMN work_from_ms INTEGER NOT NULL DEFAULT 0; -- 0: no line or point yet
ALTER TABLE goodput ADD COLUMN work_to_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE goodput ADD COLUMN paused_ms INTEGER NOT NULL DEFAULT 0; -- within that, and not billed
ALTER TABLE goodput ADD COLUMN odd_times INTEGER NOT NULL DEFAULT 0; -- lines and points of none of it
ALTER TABLE fleet_jobs ADD COLUMN paused_ms INTEGER NOT NULL DEFAULT 0;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
UPDATE settings SET value = CAST('24' AS BLOB) WHERE key = 'min_reader';
