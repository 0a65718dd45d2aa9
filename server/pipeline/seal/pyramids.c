/* Making pyramids: a slice of sealed points is folded into buckets of the lowest level, and these into the rows above. */
#include "pipeline/seal/pyramids.h"

#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/points.h"

#include <stdlib.h>

enum {
	TOP_ROWS = 4, /* a level of more rows gets one above it */
	SPARSE_POINTS =
		PYRAMID_BASE_POINTS / 4, /* fewer in a bucket: the lowest level costs more than the points, and goes */
	SWEEP_SERIES = 512, /* looked at in one step */
};

struct change {
	struct pyramid_level level;
	int64_t position;
	struct span data; /* empty: the level goes */
};

struct pyramid_plan {
	struct arena *arena;
	bool asks;
	struct change *changes;
	size_t change_count, change_cap;
	struct pyramid_row *rows;
	size_t row_count, row_cap;
};

struct pyramid_plan *pyramid_plan_new(struct arena *arena)
{
	struct pyramid_plan *plan = arena_alloc(arena, sizeof *plan);

	if (plan)
		*plan = (struct pyramid_plan){.arena = arena};
	return plan;
}

void pyramid_plan_ask(struct pyramid_plan *plan)
{
	plan->asks = true;
}

bool pyramid_plan_is_empty(const struct pyramid_plan *plan)
{
	return plan->row_count == 0;
}

/* One series at work. */
struct making {
	struct pyramid_plan *plan;
	struct store_reader *reader;
	struct zstd *zstd;
	struct arena *arena; /* of this series alone */
	struct pyramid_row row;
	struct pyramid_head *heads;
	size_t head_count;
	struct point *points;
	uint64_t first_ordinal;
	size_t count;
	struct pyramid_bucket *buckets; /* of one attempt and axis */
	size_t bucket_count;
	size_t change_count; /* of the plan before this series */
	bool has_reshaped; /* a level came or went: the points wait for the next plan */
	struct pyramid_work work;
};

static bool grow(struct arena *arena, void **items, size_t count, size_t *cap, size_t item_bytes)
{
	if (count < *cap)
		return true;
	size_t more = *cap ? *cap * 2 : 16;
	void *bigger = arena_alloc(arena, more * item_bytes);
	if (!bigger)
		return false;
	if (count)
		memcpy(bigger, *items, count * item_bytes);
	*items = bigger;
	*cap = more;
	return true;
}

static struct pyramid_level level_of(const struct making *m, const struct pyramid_head *head, unsigned level)
{
	return (struct pyramid_level){m->row.job_id, m->row.series_id, head->attempt, head->axis, level};
}

static enum status add_change(struct making *m, const struct pyramid_level *level, int64_t position,
	const struct pyramid_bucket *buckets, size_t count, struct error *err)
{
	struct pyramid_plan *plan = m->plan;
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	if (!grow(plan->arena, (void **)&plan->changes, plan->change_count, &plan->change_cap, sizeof *plan->changes))
		return error_no_memory(err);
	struct change *change = &plan->changes[plan->change_count++];
	*change = (struct change){*level, position, SPAN("")};
	if (!count)
		return OK;
	pyramid_row_pack(&packed, buckets, count, level->level, &m->work);
	TRY(buf_status(&packed, err));
	change->data = arena_copy(plan->arena, buf_span(&packed));
	return change->data.ptr ? OK : error_no_memory(err);
}

/* ---- buckets of a slice ---- */

static int by_number(const void *a, const void *b)
{
	const struct pyramid_bucket *left = a, *right = b;

	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return (left->first_ordinal > right->first_ordinal) - (left->first_ordinal < right->first_ordinal);
}

static void join_equal(struct making *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->bucket_count; i++)
		if (kept && m->buckets[kept - 1].number == m->buckets[i].number)
			pyramid_bucket_merge(&m->buckets[kept - 1], &m->buckets[i]);
		else
			m->buckets[kept++] = m->buckets[i];
	m->bucket_count = kept;
}

