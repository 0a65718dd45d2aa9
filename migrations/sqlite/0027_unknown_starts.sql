-- A start-up of no time at all was that of a job that its first line made: it is not known.
UPDATE pool_jobs SET startup_ms = -1 WHERE startup_ms = 0;
