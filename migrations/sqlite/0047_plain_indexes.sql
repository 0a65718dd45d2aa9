-- Two indexes on expressions, in words that PostgreSQL takes as well: the statements that use them are the same for both databases.
DROP INDEX pool_jobs_open;
DROP INDEX pool_jobs_ended;
CREATE INDEX pool_jobs_open ON pool_jobs (shape, CASE WHEN ended_ms > begun_ms THEN ended_ms ELSE begun_ms END)
	WHERE keep_alive_ms > 0 AND ended_ms > 0 AND heir_id = 0;
CREATE INDEX pool_jobs_ended ON pool_jobs (CASE WHEN ended_ms > begun_ms THEN ended_ms ELSE begun_ms END)
	WHERE keep_alive_ms > 0 AND ended_ms > 0;
DROP INDEX goodput_by_cost;
CREATE INDEX goodput_by_cost ON goodput (CAST(cost AS DOUBLE PRECISION) / 1000000) WHERE cost IS NOT NULL;
