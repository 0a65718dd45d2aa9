#include "store/sqlite/sqlite_store.h"

#include "base/embedded.h"

#include <stdio.h>

/* migrations/sqlite, sorted: NNNN_what.sql. */
extern const struct embedded_file embedded_migrations[];

static enum status number_of(const struct embedded_file *file, int64_t *number, struct error *err)
{
	struct span rest = span_from(file->name), digits;

	if (!span_next(&rest, '_', &digits) || !span_parse_i64(digits, number) || *number < 1)
		return error_set(err, ERR_INTERNAL, "migration '%s' is not called NNNN_what.sql", file->name);
	return OK;
}

enum status migrate_shape(struct store_reader *on, struct error *err)
{
	/* Of a database with tables neither of these changes anything. */
	return connection_run(on, "PRAGMA page_size=8192; PRAGMA auto_vacuum=INCREMENTAL", err);
}

/* A program may use a newer database whose changes only added: min_reader says from which version on. */
static enum status check_newer(struct store_reader *on, int64_t has, int64_t known, struct error *err)
{
	int64_t min_reader = has;

	/* A database of another program has no such table; then the text below is right, too. */
	if (connection_number(on, "SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM settings WHERE key = 'min_reader'",
		    &min_reader, NULL) != OK)
		min_reader = has;
	if (min_reader <= known)
		return OK;
	return error_set(err, ERR_UNSUPPORTED,
		"database '%s' has version %lld, this program knows up to %lld: start a newer one, or restore an older backup",
		on->path, (long long)has, (long long)known);
}

static enum status apply(struct store_reader *on, const struct embedded_file *file, int64_t number, struct error *err)
{
	char version[64];

	snprintf(version, sizeof version, "PRAGMA user_version=%lld", (long long)number);
	TRY(connection_run(on, "BEGIN IMMEDIATE", err));
	enum status status = connection_run(on, file->bytes, err);
	if (status == OK)
		status = connection_run(on, version, err);
	if (status == OK)
		status = connection_run(on, "COMMIT", err);
	if (status != OK) {
		error_prefix(err, "migration '%s'", file->name);
		if (!sqlite3_get_autocommit(on->db))
			sqlite3_exec(on->db, "ROLLBACK", NULL, NULL, NULL);
	}
	return status;
}

enum status migrate(struct store_reader *on, struct error *err)
{
	int64_t has = 0, number = 0;

	TRY(connection_number(on, "PRAGMA user_version", &has, err));
	for (const struct embedded_file *file = embedded_migrations; file->name; file++) {
		TRY(number_of(file, &number, err));
		if (number > has)
			TRY(apply(on, file, number, err));
	}
	return has > number ? check_newer(on, has, number, err) : OK;
}