static void fold_slice(struct making *m, struct pyramid_head *head, size_t *points)
{
	m->bucket_count = *points = 0;
	for (size_t i = 0; i < m->count; i++) {
		if (m->points[i].attempt != head->attempt)
			continue;
		int64_t x = pyramid_x(head->axis, &m->points[i]);
		struct pyramid_bucket one;
		pyramid_bucket_open(&one, x >> head->base, x, m->first_ordinal + i, &m->points[i]);
		++*points;
		if (m->bucket_count && m->buckets[m->bucket_count - 1].number == one.number)
			pyramid_bucket_merge(&m->buckets[m->bucket_count - 1], &one);
		else
			m->buckets[m->bucket_count++] = one;
	}
	qsort(m->buckets, m->bucket_count, sizeof *m->buckets, by_number);
	join_equal(m);
}

static void coarsen(struct making *m)
{
	for (size_t i = 0; i < m->bucket_count; i++)
		m->buckets[i].number >>= PYRAMID_LEVEL_STEP;
	join_equal(m);
}

/* ---- rows ---- */

struct old_row {
	struct span data;
};

static enum status keep_row(void *context, int64_t position, struct span data, struct error *err)
{
	(void)position;
	(void)err;
	((struct old_row *)context)->data = data;
	return OK;
}

/* Two lists in the order of numbers into one: the old comes first where both have a bucket. */
static size_t merge_row(struct pyramid_bucket *out, const struct pyramid_bucket *old, size_t old_count,
	const struct pyramid_bucket *new, size_t new_count)
{
	size_t count = 0, i = 0, j = 0;

	while (i < old_count || j < new_count) {
		if (j == new_count || (i < old_count && old[i].number <= new[j].number)) {
			out[count] = old[i++];
			if (j < new_count && new[j].number == out[count].number)
				pyramid_bucket_merge(&out[count], &new[j++]);
		} else {
			out[count] = new[j++];
		}
		count++;
	}
	return count;
}

static enum status apply_row(struct making *m, const struct pyramid_level *level, int64_t position,
	const struct pyramid_bucket *new, size_t new_count, struct error *err)
{
	struct pyramid_bucket *old = arena_alloc(m->arena, PYRAMID_ROW_BUCKETS * sizeof *old),
			      *merged = arena_alloc(m->arena, 2 * PYRAMID_ROW_BUCKETS * sizeof *merged);
	struct old_row row = {SPAN("")};
	size_t old_count = 0;

	if (!old || !merged)
		return error_no_memory(err);
	enum status status = store_read_buckets(m->reader, m->arena, level, position, position, keep_row, &row, err);
	if (m->plan->asks) /* the others, too */
		return OK;
	TRY(status);
	if (row.data.len)
		TRY(pyramid_row_unpack(row.data, level->level, old, &old_count, err));
	size_t count = merge_row(merged, old, old_count, new, new_count);
	if (count > PYRAMID_ROW_BUCKETS)
		return error_set(err, ERR_INVALID, "series %u: a row of level %u holds buckets of others",
			level->series_id, level->level);
	return add_change(m, level, position, merged, count, err);
}

/* The buckets at hand, row by row. */
static enum status apply_level(struct making *m, const struct pyramid_level *level, struct error *err)
{
	for (size_t i = 0, end; i < m->bucket_count; i = end) {
		int64_t position = m->buckets[i].number >> PYRAMID_ROW_BITS;
		for (end = i; end < m->bucket_count && m->buckets[end].number >> PYRAMID_ROW_BITS == position;)
			end++;
		TRY(apply_row(m, level, position, &m->buckets[i], end - i, err));
	}
	return OK;
}

/* ---- levels that come and go ---- */

struct gathering {
	struct making *m;
	unsigned level;
	size_t cap;
};

static enum status gather_row(void *context, int64_t position, struct span data, struct error *err)
{
	struct gathering *gathering = context;
	struct making *m = gathering->m;
	struct pyramid_bucket buckets[PYRAMID_ROW_BUCKETS];
	size_t count;

