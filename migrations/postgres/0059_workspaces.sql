-- Workspaces of the page: panels over the jobs of queries, under a name of the team's.
CREATE TABLE workspaces (
	team text COLLATE "C" NOT NULL, -- whose it is; '': of those who have no team
	name text COLLATE "C" NOT NULL,
	title text COLLATE "C" NOT NULL, -- of the document, as is the number of its panels
	panels bigint NOT NULL,
	revision bigint NOT NULL, -- another one with each save, of all workspaces: an ETag
	author text COLLATE "C" NOT NULL, -- the token's name; '' without tokens
	modified_ms bigint NOT NULL,
	document text COLLATE "C" NOT NULL, -- JSON (docs/workspace.md)
	PRIMARY KEY (team, name)
);
INSERT INTO counters (name, last) VALUES ('workspace', 0) ON CONFLICT (name) DO NOTHING;
-- The states of streams have a form and a measure that older programs cannot read (server/extract/derive.c).
UPDATE settings SET value = convert_to('59', 'UTF8') WHERE key = 'min_reader';
