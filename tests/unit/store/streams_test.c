#include "harness.h"
#include "store/job_facts.h"
#include "store/streams.h"

#include <float.h>

static void check_stream(struct harness *h, int64_t job)
{
	struct stream_row *rows = NULL;
	size_t count = 0;

	CHECK_OK(store_read_streams(h->reader, h->arena, job, SPAN("algo-1"), &rows, &count, &err));
	CHECK_INT(count, 1);
	CHECK_SPAN(rows[0].host, SPAN("node7"));
	CHECK_INT(rows[0].created_ms, 1);
	CHECK_INT(rows[0].sealed_seq, 9);
	CHECK_INT(rows[0].sealed_lines, 3);
	CHECK_INT(rows[0].sealed_bytes, 4);
	CHECK_INT(rows[0].first_ms, 5);
	CHECK_INT(rows[0].last_ms, 6);
	CHECK_SPAN(rows[0].state, SPAN("\0\0"));
}

TEST(a_stream_comes_back_as_it_was_put)
{
	struct harness h = harness_new();
	struct stream_row row = {.name = SPAN("algo-1"),
		.host = SPAN("node7"),
		.created_ms = 1,
		.sealed_seq = 2,
		.sealed_lines = 3,
		.sealed_bytes = 4,
		.first_ms = 5,
		.last_ms = 6,
		.state = SPAN("a\0b")};
	struct stream_row *rows = NULL;
	size_t count = 0;

	harness_begin(&h);
	row.job_id = harness_job(&h, "a");
	CHECK_OK(store_put_stream(h.tx, &row, &err));
	CHECK_INT(row.stream_id, 1);
	CHECK_INT(harness_stream(&h, row.job_id, "algo-2"), 2);
	struct stream_row twin = {.job_id = row.job_id, .name = SPAN("algo-1")};
	CHECK_FAILS(store_put_stream(h.tx, &twin, &err), ERR_CONFLICT, "a stream 'algo-1' already");
	row.sealed_seq = 9;
	row.state = SPAN("\0\0");
	CHECK_OK(store_put_stream(h.tx, &row, &err));
	struct stream_row gone = {.job_id = row.job_id, .stream_id = 99, .name = SPAN("gone")};
	CHECK_FAILS(store_put_stream(h.tx, &gone, &err), ERR_NOT_FOUND, "'gone'");
	harness_commit(&h);
	harness_reopen(&h);
	check_stream(&h, row.job_id);
	CHECK_OK(store_read_streams(h.reader, h.arena, row.job_id, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(rows[1].stream_id, 2);
	CHECK_OK(store_read_streams(h.reader, h.arena, 44, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, 0);
	harness_done(&h);
}

TEST(many_streams_come_in_the_order_of_their_numbers)
{
	struct harness h = harness_new();
	struct stream_row *rows = NULL;
	size_t count = 0;
	char name[32];

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof name, "s%d", (i * 7919) % 300);
		harness_stream(&h, job, name);
	}
	harness_commit(&h);
	CHECK_OK(store_read_streams(h.reader, h.arena, job, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, 300);
	for (size_t i = 0; i < count; i++)
		CHECK_INT(rows[i].stream_id, i + 1);
	harness_done(&h);
}

static const double hard[] = {
	NAN, INFINITY, -INFINITY, -0.0, 0.0, DBL_MAX, -DBL_MAX, DBL_TRUE_MIN, 0.1, 3.0, -2.5e-310};
enum { HARD_COUNT = sizeof hard / sizeof *hard };

static void check_hard(const struct series_row *row, size_t i)
{
	CHECK_DOUBLE(row->sealed.last, hard[i]);
	CHECK_DOUBLE(row->sealed.min, hard[(i + 1) % HARD_COUNT]);
	CHECK_DOUBLE(row->sealed.max, hard[(i + 2) % HARD_COUNT]);
	CHECK_DOUBLE(row->sealed.sum.plain, hard[(i + 3) % HARD_COUNT]);
	CHECK_INT(row->sealed.count, 1);
	CHECK_INT(row->sealed.inf_count, 3);
	CHECK_INT(row->sealed.first_step, INT64_MIN);
	CHECK_INT(row->sealed.last_step, INT64_MAX);
	CHECK_INT(row->sealed.last_ts_ms, -7);
	CHECK_INT(row->role, ROLE_MFU);
	CHECK(row->sealed_points == UINT64_MAX);
	CHECK_SPAN(row->labels, SPAN("gpu=\"3\""));
	CHECK_SPAN(row->unit, SPAN("s"));
}

TEST(a_series_keeps_doubles_of_every_kind)
{
	struct harness h = harness_new();
	struct series_row *rows = NULL;
	size_t count = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	uint32_t stream = harness_stream(&h, job, "algo-1");
	for (size_t i = 0; i < HARD_COUNT; i++) {
		char metric[16];
		snprintf(metric, sizeof metric, "m%zu", i);
		struct series_row row = {.job_id = job,
			.stream_id = stream,
			.metric = span_from(metric),
			.labels = SPAN("gpu=\"3\""),
			.unit = SPAN("s"),
			.role = ROLE_MFU,
			.sealed_points = UINT64_MAX,
			.sealed = {1, 2, 3, hard[i], hard[(i + 1) % HARD_COUNT], hard[(i + 2) % HARD_COUNT],
				{hard[(i + 3) % HARD_COUNT], 0}, INT64_MIN, INT64_MAX, -7}};
		CHECK_OK(store_put_series(h.tx, &row, &err));
		CHECK_INT(row.series_id, i + 1);
		if (i % 2) /* by an update, too */
			CHECK_OK(store_put_series(h.tx, &row, &err));
	}
	harness_commit(&h);
	CHECK_OK(store_read_series(h.reader, h.arena, job, 0, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, HARD_COUNT);
	for (size_t i = 0; i < count; i++)
		check_hard(&rows[i], i);
	harness_done(&h);
}

TEST(series_are_found_by_stream_and_metric)
{
	struct harness h = harness_new();
	struct series_row *rows = NULL;
	size_t count = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "a");
	uint32_t first = harness_stream(&h, job, "one"), second = harness_stream(&h, job, "two");
	harness_series(&h, job, first, "loss");
	harness_series(&h, job, second, "loss");
	harness_series(&h, job, second, "lr");
	struct series_row twin = {.job_id = job,
		.series_id = 4000000000u, /* a number of the caller's own */
		.stream_id = second,
		.metric = SPAN("lr"),
		.labels = SPAN("gpu=\"1\"")};
	CHECK_OK(store_put_series(h.tx, &twin, &err));
	CHECK_OK(store_put_series(h.tx, &twin, &err));
	CHECK_INT(twin.series_id, 4000000000u);
	harness_commit(&h);
	CHECK_OK(store_read_series(h.reader, h.arena, job, 0, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, 4);
	CHECK_OK(store_read_series(h.reader, h.arena, job, second, SPAN(""), &rows, &count, &err));
	CHECK_INT(count, 3);
	CHECK_OK(store_read_series(h.reader, h.arena, job, 0, SPAN("loss"), &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK_OK(store_read_series(h.reader, h.arena, job, second, SPAN("lr"), &rows, &count, &err));
	CHECK_INT(count, 2);
	CHECK_OK(store_read_series(h.reader, h.arena, job, first, SPAN("lr"), &rows, &count, &err));
	CHECK_INT(count, 0);
	harness_done(&h);
}

static struct summary_row summary_row(const char *metric, enum role role, uint64_t points)
{
	struct summary_row row = {.metric = span_from(metric), .unit = SPAN("u"), .role = role};

	row.summary = (struct summary){.count = points, .min = 1, .max = 2, .sum = {3, 0}, .last = 4};
	return row;
}

static int64_t main_role(struct harness *h, const char *metric)
{
	char sql[128];

	snprintf(sql, sizeof sql, "SELECT main_role FROM summaries WHERE metric = '%s'", metric);
	return harness_number(h->reader, sql);
}

TEST(summaries_replace_those_of_before)
{
	struct harness h = harness_new();
	struct summary_row rows[] = {summary_row("a", ROLE_LOSS, 5), summary_row("b", ROLE_OTHER, 6)}, *got = NULL;
	struct job_counts counts = {7, 8, 9, 10, 11, 12}, got_counts = {0};
	size_t count = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "j");
	CHECK_OK(store_put_summaries(h.tx, job, &counts, rows, 2, &err));
	harness_commit(&h);
	CHECK_OK(store_read_summaries(h.reader, h.arena, job, &got_counts, &got, &count, &err));
	CHECK_INT(count, 2);
	CHECK_INT(got_counts.streams, 7);
	CHECK_INT(got_counts.lines, 8);
	CHECK_INT(got_counts.last_line_ms, 9);
	CHECK_INT(got_counts.last_heard_ms, 10);
	CHECK_INT(got_counts.attempts, 11);
	CHECK_SPAN(got[1].metric, SPAN("b"));
	CHECK_SPAN(got[1].unit, SPAN("u"));
	CHECK_INT(got[0].role, ROLE_LOSS);
	CHECK_INT(got[0].summary.count, 5);
	rows[0].metric = SPAN("c");
	rows[1].summary.last = NAN;
	harness_begin(&h);
	CHECK_OK(store_put_summaries(h.tx, job, &counts, rows, 2, &err));
	CHECK_INT(sqlite3_total_changes(sqlite_of(h.store->writer)) > 0, 1);
	harness_commit(&h);
	CHECK_OK(store_read_summaries(h.reader, h.arena, job, &got_counts, &got, &count, &err));
	CHECK_INT(count, 2);
	CHECK_SPAN(got[0].metric, SPAN("b"));
	CHECK_DOUBLE(got[0].summary.last, NAN);
	CHECK_SPAN(got[1].metric, SPAN("c"));
	CHECK_OK(store_read_summaries(h.reader, h.arena, 55, &got_counts, &got, &count, &err));
	CHECK_INT(count, 0);
	CHECK_INT(got_counts.lines, 0);
	harness_done(&h);
}

TEST(summaries_keep_doubles_of_every_kind)
{
	struct harness h = harness_new();
	struct summary_row *got = NULL;
	struct job_counts counts = {0};
	size_t count = 0;

	harness_begin(&h);
	int64_t job = harness_job(&h, "j");
	for (size_t i = 0; i < HARD_COUNT; i++) {
		struct summary_row row = summary_row("m", ROLE_LOSS, 3);
		row.summary.last = row.summary.min = row.summary.max = row.summary.sum.plain = hard[i];
		CHECK_OK(store_put_summaries(h.tx, job, &counts, &row, 1, &err));
		CHECK_OK(store_read_summaries(store_tx_reader(h.tx), h.arena, job, &counts, &got, &count, &err));
		CHECK_DOUBLE(got[0].summary.last, hard[i]);
		CHECK_DOUBLE(got[0].summary.min, hard[i]);
		CHECK_DOUBLE(got[0].summary.max, hard[i]);
		CHECK_DOUBLE(got[0].summary.sum.plain, hard[i]);
	}
	harness_commit(&h);
	harness_done(&h);
}

TEST(the_main_metric_of_a_role_is_kept)
{
	struct harness h = harness_new();
	struct summary_row rows[] = {summary_row("train_loss", ROLE_LOSS, 500), summary_row("moe_loss", ROLE_LOSS, 900),
		summary_row("lr", ROLE_LEARNING_RATE, 3), summary_row("x", ROLE_OTHER, 9999)};
	struct job_counts counts = {0};

	harness_begin(&h);
	int64_t job = harness_job(&h, "j");
	CHECK_OK(store_put_summaries(h.tx, job, &counts, rows, 4, &err));
	harness_commit(&h);
	CHECK_INT(main_role(&h, "train_loss"), ROLE_LOSS);
	CHECK_INT(main_role(&h, "moe_loss"), 0);
	CHECK_INT(main_role(&h, "lr"), ROLE_LEARNING_RATE);
	CHECK_INT(main_role(&h, "x"), 0);
	rows[1].metric = SPAN("loss");
	harness_begin(&h);
	CHECK_OK(store_put_summaries(h.tx, job, &counts, rows, 4, &err));
	harness_commit(&h);
	CHECK_INT(main_role(&h, "loss"), ROLE_LOSS);
	CHECK_INT(main_role(&h, "train_loss"), 0);
	harness_done(&h);
}
