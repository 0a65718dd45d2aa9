/* Extraction when memory is out: all of a slice, or none that a restart does not bring back. */
#include "test.h"

#include "pipeline/commit/ingest_result.h"
#include "pipeline/consume/consume.h"
#include "pipeline/consume/mend.h"
#include "pipeline/pipeline.h"
#include "read/view.h"
#include "state/control.h"
#include "state/directory.h"
#include "state/job_view.h"
#include "state/options.h"
#include "state/pipeline_state.h"
#include "state/stream_pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LINES = 40 };

static const char presets[] =
	"{\"presets\":[{\"name\":\"steps\",\"detect\":\"^step \\\\d+ loss\",\"definitions\":["
	"{\"Name\":\"loss\",\"Regex\":\"^step (?<step>\\\\d+) loss (?<value>\\\\S+)\",\"Role\":\"loss\"},"
	"{\"Name\":\"lr\",\"Regex\":\"lr=(?<value>\\\\S+)\"}]}]}";

struct rig {
	char folder[64], path[96];
	struct store *store;
	struct hub *hub;
	struct pipeline *pipeline;
	struct job_state *job;
	struct regex_scratch *scratch;
	struct extracted_list found;
};

static void rig_open(struct rig *rig)
{
	struct store_options store = {
		.path = rig->path, .wal_bytes = 64 << 20, .writer_cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
	struct hub_options hub = {1 << 20, 60000, 10, 1 << 20, 15000};
	struct pipeline_options options = {.presets = span_of(presets, sizeof presets - 1),
		.devices = SPAN("{}"),
		.prices = SPAN("{\"currency\": \"USD\", \"prices\": []}"),
		.goodput_every_ms = 1000,
		.queue_items = 1000,
		.queue_bytes = 64 << 20,
		.group_bytes = 1 << 20,
		.group_ms = 5,
		.journal_bytes = 1 << 30,
		.extract_threads = 1,
		.match_steps = 100000,
		.max_jobs = 4,
		.max_streams_a_job = 4,
		.max_series_a_stream = 100,
		.public_url = SPAN("http://x")};

	CHECK_OK(store_open(&rig->store, &store, &err));
	rig->hub = options.hub = hub_new(&hub);
	options.store = rig->store;
	CHECK(rig->hub);
	CHECK_OK(pipeline_start(&rig->pipeline, &options, &err));
}

static void rig_close(struct rig *rig)
{
	job_unref(rig->job);
	rig->job = NULL;
	pipeline_drain(rig->pipeline, 60000);
	pipeline_free(rig->pipeline);
	hub_free(rig->hub);
	store_free(rig->store);
}

static void rig_make(struct rig *rig)
{
	*rig = (struct rig){.scratch = regex_scratch_new()};
	snprintf(rig->folder, sizeof rig->folder, "/tmp/smfleet-consume-XXXXXX");
	CHECK(mkdtemp(rig->folder) && rig->scratch);
	regex_scratch_limit(rig->scratch, 100000);
	snprintf(rig->path, sizeof rig->path, "%s/t.db", rig->folder);
	rig_open(rig);
}

static void rig_remove(struct rig *rig)
{
	char command[160];

	rig_close(rig);
	regex_scratch_free(rig->scratch);
	extracted_list_done(&rig->found);
	snprintf(command, sizeof command, "rm -rf '%s'", rig->folder);
	CHECK(system(command) == 0);
}

static void stored(void *context, const struct ingest_result *result)
{
	CHECK_INT(result->status, OK);
	atomic_store((atomic_bool *)context, true);
}

/* Falls, is no number once, restarts: detectors, attempts and a new series. */
static void add_lines(struct batch *batch, struct batch_part *part, int from, int to)
{
	char text[96];

	for (int i = from; i < to; i++) {
		int len = snprintf(
			text, sizeof text, "step %d loss %s%d lr=1e-4", i % 30, i == 20 ? "nan " : "", 50 - i % 30);
		CHECK(batch_add(
			batch, part, span_of(text, (size_t)len), 1700000000000 + i * 1000, 0, (uint64_t)len + 1));
	}
}

static struct stream_state *send(struct rig *rig, int from, int to)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), SPAN("algo-1")) : NULL;
	atomic_bool is_stored = false;

	CHECK(part);
	add_lines(batch, part, from, to);
	CHECK_OK(pipeline_submit(rig->pipeline, batch, stored, &is_stored, &err));
	while (!atomic_load(&is_stored))
		pipeline_wait_tick(rig->pipeline, 1);
	while (pipeline_extracted_seq(rig->pipeline) < atomic_load(&rig->pipeline->figures.committed_seq))
		pipeline_wait_tick(rig->pipeline, 1);
	if (!rig->job)
		CHECK(rig->job = directory_find(rig->pipeline->directory, SPAN("j")));
	return job_stream_at(rig->job, 0);
}

