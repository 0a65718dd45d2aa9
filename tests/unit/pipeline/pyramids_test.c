/* Pyramids against a slow, obvious fold over all points: any attempts, late points, values, steps and times. */
#include "pipeline/seal/pyramids.h"
#include "read/charts/pyramid_read.h"
#include "store/jobs.h"
#include "store/points.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERIES = 4097, LEVELS = 63 };

struct world {
	char folder[128];
	char path[160];
	struct store *store;
	struct store_reader *reader;
	struct zstd *zstd;
	int64_t job;
	struct point *points;
	size_t count;
	uint64_t random;
};

static uint64_t next(struct world *w)
{
	w->random ^= w->random << 13; /* xorshift64: Marsaglia, 2003 */
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static struct world open_world(uint64_t seed)
{
	struct world w = {.random = seed * 0x9e3779b97f4a7c15u + 1};
	struct job_row row = {.name = SPAN("j"),
		.team = SPAN(""),
		.document = SPAN("{}"),
		.status = SPAN("InProgress"),
		.secondary = SPAN("Training"),
		.failure_reason = SPAN("")};
	struct store_tx *tx;

	test_make_folder(w.folder, sizeof w.folder, "pyramids");
	snprintf(w.path, sizeof w.path, "%s/test.db", w.folder);
	struct store_options options = {
		.path = w.path, .wal_bytes = 64 << 20, .writer_cache_bytes = 4 << 20, .reader_cache_bytes = 2 << 20};
	CHECK_OK(store_open(&w.store, &options, &err));
	CHECK_OK(store_reader_new(&w.reader, w.store, &err));
	CHECK_OK(store_tx_begin(&tx, w.store, &err));
	CHECK_OK(store_put_job(tx, &row, &err));
	CHECK_OK(store_tx_commit(tx, &err));
	w.job = row.job_id;
	w.zstd = zstd_new();
	w.points = mem_alloc(70 * CHUNK_MAX_POINTS * sizeof *w.points);
	CHECK(w.zstd != NULL);
	CHECK(w.points != NULL);
	return w;
}

static void close_world(struct world *w)
{
	char command[192];

	store_reader_free(w->reader);
	store_free(w->store);
	zstd_free(w->zstd);
	mem_free(w->points);
	for (const char **end = (const char *[]){"", "-wal", "-shm", ".lock", NULL}; *end; end++) {
		snprintf(command, sizeof command, "%s%s", w->path, *end);
		unlink(command);
	}
	rmdir(w->folder);
}

static double any_value(struct world *w)
{
	switch (next(w) % 200) {
	case 0:
		return NAN;
	case 1:
		return INFINITY;
	case 2:
		return -INFINITY;
	case 3:
		return -0.0;
	case 4:
		return 1e300;
	default:
		return (double)(int64_t)(next(w) % 2000001) / 1000 - 1000;
	}
}

/* A run that steps on, is late at times, jumps at times, and restarts at times. */
static void append_points(struct world *w, size_t count, int64_t step_by, int64_t ms_by)
{
	for (size_t i = 0; i < count; i++, w->count++) {
		const struct point *before = w->count ? &w->points[w->count - 1] : NULL;
		struct point p = before ? *before : (struct point){.step = (int64_t)next(w), .attempt = 1};
		bool jumps = next(w) % 20000 == 0, restarts = next(w) % 15000 == 0, is_late = next(w) % 3000 == 0;
		p.step += step_by + (int64_t)(next(w) % 3);
		p.ts_ms += ms_by + (int64_t)(next(w) % 5);
		if (jumps) {
			p.step = (int64_t)next(w); /* anywhere in 64 bits */
			p.ts_ms = next(w) % 2 ? (int64_t)(next(w) % 9214646400000)
					      : -(int64_t)(next(w) % 1000); /* 1969 to 2262 */
		}
		if (restarts) {
			p.attempt++;
			p.step -= 1000 * step_by;
		}
		if (is_late && before) { /* one, far back; the next one goes on */
			p.step -= 5000 * step_by;
			p.ts_ms -= 3000 * ms_by;
		}
		p.line = w->count * 3;
		p.value = any_value(w);
		w->points[w->count] = p;
	}
}

static void seal(struct world *w, size_t from)
{
	struct store_tx *tx;

	CHECK_OK(store_tx_begin(&tx, w->store, &err));
	for (size_t at = from; at + CHUNK_MAX_POINTS <= w->count; at += CHUNK_MAX_POINTS) {
		AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
		CHECK_OK(chunk_pack(&w->points[at], CHUNK_MAX_POINTS, w->zstd, &packed, &err));
		struct chunk_row row = {.job_id = w->job,
			.series_id = SERIES,
			.first_ordinal = at,
			.point_count = CHUNK_MAX_POINTS,
			.data = buf_span(&packed)};
		CHECK_OK(store_put_chunk(tx, &row, &err));
	}
	CHECK_OK(store_tx_commit(tx, &err));
	for (bool has_more = true; has_more;) {
		AUTO(arena) arena = arena_new();
		struct pyramid_plan *plan = pyramid_plan_new(arena);
		CHECK_OK(pyramid_plan_series(plan, w->reader, w->zstd, w->job, SERIES, w->count, &err));
		has_more = !pyramid_plan_is_empty(plan);
		CHECK_OK(store_tx_begin(&tx, w->store, &err));
		CHECK_OK(pyramid_plan_write(plan, tx, &err));
		CHECK_OK(store_tx_commit(tx, &err));
	}
}

struct asking {
	struct world *world;
	unsigned level;
	enum pyramid_axis axis;
	uint32_t last_attempt; /* later ones are not wanted */
	int64_t last_step; /* of all that are */
	int64_t width; /* a bucket must lie in one piece of the axis of this width; 0: wherever */
	struct pyramid_bucket sums[2]; /* what came, and what should */
	bool has[2];
	size_t buckets;
};

static bool wants(void *context, uint32_t attempt, int64_t *last_step)
{
	struct asking *asking = context;

	*last_step = asking->last_step;
	return attempt <= asking->last_attempt;
}

static void add(struct asking *asking, unsigned which, const struct pyramid_bucket *bucket)
{
	if (asking->has[which])
		pyramid_bucket_merge(&asking->sums[which], bucket);
	else
		asking->sums[which] = *bucket;
	asking->has[which] = true;
}

static int64_t piece_of(const struct asking *asking, int64_t x)
{
	return x / asking->width - (x % asking->width < 0);
}

static bool fits(void *context, const struct pyramid_bucket *bucket)
{
	const struct asking *asking = context;

	return piece_of(asking, bucket->first_x) == piece_of(asking, bucket->last_x);
}

static void take_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *bucket)
{
	struct asking *asking = context;

	CHECK(!asking->width || fits(context, bucket));
	CHECK(attempt <= asking->last_attempt);
	CHECK(bucket->first_x >> asking->level == bucket->last_x >> asking->level);
	asking->buckets++;
	add(asking, 0, bucket);
}

