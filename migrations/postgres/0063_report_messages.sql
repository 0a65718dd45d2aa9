-- A webhook may want the report each day at a time of day.
ALTER TABLE webhooks ADD COLUMN report_at text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN report_tz text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE webhooks ADD COLUMN report_due_ms bigint NOT NULL DEFAULT 0;
