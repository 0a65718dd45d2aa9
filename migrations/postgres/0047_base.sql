-- The schema of migrations/sqlite up to the file of the same number, as PostgreSQL has it: what a table or a column means is said there.
-- Whole numbers are bigint, also where fewer digits would do, because that is what is bound; texts compare by their bytes; blobs hold
-- what is compressed already, so they are kept as they are (STORAGE EXTERNAL).

CREATE TABLE settings (
	key text COLLATE "C" NOT NULL,
	value bytea NOT NULL,
	PRIMARY KEY (key)
);

CREATE TABLE counters (
	name text COLLATE "C" NOT NULL,
	last bigint NOT NULL,
	PRIMARY KEY (name)
);

CREATE TABLE jobs (
	job_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	folded text COLLATE "C" NOT NULL,
	team text COLLATE "C" NOT NULL,
	status text COLLATE "C" NOT NULL,
	secondary text COLLATE "C" NOT NULL,
	failure_reason text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	started_ms bigint NOT NULL,
	ended_ms bigint NOT NULL,
	modified_ms bigint NOT NULL,
	generation bigint NOT NULL,
	is_implicit bigint NOT NULL,
	document text COLLATE "C" NOT NULL,
	announced_ms bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id)
);
CREATE INDEX jobs_by_created ON jobs (created_ms, job_id);
CREATE INDEX jobs_by_ended ON jobs (ended_ms, job_id);
CREATE INDEX jobs_by_folded ON jobs (folded);
CREATE INDEX jobs_by_modified ON jobs (modified_ms, job_id);
CREATE UNIQUE INDEX jobs_by_name ON jobs (name);
CREATE INDEX jobs_by_started ON jobs (started_ms, job_id);
CREATE INDEX jobs_by_status ON jobs (status, created_ms, job_id);
CREATE INDEX jobs_by_team ON jobs (team, created_ms, job_id);
CREATE INDEX jobs_in_short ON jobs (job_id, created_ms, started_ms, ended_ms, modified_ms, status, secondary, team, name, failure_reason);

CREATE TABLE attributes (
	job_id bigint NOT NULL,
	key text COLLATE "C" NOT NULL,
	position bigint NOT NULL,
	text text COLLATE "C" NOT NULL,
	folded text COLLATE "C" NOT NULL,
	number double precision,
	PRIMARY KEY (job_id, key, position)
);
CREATE INDEX attributes_by_key ON attributes (key, job_id, position, text);
CREATE INDEX attributes_by_text ON attributes (key, folded, job_id);

CREATE TABLE transitions (
	job_id bigint NOT NULL,
	position bigint NOT NULL,
	status text COLLATE "C" NOT NULL,
	message text COLLATE "C" NOT NULL,
	start_ms bigint NOT NULL,
	end_ms bigint NOT NULL,
	source bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id, position)
);

CREATE TABLE definitions (
	job_id bigint NOT NULL,
	generation bigint NOT NULL,
	json text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, generation)
);

CREATE TABLE job_counts (
	job_id bigint NOT NULL,
	streams bigint NOT NULL,
	lines bigint NOT NULL,
	last_line_ms bigint NOT NULL,
	last_heard_ms bigint NOT NULL DEFAULT 0,
	attempts bigint NOT NULL DEFAULT 0,
	work_to_ms bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id)
);

CREATE TABLE summaries (
	job_id bigint NOT NULL,
	metric text COLLATE "C" NOT NULL,
	role bigint NOT NULL,
	main_role bigint NOT NULL,
	unit text COLLATE "C" NOT NULL,
	count bigint NOT NULL,
	nan_count bigint NOT NULL,
	inf_count bigint NOT NULL,
	last double precision NOT NULL,
	last_kind bigint NOT NULL,
	min double precision NOT NULL,
	min_kind bigint NOT NULL,
	max double precision NOT NULL,
	max_kind bigint NOT NULL,
	mean double precision NOT NULL,
	mean_kind bigint NOT NULL,
	sum double precision NOT NULL,
	sum_kind bigint NOT NULL,
	first_step bigint NOT NULL,
	last_step bigint NOT NULL,
	last_ts_ms bigint NOT NULL,
	PRIMARY KEY (job_id, metric)
);
CREATE INDEX summaries_by_metric ON summaries (metric, job_id, last, last_kind, min, max, mean, mean_kind, count, nan_count, inf_count, last_step);
CREATE INDEX summaries_by_role ON summaries (main_role, job_id, metric, last, last_kind, min, max, mean, mean_kind, count, nan_count, inf_count, last_step)
	WHERE main_role > 0;

