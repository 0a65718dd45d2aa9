-- What breaks a training off is told apart better, and a start set by hand leaves out the steps before it: all jobs that are there are
-- to be worked out anew, from this number on.
INSERT OR REPLACE INTO settings (key, value) VALUES ('goodput.sweep', CAST('0' AS BLOB));
