-- Who says how many nodes a job has: 0 its document, 1 the hosts of its streams, 2 their names.
ALTER TABLE goodput ADD COLUMN nodes_from INTEGER NOT NULL DEFAULT 0;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
