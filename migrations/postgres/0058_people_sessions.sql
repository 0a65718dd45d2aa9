-- Browsers of people whom an OpenID provider has signed in (server/api/core/person_sessions.h). What they may do is not in it: the rules of
-- --sign-in decide that at each start.
CREATE TABLE people_sessions (
	hash bytea NOT NULL, -- SHA-256 of the cookie
	provider text COLLATE "C" NOT NULL,
	person text COLLATE "C" NOT NULL, -- as the provider names them
	person_groups text COLLATE "C" NOT NULL, -- a JSON array of texts
	began_ms bigint NOT NULL,
	until_ms bigint NOT NULL,
	PRIMARY KEY (hash)
);
