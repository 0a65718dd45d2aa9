#include "store/postgres/postgres_store.h"

enum { WRITE_LIMIT_MS = 7000, CONNECT_LIMIT_S = 3, SCHEMA_BYTES_MAX = 63, SLOT_BYTES = 16 << 20 };

static void close_all(struct store *closed)
{
	struct postgres_store *store = postgres_store_of(closed);

	postgres_keeper_stop(store->keeper); /* nothing is committed any more */
	store_reader_free(closed->writer);
	postgres_ring_done(&store->ring);
	mem_free(store->target.conninfo);
	mem_free(store->target.label);
	mem_free(store->target.schema);
	mem_free(store);
}

/* It is part of search_path: no name that would have to be quoted. */
static enum status check_schema_name(struct span name, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
	size_t fits = name.len ? strspn(name.ptr, letters) : 0;

	if (name.len && name.len <= SCHEMA_BYTES_MAX && fits == name.len &&
		!(name.ptr[0] >= '0' && name.ptr[0] <= '9') && !span_starts_with(name, SPAN("pg_")))
		return OK;
	return error_set(err, ERR_INVALID,
		"the schema '%.*s' is not 1 to %d of a-z, 0-9 and _, of which the first is no digit, nor begins with pg_",
		SPAN_ARGS(name), SCHEMA_BYTES_MAX);
}

static enum status open_all(struct postgres_store *store, const struct postgres_options *options, struct error *err)
{
	struct postgres_target *target = &store->target;

	TRY(libpq_load(&store->pq, err));
	TRY(postgres_label(store->pq, options->conninfo, &target->label, err));
	TRY(check_schema_name(span_from(options->schema), err));
	target->write_limit_ms = options->write_limit_ms ? options->write_limit_ms : WRITE_LIMIT_MS;
	target->statement_limit_ms = options->statement_limit_ms ? options->statement_limit_ms : target->write_limit_ms;
	target->connect_limit_s = options->connect_limit_s ? options->connect_limit_s : CONNECT_LIMIT_S;
	store->ring.slot_limit_bytes = options->journal_slot_bytes ? options->journal_slot_bytes : SLOT_BYTES;
	target->conninfo = mem_copy_string(options->conninfo);
	target->schema = mem_copy_string(options->schema);
	if (!target->conninfo || !target->schema)
		return error_no_memory(err);
	return postgres_reader_open(&store->head.writer, store, POSTGRES_WRITER, err);
}

enum status postgres_open(struct store **out, const struct postgres_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err)
{
	struct postgres_store *store = mem_zeroed(sizeof *store);

	if (!store)
		return error_no_memory(err);
	store->head.driver = &postgres_driver;
	enum status status = open_all(store, options, err);
	if (status != OK) {
		close_all(&store->head);
		return status;
	}
	store->head.changes = changes;
	store->head.search = search;
	*out = &store->head;
	return OK;
}

static enum status ask_to_join(struct store *store, const struct store_ownership *ownership, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	if (!ownership || !ownership->joins)
		return OK;
	TRY(store_reader_new(&reader, store, err));
	return ownership->joins(ownership->context, reader, err);
}

/* An older schema is the owner's, who works in it: it is brought up to date once it is ours, whoever had it meanwhile. */
static enum status own(struct store *store, const struct postgres_options *options,
	const struct store_ownership *ownership, struct error *err)
{
	TRY(ask_to_join(store, ownership, err));
	TRY(postgres_keeper_start(store, ownership, err));
	return postgres_migrate(options, postgres_store_of(store)->fence.token, err);
}

enum status postgres_open_owned(struct store **out, const struct postgres_options *options,
	const struct store_ownership *ownership, struct job_changes *changes, struct search_cache *search,
	struct error *err)
{
	struct store *store = NULL;

	TRY(postgres_migrate(options, 0, err));
	TRY(postgres_open(&store, options, changes, search, err));
	enum status status = own(store, options, ownership, err);
	if (status == OK)
		*out = store;
	else
		close_all(store);
	return status;
}

static enum status reader_new(struct store_reader **out, struct store *store, bool is_narrow, struct error *err)
{
	TRY(postgres_reader_open(out, postgres_store_of(store), is_narrow ? POSTGRES_NARROW : POSTGRES_READER, err));
	(*out)->store = store;
	return OK;
}

