-- Who changed what: an entry is written in the transaction of what it tells. The oldest go when all take more than --audit-bytes.

CREATE TABLE audit (
	entry_id INTEGER NOT NULL PRIMARY KEY,
	end_bytes INTEGER NOT NULL, -- what all entries ever written take, this one included
	time_ms INTEGER NOT NULL,
	token TEXT NOT NULL, -- its name; '': none was needed
	team TEXT NOT NULL, -- of the token
	address TEXT NOT NULL,
	verb TEXT NOT NULL,
	object TEXT NOT NULL, -- 'jobs/NAME', 'webhooks/3', 'prices'
	before TEXT NOT NULL, -- JSON object, '': it was not there
	after TEXT NOT NULL -- likewise
) STRICT;
CREATE INDEX audit_by_end ON audit (end_bytes);
