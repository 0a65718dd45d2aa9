/* A store is a database and what searches keep of it in memory. */
#include "store/columns/job_changes.h"
#include "store/driver/connection.h"
#include "store/driver/migrations.h"
#include "store/move.h"
#include "store/postgres/postgres.h"
#include "store/sql/jobs/main_metrics.h"
#include "store/sql/search/search_cache.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_SEARCH_BYTES = 512 << 20 };

bool store_is_postgres(const char *path)
{
	struct span address = span_from(path);

	return span_starts_with(address, SPAN("postgresql://")) || span_starts_with(address, SPAN("postgres://"));
}

static enum status open_database(struct store **out, const struct store_options *options, struct job_changes *changes,
	struct search_cache *search, struct error *err)
{
	const struct postgres_options postgres = {.conninfo = options->path, .schema = options->schema};

	return store_is_postgres(options->path)
		       ? postgres_open_owned(out, &postgres, options->ownership, changes, search, err)
		       : database_open(out, options, changes, search, err);
}

enum status store_open(struct store **out, const struct store_options *options, struct error *err)
{
	AUTO(job_changes) changes = job_changes_new();
	AUTO(search_cache)
	search = search_cache_new(changes, options->search_bytes ? options->search_bytes : DEFAULT_SEARCH_BYTES);
	AUTO(store) store = NULL;

	if (!changes || !search)
		return error_no_memory(err);
	TRY(open_database(&store, options, changes, search, err));
	changes = NULL;
	search = NULL;
	if (!options->moves) {
		TRY(store_check_moved(store, err));
		TRY(main_metrics_renew(store, err));
	}
	*out = TAKE(store);
	return OK;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	struct job_changes *changes = database_changes(store);
	struct search_cache *search = database_search(store);
	database_close(store);
	search_cache_free(search);
	job_changes_free(changes);
}

enum status store_plan_migrations(
	const struct store_options *options, struct arena *arena, struct store_plan *out, struct error *err)
{
	const struct postgres_options postgres = {.conninfo = options->path, .schema = options->schema};
	bool is_postgres = store_is_postgres(options->path);

	TRY(is_postgres ? postgres_version(&postgres, &out->version, &out->bytes, err)
			: database_version(options->path, &out->version, &out->bytes, err));
	return migrations_plan(is_postgres ? embedded_postgres_migrations : embedded_migrations, arena, out, err);
}

enum status store_find_litestream(const char *path, const char **trace, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO_DONE(buf) folder = BUF_INIT(PATH_MAX);
	const char *name = strrchr(path, '/');
	bool has = false;

	name = name ? name + 1 : path;
	buf_printf(&folder, "%.*s.%s-litestream", (int)(name - path), path, name);
	buf_append_char(&folder, 0);
	TRY(buf_status(&folder, err));
	*trace = access(folder.ptr, F_OK) == 0 ? "its folder (.NAME-litestream) lies beside the file" : "";
	if (**trace)
		return OK;
	TRY(connection_open_reader(&reader, path, 0, err));
	TRY(check_has_table(reader, "_litestream_seq", &has, err));
	if (!has)
		TRY(check_has_table(reader, "_litestream_lock", &has, err));
	if (has)
		*trace = "its tables (_litestream_seq, _litestream_lock) are in the file";
	return OK;
}

enum status store_grant(const struct store_options *options, const char *role, struct error *err)
{
	const struct postgres_options postgres = {.conninfo = options->path, .schema = options->schema};

	if (!store_is_postgres(options->path))
		return error_set_field(err, ERR_UNSUPPORTED, "runtime-role",
			"a database file has no roles: --runtime-role is for PostgreSQL");
	return postgres_grant(&postgres, role, err);
}

enum status store_examine(const struct store_options *options,
	void (*tell)(void *context, const struct store_fact *fact), void *context, struct error *err)
{
	const struct postgres_options postgres = {.conninfo = options->path, .schema = options->schema};

	return postgres_examine(&postgres, tell, context, err);
}
