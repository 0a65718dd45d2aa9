-- What the text of a block may hold, for searches: in a table of its own, because a search reads many filters and few blocks.
-- A block without one may hold anything.
CREATE TABLE log_filters (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	first_line INTEGER NOT NULL,
	filter BLOB NOT NULL, -- store/log_filter.h
	PRIMARY KEY (job_id, stream_id, first_line)
) STRICT;
