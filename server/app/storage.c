#include "app/storage.h"

#include "app/key_file.h"
#include "app/shared_key.h"
#include "base/log.h"
#include "store/admin.h"
#include "store/alerts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ASK_AGAIN_MS = 200,
	ASK_AGAIN_MAX_MS = 2000,
	HOST_BYTES = 256,
	SOCKET_HASH_BYTES = 6,
	SECRET_MAX_BYTES = 64 << 10
};

bool storage_is_postgres(const struct options *options)
{
	return store_is_postgres(options_text(options, "db"));
}

/* Does libpq's other way to state a database begin a word of it? */
static bool has_keyword(const char *db)
{
	static const char *const keywords[] = {"host=", "dbname=", "service="};

	for (const char *at = db; *at; at++)
		for (size_t i = 0; (at == db || at[-1] == ' ') && i < sizeof keywords / sizeof *keywords; i++)
			if (strncmp(at, keywords[i], strlen(keywords[i])) == 0)
				return true;
	return false;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

bool storage_is_mistake(const char *db)
{
	return !store_is_postgres(db) && (begins(db, "postgres:") || begins(db, "postgresql:") || has_keyword(db));
}

/* What was given is not repeated: a password may be in it. */
enum status storage_check(const struct options *options, struct error *err)
{
	const char *db = options_text(options, "db");

	if (storage_is_mistake(db))
		return error_set_field(err, ERR_INVALID, "db",
			"--db is an address that is not understood, and no file: a PostgreSQL database is stated as postgresql://HOST/DATABASE");
	if (storage_is_postgres(options) && options_origin(options, "log-bytes") != OPTION_FROM_NOWHERE &&
		options_i64(options, "log-bytes"))
		return error_set_field(err, ERR_SEMANTIC, "log-bytes",
			"--log-bytes does not work on PostgreSQL, whose size does not fall when text is deleted: limit text by age or size instead (PUT /api/v1/retention)");
	return OK;
}

enum status storage_beside(const struct options *options, const char **path, struct error *err)
{
	const char *key = options_text(options, "secret-key-file");

	*path = storage_is_postgres(options) ? key : options_text(options, "db");
	if (*path)
		return OK;
	return error_set_field(err, ERR_INVALID, "secret-key-file",
		"a PostgreSQL database needs --secret-key-file FILE: the same key on each machine that may serve it");
}

/* Who states the same database in other words finds nobody there, and is refused by the lease. */
static enum status name_socket(const struct options *options, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) stated = BUF_INIT(1 << 16);
	unsigned char digest[SHA256_BYTES];
	char hex[2 * SOCKET_HASH_BYTES + 1];

	buf_printf(&stated, "%s\n%s", options_text(options, "db"), options_text(options, "schema"));
	TRY(buf_status(&stated, err));
	crypto_sha256(buf_span(&stated), digest);
	crypto_hex(digest, SOCKET_HASH_BYTES, hex);
	buf_printf(out, "-%s", hex);
	return OK;
}

enum status storage_socket(const struct options *options, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) suffix = BUF_INIT(64);
	const char *beside;

	TRY(storage_beside(options, &beside, err));
	if (storage_is_postgres(options))
		TRY(name_socket(options, &suffix, err));
	buf_append_text(&suffix, ".sock");
	buf_append_char(&suffix, 0);
	TRY(buf_status(&suffix, err));
	AUTO_MEM char *path = store_beside(beside, suffix.ptr);
	if (!path)
		return error_no_memory(err);
	buf_append_text(out, path);
	buf_append_char(out, 0);
	return buf_status(out, err);
}

enum status storage_needs_file(const struct options *options, const char *instead, struct error *err)
{
	if (!storage_is_postgres(options))
		return OK;
	return error_set(err, ERR_UNSUPPORTED, "'%s' works on a database file, not on PostgreSQL: %s",
		options_word(options, 0), instead);
}

/* ---- other servers ---- */

/* False: to stop. */
static bool goes_on_after_signal(struct storage *storage)
{
	struct signalfd_siginfo signal;

	if (read(storage->signal_fd, &signal, sizeof signal) == sizeof signal && signal.ssi_signo == SIGHUP)
		return storage->is_told_to_reload = true;
	storage->is_told_to_stop = true;
	return false;
}

static enum status joins(void *context, struct store_reader *reader, struct error *err)
{
	const struct storage *storage = context;

	return shared_key_check(options_text(storage->options, "secret-key-file"), reader, err);
}

static bool waits(void *context, const struct error *why)
{
	struct storage *storage = context;
	struct pollfd signals = {.fd = storage->signal_fd, .events = POLLIN};

	if (why->status != storage->waits_for)
		log_line(why->status == ERR_CONFLICT ? LOG_INFO : LOG_WARNING, "standby", "port=%u why=\"%s\"",
			storage->port, why->text);
	/* Of a database that is away each question is a connection more. */
	bool is_longer = why->status != ERR_CONFLICT && why->status == storage->waits_for;
	storage->wait_ms = !is_longer || !storage->wait_ms ? ASK_AGAIN_MS : storage->wait_ms * 2;
	if (storage->wait_ms > ASK_AGAIN_MAX_MS)
		storage->wait_ms = ASK_AGAIN_MAX_MS;
	storage->waits_for = why->status;
	storage->has_waited = true;
	return poll(&signals, 1, storage->wait_ms) <= 0 || goes_on_after_signal(storage);
}

