/* Extraction when memory is out: all of a slice, or none that a restart does not bring back. */
#include "pipeline/consume/consume.h"
#include "pipeline/consume/mend.h"
#include "pipeline/rig.h"
#include "read/view.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_pack.h"

enum { LINES = 40 };

struct extraction {
	struct rig rig;
	struct job_state *job;
	struct regex_scratch *scratch;
	struct extracted_list found;
};

static void extraction_make(struct extraction *on)
{
	*on = (struct extraction){.scratch = regex_scratch_new()};
	CHECK(on->scratch);
	regex_scratch_limit(on->scratch, 100000);
	rig_prepare(&on->rig);
	on->rig.options.extract_threads = 1;
	on->rig.options.seal_bytes = on->rig.options.seal_age_ms = 0;
	rig_open(&on->rig);
}

static void extraction_close(struct extraction *on)
{
	job_unref(on->job);
	on->job = NULL;
	rig_close(&on->rig, true);
}

static void extraction_remove(struct extraction *on)
{
	extraction_close(on);
	regex_scratch_free(on->scratch);
	extracted_list_done(&on->found);
	rig_remove(&on->rig);
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

static struct stream_state *send(struct extraction *on, int from, int to)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("j"), SPAN("algo-1")) : NULL;
	atomic_bool is_stored = false;

	CHECK(part);
	add_lines(batch, part, from, to);
	CHECK_OK(pipeline_submit(on->rig.pipeline, batch, stored, &is_stored, &err));
	while (!atomic_load(&is_stored))
		control_wait_tick(on->rig.pipeline, 1);
	while (pipeline_extracted_seq(on->rig.pipeline) < atomic_load(&on->rig.pipeline->figures.committed_seq))
		control_wait_tick(on->rig.pipeline, 1);
	if (!on->job)
		CHECK(on->job = directory_find(on->rig.pipeline->directory, SPAN("j")));
	return job_stream_at(on->job, 0);
}

/* ---- one slice on this thread, into a state that nobody else knows ---- */

struct trial {
	struct stream_state *state;
	enum status status;
	struct buf made;
};

static struct trial try_slice(struct extraction *on, struct span content, size_t count, long fails_at)
{
	struct trial trial = {
		.state = stream_state_new(on->job, 2, SPAN("algo-2"), SPAN("")), .made = BUF_INIT(1 << 24)};
	struct journal_slice slice = {.kind = JOURNAL_BLOCK,
		.job_id = on->job->job_id,
		.stream_id = 2,
		.line_count = count,
		.arrival_ms = 1700000000000,
		.body = content};
	struct error problem = {0};

	CHECK(trial.state && (trial.state->said = said_list_new()));
	mem_fail_at(fails_at);
	trial.status = consume_slice(
		on->rig.pipeline, trial.state, on->job->definitions, 1, &slice, on->scratch, &on->found, &problem);
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
	struct extraction on;
	int waited = 0, failures = 0, whole_in_a_row = 0;