CREATE TABLE streams (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	host text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	sealed_seq bigint NOT NULL,
	sealed_lines bigint NOT NULL,
	sealed_bytes bigint NOT NULL,
	first_ms bigint NOT NULL,
	last_ms bigint NOT NULL,
	state bytea NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);
CREATE INDEX streams_by_host ON streams (host, created_ms) WHERE host <> '';
CREATE UNIQUE INDEX streams_by_name ON streams (job_id, name);
ALTER TABLE streams ALTER COLUMN state SET STORAGE EXTERNAL;

CREATE TABLE series (
	job_id bigint NOT NULL,
	series_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	metric text COLLATE "C" NOT NULL,
	labels text COLLATE "C" NOT NULL,
	unit text COLLATE "C" NOT NULL,
	role bigint NOT NULL,
	sealed_points bigint NOT NULL,
	count bigint NOT NULL,
	nan_count bigint NOT NULL,
	inf_count bigint NOT NULL,
	last double precision NOT NULL,
	last_kind bigint NOT NULL,
	min double precision NOT NULL,
	min_kind bigint NOT NULL,
	max double precision NOT NULL,
	max_kind bigint NOT NULL,
	sum double precision NOT NULL,
	sum_kind bigint NOT NULL,
	first_step bigint NOT NULL,
	last_step bigint NOT NULL,
	last_ts_ms bigint NOT NULL,
	PRIMARY KEY (job_id, series_id)
);
CREATE INDEX series_by_metric ON series (job_id, metric);
CREATE INDEX series_by_name ON series (job_id, stream_id, metric, labels);

CREATE TABLE journal (
	seq bigint NOT NULL,
	record bytea NOT NULL,
	PRIMARY KEY (seq)
);
ALTER TABLE journal ALTER COLUMN record SET STORAGE EXTERNAL;

