-- From when to when what the log of a run's job prints is of later runs of the same training, which are jobs of their own: the run had ended when
-- they began. 0: there is no such time; it is so still. And how many of them have not ended.
ALTER TABLE tracked_runs ADD COLUMN log_lent_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tracked_runs ADD COLUMN log_lent_until_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tracked_runs ADD COLUMN log_lent_runs INTEGER NOT NULL DEFAULT 0;
