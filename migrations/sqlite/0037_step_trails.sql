-- Which lines go on with the steps of a definition that is silent is kept in the states of streams: older programs cannot read those.
UPDATE settings SET value = CAST('37' AS BLOB) WHERE key = 'min_reader';