/* ---- one slice on this thread, into a state that nobody else knows ---- */

struct trial {
	struct stream_state *state;
	enum status status;
	struct buf made;
};

static struct trial try_slice(struct rig *rig, struct span content, size_t count, long fails_at)
{
	struct trial trial = {
		.state = stream_state_new(rig->job, 2, SPAN("algo-2"), SPAN("")), .made = BUF_INIT(1 << 24)};
	struct journal_slice slice = {.kind = JOURNAL_BLOCK,
		.job_id = rig->job->job_id,
		.stream_id = 2,
		.line_count = count,
		.arrival_ms = 1700000000000,
		.body = content};
	struct error problem = {0};

	CHECK(trial.state && (trial.state->said = said_list_new()));
	mem_fail_at(fails_at);
	trial.status = consume_slice(
		rig->pipeline, trial.state, rig->job->definitions, 1, &slice, rig->scratch, &rig->found, &problem);
	mem_fail_at(0);
	stream_pack(trial.state, &trial.made);
	said_list_pack(trial.state->said, &trial.made);
	for (size_t i = 0; i < trial.state->series_count; i++) {
		const struct series_state *series = trial.state->series[i];
		buf_printf(&trial.made, "%s", series->metric);
		for (size_t j = 0; j < series->tail_count; j++)
			buf_printf(&trial.made, " %lld:%.9g:%u", (long long)series->tail[j].step, series->tail[j].value,
				series->tail[j].attempt);
	}
	CHECK_OK(buf_status(&trial.made, &err));
	return trial;
}

static void trial_done(struct trial *trial)
{
	stream_state_free(trial->state);
	buf_done(&trial->made);
}

static int wait_once(void *context)
{
	++*(int *)context;
	return 1;
}

/* The first allocations of all, and each of the first slice's, until none is left. */
static void sweep(bool waits)
{
	AUTO(batch) batch = batch_new(1700000000000);
	AUTO_DONE(buf) content = BUF_INIT(1 << 20);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), SPAN("algo-2")) : NULL;
	struct rig rig;
	int waited = 0, failures = 0, whole_in_a_row = 0;

	CHECK(part);
	add_lines(batch, part, 0, LINES);
	CHECK_OK(block_lay_out(part->lines, part->count, &content, &err));
	rig_make(&rig);
	send(&rig, 0, 1);
	struct trial whole = try_slice(&rig, buf_span(&content), LINES, 0);
	CHECK_OK(whole.status);
	CHECK(whole.state->series_count >= 2);
	CHECK(whole.state->said->count > 0);
	if (waits)
		mem_wait(wait_once, &waited);
	/* a detector may do without what it gets no memory for, and nothing is told of that */
	for (long nth = 1; whole_in_a_row < 30; nth++) {
		int before = waited;
		struct trial trial = try_slice(&rig, buf_span(&content), LINES, nth);
		bool has_failed = trial.status != OK || waited > before;
		failures += has_failed;
		CHECK(trial.status == OK || (trial.status == ERR_MEMORY && !waits));
		if (trial.status != OK) /* else the sealer would take it for extracted */
			CHECK(trial.state->extracted_lines == 0 && trial.state->has_hole);
		else if (waits)
			CHECK_SPAN(buf_span(&trial.made), buf_span(&whole.made));
		else
			CHECK_INT(trial.state->extracted_lines, LINES);
		trial_done(&trial);
		whole_in_a_row = has_failed ? 0 : whole_in_a_row + 1;
	}
	mem_wait(NULL, NULL);
	CHECK(failures > 20);
	trial_done(&whole);
	rig_remove(&rig);
}

