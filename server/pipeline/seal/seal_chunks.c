/* The points of what a run of the sealer writes: the tails of its series, packed into chunks. */
#include "pipeline/seal/seal.h"
#include "state/streams/directory.h"
#include "store/pack/chunk.h"
#include "store/points.h"
#include "store/streams.h"

enum { SERIES_AT_ONCE = 1024 }; /* of each at most two chunks are in memory until they are committed */

/* Under the stream's lock. */
bool seal_copy_series(struct seal *seal, struct unit *unit)
{
	struct stream_state *stream = unit->stream;

	unit->series_count = stream->series_count;
	unit->series = arena_alloc(seal->arena, stream->series_count * sizeof *unit->series);
	for (size_t i = 0; i < stream->series_count && unit->series; i++) {
		struct series_state *series = stream->series[i];
		struct sealed_series *copy = &unit->series[i];
		copy->first_ordinal = series->sealed_points;
		copy->count = series->tail_count;
		seal->point_bytes += copy->count * sizeof *copy->points;
		copy->points = arena_alloc(seal->arena, copy->count * sizeof *copy->points);
		struct span metric = arena_copy(seal->arena, span_from(series->metric));
		struct span unit_name = arena_copy(seal->arena, span_from(series->unit));
		if (!copy->points || !metric.ptr || !unit_name.ptr)
			return false;
		if (copy->count)
			memcpy(copy->points, series->tail, copy->count * sizeof *copy->points);
		copy->row = (struct series_row){.job_id = stream->job->job_id,
			.series_id = series->series_id,
			.stream_id = stream->stream_id,
			.metric = metric,
			.labels = SPAN(""),
			.unit = unit_name,
			.role = series->role,
			.sealed_points = copy->first_ordinal + copy->count,
			.sealed = series->summary};
	}
	return unit->series != NULL;
}

static void range_of(struct chunk_row *row, const struct point *points, size_t count)
{
	row->first_step = row->last_step = points[0].step;
	row->first_ms = row->last_ms = points[0].ts_ms;
	for (size_t i = 1; i < count; i++) {
		row->first_step = points[i].step < row->first_step ? points[i].step : row->first_step;
		row->last_step = points[i].step > row->last_step ? points[i].step : row->last_step;
		row->first_ms = points[i].ts_ms < row->first_ms ? points[i].ts_ms : row->first_ms;
		row->last_ms = points[i].ts_ms > row->last_ms ? points[i].ts_ms : row->last_ms;
	}
}

static enum status add_chunk(struct seal *seal, struct unit *unit, const struct sealed_series *series,
	uint64_t first_ordinal, const struct point *points, size_t count, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);
	struct chunk_row *row = &unit->chunks[unit->chunk_count];

	TRY(chunk_pack(points, count, seal->zstd, &packed, err));
	*row = (struct chunk_row){.job_id = series->row.job_id,
		.series_id = series->row.series_id,
		.first_ordinal = first_ordinal,
		.point_count = count,
		.data = arena_copy(seal->group_arena, buf_span(&packed))};
	if (!row->data.ptr)
		return error_no_memory(err);
	range_of(row, points, count);
	unit->chunk_count++;
	return OK;
}

/* What the open last chunk holds, if the new points go on where it ends. */
static enum status read_open_chunk(struct seal *seal, struct unit *unit, const struct sealed_series *series,
	struct point *points, size_t *count, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct chunk_row open;

	*count = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_last_chunk(seal->reader, arena, series->row.job_id, series->row.series_id, &open, err));
	if (!open.point_count || open.point_count >= CHUNK_MAX_POINTS ||
		open.first_ordinal + open.point_count != series->first_ordinal)
		return OK;
	enum status status = chunk_unpack(open.data, seal->zstd, points, count, err);
	if (status != ERR_INVALID)
		return status;
	seal_note_damage(seal, unit->stream, "chunk", open.first_ordinal, err); /* as with blocks */
	*count = 0;
	return OK;
}

