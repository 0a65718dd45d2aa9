/* The whole pipeline over a real database: what is read must not depend on when it was sealed, stopped or restarted. */
#include "pipeline/pipeline.h"
#include "store/block.h"
#include "store/journal_record.h"
#include "test.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char presets[] =
	"{\"presets\":[{\"name\":\"steps\",\"detect\":\"^step \\\\d+ loss\",\"definitions\":["
	"{\"Name\":\"loss\",\"Regex\":\"^step (?<step>\\\\d+) loss (?<value>\\\\S+)\",\"Role\":\"loss\"},"
	"{\"Name\":\"lr\",\"Regex\":\"lr=(?<value>\\\\S+)\"}]}]}";

struct rig {
	char folder[64], path[96];
	struct store *store;
	struct hub *hub;
	struct pipeline *pipeline;
	bool seals; /* as often as it can, else never */
	size_t max_series; /* of a stream; 0: plenty */
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
		.seal_bytes = rig->seals ? 0 : UINT64_MAX,
		.seal_age_ms = rig->seals ? 0 : INT64_MAX / 4,
		.extract_threads = 2,
		.match_steps = 100000,
		.max_jobs = 4,
		.max_streams_a_job = 3,
		.max_series_a_stream = rig->max_series ? rig->max_series : 100,
		.max_sources_a_stream = 3,
		.public_url = SPAN("http://x")};

	CHECK_OK(store_open(&rig->store, &store, &err));
	rig->hub = options.hub = hub_new(&hub);
	options.store = rig->store;
	CHECK(rig->hub);
	CHECK_OK(pipeline_start(&rig->pipeline, &options, &err));
}

static void rig_close(struct rig *rig, bool in_order)
{
	if (in_order)
		pipeline_drain(rig->pipeline, 60000);
	pipeline_free(rig->pipeline);
	hub_free(rig->hub);
	store_free(rig->store);
}

static void rig_make(struct rig *rig, bool seals)
{
	*rig = (struct rig){0};
	snprintf(rig->folder, sizeof rig->folder, "/tmp/smfleet-pipeline-XXXXXX");
	CHECK(mkdtemp(rig->folder));
	snprintf(rig->path, sizeof rig->path, "%s/t.db", rig->folder);
	rig->seals = seals;
	rig_open(rig);
}

static void rig_remove(struct rig *rig)
{
	char command[160];

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

static void take_receipt(void *context, const struct ingest_result *result)
{
	struct receipt *receipt = context;

	pthread_mutex_lock(&receipt->mutex);
	receipt->result = *result;
	receipt->is_here = true;
	pthread_cond_signal(&receipt->arrived);
	pthread_mutex_unlock(&receipt->mutex);
}

static struct ingest_result send_batch(struct rig *rig, struct batch *batch)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

	CHECK_OK(pipeline_submit(rig->pipeline, batch, take_receipt, &receipt, &err));
	pthread_mutex_lock(&receipt.mutex);
	while (!receipt.is_here)
		pthread_cond_wait(&receipt.arrived, &receipt.mutex);
	pthread_mutex_unlock(&receipt.mutex);
	return receipt.result;
}

static struct batch *one_line(const char *job, const char *stream, const char *text, int64_t ts_ms)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, span_from(job), span_from(stream)) : NULL;

	CHECK(part && batch_add(batch, part, span_from(text), ts_ms, 0, strlen(text) + 1));
	return batch;
}

/* A run of its own: falls, spikes at 300, restarts at 400 from 350, turns NaN at 500. */
static void line_text(int i, int stream, char *out, size_t room)
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

static struct batch *make_batch(int from, int to, int stream)
{
	struct batch *batch = batch_new(1700000000000 + from * 1000);
	char name[16], text[80];

	snprintf(name, sizeof name, "algo-%d", stream);
	struct batch_part *part = batch ? batch_part(batch, SPAN("run"), span_from(name)) : NULL;
	CHECK(part);
	for (int i = from; i < to; i++) {
		line_text(i, stream, text, sizeof text);
		CHECK(batch_add(batch, part, span_from(text), 1700000000000 + i * 1000, 0, strlen(text) + 1));
	}
	return batch;
}

