-- A webhook may want the report each day at a time of day.
ALTER TABLE webhooks ADD COLUMN report_at TEXT NOT NULL DEFAULT ''; -- "07:30"; '': none
ALTER TABLE webhooks ADD COLUMN report_tz TEXT NOT NULL DEFAULT ''; -- of the IANA data base; '': UTC
ALTER TABLE webhooks ADD COLUMN report_due_ms INTEGER NOT NULL DEFAULT 0; -- when the next one is to be written; 0: never