static void take_point(void *context, const struct point *point)
{
	struct asking *asking = context;
	struct pyramid_bucket one;

	pyramid_bucket_open(&one, 0, pyramid_x(asking->axis, point), 0, point);
	add(asking, 0, &one);
}

static void check_same(const struct asking *asking)
{
	const struct pyramid_bucket *a = &asking->sums[0], *b = &asking->sums[1];

	CHECK_INT(asking->has[0], asking->has[1]);
	if (!asking->has[0])
		return;
	CHECK_INT(a->count, b->count);
	CHECK_INT(a->nan_count, b->nan_count);
	CHECK_INT(a->inf_count, b->inf_count);
	CHECK_INT(a->neg_inf_count, b->neg_inf_count);
	CHECK_INT(a->first_x, b->first_x);
	CHECK_INT(a->last_x, b->last_x);
	if (a->count) {
		CHECK(a->min == b->min && a->max == b->max);
		CHECK_INT(a->min_x, b->min_x);
		CHECK_INT(a->max_x, b->max_x);
		CHECK_INT(a->min_line % 3, 0);
		CHECK(asking->world->points[a->min_line / 3].value == a->min);
		CHECK(asking->world->points[a->max_line / 3].value == a->max);
		CHECK(fabs(a->sum.plain - b->sum.plain) <= 1e-9 * (1000 * (double)a->count + fabs(b->sum.plain)));
		CHECK(fabs(a->sum.huge - b->sum.huge) <= 1e-9 * fabs(b->sum.huge));
	}
}