/* ---- reading: everything there is, as text ---- */

static enum status print_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *p, int64_t x, struct error *err)
{
	(void)err;
	buf_printf(context, "%.*s %.*s %lld %lld %.17g %llu %u %lld\n", SPAN_ARGS(stream->name),
		SPAN_ARGS(series->metric), (long long)p->step, (long long)p->ts_ms, p->value,
		(unsigned long long)p->line, p->attempt, (long long)x);
	return OK;
}

static void print_lines(struct rig *rig, struct store_reader *reader, struct arena *arena,
	const struct stream_view *stream, struct buf *out)
{
	struct line_view *lines;
	uint64_t total;
	size_t count;

	CHECK_OK(pipeline_read_lines(rig->pipeline, reader, arena, SPAN("run"), stream->name, 0, 100000, SIZE_MAX,
		&lines, &count, &total, &err));
	CHECK_INT(count, total);
	CHECK_INT(total, stream->lines);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "%llu %lld %.*s\n", (unsigned long long)lines[i].number, (long long)lines[i].ts_ms,
			SPAN_ARGS(lines[i].text));
}

static int by_key(const void *a, const void *b)
{
	const struct incident_row *left = a, *right = b;
	int order = span_compare(left->stream, right->stream);

	if (!order)
		order = (int)left->incident.kind - (int)right->incident.kind;
	return order ? order
		     : (left->incident.opened_ordinal > right->incident.opened_ordinal) -
			       (left->incident.opened_ordinal < right->incident.opened_ordinal);
}

static void print_incidents(struct store_reader *reader, struct arena *arena, struct buf *out)
{
	struct incident_filter filter = {.has_all = true, .state = -1, .kind = -1, .cursor = SPAN(""), .limit = 1000};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	CHECK_OK(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, &err));
	/* their numbers are given in the order of the commits, which may differ: the set is what counts */
	if (count)
		qsort(rows, count, sizeof *rows, by_key);
	for (size_t i = 0; i < count; i++)
		buf_printf(out, "incident %.*s %s %llu %s %lld\n", SPAN_ARGS(rows[i].stream),
			incident_kind_name(rows[i].incident.kind), (unsigned long long)rows[i].incident.opened_ordinal,
			incident_state_name(rows[i].incident.state), (long long)rows[i].incident.first_step);
}

static void print_all(struct rig *rig, struct buf *out)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	const char *const metrics[] = {"loss", "lr"};

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(pipeline_view_job(
		rig->pipeline, reader, arena, SPAN("run"), SPAN(""), SPAN(""), VIEW_SERIES | VIEW_TAILS, &view, &err));
	for (size_t i = 0; i < view.stream_count; i++) {
		const struct stream_view *stream = &view.streams[i];
		buf_printf(out, "%.*s lines %llu bytes %llu attempt %u first %lld last %lld\n", SPAN_ARGS(stream->name),
			(unsigned long long)stream->lines, (unsigned long long)stream->bytes, stream->attempt,
			(long long)stream->first_ms, (long long)stream->last_ms);
		for (size_t j = 0; j < stream->health_count; j++)
			buf_printf(out, "%.*s tried %llu matched %llu\n", SPAN_ARGS(stream->health[j].name),
				(unsigned long long)stream->health[j].tried,
				(unsigned long long)stream->health[j].matched);
		print_lines(rig, reader, arena, stream, out);
	}
	for (int i = 0; i < 2; i++) {
		struct chart_query query = {.metric = span_from(metrics[i]),
			.stream = SPAN(""),
			.from = INT64_MIN,
			.to = INT64_MAX,
			.attempts = ATTEMPTS_ALL};
		CHECK_OK(pipeline_each_point(rig->pipeline, reader, arena, &view, &query, print_point, out, &err));
	}
	print_incidents(reader, arena, out);
	CHECK_OK(buf_status(out, &err));
}

