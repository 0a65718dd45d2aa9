/* Copies of the whole database, and their way back. */
#include "base/file_place.h"
#include "store/admin.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COPY_BYTES = 1 << 20, MODE = 0600 };

struct store_backup {
	struct store_reader *source; /* the writer's; not ours */
	sqlite3 *copy;
	sqlite3_backup *backup;
	char *path, *partial;
};

/* ---- files ---- */

static enum status remove_beside(const char *path, const char *suffix, struct error *err)
{
	AUTO_MEM char *name = path_with(path, suffix);

	if (!name)
		return error_no_memory(err);
	return unlink(name) == 0 || errno == ENOENT ? OK : file_problem("remove", name, err);
}

/* What would be read into the next file of this name. */
static enum status remove_logs(const char *path, struct error *err)
{
	TRY(remove_beside(path, "-shm", err));
	TRY(remove_beside(path, "-journal", err));
	return remove_beside(path, "-wal", err);
}

/* What is in them is part of their file. */
static enum status move_logs(const char *path, const char *to_path, struct error *err)
{
	static const char *const suffixes[] = {"-wal", "-journal"};

	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		AUTO_MEM char *from = path_with(path, suffixes[i]);
		AUTO_MEM char *to = path_with(to_path, suffixes[i]);
		if (!from || !to)
			return error_no_memory(err);
		if (rename(from, to) != 0 && errno != ENOENT)
			return file_problem("rename", from, err);
	}
	return OK;
}

void copy_remove(const char *partial)
{
	unlink(partial);
	(void)remove_logs(partial, NULL);
}

static void keep_first(void *context, const struct store_finding *finding)
{
	struct error *err = context;

	if (!err->text[0])
		error_set(err, ERR_IO, "%s at %llu: %.*s", finding->what, (unsigned long long)finding->at,
			SPAN_ARGS(finding->text));
}

/* A copy that is damaged is worth nothing on the day it is needed. */
static enum status check_copy(const char *partial, struct error *err)
{
	struct error first = {0};
	struct store_check check = {.found = keep_first, .context = &first};
	uint64_t problems;

	TRY(store_check(&(struct store_options){.path = partial}, &check, &problems, err));
	TRY(remove_logs(partial, err));
	if (problems)
		return error_set(err, ERR_IO,
			"the copy was not kept, because the check found %llu problems in it, as `sm-server check` will in the database: %s",
			(unsigned long long)problems, first.text);
	return OK;
}

enum status copy_make(const char *path, struct error *err)
{
	copy_remove(path);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, MODE);

	if (fd < 0)
		return file_problem("make", path, err);
	close(fd);
	return OK;
}

/* ---- while the server works ---- */

void store_backup_free(struct store_backup *backup)
{
	if (!backup)
		return;
	if (backup->backup)
		sqlite3_backup_finish(backup->backup);
	if (backup->copy)
		sqlite3_close(backup->copy);
	if (backup->partial)
		copy_remove(backup->partial);
	mem_free(backup->partial);
	mem_free(backup->path);
	mem_free(backup);
}

static enum status copy_failure(struct store_backup *backup, int code, struct error *err)
{
	bool is_full = (code & 0xff) == SQLITE_FULL;

	return error_set(err, is_full ? ERR_UNAVAILABLE : ERR_IO, "cannot write the copy '%s': %s", backup->partial,
		is_full ? "its disk is full" : sqlite3_errmsg(backup->copy));
}

/* It would write on into a file without a name. Whoever starts on it meanwhile is found by the second look, before the rename. */
static enum status check_unused(const char *path, struct error *err)
{
	int64_t pid;

	if (!store_is_in_use(path, &pid))
		return OK;
	return error_set(err, ERR_CONFLICT,
		"'%s' is the database of a running server (process %lld): a copy needs a name of its own", path,
		(long long)pid);
}

/* The rename would put the copy in the database's place, under the server. */
static enum status check_target(const char *path, int database_fd, struct error *err)
{
	struct stat target, database;

	if (stat(path, &target) == 0 && fstat(database_fd, &database) == 0 && target.st_dev == database.st_dev &&
		target.st_ino == database.st_ino)
		return error_set(err, ERR_INVALID, "'%s' is the database itself: a copy needs a name of its own", path);
	return check_unused(path, err);
}

