-- What a webhook was told of a group of incidents is told by kind of harm: a NaN after a spike is news. Attempts of a training are causes apart.

ALTER TABLE incidents ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0; -- of the stream when it opened; 0: not known

CREATE TABLE notices_by_harm (
	webhook_id INTEGER NOT NULL,
	job_id INTEGER NOT NULL,
	group_id INTEGER NOT NULL, -- incident_id of the group's first
	harm INTEGER NOT NULL, -- the kind of incident that stands for the harm
	incident_id INTEGER NOT NULL, -- of the group: the one that was told, or will be
	rule_id INTEGER NOT NULL,
	state INTEGER NOT NULL, -- enum notice_state
	severity INTEGER NOT NULL, -- the highest told, or to be told
	due_ms INTEGER NOT NULL,
	told_ms INTEGER NOT NULL,
	is_standing INTEGER NOT NULL DEFAULT 0, -- an opening was told whose end was not
	PRIMARY KEY (webhook_id, job_id, group_id, harm)
) STRICT, WITHOUT ROWID;
-- grad_spike is of the harm of loss_spike, straggler of that of throughput_drop
INSERT INTO notices_by_harm (webhook_id, job_id, group_id, harm, incident_id, rule_id, state, severity, due_ms, told_ms, is_standing)
	SELECT n.webhook_id, n.job_id, n.group_id, CASE i.kind WHEN 6 THEN 0 WHEN 11 THEN 7 ELSE coalesce(i.kind, 0) END,
		n.group_id, n.rule_id, n.state, n.severity, n.due_ms, n.told_ms, n.state = 2
	FROM notices AS n LEFT JOIN incidents AS i ON i.job_id = n.job_id AND i.incident_id = n.group_id;
DROP TABLE notices;
ALTER TABLE notices_by_harm RENAME TO notices;
CREATE INDEX notices_due ON notices (due_ms, webhook_id) WHERE state < 2; -- waiting, held
CREATE INDEX notices_by_job ON notices (job_id);
CREATE INDEX notices_by_time ON notices (told_ms);
