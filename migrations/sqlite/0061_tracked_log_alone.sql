-- From when to when what the log of a run's job prints is told by no tracker: the run had ended, and sm-ship's training went on. 0: there is no
-- such time; it is so still. Shared: the training has begun another run, which is a job of its own, and there will be no such time again.
ALTER TABLE tracked_runs ADD COLUMN log_alone_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tracked_runs ADD COLUMN log_alone_until_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tracked_runs ADD COLUMN log_is_shared INTEGER NOT NULL DEFAULT 0;
