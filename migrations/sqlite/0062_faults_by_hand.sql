-- A fault that somebody says is not the machine's: why; '': nobody does, and it counts.
ALTER TABLE node_faults ADD COLUMN cleared TEXT NOT NULL DEFAULT '';
