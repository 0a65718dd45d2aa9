-- What the next version of this program changes, for tests of an upgrade: programs before it would misread what it writes.
CREATE TABLE next_version (one bigint PRIMARY KEY);
INSERT INTO next_version (one) VALUES (1);
UPDATE settings SET value = convert_to('9000', 'UTF8') WHERE key = 'min_reader';
