-- What a metric of a job comes to when jobs are ranked by it: made from all points that are not superseded, over all streams.
--   points     how many there were when it was made: behind summaries.count while the job runs
--   best       the smallest finite value, or the largest where higher is better; NaN while there is none
--   final      the median of the last 1 % of the steps, of at least 20 points; NaN when most of them are not finite
CREATE TABLE rankings (
	job_id INTEGER NOT NULL,
	metric TEXT NOT NULL,
	points INTEGER NOT NULL,
	best REAL NOT NULL,
	best_kind INTEGER NOT NULL,
	best_step INTEGER NOT NULL,
	final REAL NOT NULL,
	final_kind INTEGER NOT NULL,
	PRIMARY KEY (job_id, metric)
) STRICT, WITHOUT ROWID;
