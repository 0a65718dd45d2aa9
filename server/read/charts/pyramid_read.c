/* Reading pyramids: whole buckets of the level that fits; those that an edge, a restart or the reader cuts are looked at a level
 * lower, and at last point by point. */
#include "read/charts/pyramid_read.h"

#include "store/points.h"

/* A piece of the axis that is still to be given; at the lowest level with the ordinals of its points. */
struct piece {
	int64_t from, to;
	uint64_t first_ordinal, last_ordinal;
};

struct pieces {
	struct piece *items;
	size_t count, cap;
};

struct descent {
	const struct pyramid_reading *reading;
	struct arena *arena;
	const struct pyramid_head *head;
	int64_t last_step;
	unsigned level;
	struct piece piece; /* at work */
	bool has_gap; /* between the last cut bucket and the present one */
	struct pieces cut;
	struct pyramid_bucket buckets[PYRAMID_ROW_BUCKETS];
	struct point points[CHUNK_MAX_POINTS];
	uint64_t chunk_ordinal; /* of points */
	size_t point_count;
};

static bool add_piece(struct descent *d, const struct pyramid_bucket *bucket)
{
	struct pieces *pieces = &d->cut;
	struct piece piece = {bucket->first_x > d->piece.from ? bucket->first_x : d->piece.from,
		bucket->last_x < d->piece.to ? bucket->last_x : d->piece.to, bucket->first_ordinal,
		bucket->last_ordinal};
	struct piece *last = pieces->count ? &pieces->items[pieces->count - 1] : NULL;

	/* Neighbours in one: nothing that is given otherwise lies between them. */
	if (last && !d->has_gap && d->level == d->head->base && bucket->first_ordinal == last->last_ordinal + 1) {
		last->to = piece.to;
		last->last_ordinal = piece.last_ordinal;
		return true;
	}
	if (!pieces->items || pieces->count == pieces->cap) {
		size_t cap = pieces->cap ? 2 * pieces->cap : 16;
		struct piece *items = arena_alloc(d->arena, cap * sizeof *items);
		if (!items)
			return false;
		if (pieces->items)
			memcpy(items, pieces->items, pieces->count * sizeof *items);
		pieces->items = items;
		pieces->cap = cap;
	}
	pieces->items[pieces->count++] = piece;
	d->has_gap = false;
	return true;
}

static enum status take_row(void *context, int64_t position, struct span data, struct error *err)
{
	struct descent *d = context;
	size_t count;

	(void)position;
	TRY(pyramid_row_unpack(data, d->level, d->buckets, &count, err));
	for (size_t i = 0; i < count; i++) {
		const struct pyramid_bucket *b = &d->buckets[i];
		if (b->last_x < d->piece.from || b->first_x > d->piece.to || b->min_step > d->last_step) {
			d->has_gap = true;
			continue;
		}
		bool is_whole = d->level <= d->reading->level && b->first_x >= d->piece.from &&
				b->last_x <= d->piece.to && b->max_step <= d->last_step &&
				(!d->reading->fits || d->reading->fits(d->reading->context, b));
		if (is_whole) {
			d->has_gap = true;
			d->reading->take_bucket(d->reading->context, d->head->attempt, b);
		} else if (!add_piece(d, b)) {
			return error_no_memory(err);
		}
	}
	return OK;
}

static enum status walk_level(struct descent *d, const struct pieces *pieces, struct error *err)
{
	const struct pyramid_reading *reading = d->reading;
	struct pyramid_level level = {reading->job_id, reading->series_id, d->head->attempt, d->head->axis, d->level};
	unsigned shift = d->level + PYRAMID_ROW_BITS;

	d->cut = (struct pieces){0};
	for (size_t i = 0; i < pieces->count; i++) {
		d->piece = pieces->items[i];
		d->has_gap = true;
		TRY(store_read_buckets(reading->reader, d->arena, &level, d->piece.from >> shift, d->piece.to >> shift,
			take_row, d, err));
	}
	return OK;
}

/* ---- below the lowest level: points ---- */

static enum status load_chunk(struct descent *d, uint64_t ordinal, struct error *err)
{
	const struct pyramid_reading *reading = d->reading;
	AUTO(arena) arena = NULL;
	struct chunk_row row;

