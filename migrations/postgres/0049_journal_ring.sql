-- The journal is a ring of four partitions, which are emptied whole, and a record is in parts. Older programs read one part alone.
UPDATE settings SET value = convert_to('49', 'UTF8') WHERE key = 'min_reader';
ALTER TABLE journal RENAME TO journal_before;
ALTER INDEX journal_pkey RENAME TO journal_before_pkey;
CREATE TABLE journal (
	seq bigint NOT NULL,
	record bytea NOT NULL, -- at most 512 KiB
	part bigint DEFAULT 0 NOT NULL, -- of the record, from 0
	slot bigint DEFAULT 0 NOT NULL, -- which partition; all parts of a record are in one
	PRIMARY KEY (seq, part, slot)
) PARTITION BY LIST (slot);
ALTER TABLE journal ALTER COLUMN record SET STORAGE EXTERNAL;
-- Nothing in them lives long enough to be frozen.
CREATE TABLE journal_0 PARTITION OF journal FOR VALUES IN (0)
	WITH (autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
CREATE TABLE journal_1 PARTITION OF journal FOR VALUES IN (1)
	WITH (autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
CREATE TABLE journal_2 PARTITION OF journal FOR VALUES IN (2)
	WITH (autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
CREATE TABLE journal_3 PARTITION OF journal FOR VALUES IN (3)
	WITH (autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_vacuum_insert_threshold = -1);
INSERT INTO journal (seq, record, part, slot)
	SELECT b.seq, substring(b.record FROM CAST(p.part AS integer) * 524288 + 1 FOR 524288), p.part, 0
	FROM journal_before AS b, generate_series(0, greatest((length(b.record) - 1) / 524288, 0)) AS p (part);
DROP TABLE journal_before;