CREATE TABLE blocks (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	first_line bigint NOT NULL,
	line_count bigint NOT NULL,
	first_ms bigint NOT NULL,
	last_ms bigint NOT NULL,
	raw_bytes bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (job_id, stream_id, first_line)
);
ALTER TABLE blocks ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE chunks (
	job_id bigint NOT NULL,
	series_id bigint NOT NULL,
	first_ordinal bigint NOT NULL,
	point_count bigint NOT NULL,
	first_step bigint NOT NULL,
	last_step bigint NOT NULL,
	first_ms bigint NOT NULL,
	last_ms bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (job_id, series_id, first_ordinal)
);
ALTER TABLE chunks ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE incidents (
	job_id bigint NOT NULL,
	incident_id bigint NOT NULL,
	series_id bigint NOT NULL,
	kind bigint NOT NULL,
	opened_ordinal bigint NOT NULL,
	severity bigint NOT NULL,
	state bigint NOT NULL,
	first_step bigint NOT NULL,
	last_step bigint NOT NULL,
	opened_step bigint NOT NULL,
	opened_ms bigint NOT NULL,
	closed_ms bigint NOT NULL,
	line bigint NOT NULL,
	is_historic bigint NOT NULL,
	value double precision NOT NULL,
	value_kind bigint NOT NULL,
	expected double precision NOT NULL,
	expected_kind bigint NOT NULL,
	spread double precision NOT NULL,
	spread_kind bigint NOT NULL,
	score double precision NOT NULL,
	score_kind bigint NOT NULL,
	worst double precision NOT NULL,
	worst_kind bigint NOT NULL,
	worst_step bigint NOT NULL,
	acknowledged_ms bigint NOT NULL,
	facts text COLLATE "C" NOT NULL DEFAULT '',
	rule_id bigint NOT NULL DEFAULT 0,
	cause_id bigint NOT NULL DEFAULT 0,
	fold_id bigint NOT NULL DEFAULT 0,
	muted_until_ms bigint NOT NULL DEFAULT 0,
	attempt bigint NOT NULL DEFAULT 0,
	closed_why bigint NOT NULL DEFAULT 0,
	stream_id bigint NOT NULL DEFAULT 0,
	metric text COLLATE "C" NOT NULL DEFAULT '',
	life bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id, incident_id)
);
CREATE INDEX incidents_by_cause ON incidents (job_id, cause_id, incident_id) WHERE cause_id <> 0;
CREATE INDEX incidents_by_fold ON incidents (job_id, fold_id, incident_id) WHERE fold_id <> 0;
CREATE INDEX incidents_by_job_time ON incidents (job_id, opened_ms, incident_id);
CREATE UNIQUE INDEX incidents_by_key ON incidents (job_id, series_id, kind, opened_ordinal, rule_id, life);
CREATE INDEX incidents_by_line ON incidents (job_id, stream_id, kind, line);
CREATE INDEX incidents_by_time ON incidents (opened_ms, job_id, incident_id);
CREATE INDEX incidents_first ON incidents (job_id, opened_ms) WHERE cause_id = 0;
CREATE INDEX incidents_muted ON incidents (job_id, kind) WHERE muted_until_ms <> 0;
CREATE INDEX incidents_open ON incidents (job_id, opened_ms, incident_id) WHERE state = 0;
CREATE INDEX incidents_stragglers ON incidents (job_id, series_id) WHERE kind = 11;

CREATE TABLE webhooks (
	webhook_id bigint NOT NULL,
	url text COLLATE "C" NOT NULL,
	format text COLLATE "C" NOT NULL,
	sealed_secret bytea NOT NULL,
	minimum_severity bigint NOT NULL,
	is_enabled bigint NOT NULL,
	team text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	events text COLLATE "C" NOT NULL DEFAULT 'incident',
	heartbeat_ms bigint NOT NULL DEFAULT 0,
	beat_ms bigint NOT NULL DEFAULT 0,
	per_minute bigint NOT NULL DEFAULT 20,
	PRIMARY KEY (webhook_id)
);

CREATE TABLE deliveries (
	delivery_id bigint NOT NULL,
	webhook_id bigint NOT NULL,
	job_id bigint NOT NULL,
	incident_id bigint NOT NULL,
	message_id text COLLATE "C" NOT NULL,
	state bigint NOT NULL,
	attempts bigint NOT NULL,
	created_ms bigint NOT NULL,
	next_ms bigint NOT NULL,
	done_ms bigint NOT NULL,
	last_code bigint NOT NULL,
	last_error text COLLATE "C" NOT NULL,
	payload text COLLATE "C" NOT NULL,
	PRIMARY KEY (delivery_id)
);
CREATE INDEX deliveries_by_job ON deliveries (job_id);
CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_ms);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, delivery_id);
CREATE INDEX deliveries_next ON deliveries (webhook_id, next_ms, delivery_id) WHERE state = 0;
CREATE INDEX deliveries_settled ON deliveries (done_ms) WHERE state <> 0;
CREATE INDEX deliveries_waiting ON deliveries (webhook_id, job_id, incident_id, delivery_id) WHERE state = 0;

CREATE TABLE tokens (
	token_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	hash bytea NOT NULL,
	scope text COLLATE "C" NOT NULL,
	team text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	rate_requests bigint NOT NULL DEFAULT 0,
	rate_bytes bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (token_id)
);
CREATE UNIQUE INDEX tokens_by_name ON tokens (name);

