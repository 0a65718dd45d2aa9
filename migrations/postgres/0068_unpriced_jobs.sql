-- How many jobs there are without a price: kept like the fleet's other sums, where each request for /metrics counted them. No row: none.
DELETE FROM fleet_totals WHERE name = 'unpriced_jobs';
INSERT INTO fleet_totals (name, instance_type, value, highest, highest_ms)
	SELECT 'unpriced_jobs', '', count(*), 0, 0 FROM goodput WHERE unpriced <> '' AND job_id NOT IN (SELECT job_id FROM trashed_jobs)
	HAVING count(*) > 0;
-- What jobs cost in another currency than the list's: few, if any, of those without a price.
CREATE INDEX IF NOT EXISTS goodput_by_other_currency ON goodput (currency) WHERE unpriced <> '' AND cost IS NOT NULL;

-- Older programs would not count.
UPDATE settings SET value = convert_to('68', 'UTF8') WHERE key = 'min_reader';
