-- Workspaces of the page: panels over the jobs of queries, under a name of the team's.
CREATE TABLE workspaces (
	team TEXT NOT NULL, -- whose it is; '': of those who have no team
	name TEXT NOT NULL,
	title TEXT NOT NULL, -- of the document, as is the number of its panels
	panels INTEGER NOT NULL,
	revision INTEGER NOT NULL, -- another one with each save, of all workspaces: an ETag
	author TEXT NOT NULL, -- the token's name; '' without tokens
	modified_ms INTEGER NOT NULL,
	document TEXT NOT NULL, -- JSON (docs/workspace.md)
	PRIMARY KEY (team, name)
) STRICT;
INSERT INTO counters (name, last) VALUES ('workspace', 0) ON CONFLICT (name) DO NOTHING;
-- The states of streams have a form and a measure that older programs cannot read (server/extract/derive.c).
UPDATE settings SET value = CAST('59' AS BLOB) WHERE key = 'min_reader';
