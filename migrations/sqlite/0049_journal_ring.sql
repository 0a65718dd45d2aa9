-- With PostgreSQL a record of the journal is in parts, which lie in one of four slots. A file has it in one, as before.
ALTER TABLE journal ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
ALTER TABLE journal ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;
