-- What charts read instead of points. Both tables can be made again from chunks, so an older program may go on without them;
-- what it seals meanwhile is behind `points` and is added later.

-- One row a series that has a pyramid: it covers the points before the ordinal `points`.
CREATE TABLE pyramids (
	job_id INTEGER NOT NULL,
	series_id INTEGER NOT NULL,
	points INTEGER NOT NULL,
	data BLOB NOT NULL, -- store/pyramid.h: which levels each attempt and axis has
	PRIMARY KEY (job_id, series_id)
) STRICT, WITHOUT ROWID;

-- 256 buckets a row.
--   axis      0 step, 1 time
--   level     a bucket is 2^level wide
--   position  x / 2^level / 256, rounded down
CREATE TABLE pyramid_rows (
	job_id INTEGER NOT NULL,
	series_id INTEGER NOT NULL,
	axis INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	level INTEGER NOT NULL,
	position INTEGER NOT NULL,
	data BLOB NOT NULL, -- store/pyramid.h
	PRIMARY KEY (job_id, series_id, axis, attempt, level, position)
) STRICT;