TEST(a_slice_without_memory_is_not_taken_for_extracted)
{
	sweep(false);
}

TEST(a_slice_that_waits_for_memory_is_whole)
{
	sweep(true);
}

static bool shows_hole(struct rig *rig)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct job_view view;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(pipeline_view_job(rig->pipeline, reader, arena, SPAN("j"), SPAN(""), SPAN(""), 0, &view, &err));
	CHECK_INT(view.stream_count, 1);
	return view.streams[0].has_hole;
}

static void hold_up(struct stream_state *stream, int64_t until_ms)
{
	pthread_mutex_lock(&stream->mutex);
	atomic_store(&stream->mend_due_ms, until_ms);
	stream->has_hole = true;
	pthread_mutex_unlock(&stream->mutex);
}

TEST(what_was_extracted_in_part_is_not_sealed_and_a_start_mends_it)
{
	struct rig rig;

	rig_make(&rig);
	struct stream_state *stream = send(&rig, 0, 10);
	hold_up(stream, INT64_MAX);
	uint64_t before = atomic_load(&rig.pipeline->figures.unextracted_lines);
	send(&rig, 10, 25);
	CHECK_INT(atomic_load(&rig.pipeline->figures.unextracted_lines) - before, 15);
	CHECK(shows_hole(&rig));
	CHECK_INT(pipeline_held_up_streams(rig.pipeline), 1);
	rig_close(&rig); /* seals what it can */
	rig_open(&rig);
	CHECK(!shows_hole(&rig));
	CHECK_INT(pipeline_held_up_streams(rig.pipeline), 0);
	stream = send(&rig, 25, 26);
	pthread_mutex_lock(&stream->mutex);
	CHECK(!stream->has_hole);
	CHECK_INT(stream->extracted_lines, 26);
	CHECK_INT(stream->series[0]->sealed_points + stream->series[0]->tail_count, 26);
	pthread_mutex_unlock(&stream->mutex);
	rig_remove(&rig);
}

static void check_points(struct stream_state *stream, int lines)
{
	pthread_mutex_lock(&stream->mutex);
	CHECK_INT(stream->extracted_lines, lines);
	CHECK_INT(stream->series[0]->sealed_points + stream->series[0]->tail_count, lines);
	pthread_mutex_unlock(&stream->mutex);
}

/* Of what is sealed, and of what is in the journal: nothing twice, nothing left out. */
TEST(what_is_held_up_goes_on_by_itself)
{
	struct rig rig;

	rig_make(&rig);
	send(&rig, 0, 8);
	rig_close(&rig); /* seals */
	rig_open(&rig);
	struct stream_state *stream = send(&rig, 8, 10);
	for (int round = 0; round < 2; round++) {
		int from = 10 + 8 * round;
		hold_up(stream, INT64_MAX);
		send(&rig, from, from + 8);
		pthread_mutex_lock(&stream->mutex);
		CHECK_INT(stream->extracted_lines, from);
		pthread_mutex_unlock(&stream->mutex);
		pthread_mutex_lock(&stream->mutex);
		stream->series[0]->max_step += 1000; /* as a slice that was consumed in part left it */
		pthread_mutex_unlock(&stream->mutex);
		mend_hasten(rig.job);
		while (pipeline_held_up_streams(rig.pipeline))
			pipeline_wait_tick(rig.pipeline, 10);
		check_points(stream, from + 8);
		pthread_mutex_lock(&stream->mutex);
		CHECK_INT(stream->series[0]->max_step, from + 7);
		pthread_mutex_unlock(&stream->mutex);
	}
	send(&rig, 26, 30);
	check_points(stream, 30);
	rig_close(&rig);
	rig_open(&rig);
	check_points(send(&rig, 30, 31), 31);
	rig_remove(&rig);
}
