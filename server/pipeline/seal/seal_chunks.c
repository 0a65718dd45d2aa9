/* The points of what a run of the sealer writes: the tails of its series, packed into chunks. */
#include "pipeline/seal/seal.h"
#include "state/streams/directory.h"
#include "store/pack/chunk.h"
#include "store/points.h"
#include "store/streams.h"

enum { ASK_CHUNKS = 1024 };

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
		.data = arena_copy(seal->arena, buf_span(&packed))};
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
	struct chunk_row open;

	*count = 0;
	TRY(store_read_last_chunk(seal->reader, seal->arena, series->row.job_id, series->row.series_id, &open, err));
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
	unit->chunks = arena_alloc(seal->arena, most * sizeof *unit->chunks);
	if (!unit->chunks)
		return error_no_memory(err);
	for (size_t i = 0; i < unit->series_count; i++)
		if (unit->series[i].count)
			TRY(make_series_chunks(seal, unit, &unit->series[i], err));
	return OK;
}

/* The last chunks of the units from this one on, not too many at once, in one round trip. Where these units end. */
static enum status ask_last_chunks(struct seal *seal, size_t from, size_t *end, struct error *err)
{
	size_t asked = 0;

	store_reader_ahead_drop(seal->reader);
	*end = seal->count;
	if (!store_reader_ahead_begin(seal->reader, AHEAD_STOP))
		return OK;
	for (*end = from; *end < seal->count && asked < ASK_CHUNKS; ++*end) {
		const struct unit *unit = &seal->units[*end];
		for (size_t i = 0; unit->is_whole && i < unit->series_count; i++) {
			const struct series_row *row = &unit->series[i].row;
			struct chunk_row open;
			if (!unit->series[i].count)
				continue;
			(void)!store_read_last_chunk(
				seal->reader, seal->arena, row->job_id, row->series_id, &open, NULL);
			asked++;
		}
	}
	return store_reader_ahead_end(seal->reader, err);
}

enum status seal_make_chunks(struct seal *seal, struct error *err)
{
	for (size_t i = 0, end; i < seal->count; i = end) {
		TRY(ask_last_chunks(seal, i, &end, err));
		for (size_t j = i; j < end; j++)
			if (seal->units[j].is_whole)
				TRY(make_unit_chunks(seal, &seal->units[j], err));
	}
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
