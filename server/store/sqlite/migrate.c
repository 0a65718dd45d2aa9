#include "base/file_place.h"
#include "store/driver/connection.h"
#include "store/driver/migrations.h"
#include "store/driver/statement.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

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
		sqlite_reader_of(on)->path, (long long)has, (long long)known);
}

/* ---- a copy from which one can go back ---- */

static enum status check_room(struct store_reader *on, struct error *err)
{
	struct statvfs room;
	struct stat file;

	if (stat(sqlite_reader_of(on)->path, &file) != 0 || statvfs(sqlite_reader_of(on)->path, &room) != 0)
		return error_set(err, ERR_IO, "cannot look at '%s': %s", sqlite_reader_of(on)->path, strerror(errno));
	if ((uint64_t)room.f_bavail * room.f_frsize > (uint64_t)file.st_size)
		return OK;
	return error_set(err, ERR_UNAVAILABLE,
		"there is no room for a copy of '%s' (%lld bytes), which is made before a change that older programs cannot live with: free some, or start with --no-backup",
		sqlite_reader_of(on)->path, (long long)file.st_size);
}

static enum status vacuum_into(struct store_reader *on, const char *path, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on, "VACUUM INTO ?", err));
	bind_text(&s, span_from(path));
	return statement_run(&s, err);
}

/* FILE.before-NNNN, whole or not at all. One that is there is of an earlier try, or of an earlier time: it is made anew. */
static enum status copy_before(struct store_reader *on, int64_t number, struct error *err)
{
	char suffix[64], partial[80];

	snprintf(suffix, sizeof suffix, ".before-%04lld", (long long)number);
	snprintf(partial, sizeof partial, "%s.partial", suffix);
	AUTO_MEM char *path = path_with(sqlite_reader_of(on)->path, suffix);
	AUTO_MEM char *partial_path = path_with(sqlite_reader_of(on)->path, partial);
	if (!path || !partial_path)
		return error_no_memory(err);
	TRY(check_room(on, err));
	TRY(copy_make(partial_path, err));
	enum status status = vacuum_into(on, partial_path, err);
	if (status == OK)
		status = file_put_in_place(partial_path, path, err);
	if (status != OK)
		copy_remove(partial_path);
	return status;
}

/* Rule 5 of migrations/README.md. */
static bool shuts_out_older(const struct embedded_file *file)
{
	return strstr(file->bytes, "UPDATE settings SET value") && strstr(file->bytes, "'min_reader'");
}

/* Within a transaction of the caller's. */
static enum status apply(struct store_reader *on, const struct embedded_file *file, int64_t number, struct error *err)
{
	char version[64];

	snprintf(version, sizeof version, "PRAGMA user_version=%lld", (long long)number);
	enum status status = connection_run(on, file->bytes, err);
	if (status == OK)
		status = connection_run(on, version, err);
	if (status != OK)
		error_prefix(err, "migration '%s'", file->name);
	return status;
}

static enum status apply_alone(
	struct store_reader *on, const struct embedded_file *file, int64_t number, struct error *err)
{
	TRY(connection_run(on, "BEGIN IMMEDIATE", err));
	enum status status = apply(on, file, number, err);
	if (status == OK) {
		status = connection_run(on, "COMMIT", err);
		if (status != OK)
			error_prefix(err, "migration '%s'", file->name);
	}
	if (status != OK)
		connection_rollback(on);
	return status;
}

static enum status next_number(const struct embedded_file *file, int64_t *number, struct error *err)
{
	int64_t before = *number;

	TRY(migration_number(file, number, err));
	return *number != before ? OK
				 : error_set(err, ERR_INVALID, "migration '%s' has the number of another", file->name);
}

static enum status apply_all(struct store_reader *on, struct error *err)
{
	int64_t number = 0;

	for (const struct embedded_file *file = embedded_migrations; file->name; file++) {
		TRY(next_number(file, &number, err));
		TRY(apply(on, file, number, err));
	}
	return OK;
}

/* A new file holds nothing that a step between could keep: all of it or nothing, and the disk is waited for once, not once a file. */
static enum status make_new(struct store_reader *on, struct error *err)
{
	TRY(connection_run(on, "BEGIN IMMEDIATE", err));
	enum status status = apply_all(on, err);
	if (status == OK)
		status = connection_run(on, "COMMIT", err);
	if (status != OK)
		connection_rollback(on);
	return status;
}

enum status migrate(struct store_reader *on, bool skips_backup, struct error *err)
{
	int64_t has = 0, number = 0;
	bool needs_copy = !skips_backup;

	TRY(connection_number(on, "PRAGMA user_version", &has, err));
	if (!has)
		return make_new(on, err);
	for (const struct embedded_file *file = embedded_migrations; file->name; file++) {
		TRY(next_number(file, &number, err));
		if (number <= has)
			continue;
		if (needs_copy && shuts_out_older(file)) { /* of before the first such: nothing lies between */
			TRY(copy_before(on, number, err));
			needs_copy = false;
		}
		TRY(apply_alone(on, file, number, err));
	}
	return has > number ? check_newer(on, has, number, err) : OK;
}