static void run_all(struct buf *out, bool seals, int restart_every, bool in_order)
{
	struct rig rig;
	int sent = 0;

	rig_make(&rig, seals);
	for (int from = 0; from < 600; from += 20)
		for (int stream = 1; stream <= 2; stream++) {
			struct ingest_result result = send_batch(&rig, make_batch(from, from + 20, stream));
			CHECK_INT(result.status, OK);
			CHECK_INT(result.accepted, 20);
			if (restart_every && ++sent % restart_every == 0) {
				rig_close(&rig, in_order);
				rig_open(&rig);
			}
		}
	pipeline_drain(rig.pipeline, 60000); /* extraction and incidents are through */
	print_all(&rig, out);
	rig_close(&rig, false);
	rig_remove(&rig);
}

/* Texts of half a megabyte: the first line that differs is what helps. */
static void check_texts(struct span got, struct span want)
{
	struct span got_line, want_line;

	while (span_next(&want, '\n', &want_line)) {
		CHECK(span_next(&got, '\n', &got_line));
		CHECK_SPAN(got_line, want_line);
	}
	CHECK(!span_next(&got, '\n', &got_line));
}

static void check_same(bool seals, int restart_every, bool in_order)
{
	AUTO_DONE(buf) plain = BUF_INIT(1 << 24);
	AUTO_DONE(buf) other = BUF_INIT(1 << 24);

	run_all(&plain, false, 0, true);
	run_all(&other, seals, restart_every, in_order);
	CHECK(span_find(buf_span(&plain), SPAN("loss_spike")) > 0);
	CHECK(span_find(buf_span(&plain), SPAN("non_finite")) > 0);
	CHECK(span_find(buf_span(&plain), SPAN("attempt 2")) > 0);
	check_texts(buf_span(&other), buf_span(&plain));
}

TEST(restarts_in_order_change_nothing)
{
	check_same(false, 7, true);
}

TEST(restarts_without_order_change_nothing)
{
	check_same(false, 3, false);
}

TEST(sealing_changes_nothing)
{
	check_same(true, 0, true);
}

TEST(sealing_and_restarts_change_nothing)
{
	check_same(true, 5, true);
	check_same(true, 1, false);
}

/* ---- large batches: text that is a block from the start ---- */

enum { LARGE_LINES = 3000 };

static struct batch *make_large_batch(int from)
{
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("run"), SPAN("algo-1")) : NULL;
	char text[128];

	CHECK(part);
	for (int i = from; i < from + LARGE_LINES; i++) {
		int len = snprintf(
			text, sizeof text, "step %d loss %d.5 and what else there is to say on a long line", i, i % 97);
		/* every hundredth has no time of its own, and is cut or holds a newline */
		CHECK(batch_add(batch, part, i % 100 ? span_of(text, (size_t)len) : SPAN("two\nlines"),
			i % 100 ? 1700000000000 + i : NO_TIME, i % 100 ? 0 : LINE_CUT, 80));
	}
	return batch;
}

static uint64_t count_lines(struct buf *all)
{
	struct span rest = buf_span(all), line;
	uint64_t count = 0;

	while (span_next(&rest, '\n', &line))
		count += span_find(line, SPAN("and what else")) > 0;
	return count;
}

/* As a crash leaves it when text was sealed ahead of its state. */
static void put_block_ahead(struct rig *rig)
{
	AUTO(batch) batch = make_large_batch(0);
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) packed = BUF_INIT(1 << 24);
	struct store_options options = {
		.path = rig->path, .wal_bytes = 64 << 20, .writer_cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
	struct line *lines = batch->parts[0].lines;
	struct store *store;
	struct store_tx *tx;

	for (int i = 0; i < LARGE_LINES; i++)
		if (lines[i].ts_ms == NO_TIME) /* of the line before it */
			lines[i].ts_ms = i ? lines[i - 1].ts_ms : batch->arrival_ms;
	CHECK_OK(store_open(&store, &options, &err));
	CHECK_OK(store_tx_begin(&tx, store, &err));
	for (int from = 0; from < LARGE_LINES; from += LARGE_LINES / 3) {
		buf_reset(&packed);
		CHECK_OK(block_pack(lines + from, LARGE_LINES / 3, zstd, &packed, &err));
		struct block_row row = {.job_id = 1,
			.stream_id = 1,
			.first_line = (uint64_t)from,
			.line_count = LARGE_LINES / 3,
			.raw_bytes = batch->text_bytes / 3,
			.first_ms = 1700000000000,
			.last_ms = 1700000000000 + LARGE_LINES,
			.data = buf_span(&packed)};
		CHECK_OK(store_put_block(tx, &row, &err));
	}
	CHECK_OK(store_tx_commit(tx, &err));
	store_free(store);
}

