/* A real database in a folder of its own, for each test. */
#pragma once

#include "store/columns/job_changes.h"
#include "store/driver/connection.h"
#include "store/driver/statement.h"
#include "store/jobs.h"
#include "store/sqlite/sqlite_store.h"
#include "store/streams.h"
#include "support/empty_database.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct harness {
	char folder[128];
	char path[160];
	size_t wal_bytes, search_bytes; /* from the next open on */
	struct arena *arena;
	struct store *store;
	struct store_reader *reader;
	struct store_tx *tx;
};

static inline void harness_open(struct harness *h)
{
	struct store_options options = {.path = h->path, .wal_bytes = h->wal_bytes, .search_bytes = h->search_bytes};

	CHECK_OK(store_open(&h->store, &options, &err));
	CHECK_OK(store_reader_new(&h->reader, h->store, &err));
}

static inline struct harness harness_new(void)
{
	struct harness h = {0};

	test_make_folder(h.folder, sizeof h.folder, "store");
	snprintf(h.path, sizeof h.path, "%s/test.db", h.folder);
	h.arena = arena_new();
	CHECK(h.arena != NULL);
	empty_database_put(h.path);
	harness_open(&h);
	return h;
}

static inline void harness_close(struct harness *h)
{
	store_reader_free(h->reader);
	store_free(h->store);
	h->reader = NULL;
	h->store = NULL;
}

static inline void harness_reopen(struct harness *h)
{
	harness_close(h);
	harness_open(h);
}

static inline void harness_done(struct harness *h)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	char name[192];

	harness_close(h);
	arena_free(h->arena);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(name, sizeof name, "%s%s", h->path, suffixes[i]);
		unlink(name);
	}
	CHECK(rmdir(h->folder) == 0);
}

static inline struct store_tx *harness_begin(struct harness *h)
{
	CHECK_OK(store_tx_begin(&h->tx, h->store, &err));
	return h->tx;
}

static inline void harness_commit(struct harness *h)
{
	CHECK_OK(store_tx_commit(h->tx, &err));
	h->tx = NULL;
}

/* Inside the open transaction. */
static inline int64_t harness_job(struct harness *h, const char *name)
{
	struct job_row row = {.name = span_from(name),
		.document = SPAN("{}"),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Starting"),
		.created_ms = 1000,
		.modified_ms = 1000};

	CHECK_OK(store_put_job(h->tx, &row, &err));
	return row.job_id;
}

static inline uint32_t harness_stream(struct harness *h, int64_t job_id, const char *name)
{
	struct stream_row row = {.job_id = job_id, .name = span_from(name), .created_ms = 5};

	CHECK_OK(store_put_stream(h->tx, &row, &err));
	return row.stream_id;
}

static inline uint32_t harness_series(struct harness *h, int64_t job_id, uint32_t stream_id, const char *metric)
{
	struct series_row row = {
		.job_id = job_id, .stream_id = stream_id, .metric = span_from(metric), .role = ROLE_LOSS};

	CHECK_OK(store_put_series(h->tx, &row, &err));
	return row.series_id;
}

static inline int64_t harness_number(struct store_reader *on, const char *sql)
{
	int64_t number = -1;

	CHECK_OK(connection_number(on, sql, &number, &err));
	return number;
}