enum status store_backup_begin(struct store_backup **out, struct store *store, const char *path, struct error *err)
{
	AUTO(store_backup) backup = mem_zeroed(sizeof *backup);

	if (store->driver != &sqlite_driver)
		return error_set(err, ERR_UNSUPPORTED, "a PostgreSQL database is copied by its own tools (pg_dump)");
	if (!backup || !(backup->path = mem_copy_string(path)) || !(backup->partial = path_with(path, ".partial")))
		return error_no_memory(err);
	backup->source = store->writer;
	TRY(check_target(path, sqlite_store_of(store)->lock.file_fd, err));
	TRY(copy_make(backup->partial, err));
	int code = sqlite3_open_v2(backup->partial, &backup->copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	/* The copy is nothing until it is renamed: no journal, and one sync at its end. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(backup->copy,
			"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE", NULL, NULL,
			NULL);
	if (code != SQLITE_OK)
		return copy_failure(backup, code, err);
	backup->backup = sqlite3_backup_init(backup->copy, "main", sqlite_of(backup->source), "main");
	if (!backup->backup)
		return copy_failure(backup, sqlite3_errcode(backup->copy), err);
	*out = TAKE(backup);
	return OK;
}

/* Whoever checks it must be able to open it. */
static enum status close_copy(struct store_backup *backup, struct error *err)
{
	sqlite3_backup_finish(backup->backup);
	backup->backup = NULL;
	int code = sqlite3_close(backup->copy);
	backup->copy = NULL;
	return code == SQLITE_OK ? OK : error_set(err, ERR_IO, "cannot close the copy '%s'", backup->partial);
}

enum status store_backup_step(
	struct store_backup *backup, size_t pages, uint64_t *left, uint64_t *total, struct error *err)
{
	int code = sqlite3_backup_step(backup->backup, (int)pages);

	/* Busy: asked within a transaction, or a reader recovers the log; the next step goes on. */
	if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_BUSY && code != SQLITE_LOCKED)
		return copy_failure(backup, code, err);
	*left = code == SQLITE_DONE ? 0 : (uint64_t)sqlite3_backup_remaining(backup->backup);
	if (code != SQLITE_DONE && *left == 0)
		*left = 1;
	*total = (uint64_t)sqlite3_backup_pagecount(backup->backup);
	return code == SQLITE_DONE ? close_copy(backup, err) : OK;
}

/* What whoever used an older copy of that name has left beside it would be read into the new one. To the older one it belongs until
 * the new one is in its place. */
static enum status keep_copy(const char *partial, const char *path, struct error *err)
{
	TRY(check_copy(partial, err));
	TRY(file_sync(partial, err));
	TRY(check_unused(path, err));
	TRY(remove_beside(path, "-shm", err));
	enum status status = move_logs(path, partial, err);
	if (status == OK && rename(partial, path) != 0)
		status = file_problem("rename to", path, err);
	if (status != OK) {
		(void)move_logs(partial, path, NULL);
		return status;
	}
	(void)remove_logs(partial, NULL);
	return file_sync_folder(path, err);
}

enum status store_backup_finish(struct store_backup *backup, struct error *err)
{
	TRY(keep_copy(backup->partial, backup->path, err));
	mem_free(backup->partial);
	backup->partial = NULL;
	return OK;
}

/* ---- without a server ---- */

static enum status vacuum_into(const char *path, const char *copy_path, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO_DONE(statement) s = {0};

	TRY(connection_open_reader(&reader, path, 0, err));
	store_reader_deadline(reader, INT64_MAX);
	TRY(connection_run(reader, "PRAGMA query_only=OFF", err)); /* it writes to the copy alone */
	TRY(statement_open_once(&s, reader, SPAN("VACUUM INTO ?"), err));
	bind_text(&s, span_from(copy_path));
	return statement_run(&s, err);
}

enum status store_backup_offline(const char *path, const char *copy_path, struct error *err)
{
	AUTO_MEM char *partial = path_with(copy_path, ".partial");
	struct lock lock = LOCK_NONE;

