-- What an incident is of stands in its own row: a back-fill makes series anew, with other numbers, and finds incidents again by this.
-- One that it does not find, and that is of no series any more, has series_id 0 and its own number as opened_ordinal.
ALTER TABLE incidents ADD COLUMN stream_id INTEGER NOT NULL DEFAULT 0; -- 0: of the job
ALTER TABLE incidents ADD COLUMN metric TEXT NOT NULL DEFAULT '';
-- How often the job had gone on after an end. What goes on beyond an end is another incident of the same opening.
ALTER TABLE incidents ADD COLUMN life INTEGER NOT NULL DEFAULT 0;

UPDATE incidents SET stream_id = s.stream_id, metric = s.metric FROM series AS s
	WHERE s.job_id = incidents.job_id AND s.series_id = incidents.series_id;

DROP INDEX incidents_by_key;
CREATE UNIQUE INDEX incidents_by_key ON incidents (job_id, series_id, kind, opened_ordinal, rule_id, life);
DROP INDEX incidents_by_step;
CREATE INDEX incidents_by_line ON incidents (job_id, stream_id, kind, line);

-- Older programs would write incidents that name nothing.
UPDATE settings SET value = CAST('41' AS BLOB) WHERE key = 'min_reader';
