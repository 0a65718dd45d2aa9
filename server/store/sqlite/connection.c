#include "base/clock.h"
#include "store/driver/narrow.h"
#include "store/sqlite/sqlite_store.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
	DATABASE_MODE = 0600,
	PROGRESS_STEPS = 2000, /* of SQLite's machine between looks at the clock: about 50 us */
	READER_BUSY_MS = 100, /* a reader waits for recovery of the WAL only */
	OPENING_BUSY_MS = 5000, /* whoever closes a database last moves its log into it, and lets nobody in meanwhile */
	OPENING_LOOK_MS = 20,
	RETRY_AFTER_S = 10,
	CACHE_UNIT_BYTES = 1024,
};

/* SQLite's settings are the process's: they are made once, before its first use. */
static struct {
	pthread_once_t once;
} state = {PTHREAD_ONCE_INIT};

static void configure(void)
{
	/* The counters behind MEMSTATUS are one mutex that all connections would share. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

char *path_with(const char *path, const char *suffix)
{
	size_t bytes = strlen(path) + strlen(suffix) + 1;
	char *name = mem_alloc(bytes);

	if (name)
		snprintf(name, bytes, "%s%s", path, suffix);
	return name;
}

const char *network_file_system(unsigned long magic)
{
	/* Those that linux/magic.h does not name have their number from statfs(2). FUSE is not here: it is local as often. */
	switch (magic) {
	case NFS_SUPER_MAGIC:
		return "NFS";
	case SMB_SUPER_MAGIC:
	case 0xff534d42: /* CIFS */
	case 0xfe534d42: /* SMB2 */
		return "SMB";
	case 0x0bd00bd0:
		return "Lustre";
	case 0x00c36400:
		return "Ceph";
	case 0x47504653:
		return "GPFS";
	case 0x19830326:
		return "BeeGFS";
	case 0x20030528:
		return "OrangeFS";
	case AFS_SUPER_MAGIC:
		return "AFS";
	case CODA_SUPER_MAGIC:
		return "Coda";
	case NCP_SUPER_MAGIC:
		return "NCP";
	case V9FS_MAGIC:
		return "9P";
	default:
		return NULL;
	}
}

static enum status file_failure(const char *path, int code, struct error *err)
{
	bool is_unavailable = code == ENOSPC || code == EDQUOT || code == EROFS;

	if (!is_unavailable)
		return error_set(err, ERR_IO, "cannot open database '%s': %s", path, strerror(code));
	enum status status = error_set(err, ERR_UNAVAILABLE,
		"cannot open database '%s': %s; free some space there, or choose "
		"another place",
		path, strerror(code));
	if (err)
		err->retry_after_s = RETRY_AFTER_S;
	return status;
}

/* Made here, not by SQLite: its files are to be the owner's alone, whatever the umask. The WAL takes the mode over. */
enum status connection_open_file(const char *path, bool creates, int *out, struct error *err)
{
	struct statfs info;
	int fd = open(path, O_RDWR | O_CLOEXEC | (creates ? O_CREAT : 0), DATABASE_MODE);

	*out = -1;
	if (fd < 0 && errno == ENOENT && !creates)
		return OK;
	if (fd < 0 || fstatfs(fd, &info) != 0) {
		int code = errno;
		if (fd >= 0)
			close(fd);
		return file_failure(path, code, err);
	}
	const char *name = network_file_system((unsigned long)info.f_type);
	if (name) {
		close(fd);
		return error_set(err, ERR_UNSUPPORTED,
			"database '%s' is on a network file system (%s), where SQLite loses data; "
			"put it on a local disk",
			path, name);
	}
	*out = fd;
	return OK;
}

/* Both of these end in a full or read-only disk; which it is, errno or the code says. */
static enum status cannot_write(struct sqlite_reader *on, const char *why, struct error *err)
{
	enum status status = error_set(
		err, ERR_UNAVAILABLE, "database '%s' cannot be written: %s; nothing of this was stored", on->path, why);

	if (err)
		err->retry_after_s = RETRY_AFTER_S;
	return status;
}