	(void)position;
	TRY(pyramid_row_unpack(data, gathering->level, buckets, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (!grow(m->arena, (void **)&m->buckets, m->bucket_count, &gathering->cap, sizeof *m->buckets))
			return error_no_memory(err);
		m->buckets[m->bucket_count++] = buckets[i];
	}
	return OK;
}

static enum status add_level(struct making *m, struct pyramid_head *head, struct error *err)
{
	struct pyramid_level below = level_of(m, head, head->top), above;
	struct gathering gathering = {m, head->top, 0};

	m->buckets = NULL;
	m->bucket_count = 0;
	TRY(store_read_buckets(m->reader, m->arena, &below, INT64_MIN, INT64_MAX, gather_row, &gathering, err));
	coarsen(m);
	head->top += PYRAMID_LEVEL_STEP;
	above = level_of(m, head, head->top);
	m->has_reshaped = true;
	return apply_level(m, &above, err);
}

static bool needs_level(const struct pyramid_head *head)
{
	unsigned shift = head->top + PYRAMID_ROW_BITS;

	return head->top + PYRAMID_LEVEL_STEP <= PYRAMID_LEVEL_MAX &&
	       (uint64_t)(head->max_x >> shift) - (uint64_t)(head->min_x >> shift) >= TOP_ROWS;
}

static enum status drop_base(struct making *m, struct pyramid_head *head, struct error *err)
{
	struct pyramid_level level = level_of(m, head, head->base);

	if (head->base == head->top) {
		if (head->top + PYRAMID_LEVEL_STEP > PYRAMID_LEVEL_MAX)
			return OK;
		return add_level(m, head, err);
	}
	head->base += PYRAMID_LEVEL_STEP;
	m->has_reshaped = true;
	return add_change(m, &level, 0, NULL, 0, err);
}

/* ---- heads ---- */

static int by_value(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return (left > right) - (left < right);
}

/* The width in which the middle eight tenths of the points lie PYRAMID_BASE_POINTS to a bucket: outliers decide nothing. */
static enum status choose_base(
	struct making *m, uint32_t attempt, enum pyramid_axis axis, unsigned *base, size_t *points, struct error *err)
{
	int64_t *xs = arena_alloc(m->arena, m->count * sizeof *xs);
	size_t count = 0;

	if (!xs)
		return error_no_memory(err);
	for (size_t i = 0; i < m->count; i++)
		if (m->points[i].attempt == attempt)
			xs[count++] = pyramid_x(axis, &m->points[i]);
	qsort(xs, count, sizeof *xs, by_value);
	size_t low = count / 10, high = count - 1 - low;
	uint64_t range = (uint64_t)xs[high] - (uint64_t)xs[low];
	double width = (double)range * PYRAMID_BASE_POINTS / (double)(high > low ? high - low : 1);
	*base = 0;
	while (*base < PYRAMID_LEVEL_MAX && (double)((uint64_t)1 << *base) < width)
		++*base;
	*points = count;
	return OK;
}

static enum status find_head(
	struct making *m, uint32_t attempt, enum pyramid_axis axis, struct pyramid_head **out, struct error *err)
{
	struct pyramid_head *like = NULL;
	size_t points = 0;
	unsigned base = 0;

	for (size_t i = 0; i < m->head_count; i++) {
		like = m->heads[i].axis == axis ? &m->heads[i] : like;
		if (m->heads[i].attempt == attempt && m->heads[i].axis == axis) {
			*out = &m->heads[i];
			return OK;
		}
	}
	TRY(choose_base(m, attempt, axis, &base, &points, err));
	if (points < CHUNK_MAX_POINTS && like) /* too few to tell: as the attempt before */
		base = like->base;
	struct pyramid_head *bigger = arena_alloc(m->arena, (m->head_count + 1) * sizeof *bigger);
	if (!bigger)
		return error_no_memory(err);
	if (m->head_count)
		memcpy(bigger, m->heads, m->head_count * sizeof *bigger);
	bigger[m->head_count] = (struct pyramid_head){
		.attempt = attempt, .axis = axis, .base = base, .top = base, .min_x = INT64_MAX, .max_x = INT64_MIN};
	m->heads = bigger;
	*out = &m->heads[m->head_count++];
	return OK;
}

/* ---- one attempt and axis ---- */

static enum status add_points(struct making *m, struct pyramid_head *head, struct error *err)
{
	size_t points;

