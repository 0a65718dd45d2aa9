-- What of a day's cost is of machines that were counted, because nobody stated how many there are.
ALTER TABLE goodput_days ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0; -- node-milliseconds that are billed and have a price
ALTER TABLE goodput_totals ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;

-- All jobs that are there are to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