	if (!partial)
		return error_no_memory(err);
	if (access(path, R_OK) != 0)
		return file_problem("read database", path, err);
	TRY(lock_take(&lock, path, false, err));
	enum status status = check_target(copy_path, lock.file_fd, err);
	if (status == OK)
		status = copy_make(partial, err);
	if (status == OK)
		status = vacuum_into(path, partial, err);
	if (status == OK)
		status = keep_copy(partial, copy_path, err);
	if (status != OK)
		copy_remove(partial);
	lock_release(&lock);
	return status;
}

static enum status copy_bytes(int from, int to, const char *path, struct error *err)
{
	AUTO_MEM char *room = mem_alloc(COPY_BYTES);
	ssize_t got;

	if (!room)
		return error_no_memory(err);
	while ((got = read(from, room, COPY_BYTES)) > 0)
		if (!file_write(to, span_of(room, (size_t)got)))
			return file_problem("write", path, err);
	return got == 0 ? OK : file_problem("read", path, err);
}

static enum status copy_file(const char *from_path, const char *to_path, struct error *err)
{
	int from = open(from_path, O_RDONLY | O_CLOEXEC), to = -1;

	if (from < 0)
		return file_problem("read", from_path, err);
	enum status status = copy_make(to_path, err);
	if (status == OK && (to = open(to_path, O_WRONLY | O_CLOEXEC)) < 0)
		status = file_problem("write", to_path, err);
	if (status == OK)
		status = copy_bytes(from, to, to_path, err);
	if (to >= 0)
		close(to);
	close(from);
	return status;
}

/* With its log, also where an earlier restore was cut off between the two. */
static enum status set_aside(const char *path, const char *before, bool exists, struct error *err)
{
	if (exists)
		TRY(remove_logs(before, err)); /* of what was set aside earlier */
	if (rename(path, before) != 0 && errno != ENOENT)
		return file_problem("rename", path, err);
	TRY(move_logs(path, before, err));
	TRY(remove_beside(path, "-shm", err));
	return file_sync_folder(path, err); /* the old log beside the new database would be read into it */
}

/* Else the next start would make a new database. */
static void put_back(const char *before, const char *path)
{
	if (access(path, F_OK) != 0 && rename(before, path) == 0)
		(void)move_logs(before, path, NULL);
}

/*
 * Where the database is set aside: what an earlier restore has set aside stays. NULL: no memory. If there is no database an earlier restore was cut
 * off between the two names, and its log has yet to follow.
 */
static char *name_aside(const char *path, bool exists)
{
	char suffix[32] = ".before-restore";
	char *name = path_with(path, suffix);

	for (unsigned n = 2; exists && name && access(name, F_OK) == 0; n++) {
		mem_free(name);
		snprintf(suffix, sizeof suffix, ".before-restore-%u", n);
		name = path_with(path, suffix);
	}
	return name;
}

static enum status restore_locked(const char *copy_path, const char *path, bool exists, struct error *err)
{
	AUTO_MEM char *partial = path_with(path, ".partial");
	AUTO_MEM char *before = name_aside(path, exists);

	if (!partial || !before)
		return error_no_memory(err);
	enum status status = copy_file(copy_path, partial, err);
	if (status == OK)
		status = file_sync(partial, err);
	if (status == OK)
		status = set_aside(path, before, exists, err);
	if (status == OK && rename(partial, path) != 0)
		status = file_problem("rename to", path, err);
	if (status == OK)
		return file_sync_folder(path, err);
	if (exists)
		put_back(before, path);
	copy_remove(partial);
	return status;
}

enum status store_restore(const char *copy_path, const char *path, bool replaces, struct error *err)
{
	bool exists = access(path, F_OK) == 0;
	struct lock lock = LOCK_NONE;

	TRY(lock_take(&lock, path, false, err));
	enum status status = OK;
	if (exists && !replaces)
		status = error_set(err, ERR_CONFLICT,
			"'%s' exists already: state --replace to keep it as '%s.before-restore' and go on", path, path);
	if (status == OK)
		status = restore_locked(copy_path, path, exists, err);
	lock_release(&lock);
	return status;
}
