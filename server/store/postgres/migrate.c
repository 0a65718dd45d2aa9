/* The schema of this program, made or brought up to date under a lock, in one transaction. An older one is its owner's until it has none. */
#include "store/driver/migrations.h"
#include "store/postgres/postgres_store.h"

#include <stdio.h>

/* A large table takes as long as it takes; whose connection is gone is seen by the keepalives of either side. */
enum { LOCK_LIMIT_MS = 60000, MIGRATE_LIMIT_MS = 24 * 3600 * 1000, SCHEMA_SQL_BYTES = 128 };

enum status postgres_read_version(struct store_reader *on, int64_t *version, struct error *err)
{
	int64_t has_settings;

	*version = 0;
	TRY(connection_number(on, "SELECT count(to_regclass('settings'))", &has_settings, err));
	return has_settings ? connection_number(on,
				      "SELECT coalesce(max(CAST(convert_from(value, 'UTF8') AS BIGINT)), 0)"
				      " FROM settings WHERE key = 'schema_version'",
				      version, err)
			    : OK;
}

/* As with SQLite: a newer schema may be used whose changes only added. */
static enum status check_newer(
	struct postgres_reader *on, const char *schema, int64_t has, int64_t known, struct error *err)
{
	int64_t min_reader;

	TRY(connection_number(&on->head,
		"SELECT coalesce(max(CAST(convert_from(value, 'UTF8') AS BIGINT)), 9223372036854775807)"
		" FROM settings WHERE key = 'min_reader'",
		&min_reader, err));
	if (min_reader <= known)
		return OK;
	return error_set(err, ERR_UNSUPPORTED,
		"schema '%s' of database '%s' has version %lld, this program knows up to %lld: start a newer one",
		schema, on->target->label, (long long)has, (long long)known);
}

/* Who may not make schemas can work in one that is there. */
static enum status make_schema(struct store_reader *on, const char *schema, struct error *err)
{
	char sql[SCHEMA_SQL_BYTES];
	int64_t is_there;

	TRY(connection_number(on, "SELECT count(*) FROM unnest(current_schemas(false)) AS s", &is_there, err));
	if (is_there)
		return OK;
	snprintf(sql, sizeof sql, "CREATE SCHEMA %s", schema); /* of a-z, 0-9 and _ */
	return connection_run(on, sql, err);
}

static enum status put_version(struct store_reader *on, int64_t version, struct error *err)
{
	AUTO_DONE(statement) s = {0};

	TRY(statement_open(&s, on,
		"INSERT INTO settings (key, value) VALUES ('schema_version', convert_to(CAST(CAST(? AS BIGINT) AS TEXT), 'UTF8'))"
		" ON CONFLICT (key) DO UPDATE SET value = excluded.value",
		err));
	bind_i64(&s, version);
	return statement_run(&s, err);
}

/* Who does not own a schema that is there changes nothing of it. */
static enum status apply(struct store *store, const char *schema, int64_t has, bool changes, struct error *err)
{
	struct store_reader *on = store->writer;
	int64_t number = 0;

	for (const struct embedded_file *file = embedded_postgres_migrations; file->name; file++) {
		TRY(migration_number(file, &number, err));
		if (number <= has || !changes)
			continue;
		if (!has)
			TRY(make_schema(on, schema, err));
		enum status status = connection_run(on, file->bytes, err);
		if (status != OK) {
			error_prefix(err, "migration '%s'", file->name);
			return status;
		}
		TRY(postgres_lease_make(store, err));
		TRY(put_version(on, number, err));
		has = number;
	}
	return has > number ? check_newer(postgres_reader_of(on), schema, has, number, err) : OK;
}

/* From here on to the end of the transaction who takes over ends our session, as it ends a writer's. */
static enum status hold_fence(struct store_reader *on, int64_t token, struct error *err)
{
	AUTO_DONE(statement) s = {0};
	bool is_ours, has_more;

	TRY(statement_open(&s, on, "UPDATE fence SET last_commit = last_commit WHERE token = ? RETURNING 1", err));
	bind_i64(&s, token);
	TRY(statement_step(&s, &is_ours, err));
	if (!is_ours)
		return error_set(err, ERR_CONFLICT, "database '%s' was taken over by another server",
			postgres_reader_of(on)->target->label);
	return statement_step(&s, &has_more, err);
}

/* Two servers that start at once on a new schema wait for each other here. Who comes to one that is there waits for nobody. */
static enum status migrate_locked(struct store *store, const char *schema, int64_t token, struct error *err)
{
	struct store_reader *on = store->writer;
	int64_t version;

	TRY(postgres_read_version(on, &version, err));
	if (token || !version) {
		TRY(connection_run(on,
			"SELECT pg_advisory_xact_lock(hashtext('smfleet'), hashtext(current_setting('search_path')))",
			err));
		TRY(postgres_read_version(on, &version, err));
	}
	if (token)
		TRY(hold_fence(on, token, err));
	return apply(store, schema, version, token || !version, err);
}

static enum status migrate_in(struct store *store, const char *schema, int64_t token, struct error *err)
{
	struct store_tx *tx = NULL;

	TRY(store_tx_begin(&tx, store, err));
	enum status status = migrate_locked(store, schema, token, err);
	if (status == OK)
		return store_tx_commit(tx, err);
	store_tx_rollback(tx);
	return status;
}

enum status postgres_migrate(const struct postgres_options *options, int64_t token, struct error *err)
{
	struct postgres_options patient = *options;
	struct store *store = NULL;

	patient.write_limit_ms = LOCK_LIMIT_MS; /* another server may be making them */
	patient.statement_limit_ms = MIGRATE_LIMIT_MS;
	TRY(postgres_open(&store, &patient, NULL, NULL, err));
	enum status status = migrate_in(store, options->schema, token, err);
	database_close(store);
	return status;
}

static enum status read_figures(struct store_reader *on, int64_t *version, uint64_t *bytes, struct error *err)
{
	int64_t size;

	TRY(postgres_read_version(on, version, err));
	TRY(connection_number(on, "SELECT pg_database_size(current_database())", &size, err));
	*bytes = (uint64_t)size;
	return OK;
}

enum status postgres_version(
	const struct postgres_options *options, int64_t *version, uint64_t *bytes, struct error *err)
{
	struct store *store = NULL;

	TRY(postgres_open(&store, options, NULL, NULL, err));
	enum status status = read_figures(store->writer, version, bytes, err);
	database_close(store);
	return status;
}
