/* What a server's role needs in a schema whose tables another role owns. */
#include "store/postgres/postgres_store.h"

enum { GRANTS_BYTES = 2048 };

/* As SQL spells it. Who is not there is no typing error of SQL. */
static enum status quote_role(struct store_reader *on, const char *role, struct buf *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on, "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = ?", err));
	bind_text(&s, span_from(role));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return error_set_field(err, ERR_NOT_FOUND, "runtime-role",
			"database '%s' has no role '%s': CREATE ROLE it first", postgres_reader_of(on)->target->label,
			role);
	buf_append_span(out, column_borrow(&s));
	buf_append_char(out, 0);
	TRY(statement_run(&s, err)); /* to its end: others follow */
	return buf_status(out, err);
}

/* Else PostgreSQL grants nothing, and says OK with a warning. */
static enum status check_is_owner(struct store_reader *on, const char *schema, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open(&s, on,
		"SELECT current_user::text, pg_get_userbyid(c.relowner)::text FROM pg_class AS c"
		" WHERE c.relnamespace = to_regnamespace(?) AND c.relkind IN ('r', 'p') AND NOT pg_has_role(c.relowner, 'USAGE') LIMIT 1",
		err));
	bind_text(&s, span_from(schema));
	TRY(statement_step(&s, &has_row, err));
	if (!has_row)
		return OK;
	struct span role = column_borrow(&s), owner = column_borrow(&s);
	return error_set(err, ERR_FORBIDDEN,
		"role '%.*s' may not grant what is in schema '%s' of database '%s': run this as its owner, '%.*s'",
		SPAN_ARGS(role), schema, postgres_reader_of(on)->target->label, SPAN_ARGS(owner));
}

/* TRUNCATE is what empties a part of the journal. Tables of a later migration are made by the role that works here now. */
static enum status grant(struct store_reader *on, const char *schema, const char *role, struct error *err)
{
	AUTO_DONE(buf) quoted = BUF_INIT(GRANTS_BYTES);
	AUTO_DONE(buf) sql = BUF_INIT(GRANTS_BYTES);

	TRY(check_is_owner(on, schema, err));
	TRY(quote_role(on, role, &quoted, err));
	buf_printf(&sql,
		"GRANT USAGE ON SCHEMA %s TO %s;"
		"GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA %s TO %s;"
		"ALTER DEFAULT PRIVILEGES IN SCHEMA %s GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON TABLES TO %s",
		schema, quoted.ptr, schema, quoted.ptr, schema, quoted.ptr);
	buf_append_char(&sql, 0);
	TRY(buf_status(&sql, err));
	return connection_run(on, sql.ptr, err);
}

static enum status grant_in(struct store *store, const char *schema, const char *role, struct error *err)
{
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, store, err));
	enum status status = grant(store->writer, schema, role, err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

enum status postgres_grant(const struct postgres_options *options, const char *role, struct error *err)
{
	struct store *store = NULL;

	TRY(postgres_open(&store, options, NULL, NULL, err));
	enum status status = grant_in(store, options->schema, role, err);
	database_close(store);
	return status;
}