static enum status make_series_chunks(
	struct seal *seal, struct unit *unit, struct sealed_series *series, struct error *err)
{
	struct point joined[CHUNK_MAX_POINTS];
	size_t open, taken, some;

	TRY(read_open_chunk(seal, unit, series, joined, &open, err));
	taken = !open ? 0 : series->count < CHUNK_MAX_POINTS - open ? series->count : CHUNK_MAX_POINTS - open;
	memcpy(joined + open, series->points, taken * sizeof *joined);
	if (open)
		TRY(add_chunk(seal, unit, series, series->first_ordinal - open, joined, open + taken, err));
	for (; taken < series->count; taken += some) {
		some = series->count - taken < CHUNK_MAX_POINTS ? series->count - taken : CHUNK_MAX_POINTS;
		TRY(add_chunk(seal, unit, series, series->first_ordinal + taken, series->points + taken, some, err));
	}
	return OK;
}

static enum status make_unit_chunks(struct seal *seal, struct unit *unit, struct error *err)
{
	size_t most = 0;

	for (size_t i = 0; i < unit->series_count; i++)
		most += unit->series[i].count / CHUNK_MAX_POINTS + 2;
	unit->chunks = arena_alloc(seal->group_arena, most * sizeof *unit->chunks);
	if (!unit->chunks)
		return error_no_memory(err);
	for (size_t i = 0; i < unit->series_count; i++)
		if (unit->series[i].count)
			TRY(make_series_chunks(seal, unit, &unit->series[i], err));
	return OK;
}

size_t seal_end_group(const struct seal *seal, size_t from)
{
	size_t end = from;

	for (size_t count = 0; end < seal->count && count < SERIES_AT_ONCE; end++)
		for (size_t i = 0; seal->units[end].is_whole && i < seal->units[end].series_count; i++)
			count += seal->units[end].series[i].count > 0;
	return end;
}

/* The last chunks of a group's series, in one round trip. */
static enum status ask_last_chunks(struct seal *seal, size_t from, size_t end, struct error *err)
{
	if (!store_reader_ahead_begin(seal->reader, AHEAD_STOP))
		return OK;
	for (size_t i = from; i < end; i++) {
		const struct unit *unit = &seal->units[i];
		for (size_t j = 0; unit->is_whole && j < unit->series_count; j++) {
			const struct series_row *row = &unit->series[j].row;
			struct chunk_row open;
			if (unit->series[j].count)
				(void)!store_read_last_chunk(
					seal->reader, seal->group_arena, row->job_id, row->series_id, &open, NULL);
		}
	}
	return store_reader_ahead_end(seal->reader, err);
}

enum status seal_make_chunks(struct seal *seal, size_t from, size_t end, struct error *err)
{
	store_reader_ahead_drop(seal->reader);
	TRY(ask_last_chunks(seal, from, end, err));
	for (size_t i = from; i < end; i++)
		if (seal->units[i].is_whole)
			TRY(make_unit_chunks(seal, &seal->units[i], err));
	store_reader_ahead_drop(seal->reader);
	return OK;
}

enum status seal_write_chunks(const struct unit *unit, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < unit->chunk_count; i++)
		TRY(store_put_chunk(tx, &unit->chunks[i], err));
	for (size_t i = 0; i < unit->series_count; i++)
		TRY(store_put_series(tx, &unit->series[i].row, err));
	return OK;
}

static void drop_points(struct series_state *series, size_t count)
{
	if (!count)
		return;
	memmove(series->tail, series->tail + count, (series->tail_count - count) * sizeof *series->tail);
	series->tail_count -= count;
	series->sealed_points += count;
	if (series->tail_count == 0) { /* a quiet series keeps no memory */
		mem_free(series->tail);
		series->tail = NULL;
		series->tail_cap = 0;
	}
}

/* After the commit, under the stream's lock. */
void seal_drop_points(const struct unit *unit)
{
	for (size_t i = 0; i < unit->series_count; i++)
		drop_points(unit->stream->series[i], unit->series[i].count);
}