CREATE TABLE pyramids (
	job_id bigint NOT NULL,
	series_id bigint NOT NULL,
	points bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (job_id, series_id)
);
ALTER TABLE pyramids ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE pyramid_rows (
	job_id bigint NOT NULL,
	series_id bigint NOT NULL,
	axis bigint NOT NULL,
	attempt bigint NOT NULL,
	level bigint NOT NULL,
	position bigint NOT NULL,
	data bytea NOT NULL,
	PRIMARY KEY (job_id, series_id, axis, attempt, level, position)
);
ALTER TABLE pyramid_rows ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE log_filters (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	first_line bigint NOT NULL,
	filter bytea NOT NULL,
	PRIMARY KEY (job_id, stream_id, first_line)
);
ALTER TABLE log_filters ALTER COLUMN filter SET STORAGE EXTERNAL;

CREATE TABLE job_retention (
	job_id bigint NOT NULL,
	is_pinned bigint NOT NULL,
	max_age_ms bigint NOT NULL,
	max_bytes bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE team_retention (
	team text COLLATE "C" NOT NULL,
	max_age_ms bigint NOT NULL,
	max_bytes bigint NOT NULL,
	PRIMARY KEY (team)
);

CREATE TABLE expired_text (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	first_kept_line bigint NOT NULL,
	bytes bigint NOT NULL,
	first_ms bigint NOT NULL,
	last_ms bigint NOT NULL,
	deleted_ms bigint NOT NULL,
	reason text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);

CREATE TABLE dead_jobs (
	job_id bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE job_settings (
	job_id bigint NOT NULL,
	key text COLLATE "C" NOT NULL,
	value text COLLATE "C" NOT NULL,
	stream_id bigint NOT NULL,
	line bigint NOT NULL,
	PRIMARY KEY (job_id, key)
);

CREATE TABLE job_progress (
	job_id bigint NOT NULL,
	total_steps bigint NOT NULL,
	total_from text COLLATE "C" NOT NULL,
	eta_ms bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE backfills (
	job_id bigint NOT NULL,
	generation bigint NOT NULL,
	state bigint NOT NULL,
	started_ms bigint NOT NULL,
	updated_ms bigint NOT NULL,
	lines bigint NOT NULL,
	lines_total bigint NOT NULL,
	bytes bigint NOT NULL,
	bytes_total bigint NOT NULL,
	error text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id)
);
CREATE INDEX backfills_running ON backfills (started_ms, job_id) WHERE state = 0;

CREATE TABLE backfill_streams (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	generation bigint NOT NULL,
	next_line bigint NOT NULL,
	is_final bigint NOT NULL,
	state bytea NOT NULL,
	incidents bytea NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);
ALTER TABLE backfill_streams ALTER COLUMN state SET STORAGE EXTERNAL, ALTER COLUMN incidents SET STORAGE EXTERNAL;

CREATE TABLE dead_series (
	job_id bigint NOT NULL,
	first_id bigint NOT NULL,
	last_id bigint NOT NULL,
	not_before_ms bigint NOT NULL,
	PRIMARY KEY (job_id, first_id)
);

CREATE TABLE pushes (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	hash_low bigint NOT NULL,
	hash_high bigint NOT NULL,
	seen_ms bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id, hash_low, hash_high)
);
CREATE INDEX pushes_by_time ON pushes (seen_ms);

CREATE TABLE run_names (
	asked text COLLATE "C" NOT NULL,
	run_key text COLLATE "C" NOT NULL,
	name text COLLATE "C" NOT NULL,
	PRIMARY KEY (asked, run_key)
);
CREATE INDEX run_names_by_name ON run_names (name);

CREATE TABLE sources (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	source text COLLATE "C" NOT NULL,
	next_byte bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id, source)
);

CREATE TABLE exits (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	code bigint NOT NULL,
	signal bigint NOT NULL,
	reason text COLLATE "C" NOT NULL,
	at_ms bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);

CREATE TABLE commands (
	job_id bigint NOT NULL,
	command_id bigint NOT NULL,
	command text COLLATE "C" NOT NULL,
	stream text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	PRIMARY KEY (job_id, command_id)
);

CREATE TABLE command_acks (
	job_id bigint NOT NULL,
	command_id bigint NOT NULL,
	stream text COLLATE "C" NOT NULL,
	delivered_ms bigint NOT NULL,
	acknowledged_ms bigint NOT NULL,
	result text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, command_id, stream)
);

