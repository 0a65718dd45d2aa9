-- Limits of one token; 0: those of the options.

ALTER TABLE tokens ADD COLUMN rate_requests INTEGER NOT NULL DEFAULT 0; -- a second
ALTER TABLE tokens ADD COLUMN rate_bytes INTEGER NOT NULL DEFAULT 0; -- a second