	CHECK(part);
	add_lines(batch, part, 0, LINES);
	CHECK_OK(block_lay_out(part->lines, part->count, &content, &err));
	extraction_make(&on);
	send(&on, 0, 1);
	struct trial whole = try_slice(&on, buf_span(&content), LINES, 0);
	CHECK_OK(whole.status);
	CHECK(whole.state->series_count >= 2);
	CHECK(whole.state->said->count > 0);
	if (waits)
		mem_wait(wait_once, &waited);
	/* a detector may do without what it gets no memory for, and nothing is told of that */
	for (long nth = 1; whole_in_a_row < 30; nth++) {
		int before = waited;
		struct trial trial = try_slice(&on, buf_span(&content), LINES, nth);
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
	extraction_remove(&on);
}

TEST(a_slice_without_memory_is_not_taken_for_extracted)
{
	sweep(false);
}

TEST(a_slice_that_waits_for_memory_is_whole)
{
	sweep(true);
}

/* What is loaded as damaged begins anew, and its next seal replaces what was there. */
TEST(a_stream_that_finds_no_memory_is_not_taken_for_damaged)
{
	AUTO_DONE(buf) packed = BUF_INIT(1 << 24);
	struct extraction on;
	struct error problem;
	int failures = 0, whole_in_a_row = 0;

	extraction_make(&on);
	stream_pack(send(&on, 0, LINES), &packed);
	CHECK_OK(buf_status(&packed, &err));
	for (long nth = 1; whole_in_a_row < 30; nth++) {
		AUTO(arena) arena = arena_new();
		struct stream_state *state = stream_state_new(on.job, 2, SPAN("algo-2"), SPAN(""));
		struct stream_view view = {.stream_id = 2};
		CHECK(arena && state);
		mem_fail_at(nth);
		enum status of_view = stream_unpack_view(buf_span(&packed), arena, &view, &problem);
		mem_fail_at(nth);
		enum status status = stream_unpack(state, buf_span(&packed), &problem);
		mem_fail_at(0);
		CHECK_TEXT(status == OK || status == ERR_MEMORY ? "" : problem.text, "");
		CHECK(of_view == OK || of_view == ERR_MEMORY);
		failures += (status != OK) + (of_view != OK);
		whole_in_a_row = status == OK && of_view == OK ? whole_in_a_row + 1 : 0;
		stream_state_free(state);
	}
	CHECK(failures > 5);
	extraction_remove(&on);
}

static bool shows_hole(struct extraction *on)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct job_view view;

	CHECK_OK(store_reader_new(&reader, on->rig.store, &err));
	CHECK_OK(view_read_job(on->rig.pipeline, reader, arena, SPAN("j"), SPAN(""), SPAN(""), 0, &view, &err));
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
	struct extraction on;

	extraction_make(&on);
	struct stream_state *stream = send(&on, 0, 10);
	hold_up(stream, INT64_MAX);
	uint64_t before = atomic_load(&on.rig.pipeline->figures.unextracted_lines);
	send(&on, 10, 25);
	CHECK_INT(atomic_load(&on.rig.pipeline->figures.unextracted_lines) - before, 15);
	CHECK(shows_hole(&on));
	CHECK_INT(pipeline_held_up_streams(on.rig.pipeline), 1);
	extraction_close(&on); /* seals what it can */
	rig_open(&on.rig);
	CHECK(!shows_hole(&on));
	CHECK_INT(pipeline_held_up_streams(on.rig.pipeline), 0);
	stream = send(&on, 25, 26);
	pthread_mutex_lock(&stream->mutex);
	CHECK(!stream->has_hole);
	CHECK_INT(stream->extracted_lines, 26);
	CHECK_INT(stream->series[0]->sealed_points + stream->series[0]->tail_count, 26);
	pthread_mutex_unlock(&stream->mutex);
	extraction_remove(&on);
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
	struct extraction on;

	extraction_make(&on);
	send(&on, 0, 8);
	extraction_close(&on); /* seals */
	rig_open(&on.rig);
	struct stream_state *stream = send(&on, 8, 10);
	for (int round = 0; round < 2; round++) {
		int from = 10 + 8 * round;
		hold_up(stream, INT64_MAX);
		send(&on, from, from + 8);
		pthread_mutex_lock(&stream->mutex);
		CHECK_INT(stream->extracted_lines, from);
		pthread_mutex_unlock(&stream->mutex);
		pthread_mutex_lock(&stream->mutex);
		stream->series[0]->max_step += 1000; /* as a slice that was consumed in part left it */
		pthread_mutex_unlock(&stream->mutex);
		mend_hasten(on.job);
		while (pipeline_held_up_streams(on.rig.pipeline))
			control_wait_tick(on.rig.pipeline, 10);
		check_points(stream, from + 8);
		pthread_mutex_lock(&stream->mutex);
		CHECK_INT(stream->series[0]->max_step, from + 7);
		pthread_mutex_unlock(&stream->mutex);
	}
	send(&on, 26, 30);
	check_points(stream, 30);
	extraction_close(&on);
	rig_open(&on.rig);
	check_points(send(&on, 30, 31), 31);
	extraction_remove(&on);
}