CREATE TABLE job_events (
	job_id bigint NOT NULL,
	newest_ms bigint NOT NULL,
	started_ms bigint NOT NULL DEFAULT 0,
	ended_ms bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id)
);

CREATE TABLE rankings (
	job_id bigint NOT NULL,
	metric text COLLATE "C" NOT NULL,
	points bigint NOT NULL,
	best double precision NOT NULL,
	best_kind bigint NOT NULL,
	best_step bigint NOT NULL,
	final double precision NOT NULL,
	final_kind bigint NOT NULL,
	PRIMARY KEY (job_id, metric)
);

CREATE TABLE views (
	team text COLLATE "C" NOT NULL,
	owner text COLLATE "C" NOT NULL,
	name text COLLATE "C" NOT NULL,
	query text COLLATE "C" NOT NULL,
	sort text COLLATE "C" NOT NULL,
	columns text COLLATE "C" NOT NULL,
	modified_ms bigint NOT NULL,
	PRIMARY KEY (team, owner, name)
);

CREATE TABLE pool_jobs (
	job_id bigint NOT NULL,
	shape bigint NOT NULL,
	begun_ms bigint NOT NULL,
	ended_ms bigint NOT NULL,
	keep_alive_ms bigint NOT NULL,
	released_ms bigint NOT NULL,
	is_retained bigint NOT NULL,
	startup_ms bigint NOT NULL,
	told_heir text COLLATE "C" NOT NULL,
	pool_id bigint NOT NULL,
	position bigint NOT NULL,
	is_last bigint NOT NULL,
	state bigint NOT NULL,
	heir_id bigint NOT NULL,
	retained_ms bigint NOT NULL,
	until_ms bigint NOT NULL,
	change bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id)
);
CREATE INDEX pool_jobs_by_heir ON pool_jobs (heir_id) WHERE heir_id <> 0;
CREATE INDEX pool_jobs_by_pool ON pool_jobs (pool_id, position) WHERE pool_id <> 0;
CREATE INDEX pool_jobs_by_shape ON pool_jobs (shape, begun_ms, job_id);
CREATE INDEX pool_jobs_by_time ON pool_jobs (begun_ms);
CREATE INDEX pool_jobs_changed ON pool_jobs (change) WHERE is_last = 1 AND pool_id <> 0;
CREATE INDEX pool_jobs_cold ON pool_jobs (shape, begun_ms, job_id, startup_ms) WHERE position = 0 AND startup_ms >= 0;
CREATE INDEX pool_jobs_due ON pool_jobs (until_ms) WHERE state = 2;
CREATE INDEX pool_jobs_ended ON pool_jobs ((CASE WHEN ended_ms > begun_ms THEN ended_ms ELSE begun_ms END)) WHERE keep_alive_ms > 0 AND ended_ms > 0;
CREATE INDEX pool_jobs_keeping ON pool_jobs (shape) WHERE keep_alive_ms > 0;
CREATE INDEX pool_jobs_last ON pool_jobs (state, pool_id) WHERE is_last = 1 AND pool_id <> 0;
CREATE INDEX pool_jobs_open ON pool_jobs (shape, (CASE WHEN ended_ms > begun_ms THEN ended_ms ELSE begun_ms END))
	WHERE keep_alive_ms > 0 AND ended_ms > 0 AND heir_id = 0;
CREATE INDEX pool_jobs_told ON pool_jobs (told_heir) WHERE told_heir <> '';

CREATE TABLE pool_shapes (
	shape bigint NOT NULL,
	fields text COLLATE "C" NOT NULL,
	PRIMARY KEY (shape)
);