/* Where a COMMIT fails, SQLite's own is that of an earlier failure. */
static int cause_of(const struct sqlite_reader *on)
{
	return on->system_errno ? on->system_errno : sqlite3_system_errno(on->db);
}

static enum status io_failure(struct sqlite_reader *on, struct error *err)
{
	int code = cause_of(on);

	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return cannot_write(on, "the disk is full (free some space)", err);
	if (code == EROFS)
		return cannot_write(on, "its disk is read-only (mount it for writing)", err);
	return error_set(err, ERR_IO, "database '%s': %s (%s)", on->path, sqlite3_errmsg(on->db),
		code ? strerror(code) : "no cause given");
}

static enum status translate(struct sqlite_reader *on, int code, struct error *err)
{
	switch (code & 0xff) {
	case SQLITE_FULL:
		return cannot_write(on, "the disk is full (free some space)", err);
	case SQLITE_READONLY:
		return cannot_write(on, "the file or its folder is read-only (see their owner and mode)", err);
	case SQLITE_IOERR:
		return code == SQLITE_IOERR_NOMEM ? error_no_memory(err) : io_failure(on, err);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return error_set(err, ERR_IO, "database '%s' is damaged: %s; restore a backup", on->path,
			sqlite3_errmsg(on->db));
	case SQLITE_CANTOPEN:
		return file_failure(on->path, cause_of(on) ? cause_of(on) : ENOENT, err);
	case SQLITE_NOMEM:
		return error_no_memory(err);
	case SQLITE_INTERRUPT:
		return error_set(err, ERR_UNAVAILABLE, "reading the database took longer than it may");
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(err, ERR_BUSY, "database '%s' is locked by another program", on->path);
	case SQLITE_CONSTRAINT:
		return error_set(err, ERR_CONFLICT, "%s", sqlite3_errmsg(on->db));
	case SQLITE_TOOBIG:
		return error_set(err, ERR_TOO_LARGE, "a value is larger than the database holds");
	default:
		return error_set(err, ERR_INTERNAL, "database '%s': %s", on->path, sqlite3_errmsg(on->db));
	}
}

enum status connection_failure(struct store_reader *on, int code, struct error *err)
{
	struct error failure = {0};
	enum status status = translate(sqlite_reader_of(on), code, &failure);

	/* The first cause is kept for the rest of a transaction that SQLite has just ended. */
	if (on->is_writer && on->is_in_snapshot && sqlite3_get_autocommit(sqlite_of(on)) && on->failure.status == OK)
		on->failure = failure;
	if (err)
		*err = failure;
	return status;
}

enum status sqlite_run(struct store_reader *on, const char *sql, struct error *err)
{
	errno = 0;
	int code = sqlite3_exec(sqlite_of(on), sql, NULL, NULL, NULL);

	sqlite_reader_of(on)->system_errno = errno;
	return code == SQLITE_OK ? OK : connection_failure(on, sqlite3_extended_errcode(sqlite_of(on)), err);
}

void sqlite_rollback(struct store_reader *on)
{
	/* It cannot fail but where SQLite has rolled back by itself. */
	if (!sqlite3_get_autocommit(sqlite_of(on)))
		sqlite3_exec(sqlite_of(on), "ROLLBACK", NULL, NULL, NULL);
}

static void call_predicate(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const struct predicate_of *one = sqlite3_user_data(context);
	void *bound = sqlite3_value_pointer(arguments[0], one->predicate->name);
	int type = sqlite3_value_type(arguments[1]);
	struct span text = SPAN("");

	(void)count;
	if (type == SQLITE_TEXT || type == SQLITE_BLOB) {
		const void *bytes = sqlite3_value_blob(arguments[1]);
		text = span_of(bytes ? bytes : "", bytes ? (size_t)sqlite3_value_bytes(arguments[1]) : 0);
	}
	int64_t number = type == SQLITE_INTEGER ? sqlite3_value_int64(arguments[1]) : 0;
	sqlite3_result_int(context, bound && one->predicate->holds(one->on, bound, text, number));
}