static bool is_over(void *context)
{
	struct storage *storage = context;
	struct pollfd signals = {.fd = storage->signal_fd, .events = POLLIN};

	while (!storage->is_told_to_stop && poll(&signals, 1, 0) > 0)
		(void)goes_on_after_signal(storage);
	return storage->is_told_to_stop;
}

static void ended(void *context, const struct error *why)
{
	struct storage *storage = context;

	storage->why = *why;
	atomic_store(&storage->has_ended, true);
	if (eventfd_write(storage->ended_fd, 1) != 0)
		log_line(LOG_ERROR, "database_ended", "error=\"%s\"", why->text);
}

static void name_process(char out[STORAGE_NAME_BYTES], const char *what)
{
	char host[HOST_BYTES] = "";

	if (gethostname(host, sizeof host - 1) != 0)
		snprintf(host, sizeof host, "unknown host");
	snprintf(out, STORAGE_NAME_BYTES, "%s, %s, process %ld", host, what, (long)getpid());
}

void storage_tool_init(struct storage_tool *tool, const struct options *options, const char *path)
{
	*tool = (struct storage_tool){0};
	name_process(tool->name, options_word(options, 0));
	tool->ownership = (struct store_ownership){.name = tool->name};
	tool->store = (struct store_options){.path = path,
		.schema = options_text(options, "schema"),
		.ownership = &tool->ownership,
		.skips_backup = options_flag(options, "no-backup")};
}

enum status storage_init(struct storage *storage, const struct options *options, int signal_fd, struct error *err)
{
	*storage = (struct storage){.options = options, .signal_fd = signal_fd, .ended_fd = -1};
	name_process(storage->name, options_text(options, "listen"));
	storage->ownership = (struct store_ownership){.name = storage->name,
		.joins = joins,
		.waits = signal_fd >= 0 ? waits : NULL,
		.is_over = signal_fd >= 0 ? is_over : NULL,
		.ended = ended,
		.context = storage};
	storage->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return storage->ended_fd >= 0 ? OK : error_set(err, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
}

void storage_done(struct storage *storage)
{
	if (storage->ended_fd >= 0)
		close(storage->ended_fd);
	storage->ended_fd = -1;
}

/* ---- opening ---- */

/* The key is made when the database is: one that is empty beside it was cut, and is no new one. */
static enum status check_not_cut(const char *db, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(4096);
	struct stat info;

	buf_printf(&key, "%s.key", db);
	buf_append_char(&key, 0);
	TRY(buf_status(&key, err));
	if (stat(db, &info) != 0 || info.st_size || access(key.ptr, F_OK) != 0)
		return OK;
	return error_set(err, ERR_IO,
		"database '%s' is empty (0 bytes), but not new, as its key '%s' is there: put a backup there (sm-server restore FILE --replace), or remove both to begin anew",
		db, key.ptr);
}

enum status storage_open(struct storage *storage, struct store **out, struct error *err)
{
	const struct options *o = storage->options;
	const char *beside;
	struct store_options options = {.path = options_text(o, "db"),
		.schema = options_text(o, "schema"),
		.ownership = &storage->ownership,
		.wal_bytes = (size_t)options_i64(o, "wal-bytes"),
		.search_bytes = (size_t)options_i64(o, "search-memory"),
		.skips_backup = options_flag(o, "no-backup")};

	TRY(storage_beside(o, &beside, err));
	if (!storage_is_postgres(o))
		TRY(check_not_cut(options.path, err));
	TRY(store_open(out, &options, err));
	if (storage->has_waited)
		log_line(LOG_INFO, "took_over", "owner=\"%s\"", storage->name);
	return OK;
}

/* Of a backup that was put back without its key, or with another one. The server serves all the rest. */
static enum status warn_of_sealed(
	struct store *store, const char *path, const unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct webhook_row *rows;
	size_t count, closed = 0;

	if (!arena)
		return error_no_memory(err);
	TRY(store_reader_new(&reader, store, err));
	TRY(store_read_webhooks(reader, arena, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) secret = BUF_INIT(SECRET_MAX_BYTES);
		closed += crypto_unseal(key, rows[i].sealed_secret, &secret, NULL) != OK;
	}
	if (closed)
		log_line(LOG_WARNING, "key_opens_not",
			"key=\"%s\" webhooks=%zu why=\"secrets of webhooks are sealed by another key: stop, put the key file of the server that "
			"made this database there, and start again; or state these webhooks' secrets anew\"",
			path, closed);
	return OK;
}

enum status storage_load_key(
	struct storage *storage, struct store *store, unsigned char key[SEAL_KEY_BYTES], struct error *err)
{
	AUTO_DONE(buf) beside = BUF_INIT(4096);
	const struct options *o = storage->options;
	const char *stated = options_text(o, "secret-key-file");

	if (storage_is_postgres(o))
		return shared_key_load(stated, store, key, err);
	buf_printf(&beside, "%s.key", options_text(o, "db"));
	buf_append_char(&beside, 0);
	TRY(buf_status(&beside, err));
	const char *path = stated ? stated : beside.ptr;
	TRY(key_file_load(path, key, err));
	return warn_of_sealed(store, path, key, err);
}