CREATE TABLE imports (
	job_id bigint NOT NULL,
	name text COLLATE "C" NOT NULL,
	begun_ms bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE signature_hits (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	signature text COLLATE "C" NOT NULL,
	first_line bigint NOT NULL,
	incident_id bigint NOT NULL,
	count bigint NOT NULL,
	last_line bigint NOT NULL,
	first_ms bigint NOT NULL,
	last_ms bigint NOT NULL,
	text text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, stream_id, signature, first_line)
);
CREATE INDEX signature_hits_by_incident ON signature_hits (job_id, incident_id, stream_id);
CREATE INDEX signature_hits_by_signature ON signature_hits (signature, job_id);
CREATE INDEX signature_hits_by_time ON signature_hits (job_id, signature, last_ms);

CREATE TABLE node_faults (
	host text COLLATE "C" NOT NULL,
	ts_ms bigint NOT NULL,
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	line bigint NOT NULL,
	signature text COLLATE "C" NOT NULL,
	is_drain bigint NOT NULL,
	count bigint NOT NULL,
	last_ms bigint NOT NULL,
	text text COLLATE "C" NOT NULL,
	PRIMARY KEY (host, ts_ms, job_id, stream_id, line)
);
CREATE INDEX node_faults_by_time ON node_faults (ts_ms);

CREATE TABLE job_checkpoints (
	job_id bigint NOT NULL,
	attempt bigint NOT NULL,
	step bigint NOT NULL,
	ts_ms bigint NOT NULL,
	stream_id bigint NOT NULL,
	line bigint NOT NULL,
	PRIMARY KEY (job_id, attempt, step)
);
CREATE INDEX job_checkpoints_by_time ON job_checkpoints (job_id, ts_ms);

CREATE TABLE emergencies (
	job_id bigint NOT NULL,
	incident_id bigint NOT NULL,
	asked_ms bigint NOT NULL,
	stop_due_ms bigint NOT NULL,
	checkpoint_step bigint NOT NULL,
	PRIMARY KEY (job_id)
);
CREATE INDEX emergencies_waiting ON emergencies (stop_due_ms) WHERE stop_due_ms > 0;

CREATE TABLE rules (
	rule_id bigint NOT NULL,
	team text COLLATE "C" NOT NULL,
	name text COLLATE "C" NOT NULL,
	document text COLLATE "C" NOT NULL,
	since_seq bigint NOT NULL,
	modified_ms bigint NOT NULL,
	PRIMARY KEY (rule_id)
);
CREATE UNIQUE INDEX rules_by_name ON rules (team, name);

CREATE TABLE goodput (
	job_id bigint NOT NULL,
	due_ms bigint NOT NULL,
	changes bigint NOT NULL,
	as_of_ms bigint NOT NULL,
	nodes bigint NOT NULL,
	is_measured bigint NOT NULL,
	instance text COLLATE "C" NOT NULL,
	goodput double precision,
	steps bigint NOT NULL,
	lost_steps bigint NOT NULL,
	step_ms double precision NOT NULL,
	first_from_step bigint NOT NULL,
	last_step bigint NOT NULL,
	billable_ms bigint NOT NULL,
	currency text COLLATE "C" NOT NULL,
	cost bigint,
	lost_cost bigint,
	spot_saving bigint,
	work_from_ms bigint NOT NULL DEFAULT 0,
	work_to_ms bigint NOT NULL DEFAULT 0,
	paused_ms bigint NOT NULL DEFAULT 0,
	odd_times bigint NOT NULL DEFAULT 0,
	nodes_from bigint NOT NULL DEFAULT 0,
	unpriced text COLLATE "C" NOT NULL DEFAULT '',
	is_over bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id)
);
CREATE INDEX goodput_by_cost ON goodput ((CAST(cost AS DOUBLE PRECISION) / 1000000)) WHERE cost IS NOT NULL;
CREATE INDEX goodput_by_percent ON goodput (goodput) WHERE goodput IS NOT NULL;
CREATE INDEX goodput_by_unpriced ON goodput (unpriced) WHERE unpriced <> '';
CREATE INDEX goodput_due ON goodput (due_ms) WHERE due_ms > 0;