static size_t ask(struct world *w, struct asking *asking, int64_t from, int64_t to)
{
	struct pyramid_reading reading = {w->reader, w->zstd, w->job, SERIES, asking->axis, from, to, asking->level,
		asking->width ? fits : NULL, wants, take_bucket, take_point, asking};
	uint64_t covered;

	store_reader_deadline(w->reader, INT64_MAX); /* a slow machine is no failure */
	CHECK_OK(pyramid_read(&reading, &covered, &err));
	CHECK(covered + PYRAMID_LAG_POINTS + CHUNK_MAX_POINTS > w->count || w->count < PYRAMID_LAG_POINTS);
	for (size_t i = 0; i < covered; i++) {
		const struct point *p = &w->points[i];
		int64_t x = pyramid_x(asking->axis, p);
		struct pyramid_bucket one;
		if (x < from || x > to || p->attempt > asking->last_attempt || p->step > asking->last_step)
			continue;
		pyramid_bucket_open(&one, 0, x, 0, p);
		add(asking, 1, &one);
	}
	check_same(asking);
	return asking->buckets;
}

static void ask_anything(struct world *w, unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		struct asking asking = {.world = w,
			.level = (unsigned)(next(w) % LEVELS),
			.axis = next(w) % 2 ? PYRAMID_STEP : PYRAMID_TIME,
			.last_attempt = UINT32_MAX,
			.last_step = INT64_MAX};
		const struct point *a = &w->points[next(w) % w->count], *b = &w->points[next(w) % w->count];
		int64_t from = pyramid_x(asking.axis, a), to = pyramid_x(asking.axis, b);
		if (next(w) % 3 == 0)
			asking.last_attempt = w->points[next(w) % w->count].attempt;
		if (next(w) % 3 == 0)
			asking.last_step = w->points[next(w) % w->count].step;
		if (next(w) % 4 == 0)
			from = INT64_MIN, to = INT64_MAX;
		if (next(w) % 3 == 0)
			asking.width = (int64_t)(1 + next(w) % ((uint64_t)1 << next(w) % 40));
		ask(w, &asking, from < to ? from : to, from < to ? to : from);
	}
}

TEST(a_pyramid_gives_what_a_fold_over_all_points_gives)
{
	static const int64_t ways[][2] = {{1, 1000}, {100, 7}, {1, 0}, {1 << 20, 3600000}, {0, 50}};

	for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
		struct world w = open_world(way + 1);
		for (unsigned round = 0; round < 5; round++) {
			size_t from = w.count;
			append_points(&w, (1 + next(&w) % 12) * CHUNK_MAX_POINTS, ways[way][0], ways[way][1]);
			seal(&w, from);
			ask_anything(&w, 12);
		}
		close_world(&w);
	}
}

/* Denser or sparser from one slice to the next by far. */
TEST(a_pyramid_follows_a_series_that_changes_its_pace)
{
	struct world w = open_world(99);
	static const int64_t ways[][2] = {{1, 1}, {1000000, 1000000}, {1, 1}};

	for (size_t way = 0; way < 3; way++) {
		size_t from = w.count;
		append_points(&w, 20 * CHUNK_MAX_POINTS, ways[way][0], ways[way][1]);
		seal(&w, from);
		ask_anything(&w, 12);
	}
	close_world(&w);
}

TEST(a_whole_pyramid_is_read_in_few_buckets)
{
	struct world w = open_world(7);

	for (; w.count < 64 * CHUNK_MAX_POINTS; w.count++)
		w.points[w.count] = (struct point){.step = (int64_t)w.count,
			.ts_ms = (int64_t)w.count * 10,
			.value = 1,
			.line = w.count * 3,
			.attempt = 1};
	seal(&w, 0);
	struct asking asking = {
		.world = &w, .level = 12, .axis = PYRAMID_STEP, .last_attempt = 1, .last_step = INT64_MAX};
	CHECK_INT(ask(&w, &asking, 0, INT64_MAX), 64 * CHUNK_MAX_POINTS / PYRAMID_BASE_POINTS);
	close_world(&w);
}