enum status sqlite_add_predicates(struct store_reader *reader, const struct predicate *predicates, size_t count)
{
	struct sqlite_reader *on = sqlite_reader_of(reader);

	/* To register one a second time would throw away every prepared statement of the connection. */
	if (on->has_predicates)
		return OK;
	for (size_t i = 0; i < count && i < PREDICATES_MAX; i++) {
		on->predicates[i] = (struct predicate_of){reader, &predicates[i]};
		if (sqlite3_create_function_v2(on->db, predicates[i].name, 2,
			    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, &on->predicates[i], call_predicate,
			    NULL, NULL, NULL) != SQLITE_OK)
			return ERR_MEMORY;
	}
	on->has_predicates = true;
	return OK;
}

static int on_progress(void *context)
{
	return connection_is_late(context);
}

static int on_commit(void *context, sqlite3 *db, const char *name, int frames)
{
	(void)db;
	(void)name;
	((struct sqlite_reader *)context)->wal_frames = (uint64_t)frames;
	return SQLITE_OK;
}

/* As PostgreSQL's. */
static void get_bit(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const unsigned char *bytes = sqlite3_value_blob(arguments[0]);
	int64_t len = sqlite3_value_bytes(arguments[0]), at = sqlite3_value_int64(arguments[1]);

	(void)count;
	if (bytes && at >= 0 && at / 8 < len)
		sqlite3_result_int(context, bytes[at / 8] >> at % 8 & 1);
	else
		sqlite3_result_error(context, "there is no such bit", -1);
}

static enum status add_functions(struct sqlite_reader *on, struct error *err)
{
	int code = sqlite3_create_function_v2(on->db, "get_bit", 2,
		SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, get_bit, NULL, NULL, NULL);

	return code == SQLITE_OK ? OK : connection_failure(&on->head, code, err);
}

