#include "store/workspaces.h"
#include "store/driver/rows.h"
#include "store/driver/statement.h"

static const struct row_field fields[] = {FIELD(struct workspace_row, team), FIELD(struct workspace_row, name),
	FIELD(struct workspace_row, title), FIELD(struct workspace_row, panels), FIELD(struct workspace_row, revision),
	FIELD(struct workspace_row, author), FIELD(struct workspace_row, modified_ms),
	FIELD(struct workspace_row, document)};

static enum status not_found(struct span name, struct error *err)
{
	return error_set_field(err, ERR_NOT_FOUND, "name", "there is no workspace '%.*s'", SPAN_ARGS(name));
}

/* *revision: 0 when there is none. */
static enum status read_revision(
	struct store_tx *tx, struct span team, struct span name, int64_t *revision, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(
		&s, store_tx_reader(tx), "SELECT revision FROM workspaces WHERE team = ? AND name = ?", err));
	bind_text(&s, team);
	bind_text(&s, name);
	TRY(statement_step(&s, &has_row, err));
	*revision = has_row ? column_i64(&s) : 0;
	return OK;
}

static enum status check_from(
	struct span name, int64_t is, enum workspace_from from, int64_t revision, struct error *err)
{
	if (from == WORKSPACE_FROM_NONE && is)
		return error_set_field(err, ERR_PRECONDITION, "name",
			"there is a workspace '%.*s' already, and If-None-Match: * allows none", SPAN_ARGS(name));
	if (from == WORKSPACE_FROM_REVISION && is != revision)
		return error_set_field(err, ERR_PRECONDITION, "name",
			"the workspace '%.*s' was %s since it was read: If-Match names an ETag that it no longer has",
			SPAN_ARGS(name), is ? "saved by somebody else" : "deleted");
	return OK;
}

static enum status check_room(struct store_tx *tx, struct span team, uint64_t most, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, store_tx_reader(tx), "SELECT count(*) FROM workspaces WHERE team = ?", err));
	bind_text(&s, team);
	TRY(statement_step(&s, &has_row, err));
	uint64_t count = column_u64(&s);
	if (count < most)
		return OK;
	return error_set(err, ERR_TOO_LARGE,
		"there are %llu workspaces already (--max-workspaces); delete one that nobody needs",
		(unsigned long long)count);
}

enum status store_put_workspace(struct store_tx *tx, struct workspace_row *row, enum workspace_from from,
	int64_t revision, uint64_t most, struct error *err)
{
	int64_t is;

	TRY(read_revision(tx, row->team, row->name, &is, err));
	TRY(check_from(row->name, is, from, revision, err));
	if (!is)
		TRY(check_room(tx, row->team, most, err));
	TRY(next_id(tx, "workspace", &row->revision, err));
	return row_put(tx,
		"INSERT INTO workspaces (team, name, title, panels, revision, author, modified_ms, document)"
		" VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (team, name) DO UPDATE SET title = excluded.title,"
		" panels = excluded.panels, revision = excluded.revision, author = excluded.author,"
		" modified_ms = excluded.modified_ms, document = excluded.document",
		ROWS(fields, struct workspace_row), row, err);
}

enum status store_read_workspaces(struct store_reader *reader, struct arena *arena, struct span team,
	struct workspace_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT team, name, title, panels, revision, author, modified_ms, '' FROM workspaces WHERE team = ?"
		" ORDER BY name",
		err));
	bind_text(&s, team);
	return rows_read(&s, arena, ROWS(fields, struct workspace_row), out, count, err);
}

enum status store_read_workspace(struct store_reader *reader, struct arena *arena, struct span team, struct span name,
	struct workspace_row *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_there;

	*out = (struct workspace_row){0};
	TRY(statement_open(&s, reader,
		"SELECT team, name, title, panels, revision, author, modified_ms, document FROM workspaces"
		" WHERE team = ? AND name = ?",
		err));
	bind_text(&s, team);
	bind_text(&s, name);
	TRY(row_read(&s, arena, ROWS(fields, struct workspace_row), out, &is_there, err));
	return is_there ? OK : not_found(name, err);
}

enum status store_delete_workspace(struct store_tx *tx, struct span team, struct span name, enum workspace_from from,
	int64_t revision, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	int64_t is;

	TRY(read_revision(tx, team, name, &is, err));
	if (!is)
		return not_found(name, err);
	TRY(check_from(name, is, from, revision, err));
	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM workspaces WHERE team = ? AND name = ?", err));
	bind_text(&s, team);
	bind_text(&s, name);
	return statement_run(&s, err);
}
