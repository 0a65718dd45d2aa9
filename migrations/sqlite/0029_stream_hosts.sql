-- Which machine sent which lines of a stream: a row when that changes. Faults and slow steps are those of the machine at their line.
CREATE TABLE stream_hosts (
	job_id INTEGER NOT NULL,
	stream_id INTEGER NOT NULL,
	number INTEGER NOT NULL, -- in the order of the lines, from 0
	from_line INTEGER NOT NULL,
	from_ms INTEGER NOT NULL, -- log time of that line; 0: of the first that the stream ever had
	since_ms INTEGER NOT NULL, -- when that came
	until_ms INTEGER NOT NULL, -- when lines of another machine came; 0: none did
	host TEXT NOT NULL,
	is_shared INTEGER NOT NULL, -- several machines send at once: nobody knows which of its lines are whose
	PRIMARY KEY (job_id, stream_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_hosts_by_host ON stream_hosts (host, since_ms);
INSERT INTO stream_hosts (job_id, stream_id, number, from_line, from_ms, since_ms, until_ms, host, is_shared)
	SELECT job_id, stream_id, 0, 0, 0, created_ms, 0, host, 0 FROM streams WHERE host <> '';
