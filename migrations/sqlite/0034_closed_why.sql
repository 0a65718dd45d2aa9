-- Why an incident is not open any more; 0: it came to its end, 1: its job ended.
ALTER TABLE incidents ADD COLUMN closed_why INTEGER NOT NULL DEFAULT 0;