/* ---- a file is what a PostgreSQL database is not ---- */

static enum status checkpoint(struct store *store, bool is_idle, struct error *err)
{
	(void)is_idle; /* the server makes its checkpoints itself */
	return postgres_ring_turn(store, err);
}

static enum status figures(struct store_reader *on, struct store_figures *out, struct error *err)
{
	int64_t bytes, page_bytes;

	TRY(connection_number(on, "SELECT pg_database_size(current_database())", &bytes, err));
	TRY(connection_number(on, "SELECT current_setting('block_size')", &page_bytes, err));
	*out = (struct store_figures){.page_count = (uint64_t)(bytes / page_bytes), .page_bytes = (uint32_t)page_bytes};
	return OK;
}

static enum status vacuum(struct store *store, size_t pages, uint64_t *left, struct error *err)
{
	(void)store;
	(void)pages; /* autovacuum does */
	(void)err;
	*left = 0;
	return OK;
}

static uint64_t owed_bytes(const struct store *store)
{
	(void)store;
	return 0;
}

static enum status disk_room(const struct store *store, uint64_t *free_bytes, uint64_t *size_bytes, struct error *err)
{
	(void)store;
	(void)err;
	*free_bytes = *size_bytes = STORE_FREE_UNKNOWN; /* the disk is the server's, which does not say */
	return OK;
}

/* Without the two of the lease. */
static const char TABLES[] =
	"SELECT c.relname::text, a.attname::text, coalesce(array_position(k.conkey, a.attnum), 0)::bigint"
	" FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
	" LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.contype = 'p'"
	" WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
	" AND c.relname NOT IN ('lease', 'fence') ORDER BY c.relname COLLATE \"C\", a.attnum";

const struct driver postgres_driver = {
	.tables_sql = TABLES,
	.schema_sql = "SELECT quote_ident(current_schema())",
	.narrow_team_sql = "current_setting('smfleet.team', true)",
	.narrow_to = postgres_narrow_to,
	.has_table_sql = "SELECT 1 FROM (SELECT to_regclass(?) AS oid) AS r WHERE r.oid IS NOT NULL",
	.journal_place = postgres_journal_place,
	.check_schema = postgres_check_schema,
	.check_pages = postgres_check_pages,
	.statement_open = postgres_statement_open,
	.statement_open_once = postgres_statement_open_once,
	.statement_done = postgres_statement_done,
	.statement_step = postgres_statement_step,
	.statement_run = postgres_statement_run,
	.statement_again = postgres_statement_again,
	.statement_is_conflict = postgres_statement_is_conflict,
	.statement_parameters = postgres_statement_parameters,
	.statement_columns = postgres_statement_columns,
	.bind_i64 = postgres_bind_i64,
	.bind_text = postgres_bind_text,
	.bind_blob = postgres_bind_blob,
	.bind_null = postgres_bind_null,
	.bind_finite = postgres_bind_finite,
	.bind_pointer = postgres_bind_pointer,
	.column_i64 = postgres_column_i64,
	.column_finite = postgres_column_finite,
	.column_borrow = postgres_column_borrow,
	.column_kind = postgres_column_kind,
	.column_name = postgres_column_name,
	.run = postgres_run,
	.rollback = postgres_rollback,
	.reader_new = reader_new,
	.reader_free = postgres_reader_free,
	.view_begin = postgres_view_begin,
	.ahead_begin = ahead_begin,
	.ahead_end = ahead_end,
	.ahead_drop = ahead_drop,
	.view_is_lost = postgres_view_is_lost,
	.tx_begin = postgres_tx_begin,
	.tx_commit = postgres_tx_commit,
	.tx_savepoint = postgres_tx_savepoint,
	.tx_release = postgres_tx_release,
	.tx_undo = postgres_tx_undo,
	.tx_changed_rows = postgres_tx_changed_rows,
	.close = close_all,
	.look = fence_look,
	.may_write = fence_may_write,
	.checkpoint = checkpoint,
	.figures = figures,
	.vacuum = vacuum,
	.owed_bytes = owed_bytes,
	.disk_room = disk_room,
};
