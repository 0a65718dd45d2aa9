#include "app/command_move.h"

#include "app/exit_status.h"
#include "app/key_file.h"
#include "app/shared_key.h"
#include "app/storage.h"
#include "base/log.h"
#include "store/admin.h"
#include "store/move.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct moving {
	const struct options *options;
	const char *from_path, *to_path;
	struct storage_tool from, to;
	struct store *source;
	bool is_terminal;
};

/* ---- the key, without which secrets cannot be opened any more ---- */

/* Of a file the key is beside it, unless it is stated. */
static enum status key_path_of(const struct moving *m, const char *path, struct buf *out, struct error *err)
{
	const char *stated = options_text(m->options, "secret-key-file");
	AUTO_MEM char *beside = store_is_postgres(path) ? NULL : store_beside(path, ".key");

	if (store_is_postgres(path) && !stated)
		return error_set_field(err, ERR_INVALID, "secret-key-file",
			"a PostgreSQL database needs --secret-key-file FILE: its servers seal secrets with it");
	bool is_stated =
		store_is_postgres(path) || (path == m->from_path && stated && beside && access(beside, F_OK) != 0);
	buf_append_text(out, is_stated ? stated : beside ? beside : "");
	buf_append_char(out, 0);
	return !is_stated && !beside ? error_no_memory(err) : buf_status(out, err);
}

static enum status read_key(const char *path, unsigned char key[SEAL_KEY_BYTES], bool *is_there, struct error *err)
{
	struct error missing = {0};
	enum status status = key_file_read(path, key, &missing);

	*is_there = status == OK;
	if (status == OK || status == ERR_NOT_FOUND)
		return OK;
	return error_set(err, status, "%s", missing.text);
}

static enum status check_source_key(const char *path, struct store *from, struct error *err)
{
	AUTO(store_reader) reader = NULL;

	TRY(store_reader_new(&reader, from, err));
	return shared_key_check(path, reader, err);
}

static enum status carry_key(void *context, struct error *err)
{
	const struct moving *m = context;
	AUTO_DONE(buf) from_path = BUF_INIT(1 << 14);
	AUTO_DONE(buf) to_path = BUF_INIT(1 << 14);
	unsigned char ours[SEAL_KEY_BYTES], theirs[SEAL_KEY_BYTES];
	bool has_ours, has_theirs;

	TRY(key_path_of(m, m->from_path, &from_path, err));
	TRY(key_path_of(m, m->to_path, &to_path, err));
	TRY(check_source_key(from_path.ptr, m->source, err));
	TRY(read_key(from_path.ptr, ours, &has_ours, err));
	TRY(read_key(to_path.ptr, theirs, &has_theirs, err));
	if (has_ours && !has_theirs)
		return key_file_put(to_path.ptr, ours, err);
	if (has_ours && memcmp(ours, theirs, sizeof ours) != 0)
		return error_set(err, ERR_CONFLICT,
			"the key '%s' is not '%s', with which secrets are sealed: state a path where there is none",
			to_path.ptr, from_path.ptr);
	return OK;
}

/* ---- all ---- */

static bool print_progress(void *context, const char *what, struct span table, uint64_t rows)
{
	const struct moving *m = context;

	if (m->is_terminal)
		fprintf(stderr, "\r\033[K%.*s: %" PRIu64 " rows %s ", SPAN_ARGS(table), rows, what);
	return true;
}

/* A source that is not there would be made. */
static enum status check_source(const struct moving *m, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct store_plan plan;

	if (!arena)
		return error_no_memory(err);
	TRY(store_plan_migrations(&m->from.store, arena, &plan, err));
	return plan.version ? OK : error_set(err, ERR_NOT_FOUND, "there is no database '%s'", m->from_path);
}

static enum status move(struct moving *m, struct store_move_done *done, struct error *err)
{
	AUTO(store) from = NULL;
	AUTO(store) to = NULL;
	const struct store_move options = {
		.from = span_from(m->from_path), .begins = carry_key, .progress = print_progress, .context = m};

	TRY(check_source(m, err));
	TRY(store_open(&from, &m->from.store, err));
	TRY(store_open(&to, &m->to.store, err));
	m->source = from;
	return store_move(from, to, &options, done, err);
}

int command_move(const struct options *options)
{
	struct moving m = {.options = options,
		.from_path = options_word(options, 1),
		.to_path = options_word(options, 2),
		.is_terminal = isatty(STDERR_FILENO)};
	struct store_move_done done;
	struct error err = {0};

	if (options_word_count(options) != 3 || store_is_postgres(m.from_path) == store_is_postgres(m.to_path) ||
		storage_is_mistake(m.from_path) || storage_is_mistake(m.to_path)) {
		fprintf(stderr,
			"sm-server: the command is: move FROM TO, of which one is a file and one postgresql://HOST/DATABASE\n");
		return EXIT_USAGE;
	}
	log_set_level(LOG_WARNING);
	storage_tool_init(&m.from, options, m.from_path);
	storage_tool_init(&m.to, options, m.to_path);
	m.to.store.moves = true;
	enum status status = move(&m, &done, &err);
	if (m.is_terminal)
		fprintf(stderr, "\r\033[K");
	if (status != OK)
		return command_fail(&err, status == ERR_CONFLICT ? EXIT_REFUSED : EXIT_FAILED);
	printf("%s: %" PRIu64 " rows of %" PRIu64 " tables, %.1f MB of text and blobs, all compared with %s\n",
		m.to_path, done.rows, done.tables, (double)done.bytes / 1e6, m.from_path);
	return EXIT_DONE;
}