	m->buckets = arena_alloc(m->arena, m->count * sizeof *m->buckets);
	if (!m->buckets)
		return error_no_memory(err);
	fold_slice(m, head, &points);
	if (points >= CHUNK_MAX_POINTS && m->bucket_count * SPARSE_POINTS > points && head->min_x <= head->max_x) {
		m->plan->change_count = m->change_count; /* of other attempts and axes: they wait, too */
		return drop_base(m, head, err);
	}
	for (size_t i = 0; i < m->bucket_count; i++) {
		head->min_x = m->buckets[i].first_x < head->min_x ? m->buckets[i].first_x : head->min_x;
		head->max_x = m->buckets[i].last_x > head->max_x ? m->buckets[i].last_x : head->max_x;
	}
	for (unsigned level = head->base; level <= head->top; level += PYRAMID_LEVEL_STEP) {
		struct pyramid_level key = level_of(m, head, level);
		TRY(apply_level(m, &key, err));
		coarsen(m);
	}
	return OK;
}

static bool is_first_of_attempt(const struct making *m, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (m->points[i].attempt == m->points[at].attempt)
			return false;
	return true;
}

static enum status add_slice(struct making *m, struct error *err)
{
	struct pyramid_head *head = NULL;

	for (size_t i = 0; i < m->count; i++) {
		if ((i && m->points[i].attempt == m->points[i - 1].attempt) || !is_first_of_attempt(m, i))
			continue;
		for (unsigned axis = PYRAMID_STEP; axis <= PYRAMID_TIME; axis++) {
			TRY(find_head(m, m->points[i].attempt, (enum pyramid_axis)axis, &head, err));
			TRY(add_points(m, head, err));
			if (m->has_reshaped)
				return OK;
		}
	}
	m->row.points = m->first_ordinal + m->count;
	return OK;
}

static enum status read_slice(struct making *m, uint64_t end, struct error *err)
{
	enum status lacks = OK;

	m->first_ordinal = m->row.points;
	m->count = 0;
	m->points = arena_alloc(m->arena, PYRAMID_SLICE_POINTS * sizeof *m->points);
	if (!m->points)
		return error_no_memory(err);
	while (m->first_ordinal + m->count < end && m->count < PYRAMID_SLICE_POINTS) {
		uint64_t at = m->first_ordinal + m->count;
		struct chunk_row row;
		size_t count;
		enum status status =
			store_read_chunk(m->reader, m->arena, m->row.job_id, m->row.series_id, at, &row, err);
		if (m->plan->asks && status == ERR_UNAVAILABLE) { /* the others, too */
			lacks = status;
			m->count += CHUNK_MAX_POINTS;
			continue;
		}
		TRY(status);
		if (row.first_ordinal != at || row.point_count != CHUNK_MAX_POINTS)
			return error_set(err, ERR_IO, "series %u: the chunk with point %llu is missing",
				m->row.series_id, (unsigned long long)at);
		TRY(chunk_unpack(row.data, m->zstd, m->points + m->count, &count, err));
		m->count += count;
	}
	return lacks;
}

static enum status put_row(struct making *m, struct error *err)
{
	struct pyramid_plan *plan = m->plan;
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	pyramid_heads_pack(&packed, m->heads, m->head_count);
	TRY(buf_status(&packed, err));
	m->row.data = arena_copy(plan->arena, buf_span(&packed));
	if (!m->row.data.ptr ||
		!grow(plan->arena, (void **)&plan->rows, plan->row_count, &plan->row_cap, sizeof *plan->rows))
		return error_no_memory(err);
	plan->rows[plan->row_count++] = m->row;
	return OK;
}

static enum status make_plan(struct making *m, uint64_t end, struct error *err)
{
	for (size_t i = 0; i < m->head_count && !m->has_reshaped; i++)
		if (needs_level(&m->heads[i]))
			TRY(add_level(m, &m->heads[i], err));
	if (!m->has_reshaped) {
		TRY(read_slice(m, end, err));
		TRY(add_slice(m, err));
	}
	return put_row(m, err);
}

enum status pyramid_plan_series(struct pyramid_plan *plan, struct store_reader *reader, struct zstd *zstd,
	int64_t job_id, uint32_t series_id, uint64_t sealed_points, struct error *err)
{
	AUTO(arena) arena = arena_new();
	uint64_t end = sealed_points / CHUNK_MAX_POINTS * CHUNK_MAX_POINTS;

	if (end < PYRAMID_LAG_POINTS)
		return OK;
	struct making *m = arena ? arena_alloc(arena, sizeof *m) : NULL;
	if (!m)
		return error_no_memory(err);
	*m = (struct making){
		.plan = plan, .reader = reader, .zstd = zstd, .arena = arena, .change_count = plan->change_count};
	TRY(store_read_pyramid(reader, arena, job_id, series_id, &m->row, err));
	if (m->row.points + PYRAMID_LAG_POINTS > end)
		return OK;
	if (m->row.data.len)
		TRY(pyramid_heads_unpack(m->row.data, arena, &m->heads, &m->head_count, err));
	return make_plan(m, end, err);
}

/* Of the job that was asked last: they come one after the other. */
struct presence {
	int64_t job_id;
	bool is_there;
};

/* Deleted since the plan was made: nothing of it may come back. */
static enum status is_job_there(
	struct store_tx *tx, int64_t job_id, struct presence *presence, bool *is_there, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_row row;

	if (presence->job_id != job_id) {
		arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		enum status status = store_read_job_by_id(store_tx_reader(tx), arena, job_id, &row, err);
		if (status != OK && status != ERR_NOT_FOUND)
			return status;
		*presence = (struct presence){job_id, status == OK};
	}
	*is_there = presence->is_there;
	return OK;
}

enum status pyramid_plan_write(const struct pyramid_plan *plan, struct store_tx *tx, struct error *err)
{
	struct presence presence = {0};
	bool is_there;

