/* Job: the numbered files that make a schema. Ownership: rows are the arena's. Threads: values. */
#pragma once

#include "base/embedded.h"
#include "store/admin.h"

/* Sorted: NNNN_what.sql. */
extern const struct embedded_file embedded_migrations[]; /* of SQLite */
extern const struct embedded_file embedded_postgres_migrations[];

enum status migration_number(const struct embedded_file *file, int64_t *number, struct error *err) MUST_CHECK;
/* Of plan->version: what is to be done. */
enum status migrations_plan(
	const struct embedded_file *files, struct arena *arena, struct store_plan *plan, struct error *err) MUST_CHECK;