static enum status open_file(struct sqlite_reader *on, const char *path, int flags, struct error *err)
{
	if (!(on->path = mem_copy_string(path)))
		return error_no_memory(err);
	int code = sqlite3_open_v2(path, &on->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);
	if (code != SQLITE_OK)
		return on->db ? connection_failure(&on->head, code, err) : error_no_memory(err);
	sqlite3_db_config(on->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(on->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(on->db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
	return add_functions(on, err);
}

static enum status open_handle(struct store_reader **out, const char *path, int flags, struct error *err)
{
	struct sqlite_reader *on = mem_zeroed(sizeof *on);

	pthread_once(&state.once, configure);
	if (!on)
		return error_no_memory(err);
	on->head.driver = &sqlite_driver;
	AUTO(store_reader) reader = &on->head;
	TRY(open_file(on, path, flags, err));
	*out = TAKE(reader);
	return OK;
}

/* Reads all tables' texts, which takes as long as the rest of a connection's opening; many are there for what seldom comes. */
enum status connection_set_cache(struct store_reader *on, struct error *err)
{
	struct sqlite_reader *reader = sqlite_reader_of(on);
	char cache[64];

	if (!reader->cache_bytes)
		return OK;
	/* Negative: in KiB, whatever the page size. */
	snprintf(cache, sizeof cache, "PRAGMA cache_size=-%zu", reader->cache_bytes / CACHE_UNIT_BYTES);
	TRY(connection_run(on, cache, err));
	reader->cache_bytes = 0;
	return OK;
}

static enum status set_common(struct store_reader *on, size_t cache_bytes, struct error *err)
{
	sqlite_reader_of(on)->cache_bytes = cache_bytes;
	/* mmap: costs RSS, and a failing disk ends the process by SIGBUS instead of an error. secure_delete is Debian's
	 * default and writes every deleted page once more. */
	return connection_run(on,
		"PRAGMA mmap_size=0; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA secure_delete=OFF",
		err);
}

static enum status set_writer(struct store_reader *on, size_t wal_bytes, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	char limit[64];
	bool has_row;

	snprintf(limit, sizeof limit, "PRAGMA journal_size_limit=%zu", wal_bytes);
	TRY(connection_run(on, limit, err));
	TRY(statement_open_once(&s, on, SPAN("PRAGMA journal_mode=WAL"), err));
	TRY(statement_step(&s, &has_row, err));
	const char *mode = has_row ? (const char *)sqlite3_column_text(s.prepared, 0) : NULL;
	if (!mode || strcmp(mode, "wal") != 0)
		return error_set(err, ERR_UNSUPPORTED,
			"database '%s' cannot keep a write-ahead log where it is (mode '%s')",
			sqlite_reader_of(on)->path, mode ? mode : "unknown");
	statement_done(&s);
	TRY(connection_run(on, "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0", err));
	/* After wal_autocheckpoint, which is a hook, too. */
	sqlite3_wal_hook(sqlite_of(on), on_commit, sqlite_reader_of(on));
	return OK;
}

/* SQLite asks each time when the file is locked; 0: it gives up. */
static int wait_for_file(void *context, int times)
{
	struct opening *opening = context;
	const struct store_ownership *ownership = opening->ownership;

	if (!times)
		opening->until_ms = clock_mono_ms() + OPENING_BUSY_MS;
	if (clock_mono_ms() >= opening->until_ms ||
		(ownership && ownership->is_over && ownership->is_over(ownership->context)))
		return 0;
	sqlite3_sleep(OPENING_LOOK_MS);
	return 1;
}

enum status connection_open_writer(struct store_reader **out, const struct store_options *options, struct error *err)
{
	AUTO(store_reader) on = NULL;

	TRY(open_handle(&on, options->path, SQLITE_OPEN_READWRITE, err));
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): OK means that it is there */
	on->is_writer = true;
	struct opening *opening = &sqlite_reader_of(on)->opening;
	*opening = (struct opening){.ownership = options->ownership};
	sqlite3_busy_handler(sqlite_of(on), wait_for_file, opening); /* until the writer's own timeout is set */
	TRY(set_common(on, options->writer_cache_bytes, err));
	TRY(migrate_shape(on, err));
	TRY(set_writer(on, options->wal_bytes, err));
	*out = TAKE(on);
	return OK;
}

enum status connection_open_reader(struct store_reader **out, const char *path, size_t cache_bytes, struct error *err)
{
	AUTO(store_reader) on = NULL;

	TRY(open_handle(&on, path, SQLITE_OPEN_READONLY, err));
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): as above */
	sqlite3_busy_timeout(sqlite_of(on), READER_BUSY_MS);
	TRY(set_common(on, cache_bytes, err));
	TRY(connection_run(on, "PRAGMA query_only=ON", err));
	sqlite3_progress_handler(sqlite_of(on), PROGRESS_STEPS, on_progress, on);
	*out = TAKE(on);
	return OK;
}

static void narrow_team(sqlite3_context *context, int count, sqlite3_value **arguments)
{
	const struct store_reader *on = sqlite3_user_data(context);

	(void)count;
	(void)arguments;
	sqlite3_result_text(context, on->team, -1, SQLITE_TRANSIENT);
}

enum status connection_narrow(struct store_reader *on, struct error *err)
{
	int code = sqlite3_create_function_v2(
		sqlite_of(on), "narrow_team", 0, SQLITE_UTF8 | SQLITE_INNOCUOUS, on, narrow_team, NULL, NULL, NULL);

	if (code != SQLITE_OK)
		return connection_failure(on, code, err);
	on->is_narrow = true;
	TRY(connection_run(on, "PRAGMA query_only=OFF", err)); /* the file is open for reading alone */
	TRY(narrow_make_views(on, err));
	return connection_run(on, "PRAGMA query_only=ON", err);
}

void sqlite_reader_close(struct store_reader *reader)
{
	struct sqlite_reader *on = sqlite_reader_of(reader);

	for (size_t i = 0; i < STATEMENT_SLOTS; i++)
		sqlite3_finalize(on->statements[i].prepared);
	sqlite3_close(on->db);
	mem_free(on->path);
	mem_free(on);
}