	for (size_t i = 0; i < plan->change_count; i++) {
		const struct change *change = &plan->changes[i];
		TRY(is_job_there(tx, change->level.job_id, &presence, &is_there, err));
		if (!is_there)
			continue;
		if (change->data.len)
			TRY(store_put_buckets(tx, &change->level, change->position, change->data, err));
		else
			TRY(store_delete_buckets(tx, &change->level, err));
	}
	for (size_t i = 0; i < plan->row_count; i++) {
		TRY(is_job_there(tx, plan->rows[i].job_id, &presence, &is_there, err));
		if (is_there)
			TRY(store_put_pyramid(tx, &plan->rows[i], err));
	}
	return OK;
}

static enum status write_plan(void *plan, struct store_tx *tx, struct error *err)
{
	return pyramid_plan_write(plan, tx, err);
}

enum status pyramid_plan_run(struct pipeline *pipeline, struct pyramid_plan *plan, struct error *err)
{
	return pyramid_plan_is_empty(plan) ? OK : writer_execute(pipeline, write_plan, plan, err);
}

enum status pyramid_sweep(struct pipeline *pipeline, struct store_reader *reader, struct zstd *zstd,
	struct pyramid_sweep *sweep, bool *is_found, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pyramid_plan *plan = arena ? pyramid_plan_new(arena) : NULL;
	struct pyramid_sweep at = *sweep;
	uint64_t sealed;

	if (!plan)
		return error_no_memory(err);
	/* The open last chunk is not covered: a whole one more, or a series that is done would be found for ever. */
	TRY(store_find_lagging_series(reader, &at.job_id, &at.series_id, PYRAMID_LAG_POINTS + CHUNK_MAX_POINTS,
		SWEEP_SERIES, &sealed, is_found, err));
	if (!*is_found) {
		*sweep = at;
		return OK;
	}
	TRY(pyramid_plan_series(plan, reader, zstd, at.job_id, at.series_id, sealed, err));
	*is_found = !pyramid_plan_is_empty(plan);
	if (!*is_found)
		*sweep = at; /* nothing to do after all: go on behind it; else it is looked at again */
	return pyramid_plan_run(pipeline, plan, err);
}
