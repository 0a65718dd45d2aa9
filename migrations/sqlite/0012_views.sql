-- Saved views of the list of jobs: a query with its order and columns, under a name.

CREATE TABLE views (
	team TEXT NOT NULL, -- whose it is; '': of those who have no team
	owner TEXT NOT NULL, -- the name of a token; '': the whole team's
	name TEXT NOT NULL,
	query TEXT NOT NULL,
	sort TEXT NOT NULL,
	columns TEXT NOT NULL, -- JSON array of strings
	modified_ms INTEGER NOT NULL,
	PRIMARY KEY (team, owner, name)
) STRICT, WITHOUT ROWID;
