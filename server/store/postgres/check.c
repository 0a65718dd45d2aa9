/* What a check can ask of a PostgreSQL server: whether the tables are those of the version, and what the server knows to be broken. */
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/postgres/postgres_store.h"

enum { SHAPE_BYTES_MAX = 1 << 20 };

static enum status list(struct store_reader *reader, const char *sql, struct buf *out, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool has_row;

	TRY(statement_open_once(&s, reader, span_from(sql), err));
	TRY(statement_step(&s, &has_row, err));
	while (has_row) {
		buf_append_span(out, column_borrow(&s));
		buf_append_char(out, '\n');
		TRY(statement_check(&s, err));
		TRY(statement_step(&s, &has_row, err));
	}
	return buf_status(out, err);
}

/* The lease's two tables are this database's alone. */
static const char SHAPE[] =
	"SELECT v.line FROM (SELECT 'table ' || c.relname || '.' || a.attname AS line FROM pg_class AS c"
	" JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
	" WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relname NOT IN ('lease', 'fence')"
	" UNION ALL SELECT 'index ' || c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
	" WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisprimary) AS v ORDER BY v.line COLLATE \"C\"";

enum status postgres_check_schema(struct store_reader *reader, struct buf *problem, struct error *err)
{
	AUTO_DONE(buf) has = BUF_INIT(SHAPE_BYTES_MAX);
	int64_t version;

	TRY(postgres_read_version(reader, &version, err));
	TRY(list(reader, SHAPE, &has, err));
	return check_shape(version, buf_span(&has), problem, err);
}

/* Its own pages only the server can read as such: pg_amcheck does, beside it. */
static const char BROKEN[] =
	"SELECT 'index ' || c.relname || ' is not valid: REINDEX it' FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
	" WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid"
	" UNION ALL SELECT checksum_failures || ' pages of the database had a wrong checksum, the last at ' || checksum_last_failure"
	" FROM pg_stat_database WHERE datname = current_database() AND checksum_failures > 0";

enum status postgres_check_pages(struct store_reader *reader, bool is_quick, bool is_online,
	bool (*tell)(void *context, struct span text), void *context, struct error *err)
{
	AUTO_DONE(buf) broken = BUF_INIT(SHAPE_BYTES_MAX);
	struct span rest, line;

	(void)is_quick;
	(void)is_online;
	TRY(list(reader, BROKEN, &broken, err));
	rest = buf_span(&broken);
	while (span_next(&rest, '\n', &line) && line.len)
		if (!tell(context, line))
			return OK;
	return OK;
}