/* Text goes on behind them: a block that was written again from where the state stands would overlap the others. */
static void check_blocks_ahead(struct rig *rig)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct block_row row;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(store_read_block(reader, arena, 1, 1, 0, &row, &err));
	CHECK_INT(row.line_count, LARGE_LINES / 3);
}

static void check_large(struct rig *rig, struct buf *want)
{
	AUTO_DONE(buf) got = BUF_INIT(1 << 24);

	print_all(rig, &got);
	check_texts(buf_span(&got), buf_span(want));
}

static enum status do_nothing(void *context, struct store_tx *tx, struct error *err)
{
	(void)context, (void)tx, (void)err;
	return OK;
}

/* A start says again what was not committed of incidents before it: work that is given to the writer now comes behind that. */
static void wait_for_incidents(struct rig *rig)
{
	CHECK_OK(pipeline_execute(rig->pipeline, do_nothing, NULL, &err));
}

/* seals: while they come, and over a crash; is_ahead: a block lies in the file that no state tells of. */
static void check_large_text(bool seals, bool is_ahead)
{
	AUTO_DONE(buf) want = BUF_INIT(1 << 24);
	struct rig rig;

	rig_make(&rig, seals);
	for (int i = 0; i < 4; i++) {
		CHECK_INT(send_batch(&rig, make_large_batch(i * LARGE_LINES)).accepted, LARGE_LINES);
		if (i == 1)
			CHECK_INT(send_batch(&rig, one_line("run", "algo-1", "step 5999 loss 1.5", 5)).accepted, 1);
	}
	if (!seals) {
		rig_close(&rig, false);
		rig_open(&rig);
		wait_for_incidents(&rig);
		print_all(&rig, &want);
		CHECK_INT(count_lines(&want), 4 * LARGE_LINES - 4 * LARGE_LINES / 100);
	} else {
		pipeline_drain(rig.pipeline, 60000);
		print_all(&rig, &want);
	}
	rig_close(&rig, false);
	if (is_ahead)
		put_block_ahead(&rig);
	rig.seals = true;
	rig_open(&rig);
	wait_for_incidents(&rig);
	check_large(&rig, &want); /* in the middle of whatever the sealer does */
	pipeline_drain(rig.pipeline, 60000);
	CHECK_INT(atomic_load(&pipeline_figures(rig.pipeline)->lost_lines), 0);
	check_large(&rig, &want);
	if (is_ahead)
		check_blocks_ahead(&rig);
	rig_close(&rig, false);
	rig_open(&rig);
	CHECK_INT(atomic_load(&pipeline_figures(rig.pipeline)->extracted_seq), 5);
	check_large(&rig, &want);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(large_text_is_the_same_sealed_and_not)
{
	check_large_text(false, false);
	check_large_text(true, false);
}

TEST(text_ahead_of_its_state_is_read_once)
{
	check_large_text(false, true);
}

/* As the first release wrote it: the record of the lines that would have come next. */
static void append_record_of_format_1(struct rig *rig)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) record = BUF_INIT(1 << 20);
	struct store_options options = {
		.path = rig->path, .wal_bytes = 64 << 20, .writer_cache_bytes = 1 << 20, .reader_cache_bytes = 1 << 20};
	struct journal_writer writer = {0};
	struct line line = {.text = SPAN("step 1 loss 1.5"), .ts_ms = NO_TIME};
	struct journal_slice slice = {.job_id = 1,
		.stream_id = 1,
		.generation = 1,
		.first_line = 1,
		.first_byte = 16,
		.arrival_ms = 1700000000000,
		.line_count = 1,
		.text_bytes = 16,
		.sent_bytes = 16};
	struct store *store;
	struct store_tx *tx;

	journal_add(&writer, &slice, &line);
	buf_append_char(&record, 1);
	CHECK_OK(zstd_pack(zstd, span_skip(buf_span(&writer.plain), 1), 1, &record, &err));
	journal_writer_done(&writer);
	CHECK_OK(store_open(&store, &options, &err));
	CHECK_OK(store_tx_begin(&tx, store, &err));
	CHECK_OK(store_append_journal(tx, 2, buf_span(&record), &err));
	CHECK_OK(store_tx_commit(tx, &err));
	store_free(store);
}

