-- Jobs that are being imported: their rows are there under their number, and nobody sees them before the job's own row comes.
-- What is here when the server starts was cut off; its rows go the way of a deleted job's.
CREATE TABLE imports (
	job_id INTEGER NOT NULL PRIMARY KEY,
	name TEXT NOT NULL,
	begun_ms INTEGER NOT NULL
) STRICT;
