#include "model/metrics/metric.h"
#include "store/pack/journal_points.h"
#include "store/pack/journal_record.h"
#include "test.h"

#include <math.h>

static void fill(struct batch *batch, struct batch_part *part, const char *name, size_t count, uint64_t seed)
{
	struct batch_series *series = batch_series(batch, part, span_from(name));

	for (size_t i = 0; i < count; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		int64_t step = i % 5 == 4 ? NO_STEP : (int64_t)(seed >> (i % 60)), ts_ms = (int64_t)i * 1000;
		double value = i % 7 == 0 ? NAN : i % 7 == 1 ? -INFINITY : i % 7 == 2 ? -0.0 : (double)(seed >> 11) / 3;
		CHECK(batch_add_points(batch, part, series, &step, &ts_ms, &value, 1));
	}
	series->role = count % 2 ? ROLE_LOSS : ROLE_COUNT;
	series->unit = SPAN("s");
}

static void check_series(const struct batch_series *got, const struct batch_series *want)
{
	CHECK_SPAN(got->metric, want->metric);
	CHECK_SPAN(got->unit, want->unit);
	CHECK_INT(got->role, want->role);
	CHECK_INT(got->count, want->count);
	CHECK(!memcmp(got->steps, want->steps, want->count * sizeof *want->steps));
	CHECK(!memcmp(got->ts_ms, want->ts_ms, want->count * sizeof *want->ts_ms));
	CHECK(!memcmp(got->values, want->values, want->count * sizeof *want->values)); /* every bit of a NaN, too */
}

static void check_body(struct span body, const struct batch_part *part)
{
	AUTO(arena) arena = arena_new();
	struct journal_points cursor = journal_points_open(body);
	struct batch_series series;
	bool has_one;

	for (size_t i = 0; i < part->series_count; i++) {
		CHECK_OK(journal_points_next(&cursor, arena, &series, &has_one, &err));
		CHECK(has_one);
		check_series(&series, &part->series[i]);
	}
	CHECK_OK(journal_points_next(&cursor, arena, &series, &has_one, &err));
	CHECK(!has_one);
}

TEST(distributions_come_back_and_count_twice)
{
	AUTO(batch) batch = batch_new(1);
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	AUTO(arena) arena = arena_new();
	struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("S"));
	struct batch_total total = {7, 1781000000000, NO_TIME, 2.5, 4};
	struct batch_series got;
	bool has_one;

	fill(batch, part, "loss", 3, 1);
	CHECK(batch_add_total(batch, part, batch_distribution(batch, part, SPAN("loss"), SERIES_TOTALS), &total));
	total.start_ms = 1780000000000;
	CHECK(batch_add_total(batch, part, batch_distribution(batch, part, SPAN("loss"), SERIES_TOTALS), &total));
	CHECK_INT(part->series_count, 2);
	CHECK_INT(part->point_count, 7);
	journal_points_pack(part, &body);
	CHECK_OK(journal_points_check(buf_span(&body), 7, &err));
	struct journal_points cursor = journal_points_open(buf_span(&body));
	CHECK_OK(journal_points_next(&cursor, arena, &got, &has_one, &err));
	CHECK_INT(got.form, SERIES_VALUES);
	CHECK_OK(journal_points_next(&cursor, arena, &got, &has_one, &err));
	CHECK_SPAN(got.metric, SPAN("loss"));
	CHECK_INT(got.form, SERIES_TOTALS);
	CHECK_INT(got.role, ROLE_COUNT);
	CHECK(got.values[1] == 2.5 && got.counts[1] == 4);
	CHECK_INT(got.starts_ms[0], NO_TIME);
	CHECK_INT(got.starts_ms[1], 1780000000000);
}

