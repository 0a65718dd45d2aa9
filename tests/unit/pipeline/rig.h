/*
 * Job: a whole pipeline over a database of its own, for tests that send batches and read what came of them.
 * Ownership: rig_prepare (or rig_make) and rig_remove, rig_open and rig_close in pairs. Threads: the test's.
 */
#pragma once

#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "state/options.h"
#include "state/pipeline_state.h"
#include "store/support/empty_database.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct rig {
	char folder[128], path[160];
	struct store *store;
	struct hub *hub;
	struct pipeline *pipeline;
	struct pipeline_options options; /* of the next rig_open */
};

/* As often as it can, else never. */
static inline void rig_seals(struct rig *rig, bool seals)
{
	rig->options.seal_bytes = seals ? 0 : UINT64_MAX;
	rig->options.seal_age_ms = seals ? 0 : INT64_MAX / 4;
}

/* A folder with an empty database, and options that seal nothing; opens nothing yet. */
static inline void rig_prepare(struct rig *rig)
{
	static const char presets[] =
		"{\"presets\":[{\"name\":\"steps\",\"detect\":\"^step \\\\d+ loss\",\"definitions\":["
		"{\"Name\":\"loss\",\"Regex\":\"^step (?<step>\\\\d+) loss (?<value>\\\\S+)\",\"Role\":\"loss\"},"
		"{\"Name\":\"lr\",\"Regex\":\"lr=(?<value>\\\\S+)\"}]}]}";

	*rig = (struct rig){.options = {.presets = span_of(presets, sizeof presets - 1),
				    .devices = SPAN("{}"),
				    .prices = SPAN("{\"currency\": \"USD\", \"prices\": []}"),
				    .goodput_every_ms = 1000,
				    .queue_items = 1000,
				    .queue_bytes = 64 << 20,
				    .group_bytes = 1 << 20,
				    .group_ms = 5,
				    .journal_bytes = 1 << 30,
				    .extract_threads = 2,
				    .match_steps = 100000,
				    .max_jobs = 4,
				    .max_streams_a_job = 4,
				    .max_series_a_stream = 100,
				    .max_sampled_series = 100,
				    .max_sources_a_stream = 3,
				    .public_url = SPAN("http://x")}};
	rig_seals(rig, false);
	test_make_folder(rig->folder, sizeof rig->folder, "pipeline");
	snprintf(rig->path, sizeof rig->path, "%s/t.db", rig->folder);
	empty_database_put(rig->path);
}

static inline void rig_open(struct rig *rig)
{
	struct store_options store = {
		.path = rig->path, .wal_bytes = 64 << 20, .writer_cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
	struct hub_options hub = {1 << 20, 60000, 10, 1 << 20, 15000};

	CHECK_OK(store_open(&rig->store, &store, &err));
	rig->options.store = rig->store;
	rig->hub = rig->options.hub = hub_new(&hub);
	CHECK(rig->hub);
	CHECK_OK(pipeline_start(&rig->pipeline, &rig->options, &err));
}

static inline void rig_make(struct rig *rig, bool seals)
{
	rig_prepare(rig);
	rig_seals(rig, seals);
	rig_open(rig);
}

static inline void rig_close(struct rig *rig, bool in_order)
{
	if (in_order)
		pipeline_drain(rig->pipeline, 60000);
	pipeline_free(rig->pipeline);
	hub_free(rig->hub);
	store_free(rig->store);
}

static inline void rig_remove(struct rig *rig)
{
	char command[192];

	snprintf(command, sizeof command, "rm -rf '%s'", rig->folder);
	CHECK(system(command) == 0);
}

/* ---- sending ---- */

struct receipt {
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	bool is_here;
	struct ingest_result result;
};

static inline void take_receipt(void *context, const struct ingest_result *result)
{
	struct receipt *receipt = context;

	pthread_mutex_lock(&receipt->mutex);
	receipt->result = *result;
	receipt->is_here = true;
	pthread_cond_signal(&receipt->arrived);
	pthread_mutex_unlock(&receipt->mutex);
}

static inline struct ingest_result send_batch(struct rig *rig, struct batch *batch)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

	CHECK_OK(pipeline_submit(rig->pipeline, batch, take_receipt, &receipt, &err));
	pthread_mutex_lock(&receipt.mutex);
	while (!receipt.is_here)
		pthread_cond_wait(&receipt.arrived, &receipt.mutex);
	pthread_mutex_unlock(&receipt.mutex);
	return receipt.result;
}

static inline struct batch *one_line(const char *job, const char *stream, const char *text, int64_t ts_ms)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, span_from(job), span_from(stream)) : NULL;

	CHECK(part && batch_add(batch, part, span_from(text), ts_ms, 0, strlen(text) + 1));
	return batch;
}

/* A run of its own: falls, spikes at 300, restarts at 400 from 350, turns NaN at 500. */
static inline void line_text(int i, int stream, char *out, size_t room)
{
	int step = i < 400 ? i : i - 50;
	double loss = 2 + 8.0 / (1 + step / 40.0) + (i * 37 + stream * 11) % 17 * 0.004;

	if (i >= 300 && i < 310)
		loss *= 3;
	if (i == 400)
		snprintf(out, room, "loading checkpoint from step 350");
	else if (i >= 550)
		snprintf(out, room, "step %d loss nan lr=1e-4", step);
	else
		snprintf(out, room, "step %d loss %.4f lr=1e-4", step, loss);
}

static inline struct batch *make_batch(int from, int to, int stream)
{
	struct batch *batch = batch_new(1700000000000 + from * 1000);
	char name[32], text[80];

	snprintf(name, sizeof name, "algo-%d", stream);
	struct batch_part *part = batch ? batch_part(batch, SPAN("run"), span_from(name)) : NULL;
	CHECK(part);
	for (int i = from; i < to; i++) {
		line_text(i, stream, text, sizeof text);
		CHECK(batch_add(batch, part, span_from(text), 1700000000000 + i * 1000, 0, strlen(text) + 1));
	}
	return batch;
}
