-- Browsers of people whom an OpenID provider has signed in (server/api/core/person_sessions.h). What they may do is not in it: the rules of
-- --sign-in decide that at each start.
CREATE TABLE people_sessions (
	hash BLOB NOT NULL, -- SHA-256 of the cookie
	provider TEXT NOT NULL,
	person TEXT NOT NULL, -- as the provider names them
	person_groups TEXT NOT NULL, -- a JSON array of texts
	began_ms INTEGER NOT NULL,
	until_ms INTEGER NOT NULL,
	PRIMARY KEY (hash)
) STRICT, WITHOUT ROWID;
