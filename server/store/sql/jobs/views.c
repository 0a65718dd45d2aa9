#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/views.h"

static const struct row_field fields[] = {FIELD(struct view_row, team), FIELD(struct view_row, owner),
	FIELD(struct view_row, name), FIELD(struct view_row, query), FIELD(struct view_row, sort),
	FIELD(struct view_row, columns), FIELD(struct view_row, modified_ms)};

static enum status count_views(struct store_tx *tx, const struct view_row *row, uint64_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, store_tx_reader(tx),
		"SELECT count(*) FROM views WHERE team = ?1 AND owner = ?2 AND name <> ?3", err));
	bind_text(&s, row->team);
	bind_text(&s, row->owner);
	bind_text(&s, row->name);
	TRY(statement_step(&s, &has_row, err));
	*count = column_u64(&s);
	return OK;
}

enum status store_put_view(struct store_tx *tx, const struct view_row *row, uint64_t most, struct error *err)
{
	uint64_t count;

	TRY(count_views(tx, row, &count, err));
	if (count >= most)
		return error_set(err, ERR_TOO_LARGE,
			"there are %llu views already (--max-views); delete one that nobody needs",
			(unsigned long long)count);
	return row_put(tx,
		"INSERT INTO views (team, owner, name, query, sort, columns, modified_ms) VALUES (?,?,?,?,?,?,?)"
		" ON CONFLICT (team, owner, name) DO UPDATE SET query = excluded.query, sort = excluded.sort,"
		" columns = excluded.columns, modified_ms = excluded.modified_ms",
		ROWS(fields, struct view_row), row, err);
}

enum status store_read_views(struct store_reader *reader, struct arena *arena, struct span team, struct span owner,
	struct view_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT team, owner, name, query, sort, columns, modified_ms FROM views"
		" WHERE team = ?1 AND owner IN ('', ?2) ORDER BY name, owner",
		err));
	bind_text(&s, team);
	bind_text(&s, owner);
	return rows_read(&s, arena, ROWS(fields, struct view_row), out, count, err);
}

enum status store_delete_view(
	struct store_tx *tx, struct span team, struct span owner, struct span name, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t changed;

	TRY(statement_open(
		&s, store_tx_reader(tx), "DELETE FROM views WHERE team = ? AND owner = ? AND name = ?", err));
	bind_text(&s, team);
	bind_text(&s, owner);
	bind_text(&s, name);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set_field(err, ERR_NOT_FOUND, "name", "there is no view '%.*s'", SPAN_ARGS(name));
}