TEST(a_journal_of_the_first_release_is_replayed)
{
	AUTO_DONE(buf) all = BUF_INIT(1 << 20);
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("run", "algo-1", "step 0 loss 2.5", NO_TIME)).accepted, 1);
	rig_close(&rig, false);
	append_record_of_format_1(&rig);
	rig.seals = true;
	rig_open(&rig);
	CHECK_INT(send_batch(&rig, one_line("run", "algo-1", "step 2 loss 0.5", NO_TIME)).seq, 3);
	pipeline_drain(rig.pipeline, 60000);
	print_all(&rig, &all);
	CHECK(span_find(buf_span(&all), SPAN("lines 3 bytes 48")) > 0);
	CHECK(span_find(buf_span(&all), SPAN("\n1 1700000000000 step 1 loss 1.5\n")) > 0);
	CHECK(span_find(buf_span(&all), SPAN("algo-1 loss 1 1700000000000 1.5 1 ")) > 0);
	rig_close(&rig, true);
	rig_remove(&rig);
}

/* ---- refusals ---- */

TEST(offsets_are_checked)
{
	struct rig rig;

	rig_make(&rig, false);
	struct batch *batch = one_line("o", "s", "four", NO_TIME);
	batch->offset = 0;
	CHECK_INT(send_batch(&rig, batch).next_offset, 5);
	batch = one_line("o", "s", "four", NO_TIME);
	batch->offset = 0;
	struct ingest_result again = send_batch(&rig, batch);
	CHECK_INT(again.status, OK);
	CHECK_INT(again.accepted, 0);
	CHECK_INT(again.duplicate, 1);
	batch = one_line("o", "s", "four", NO_TIME);
	batch->offset = 6;
	struct ingest_result gap = send_batch(&rig, batch);
	CHECK_INT(gap.status, ERR_CONFLICT);
	CHECK_INT(gap.err.member_value, 5);
	batch = one_line("o", "s", "four", NO_TIME);
	batch->offset = 3;
	CHECK_INT(send_batch(&rig, batch).status, ERR_CONFLICT);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(streams_of_a_job_are_limited)
{
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	CHECK_INT(send_batch(&rig, one_line("j", "b", "x", NO_TIME)).status, OK);
	CHECK_INT(send_batch(&rig, one_line("j", "c", "x", NO_TIME)).status, OK);
	struct ingest_result over = send_batch(&rig, one_line("j", "d", "x", NO_TIME));
	CHECK_INT(over.status, ERR_TOO_LARGE);
	CHECK(span_find(span_from(over.err.text), SPAN("--max-streams")) > 0);
	CHECK_INT(send_batch(&rig, one_line("j", "d", "x", NO_TIME)).status, ERR_TOO_LARGE); /* nor the second time */
	CHECK_INT(send_batch(&rig, one_line("j", "a", "y", NO_TIME)).status, OK);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(jobs_in_memory_are_limited)
{
	char name[2] = "a";
	struct rig rig;

	rig_make(&rig, false);
	for (; *name < 'e'; (*name)++)
		CHECK_INT(send_batch(&rig, one_line(name, "s", "x", NO_TIME)).status, OK);
	struct ingest_result over = send_batch(&rig, one_line("e", "s", "x", NO_TIME));
	CHECK_INT(over.status, ERR_BUSY);
	CHECK(over.err.retry_after_s > 0 && span_find(span_from(over.err.text), SPAN("--max-jobs")) > 0);
	CHECK_INT(send_batch(&rig, one_line("a", "s", "y", NO_TIME)).status, OK);
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(a_series_too_many_leaves_the_others_alone)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	struct rig rig;

	rig_make(&rig, false);
	rig_close(&rig, true);
	rig.max_series = 1; /* loss; not lr */
	rig_open(&rig);
	CHECK_INT(send_batch(&rig, make_batch(0, 20, 1)).status, OK);
	rig_close(&rig, false);
	rig_open(&rig); /* and the replay starts the server */
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(pipeline_view_job(
		rig.pipeline, reader, arena, SPAN("run"), SPAN(""), SPAN(""), VIEW_SERIES, &view, &err));
	CHECK_INT(view.streams[0].series_count, 2);
	CHECK_INT(view.streams[0].series[0].summary.count, 20);
	CHECK_SPAN(view.streams[0].series[1].metric, SPAN("derived:steps_per_second")); /* the limit is the log's */
	CHECK(atomic_load(&pipeline_figures(rig.pipeline)->refused_points) >= 20);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

/* ---- what comes together into one transaction ---- */

struct gate { /* holds the writer up, so that what is sent meanwhile goes into the next transaction */
	struct rig *rig;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool is_held, is_open;
};

static enum status wait_in_writer(void *context, struct store_tx *tx, struct error *err)
{
	struct gate *gate = context;

	(void)tx;
	(void)err;
	pthread_mutex_lock(&gate->mutex);
	gate->is_held = true;
	pthread_cond_broadcast(&gate->changed);
	while (!gate->is_open)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
	return OK;
}

static void *run_gate(void *context)
{
	struct gate *gate = context;

	CHECK_OK(pipeline_execute(gate->rig->pipeline, wait_in_writer, gate, &err));
	return NULL;
}

static void gate_close(struct gate *gate, struct rig *rig)
{
	*gate = (struct gate){.rig = rig, .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	CHECK(pthread_create(&gate->thread, NULL, run_gate, gate) == 0);
	pthread_mutex_lock(&gate->mutex);
	while (!gate->is_held)
		pthread_cond_wait(&gate->changed, &gate->mutex);
	pthread_mutex_unlock(&gate->mutex);
}

static void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->mutex);
	gate->is_open = true;
	pthread_cond_broadcast(&gate->changed);
	pthread_mutex_unlock(&gate->mutex);
	CHECK(pthread_join(gate->thread, NULL) == 0);
}

TEST(another_teams_job_is_refused_while_it_is_being_made)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	struct receipt other = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	struct batch *first = one_line("gpt", "a", "x", NO_TIME), *second = one_line("gpt", "b", "x", NO_TIME);
	struct gate gate;
	struct rig rig;

	rig_make(&rig, false);
	first->team = SPAN("nlp");
	second->team = SPAN("vision");
	gate_close(&gate, &rig);
	CHECK_OK(pipeline_submit(rig.pipeline, first, take_receipt, &receipt, &err));
	CHECK_OK(pipeline_submit(rig.pipeline, second, take_receipt, &other, &err));
	gate_open(&gate);
	rig_close(&rig, true);
	CHECK_INT(receipt.result.status, OK);
	CHECK_INT(other.result.status, ERR_FORBIDDEN);
	rig_remove(&rig);
}

static void *run_deletion(void *context)
{
	struct rig *rig = context;

	CHECK_OK(pipeline_delete_job(rig->pipeline, SPAN("j"), SPAN(""), 1700000000000 + 3600000, &err));
	return NULL;
}

/* Whichever comes first: a line that was acknowledged behind the deletion is there, one that went down with it was refused. */
TEST(a_line_that_meets_a_deletion_is_kept_or_refused)
{
	struct receipt receipt = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	pthread_t deletion;
	struct gate gate;
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	gate_close(&gate, &rig);
	CHECK(pthread_create(&deletion, NULL, run_deletion, &rig) == 0);
	CHECK_OK(pipeline_submit(rig.pipeline, one_line("j", "b", "y", NO_TIME), take_receipt, &receipt, &err));
	gate_open(&gate);
	CHECK(pthread_join(deletion, NULL) == 0);
	CHECK_INT(send_batch(&rig, one_line("j", "c", "z", NO_TIME)).status, OK); /* behind both */
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(pipeline_view_job(rig.pipeline, reader, arena, SPAN("j"), SPAN(""), SPAN(""), 0, &view, &err));
	for (size_t i = 0; i < view.stream_count; i++)
		CHECK(!span_equal(view.streams[i].name, SPAN("a")));
	/* acknowledged: before the deletion, then it went with the job, or behind it, then its stream is there */
	CHECK(receipt.result.status == OK ? view.stream_count <= 2 : view.stream_count == 1);
	CHECK(receipt.result.status == OK || receipt.result.status == ERR_BUSY);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(another_teams_job_is_refused_by_name)
{
	struct rig rig;

	rig_make(&rig, false);
	struct batch *batch = one_line("gpt", "a", "x", NO_TIME);
	batch->team = SPAN("nlp");
	CHECK_INT(send_batch(&rig, batch).status, OK);
	batch = one_line("gpt", "a", "x", NO_TIME);
	batch->team = SPAN("vision");
	struct ingest_result result = send_batch(&rig, batch);
	CHECK_INT(result.status, ERR_FORBIDDEN);
	CHECK(span_find(span_from(result.err.text), SPAN("team nlp")) > 0);
	CHECK_INT(send_batch(&rig, one_line("gpt", "a", "x", NO_TIME)).status, OK); /* a token without a team may */
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(after_a_drain_nothing_is_taken)
{
	struct rig rig;
	struct batch *batch = one_line("j", "a", "x", NO_TIME);

	rig_make(&rig, false);
	pipeline_drain(rig.pipeline, 1000);
	CHECK_FAILS(pipeline_submit(rig.pipeline, batch, take_receipt, NULL, &err), ERR_UNAVAILABLE, "stopping");
	batch_free(batch);
	rig_close(&rig, false);
	rig_remove(&rig);
}

/* ---- documents ---- */

static enum status create(struct rig *rig, const char *text, struct error *err)
{
	AUTO(json) json = NULL;

	TRY(json_parse(&json, span_from(text), err));
	return pipeline_create_job(rig->pipeline, json, SPAN(""), 1700000000000, false, err);
}

TEST(a_document_may_follow_the_first_line_but_not_another_document)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_row row;
	struct rig rig;

	rig_make(&rig, false);
	CHECK_INT(send_batch(&rig, one_line("j", "a", "x", NO_TIME)).status, OK);
	CHECK_OK(create(&rig,
		"{\"TrainingJobName\":\"j\",\"HyperParameters\":{\"lr\":\"1\",\"HF_TOKEN\":\"hf_abcdefghijklmnop\"}}",
		&err));
	CHECK_FAILS(create(&rig, "{\"TrainingJobName\":\"j\"}", &err), ERR_CONFLICT, "exists already");
	CHECK_OK(store_reader_new(&reader, rig.store, &err));
	CHECK_OK(store_read_job(reader, arena, SPAN("j"), &row, &err));
	CHECK(span_find(row.document, SPAN("hf_abc")) < 0);
	CHECK(span_find(row.document, SPAN("\"HF_TOKEN\":\"***")) > 0);
	CHECK(!row.is_implicit);
	store_reader_free(reader);
	reader = NULL;
	rig_close(&rig, true);
	rig_remove(&rig);
}

TEST(a_wrong_document_names_the_field_and_the_column)
{
	struct rig rig;
	struct error wrong = {0};

	rig_make(&rig, false);
	CHECK_INT(
		create(&rig,
			"{\"TrainingJobName\":\"j\",\"AlgorithmSpecification\":{\"MetricDefinitions\":[{\"Name\":\"a\",\"Regex\":\"(x\"}]}}",
			&wrong),
		ERR_SEMANTIC);
	CHECK_TEXT(wrong.field, "AlgorithmSpecification.MetricDefinitions[0].Regex");
	CHECK(wrong.column > 0);
	CHECK_FAILS(create(&rig, "{}", &err), ERR_SEMANTIC, "TrainingJobName");
	CHECK_FAILS(create(&rig, "{\"TrainingJobName\":\"a\\nb\"}", &err), ERR_SEMANTIC, "control character");
	rig_close(&rig, true);
	rig_remove(&rig);
}
