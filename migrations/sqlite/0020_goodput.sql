-- Where jobs' time went (server/fleet/goodput.h) and what it cost: worked out on the maintenance thread, from facts that stay what
-- they are. All of it can be made again; only the totals keep what deleted jobs took.
CREATE TABLE goodput (
	job_id INTEGER NOT NULL PRIMARY KEY,
	due_ms INTEGER NOT NULL, -- to be worked out again then; 0: not before something changes
	changes INTEGER NOT NULL, -- how often something did
	as_of_ms INTEGER NOT NULL, -- 0: never yet
	nodes INTEGER NOT NULL,
	is_measured INTEGER NOT NULL, -- it printed steps, or failed before
	instance TEXT NOT NULL,
	goodput REAL, -- percent
	steps INTEGER NOT NULL,
	lost_steps INTEGER NOT NULL,
	step_ms REAL NOT NULL, -- 0: not known
	first_from_step INTEGER NOT NULL,
	last_step INTEGER NOT NULL,
	billable_ms INTEGER NOT NULL, -- of one node
	currency TEXT NOT NULL,
	cost INTEGER, -- in millionths; NULL: no price
	lost_cost INTEGER,
	spot_saving INTEGER
) STRICT;
CREATE INDEX goodput_due ON goodput (due_ms) WHERE due_ms > 0;
CREATE INDEX goodput_by_percent ON goodput (goodput) WHERE goodput IS NOT NULL;
CREATE INDEX goodput_by_cost ON goodput (cost / 1000000.0) WHERE cost IS NOT NULL;

-- A job's share of a day (UTC, by number from 1970-01-01 on): milliseconds of all its nodes together.
CREATE TABLE goodput_days (
	job_id INTEGER NOT NULL,
	day INTEGER NOT NULL,
	capacity INTEGER NOT NULL,
	unhealthy_replaced INTEGER NOT NULL,
	launch INTEGER NOT NULL,
	image INTEGER NOT NULL,
	data INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	productive INTEGER NOT NULL,
	evaluation INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	redone INTEGER NOT NULL,
	stalled INTEGER NOT NULL,
	restart INTEGER NOT NULL,
	idle INTEGER NOT NULL,
	unmeasured INTEGER NOT NULL,
	measured INTEGER NOT NULL, -- all of them, of a job that is measured
	cost INTEGER NOT NULL, -- in millionths; 0 without a price
	lost_cost INTEGER NOT NULL,
	PRIMARY KEY (job_id, day)
) STRICT, WITHOUT ROWID;

-- Their sums, also of jobs that were deleted since: a day is read without its jobs.
CREATE TABLE goodput_totals (
	day INTEGER NOT NULL PRIMARY KEY,
	capacity INTEGER NOT NULL,
	unhealthy_replaced INTEGER NOT NULL,
	launch INTEGER NOT NULL,
	image INTEGER NOT NULL,
	data INTEGER NOT NULL,
	first_step INTEGER NOT NULL,
	productive INTEGER NOT NULL,
	evaluation INTEGER NOT NULL,
	checkpoint INTEGER NOT NULL,
	redone INTEGER NOT NULL,
	stalled INTEGER NOT NULL,
	restart INTEGER NOT NULL,
	idle INTEGER NOT NULL,
	unmeasured INTEGER NOT NULL,
	measured INTEGER NOT NULL,
	cost INTEGER NOT NULL,
	lost_cost INTEGER NOT NULL
) STRICT;

-- What broke jobs off.
CREATE TABLE goodput_breaks (
	job_id INTEGER NOT NULL,
	position INTEGER NOT NULL,
	from_ms INTEGER NOT NULL,
	to_ms INTEGER NOT NULL, -- 0: nothing came after it
	cause TEXT NOT NULL, -- "": nobody said
	nodes INTEGER NOT NULL,
	lost_steps INTEGER NOT NULL,
	redone_ms INTEGER NOT NULL, -- of one node, as the next
	restart_ms INTEGER NOT NULL,
	PRIMARY KEY (job_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX goodput_breaks_by_time ON goodput_breaks (from_ms);

-- A transition has its newest message only; why a start-up took long is in those before it.
CREATE TABLE status_messages (
	job_id INTEGER NOT NULL,
	at_ms INTEGER NOT NULL,
	status TEXT NOT NULL,
	message TEXT NOT NULL,
	PRIMARY KEY (job_id, at_ms, status)
) STRICT, WITHOUT ROWID;

-- All jobs that are there are to be worked out, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
