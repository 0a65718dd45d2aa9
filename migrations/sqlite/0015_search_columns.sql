-- The job search keeps what it is asked for in memory, one property of all jobs at a time (store/sqlite/search_cache.h). These indexes
-- hold all that it reads, in the order of jobs: what a new job adds goes behind each range, into few pages, whatever its values are.

-- Grows with each transaction that changes what a search may find, so that the memory knows what it has not seen yet.
INSERT INTO counters (name, last) VALUES ('search', 0);

CREATE INDEX attributes_by_key ON attributes (key, job_id, position, text);
DROP INDEX attributes_by_number;

DROP INDEX summaries_by_metric;
CREATE INDEX summaries_by_metric ON summaries (metric, job_id, last, last_kind, min, max, mean, mean_kind, count, nan_count, inf_count,
	last_step);
DROP INDEX summaries_by_role;
CREATE INDEX summaries_by_role ON summaries (main_role, job_id, metric, last, last_kind, min, max, mean, mean_kind, count, nan_count,
	inf_count, last_step) WHERE main_role > 0;

-- A job's row without its long document.
CREATE INDEX jobs_in_short ON jobs (job_id, created_ms, started_ms, ended_ms, modified_ms, status, secondary, team, name,
	failure_reason);
