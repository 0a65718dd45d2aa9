-- Rules, groups of incidents of one cause, what each webhook was told of them, and what a webhook wants beside incidents.

CREATE TABLE rules (
	rule_id INTEGER NOT NULL PRIMARY KEY,
	team TEXT NOT NULL, -- '': of all jobs
	name TEXT NOT NULL,
	document TEXT NOT NULL, -- JSON, as it was given and checked
	since_seq INTEGER NOT NULL, -- its expression sees what was committed after it
	modified_ms INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX rules_by_name ON rules (team, name);
-- What holds with no configuration: everything that a detector says goes to every webhook that wants its severity.
INSERT INTO rules (rule_id, team, name, document, since_seq, modified_ms) VALUES (1, '', 'default', '{"name":"default"}', 0, 0);
INSERT INTO counters (name, last) VALUES ('rule', 1);

ALTER TABLE incidents ADD COLUMN rule_id INTEGER NOT NULL DEFAULT 0; -- whose expression it is; 0: a detector's
ALTER TABLE incidents ADD COLUMN cause_id INTEGER NOT NULL DEFAULT 0; -- the incident of the same job that came first; 0: itself
ALTER TABLE incidents ADD COLUMN fold_id INTEGER NOT NULL DEFAULT 0; -- of these, the one of its own kind and metric in which it is shown; 0: itself
ALTER TABLE incidents ADD COLUMN muted_until_ms INTEGER NOT NULL DEFAULT 0;
DROP INDEX incidents_by_key;
CREATE UNIQUE INDEX incidents_by_key ON incidents (job_id, series_id, kind, opened_ordinal, rule_id);
CREATE INDEX incidents_first ON incidents (job_id, opened_ms) WHERE cause_id = 0;
CREATE INDEX incidents_by_fold ON incidents (job_id, fold_id, incident_id) WHERE fold_id <> 0;
CREATE INDEX incidents_by_cause ON incidents (job_id, cause_id, incident_id) WHERE cause_id <> 0;
CREATE INDEX incidents_muted ON incidents (job_id, kind) WHERE muted_until_ms <> 0;

ALTER TABLE webhooks ADD COLUMN events TEXT NOT NULL DEFAULT 'incident'; -- names with spaces between
ALTER TABLE webhooks ADD COLUMN heartbeat_ms INTEGER NOT NULL DEFAULT 0; -- 0: none
ALTER TABLE webhooks ADD COLUMN beat_ms INTEGER NOT NULL DEFAULT 0; -- when the last one was written
ALTER TABLE webhooks ADD COLUMN per_minute INTEGER NOT NULL DEFAULT 20; -- more are held and told in one

-- What a webhook was told, or will be, of a group of incidents: at most one opening and one recovery.
CREATE TABLE notices (
	webhook_id INTEGER NOT NULL,
	job_id INTEGER NOT NULL,
	group_id INTEGER NOT NULL, -- incident_id of the group's first
	rule_id INTEGER NOT NULL,
	state INTEGER NOT NULL, -- enum notice_state
	severity INTEGER NOT NULL, -- told, or to be told
	due_ms INTEGER NOT NULL,
	told_ms INTEGER NOT NULL,
	PRIMARY KEY (webhook_id, job_id, group_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX notices_due ON notices (due_ms, webhook_id) WHERE state < 2; -- waiting, held
CREATE INDEX notices_by_job ON notices (job_id);
CREATE INDEX notices_by_time ON notices (told_ms);

-- One pending message a webhook is under way at a time: each webhook's next is looked up.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_next ON deliveries (webhook_id, next_ms, delivery_id) WHERE state = 0;
CREATE INDEX deliveries_by_time ON deliveries (webhook_id, created_ms);