/* "To be guessed" was 8 while there were eight roles, and journals of then are read yet. */
TEST(journal_points_of_older_versions_keep_their_roles)
{
	static const uint32_t roles[] = {ROLE_COUNT, ROLE_OTHER, ROLE_MFU, ROLE_REWARD, ROLE_COUNT - 1};
	static const char stored[] = {8, 0, 7, 9, ROLE_COUNT};
	AUTO(arena) arena = arena_new();

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
		AUTO(batch) batch = batch_new(1);
		AUTO_DONE(buf) body = BUF_INIT(1 << 24);
		struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("s"));
		struct batch_series got, *series = batch_series(batch, part, SPAN("m"));
		bool has_one;

		CHECK(batch_add_points(batch, part, series, (int64_t[]){1}, (int64_t[]){2}, (double[]){3}, 1));
		series->role = roles[i];
		journal_points_pack(part, &body);
		CHECK_INT(
			body.ptr[4], stored[i]); /* behind the count, the name's length, the name, the unit's length */
		struct journal_points cursor = journal_points_open(buf_span(&body));
		CHECK_OK(journal_points_next(&cursor, arena, &got, &has_one, &err));
		CHECK_INT(got.role, roles[i]);
		body.ptr[4] = ROLE_COUNT + 1;
		cursor = journal_points_open(buf_span(&body));
		CHECK_INT(journal_points_next(&cursor, arena, &got, &has_one, NULL), ERR_INVALID);
	}
}

TEST(journal_points_come_back_through_a_record)
{
	AUTO(batch) batch = batch_new(1);
	AUTO(arena) arena = arena_new();
	AUTO(zstd) zstd = zstd_new();
	AUTO_DONE(buf) plain = BUF_INIT(1 << 24);
	AUTO_DONE(buf) record = BUF_INIT(1 << 24);
	AUTO_DONE(buf) again = BUF_INIT(1 << 24);
	struct journal_writer writer = {0};
	struct journal_slice *slices;
	size_t count;
	struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("s"));

	fill(batch, part, "a", 1, 1);
	fill(batch, part, "b{x=\"1\"}", 1000, 2);
	fill(batch, part, "c", 17, 3);
	part->points = BUF_INIT(1 << 24);
	journal_points_pack(part, &part->points);
	struct journal_slice slice = {.kind = JOURNAL_POINTS,
		.job_id = 7,
		.stream_id = 3,
		.first_line = 5,
		.first_point = 1ull << 40,
		.point_count = part->point_count,
		.text_bytes = part->points.len,
		.body = buf_span(&part->points)};
	size_t at = journal_add(&writer, &slice, NULL);
	CHECK_SPAN(span_skip(buf_span(&writer.plain), at), buf_span(&part->points));
	CHECK_OK(journal_pack(&writer, zstd, &plain, &record, &err));
	CHECK_OK(journal_unpack(buf_span(&record), zstd, &again, &slices, &count, arena, &err));
	CHECK_INT(count, 1);
	CHECK_INT(slices[0].kind, JOURNAL_POINTS);
	CHECK(slices[0].first_point == slice.first_point && slices[0].point_count == 1018 && slices[0].first_line == 5);
	CHECK_OK(journal_open_slice(&slices[0], zstd, &plain, &err));
	check_body(slices[0].body, part);
	slices[0].point_count++;
	CHECK_INT(journal_open_slice(&slices[0], zstd, &plain, NULL), ERR_INVALID);
	journal_writer_done(&writer);
}

TEST(journal_points_damage_is_seen)
{
	AUTO(batch) batch = batch_new(1);
	struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("s"));

	fill(batch, part, "a", 40, 9);
	part->points = BUF_INIT(1 << 24);
	journal_points_pack(part, &part->points);
	for (size_t len = 0; len < part->points.len; len++)
		CHECK_INT(journal_points_check(span_of(part->points.ptr, len), 40, NULL), ERR_INVALID);
	CHECK_OK(journal_points_check(buf_span(&part->points), 40, &err));
}

TEST(the_beginning_of_a_sender_comes_back)
{
	AUTO(batch) batch = batch_new(1);
	AUTO_DONE(buf) body = BUF_INIT(1 << 20);
	struct batch_part *part = batch_part(batch, SPAN("J"), SPAN("S"));

	fill(batch, part, "begin", 3, 1); /* a metric of that name is another thing */
	CHECK(batch_add_begin(batch, part, 1781000000000));
	CHECK_INT(part->point_count, 4);
	journal_points_pack(part, &body);
	CHECK_OK(buf_status(&body, &err));
	check_body(buf_span(&body), part);
	CHECK_INT(part->series[1].form, SERIES_BEGIN);
	CHECK_OK(journal_points_check(buf_span(&body), 4, &err));
}