CREATE TABLE goodput_days (
	job_id bigint NOT NULL,
	day bigint NOT NULL,
	capacity bigint NOT NULL,
	unhealthy_replaced bigint NOT NULL,
	launch bigint NOT NULL,
	image bigint NOT NULL,
	data bigint NOT NULL,
	first_step bigint NOT NULL,
	productive bigint NOT NULL,
	evaluation bigint NOT NULL,
	checkpoint bigint NOT NULL,
	redone bigint NOT NULL,
	stalled bigint NOT NULL,
	restart bigint NOT NULL,
	idle bigint NOT NULL,
	unmeasured bigint NOT NULL,
	measured bigint NOT NULL,
	cost bigint NOT NULL,
	lost_cost bigint NOT NULL,
	unpriced bigint NOT NULL DEFAULT 0,
	billed bigint NOT NULL DEFAULT 0,
	estimated bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id, day)
);

CREATE TABLE goodput_totals (
	day bigint NOT NULL,
	capacity bigint NOT NULL,
	unhealthy_replaced bigint NOT NULL,
	launch bigint NOT NULL,
	image bigint NOT NULL,
	data bigint NOT NULL,
	first_step bigint NOT NULL,
	productive bigint NOT NULL,
	evaluation bigint NOT NULL,
	checkpoint bigint NOT NULL,
	redone bigint NOT NULL,
	stalled bigint NOT NULL,
	restart bigint NOT NULL,
	idle bigint NOT NULL,
	unmeasured bigint NOT NULL,
	measured bigint NOT NULL,
	cost bigint NOT NULL,
	lost_cost bigint NOT NULL,
	unpriced bigint NOT NULL DEFAULT 0,
	billed bigint NOT NULL DEFAULT 0,
	estimated bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (day)
);

CREATE TABLE goodput_breaks (
	job_id bigint NOT NULL,
	position bigint NOT NULL,
	from_ms bigint NOT NULL,
	to_ms bigint NOT NULL,
	cause text COLLATE "C" NOT NULL,
	nodes bigint NOT NULL,
	lost_steps bigint NOT NULL,
	redone_ms bigint NOT NULL,
	restart_ms bigint NOT NULL,
	PRIMARY KEY (job_id, position)
);
CREATE INDEX goodput_breaks_by_time ON goodput_breaks (from_ms);

CREATE TABLE status_messages (
	job_id bigint NOT NULL,
	at_ms bigint NOT NULL,
	status text COLLATE "C" NOT NULL,
	message text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, at_ms, status)
);

CREATE TABLE fleet_jobs (
	job_id bigint NOT NULL,
	status text COLLATE "C" NOT NULL,
	instance_type text COLLATE "C" NOT NULL,
	nodes bigint NOT NULL,
	started_ms bigint NOT NULL,
	ended_ms bigint NOT NULL,
	paused_ms bigint NOT NULL DEFAULT 0,
	unbilled_ms bigint NOT NULL DEFAULT 0,
	billed_ms bigint NOT NULL DEFAULT -1,
	PRIMARY KEY (job_id)
);
CREATE INDEX fleet_jobs_live ON fleet_jobs (started_ms) WHERE ended_ms = 0;
CREATE INDEX fleet_jobs_nodes ON fleet_jobs (nodes) WHERE ended_ms = 0;
CREATE INDEX fleet_jobs_open ON fleet_jobs (started_ms) WHERE ended_ms = 0 AND billed_ms < 0;
CREATE INDEX fleet_jobs_over ON fleet_jobs (billed_ms) WHERE ended_ms = 0;

CREATE TABLE fleet_totals (
	name text COLLATE "C" NOT NULL,
	instance_type text COLLATE "C" NOT NULL,
	value bigint NOT NULL,
	highest bigint NOT NULL,
	highest_ms bigint NOT NULL,
	PRIMARY KEY (name, instance_type)
);

CREATE TABLE quotas (
	name text COLLATE "C" NOT NULL,
	instance_type text COLLATE "C" NOT NULL,
	configured bigint NOT NULL,
	PRIMARY KEY (name, instance_type)
);

