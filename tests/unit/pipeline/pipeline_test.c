/* The whole pipeline over a real database: what is read must not depend on when it was sealed, stopped or restarted. */
#include "model/incident.h"
#include "pipeline/jobs/job.h"
#include "pipeline/rig.h"
#include "read/charts/chart_query.h"
#include "read/charts/points_walk.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "state/execute.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "store/alerts.h"
#include "store/blocks.h"
#include "store/journal.h"
#include "store/pack/block.h"
#include "store/pack/journal_record.h"

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

	CHECK_OK(lines_read(rig->pipeline, reader, arena, SPAN("run"), stream->name, 0, 100000, SIZE_MAX, &lines,
		&count, &total, &err));
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
	for (size_t i = 0; i < count; i++) {
		if (rows[i].incident.kind == INCIDENT_RESTART_DIFFERS)
			continue; /* maintenance looks for it when it comes by: what it finds hangs on the clock */
		buf_printf(out, "incident %.*s %s %llu %s %lld\n", SPAN_ARGS(rows[i].stream),
			incident_kind_name(rows[i].incident.kind), (unsigned long long)rows[i].incident.opened_ordinal,
			incident_state_name(rows[i].incident.state), (long long)rows[i].incident.first_step);
	}
}

static void print_all(struct rig *rig, struct buf *out)
{
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;
	const char *const metrics[] = {"loss", "lr"};

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(view_read_job(
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
		CHECK_OK(points_walk_all(reader, arena, &view, &query, print_point, out, &err));
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

/* ---- small batches: sealed from what is in RAM of them ---- */

enum { KEPT_BATCHES = 5 };

/* All but the newest record. */
static enum status drop_journal(void *context, struct store_tx *tx, struct error *err)
{
	(void)context;
	return store_trim_journal(tx, INT64_MAX, SIZE_MAX, err);
}

/* All were extracted; from now on they do not get too old. */
static bool are_kept(struct kept_groups *kept)
{
	pthread_mutex_lock(&kept->mutex);
	bool are_there = kept->count == KEPT_BATCHES;
	for (size_t i = 0; i < kept->count; i++)
		kept->items[i]->kept_ms = INT64_MAX;
	pthread_mutex_unlock(&kept->mutex);
	return are_there;
}

/* What was read again would be lines that say that they are lost. */
/* Nothing for what the job does not have. */
static void check_asked(struct rig *rig)
{
	static const struct {
		const char *metric;
		size_t series;
	} cases[] = {{"loss", 1}, {"lr", 1}, {"gpu_memory_used_mib", 0}, {"", 3}}; /* the third is derived */
	AUTO(arena) arena = arena_new();
	AUTO(store_reader) reader = NULL;
	struct job_view view;

	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		CHECK_OK(view_read_job(rig->pipeline, reader, arena, SPAN("run"), SPAN(""), span_from(cases[i].metric),
			VIEW_SERIES, &view, &err));
		CHECK_INT(view.stream_count, 1);
		CHECK_INT(view.streams[0].series_count, cases[i].series);
		if (cases[i].series == 1)
			CHECK_SPAN(view.streams[0].series[0].metric, span_from(cases[i].metric));
	}
}

TEST(a_view_has_the_metric_that_is_asked_for_alone)
{
	struct rig rig;

	rig_make(&rig, true);
	CHECK_INT(send_batch(&rig, make_batch(0, 20, 1)).status, OK);
	pipeline_drain(rig.pipeline, 60000);
	check_asked(&rig);
	struct job_state *job = directory_find(rig.pipeline->directory, SPAN("run"));
	CHECK(job);
	directory_remove(rig.pipeline->directory, job); /* as one that was silent for long: it is read from the file */
	job_unref(job);
	check_asked(&rig);
	rig_close(&rig, false);
	rig_remove(&rig);
}

TEST(small_batches_are_sealed_without_reading_the_journal)
{
	AUTO_DONE(buf) want = BUF_INIT(1 << 24);
	AUTO_DONE(buf) got = BUF_INIT(1 << 24);
	struct rig rig;

	rig_make(&rig, false);
	pthread_mutex_lock(&rig.pipeline->seal_mutex); /* nothing is let go meanwhile */
	for (int i = 0; i < KEPT_BATCHES; i++)
		CHECK_INT(send_batch(&rig, make_batch(i * 20, i * 20 + 20, 1)).accepted, 20);
	while (!are_kept(&rig.pipeline->kept_groups))
		sched_yield();
	print_all(&rig, &want);
	CHECK_OK(writer_execute(rig.pipeline, drop_journal, NULL, &err));
	pthread_mutex_unlock(&rig.pipeline->seal_mutex);
	pipeline_drain(rig.pipeline, 60000);
	CHECK_INT(atomic_load(&pipeline_figures(rig.pipeline)->lost_lines), 0);
	print_all(&rig, &got);
	check_texts(buf_span(&got), buf_span(&want));
	rig_close(&rig, false);
	rig_remove(&rig);
}

/* ---- small blocks that are written again ---- */

enum { TEXT_BYTES = 100 };

/* So many lines of TEXT_BYTES behind `from`, sealed at a stop; where the last block then begins. */
static uint64_t seal_lines(struct rig *rig, int from, int count)
{
	AUTO(store_reader) reader = NULL;
	struct block_row row;
	char text[TEXT_BYTES];

	rig_open(rig);
	struct batch *batch = batch_new(1700000000000);
	struct batch_part *part = batch ? batch_part(batch, SPAN("run"), SPAN("algo-1")) : NULL;
	CHECK(part);
	for (int i = from; i < from + count; i++) {
		snprintf(text, sizeof text, "%0*d", TEXT_BYTES - 1, i);
		CHECK(batch_add(batch, part, span_from(text), NO_TIME, 0, TEXT_BYTES));
	}
	CHECK_INT(send_batch(rig, batch).accepted, count);
	pipeline_drain(rig->pipeline, 60000);
	CHECK_OK(store_reader_new(&reader, rig->store, &err));
	CHECK_OK(store_read_last_block_head(reader, 1, 1, &row, &err));
	CHECK_INT(row.first_line + row.line_count, from + count);
	store_reader_free(TAKE(reader));
	rig_close(rig, false);
	return row.first_line;
}

/* Else each of many streams that are written in turns would be packed again and again. */
TEST(a_small_block_is_written_again_when_what_follows_is_as_much)
{
	struct rig rig;

	rig_prepare(&rig);
	CHECK_INT(seal_lines(&rig, 0, 1000), 0);
	CHECK_INT(seal_lines(&rig, 1000, 200), 1000); /* 20 kB behind 100 */
	CHECK_INT(seal_lines(&rig, 1200, 10), 1000); /* less than 64 KiB: with whatever follows */
	CHECK_INT(seal_lines(&rig, 1210, 600), 1000); /* to 81 kB */
	CHECK_INT(seal_lines(&rig, 1810, 1000), 1000); /* to 181 kB */
	CHECK_INT(seal_lines(&rig, 2810, 1000), 2810);
	rig_remove(&rig);
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
	CHECK_OK(writer_execute(rig->pipeline, do_nothing, NULL, &err));
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
	rig_seals(&rig, true);
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
	rig_seals(&rig, true);
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

static enum status try_to_submit(struct rig *rig, struct batch *batch)
{
	enum status status = pipeline_submit(rig->pipeline, batch, NULL, NULL, NULL);

	batch_free(batch);
	return status;
}

static struct batch *one_that_may_wait(void)
{
	struct batch *batch = one_line("run", "algo-1", "hello", 1700000000000);

	batch->may_wait = true;
	return batch;
}

TEST(who_may_wait_is_not_taken_while_all_others_still_are)
{
	struct rig rig;

	rig_prepare(&rig);
	rig.options.queue_bytes = 4 << 20;
	rig_open(&rig);
	CHECK_INT(send_batch(&rig, one_that_may_wait()).accepted, 1);
	atomic_fetch_add(&rig.pipeline->backlog_bytes, (1 << 20) + 1); /* as if extraction had that before it */
	CHECK_INT(try_to_submit(&rig, one_that_may_wait()), ERR_BUSY);
	CHECK_INT(atomic_load(&rig.pipeline->figures.refused_busy), 0);
	CHECK_INT(send_batch(&rig, one_line("run", "algo-1", "hello", 1700000000000)).accepted, 1);
	atomic_store(&rig.pipeline->is_stopping, true); /* as in a drain that does not come to its end */
	CHECK_INT(try_to_submit(&rig, one_that_may_wait()), ERR_UNAVAILABLE);
	atomic_fetch_sub(&rig.pipeline->backlog_bytes, (1 << 20) + 1);
	pipeline_drain(rig.pipeline, 60000);
	rig_close(&rig, true);
	rig_remove(&rig);
}