	if (d->point_count && ordinal >= d->chunk_ordinal && ordinal < d->chunk_ordinal + d->point_count)
		return OK;
	d->point_count = 0;
	arena = arena_new();
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_chunk(reading->reader, arena, reading->job_id, reading->series_id, ordinal, &row, err));
	if (!row.point_count || row.first_ordinal > ordinal)
		return error_set(err, ERR_IO, "series %u: the chunk with point %llu is missing", reading->series_id,
			(unsigned long long)ordinal);
	TRY(chunk_unpack(row.data, reading->zstd, d->points, &d->point_count, err));
	d->chunk_ordinal = row.first_ordinal;
	return OK;
}

static enum status take_piece(struct descent *d, const struct piece *piece, struct error *err)
{
	for (uint64_t at = piece->first_ordinal; at <= piece->last_ordinal;) {
		TRY(load_chunk(d, at, err));
		size_t i = (size_t)(at - d->chunk_ordinal);
		for (; i < d->point_count && d->chunk_ordinal + i <= piece->last_ordinal; i++) {
			const struct point *point = &d->points[i];
			int64_t x = pyramid_x(d->head->axis, point);
			if (point->attempt == d->head->attempt && x >= piece->from && x <= piece->to &&
				point->step <= d->last_step)
				d->reading->take_point(d->reading->context, point);
		}
		if (d->chunk_ordinal + i <= at)
			return error_set(err, ERR_INVALID, "series %u: the chunk at point %llu is short",
				d->reading->series_id, (unsigned long long)at);
		at = d->chunk_ordinal + i;
	}
	return OK;
}

static enum status read_head(struct descent *d, struct error *err)
{
	const struct pyramid_reading *reading = d->reading;
	const struct pyramid_head *head = d->head;
	struct piece all = {.from = reading->from > head->min_x ? reading->from : head->min_x,
		.to = reading->to < head->max_x ? reading->to : head->max_x};
	struct pieces pieces = {&all, 1, 1};

	if (all.from > all.to)
		return OK;
	d->level = head->base;
	while (d->level < head->top && d->level + PYRAMID_LEVEL_STEP <= reading->level)
		d->level += PYRAMID_LEVEL_STEP;
	for (;; d->level -= PYRAMID_LEVEL_STEP) {
		TRY(walk_level(d, &pieces, err));
		pieces = d->cut;
		if (d->level == head->base)
			break;
	}
	for (size_t i = 0; i < pieces.count; i++)
		TRY(take_piece(d, &pieces.items[i], err));
	return OK;
}

static enum status read_heads(const struct pyramid_reading *reading, uint64_t *covered, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pyramid_row row;
	struct pyramid_head *heads;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_pyramid(reading->reader, arena, reading->job_id, reading->series_id, &row, err));
	if (!row.points)
		return OK;
	TRY(pyramid_heads_unpack(row.data, arena, &heads, &count, err));
	struct descent *d = arena_alloc(arena, sizeof *d);
	if (!d)
		return error_no_memory(err);
	*d = (struct descent){.reading = reading, .arena = arena};
	for (size_t i = 0; i < count; i++) {
		d->head = &heads[i];
		if (heads[i].axis == reading->axis &&
			reading->wants_attempt(reading->context, heads[i].attempt, &d->last_step))
			TRY(read_head(d, err));
	}
	*covered = row.points;
	return OK;
}

enum status pyramid_read(const struct pyramid_reading *reading, uint64_t *covered, struct error *err)
{
	*covered = 0;
	TRY(store_reader_begin(reading->reader, err));
	enum status status = read_heads(reading, covered, err);
	store_reader_end(reading->reader);
	return status;
}

enum status pyramid_base(struct store_reader *reader, int64_t job_id, uint32_t series_id, enum pyramid_axis axis,
	unsigned *base, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pyramid_row row;
	struct pyramid_head *heads;
	size_t count;

	*base = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_pyramid(reader, arena, job_id, series_id, &row, err));
	if (!row.points)
		return OK;
	TRY(pyramid_heads_unpack(row.data, arena, &heads, &count, err));
	for (size_t i = 0; i < count; i++)
		if (heads[i].axis == axis && heads[i].base > *base)
			*base = heads[i].base;
	return OK;
}
