/* Tokens and settings: what the server itself needs to remember. */
#include "store/driver/rows.h"
#include "store/driver/statement.h"
#include "store/tokens.h"

static const struct row_field fields[] = {FIELD(struct token_row, token_id), FIELD(struct token_row, name),
	FIELD_BLOB(struct token_row, hash), FIELD(struct token_row, scope), FIELD(struct token_row, team),
	FIELD(struct token_row, created_ms), FIELD(struct token_row, rate_requests),
	FIELD(struct token_row, rate_bytes)};

enum status store_put_token(struct store_tx *tx, struct token_row *row, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	struct token_row put = *row;
	size_t changed;

	if (!put.token_id)
		TRY(next_id(tx, "token", &put.token_id, err));
	TRY(statement_open(&s, store_tx_reader(tx),
		row->token_id
			? "UPDATE tokens SET name = ?2, hash = ?3, scope = ?4, team = ?5, created_ms = ?6, rate_requests = ?7,"
			  " rate_bytes = ?8 WHERE token_id = ?1"
			: "INSERT INTO tokens (token_id, name, hash, scope, team, created_ms, rate_requests, rate_bytes)"
			  " VALUES (?,?,?,?,?,?,?,?) ON CONFLICT (name) DO NOTHING",
		err));
	row_bind(&s, ROWS(fields, struct token_row), &put);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	if (!changed)
		return row->token_id
			       ? error_set(
					 err, ERR_NOT_FOUND, "there is no token '%.*s' any more", SPAN_ARGS(row->name))
			       : error_set(err, ERR_CONFLICT, "there is a token '%.*s' already", SPAN_ARGS(row->name));
	row->token_id = put.token_id;
	return OK;
}

enum status store_read_tokens(
	struct store_reader *reader, struct arena *arena, struct token_row **out, size_t *count, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, reader,
		"SELECT token_id, name, hash, scope, team, created_ms, rate_requests, rate_bytes FROM tokens ORDER BY token_id",
		err));
	return rows_read(&s, arena, ROWS(fields, struct token_row), out, count, err);
}

enum status store_delete_token(struct store_tx *tx, struct span name, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	size_t changed;

	TRY(statement_open(&s, store_tx_reader(tx), "DELETE FROM tokens WHERE name = ?", err));
	bind_text(&s, name);
	TRY(statement_run(&s, err));
	TRY(tx_changed_rows(tx, &changed, err));
	return changed ? OK : error_set(err, ERR_NOT_FOUND, "there is no token '%.*s'", SPAN_ARGS(name));
}

enum status store_put_setting(struct store_tx *tx, const char *key, struct span value, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, store_tx_reader(tx),
		"INSERT INTO settings (key, value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		err));
	bind_text(&s, span_from(key));
	bind_blob(&s, value);
	return statement_run(&s, err);
}

enum status store_read_setting(
	struct store_reader *reader, struct arena *arena, const char *key, struct span *value, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, reader, "SELECT value FROM settings WHERE key = ?", err));
	bind_text(&s, span_from(key));
	TRY(statement_step(&s, &has_row, err));
	struct span bytes = has_row ? column_span(&s, arena) : SPAN("");
	TRY(statement_check(&s, err));
	*value = bytes;
	return OK;
}
