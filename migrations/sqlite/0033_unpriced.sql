-- Whose type has no price: a sum of costs says what it leaves out.
ALTER TABLE goodput ADD COLUMN unpriced TEXT NOT NULL DEFAULT ''; -- instance types, spaces between them; '': all have a price
CREATE INDEX goodput_by_unpriced ON goodput (unpriced) WHERE unpriced <> '';
ALTER TABLE goodput_days ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0; -- node-milliseconds that are billed and have no price
ALTER TABLE goodput_totals ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