CREATE TABLE log_groups (
	job_id bigint NOT NULL,
	created_ms bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE log_streams (
	job_id bigint NOT NULL,
	stream text COLLATE "C" NOT NULL,
	suffix text COLLATE "C" NOT NULL,
	created_ms bigint NOT NULL,
	first_line bigint NOT NULL,
	PRIMARY KEY (job_id, stream)
);

CREATE TABLE notices (
	webhook_id bigint NOT NULL,
	job_id bigint NOT NULL,
	group_id bigint NOT NULL,
	harm bigint NOT NULL,
	incident_id bigint NOT NULL,
	rule_id bigint NOT NULL,
	state bigint NOT NULL,
	severity bigint NOT NULL,
	due_ms bigint NOT NULL,
	told_ms bigint NOT NULL,
	is_standing bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (webhook_id, job_id, group_id, harm)
);
CREATE INDEX notices_by_job ON notices (job_id);
CREATE INDEX notices_by_time ON notices (told_ms);
CREATE INDEX notices_due ON notices (due_ms, webhook_id) WHERE state < 2;

CREATE TABLE audit (
	entry_id bigint NOT NULL,
	end_bytes bigint NOT NULL,
	time_ms bigint NOT NULL,
	token text COLLATE "C" NOT NULL,
	team text COLLATE "C" NOT NULL,
	address text COLLATE "C" NOT NULL,
	verb text COLLATE "C" NOT NULL,
	object text COLLATE "C" NOT NULL,
	before text COLLATE "C" NOT NULL,
	after text COLLATE "C" NOT NULL,
	PRIMARY KEY (entry_id)
);
CREATE INDEX audit_by_end ON audit (end_bytes);

CREATE TABLE stream_hosts (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	number bigint NOT NULL,
	from_line bigint NOT NULL,
	from_ms bigint NOT NULL,
	since_ms bigint NOT NULL,
	until_ms bigint NOT NULL,
	host text COLLATE "C" NOT NULL,
	is_shared bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id, number)
);
CREATE INDEX stream_hosts_by_host ON stream_hosts (host, since_ms);

CREATE TABLE told (
	job_id bigint NOT NULL,
	source bigint NOT NULL,
	start_ms bigint NOT NULL,
	status text COLLATE "C" NOT NULL,
	message text COLLATE "C" NOT NULL,
	reason text COLLATE "C" NOT NULL,
	is_whole bigint NOT NULL,
	lifts_ms bigint NOT NULL,
	is_undated bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (job_id, source, start_ms, status)
);

CREATE TABLE sessions (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	opened_ms bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);

CREATE TABLE told_anew (
	job_id bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE due_definitions (
	job_id bigint NOT NULL,
	PRIMARY KEY (job_id)
);

CREATE TABLE goodput_deleted (
	day bigint NOT NULL,
	currency text COLLATE "C" NOT NULL,
	cost bigint NOT NULL,
	lost_cost bigint NOT NULL,
	billed bigint NOT NULL DEFAULT 0,
	PRIMARY KEY (day, currency)
);

CREATE TABLE hosts_by_hand (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	host text COLLATE "C" NOT NULL,
	PRIMARY KEY (job_id, stream_id)
);

CREATE TABLE told_hosts (
	job_id bigint NOT NULL,
	stream_id bigint NOT NULL,
	number bigint NOT NULL,
	from_line bigint NOT NULL,
	from_ms bigint NOT NULL,
	since_ms bigint NOT NULL,
	until_ms bigint NOT NULL,
	host text COLLATE "C" NOT NULL,
	is_shared bigint NOT NULL,
	PRIMARY KEY (job_id, stream_id, number)
);

INSERT INTO settings (key, value) VALUES
	('goodput.sweep', convert_to('0', 'UTF8')),
	('min_reader', convert_to('42', 'UTF8'));
INSERT INTO counters (name, last) VALUES
	('delivery', 0),
	('job', 0),
	('pool_change', 0),
	('rule', 1),
	('search', 0),
	('token', 0),
	('webhook', 0);
INSERT INTO rules (rule_id, team, name, document, since_seq, modified_ms) VALUES
	(1, '', 'default', '{"name":"default"}', 0, 0);
