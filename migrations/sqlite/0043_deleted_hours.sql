-- Hours of deleted jobs have a price in the currency that they were priced in, and in no other: the fleet's days count them as
-- without one while the list is in another. 0: deleted before this, or (by older programs) since.
ALTER TABLE goodput_deleted ADD COLUMN billed INTEGER NOT NULL DEFAULT 0; -- node-milliseconds
