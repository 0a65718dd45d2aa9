-- Streams keep the last readings of histograms and summaries, and the journal has their sums and counts together: in forms that
-- an older program does not know.
UPDATE settings SET value = CAST('32' AS BLOB) WHERE key = 'min_reader';
