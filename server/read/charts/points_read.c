/* Points of one stream's series from an ordinal on, a batch at a time: nothing is held between two batches. */
#include "read/charts/points_read.h"

#include "read/charts/chart_query.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "store/pack/chunk.h"
#include "store/points.h"

enum { BATCH_CHUNKS = 16 };

static bool is_wanted(const struct chart_query *query, struct attempt_starts starts, const struct point *point)
{
	int64_t x = query->axis == AXIS_STEP ? point->step : point->ts_ms;

	if (x < query->from || x > query->to)
		return false;
	if (query->attempts == ATTEMPTS_LIVE)
		return !point_is_superseded(point, starts);
	return query->attempts == ATTEMPTS_ALL || point->attempt == (uint32_t)query->attempts;
}

/* What does not unpack is our damage, not a mistake of the one who asks. */
static enum status unpack_chunk(const struct series_view *series, const struct chunk_row *row, struct zstd *zstd,
	struct point *points, size_t *count, struct error *err)
{
	struct error cause;
	enum status status = chunk_unpack(row->data, zstd, points, count, &cause);

	if (status == OK)
		return OK;
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	return error_set(err, ERR_IO, "series %u: the chunk with point %llu is damaged: %s", series->series_id,
		(unsigned long long)row->first_ordinal, cause.text);
}

static enum status read_sealed(struct store_reader *reader, struct zstd *zstd, const struct job_view *view,
	const struct series_view *series, uint64_t ordinal, struct points_batch *out, struct error *err)
{
	struct chunk_row row;

	for (unsigned i = 0; i < BATCH_CHUNKS && ordinal < series->sealed_points; i++) {
		AUTO(arena) arena = arena_new();
		size_t count;
		if (!arena)
			return error_no_memory(err);
		TRY(store_read_chunk(reader, arena, view->row.job_id, series->series_id, ordinal, &row, err));
		if (!row.point_count || row.first_ordinal > ordinal)
			return error_set(err, ERR_IO, "series %u: the chunk with point %llu is missing",
				series->series_id, (unsigned long long)ordinal);
		TRY(unpack_chunk(series, &row, zstd, out->points + out->count, &count, err));
		uint64_t skipped = ordinal - row.first_ordinal;
		if (row.first_ordinal + count > series->sealed_points) /* sealed since: also in the tail */
			count = (size_t)(series->sealed_points - row.first_ordinal);
		if (count <= skipped)
			return error_set(err, ERR_IO, "series %u: the chunk at point %llu is short", series->series_id,
				(unsigned long long)ordinal);
		memmove(out->points + out->count, out->points + out->count + skipped,
			(count - skipped) * sizeof *out->points);
		out->count += count - skipped;
		ordinal += count - skipped;
	}
	out->next_ordinal = ordinal;
	return OK;
}

static void read_tail(const struct series_view *series, uint64_t ordinal, struct points_batch *out)
{
	size_t at = (size_t)(ordinal - series->sealed_points), room = BATCH_CHUNKS * CHUNK_MAX_POINTS;

	out->count = at < series->tail_count ? series->tail_count - at : 0;
	out->count = out->count < room ? out->count : room;
	if (out->count)
		memcpy(out->points, series->tail + at, out->count * sizeof *out->points);
	out->next_ordinal = ordinal + out->count;
}

static const struct series_view *find_series(const struct job_view *view, struct span metric)
{
	for (size_t i = 0; view->stream_count && i < view->streams[0].series_count; i++)
		if (span_equal(view->streams[0].series[i].metric, metric))
			return &view->streams[0].series[i];
	return NULL;
}

enum status points_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, const struct chart_query *query, uint64_t ordinal, struct points_batch *out,
	struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct job_view view;

	*out = (struct points_batch){.next_ordinal = ordinal, .is_end = true};
	out->points = arena_alloc(arena, BATCH_CHUNKS * CHUNK_MAX_POINTS * sizeof *out->points);
	if (!zstd || !out->points)
		return error_no_memory(err);
	TRY(view_read_job(pipeline, reader, arena, job, stream, query->metric, VIEW_SERIES | VIEW_TAILS, &view, err));
	out->generation = view.row.generation;
	out->series_base = view.stream_count ? view.streams[0].series_base : 0;
	const struct series_view *series = find_series(&view, query->metric);
	if (!series)
		return OK;
	if (ordinal < series->sealed_points)
		TRY(read_sealed(reader, zstd, &view, series, ordinal, out, err));
	else
		read_tail(series, ordinal, out);
	out->is_end = out->next_ordinal >= series->sealed_points + series->tail_count;
	struct attempt_starts starts = stream_view_starts(&view.streams[0], series);
	size_t kept = 0;
	for (size_t i = 0; i < out->count; i++)
		if (is_wanted(query, starts, &out->points[i]))
			out->points[kept++] = out->points[i];
	out->count = kept;
	return OK;
}

enum status points_read_all(struct pipeline *pipeline, struct store_reader *reader, struct span job, struct span stream,
	const struct chart_query *query,
	enum status (*take)(void *context, const struct point *point, struct error *err), void *context,
	struct error *err)
{
	struct points_batch batch = {.is_end = false};

	while (!batch.is_end) {
		AUTO(arena) own = arena_new();
		if (!own)
			return error_no_memory(err);
		TRY(points_read(pipeline, reader, own, job, stream, query, batch.next_ordinal, &batch, err));
		for (size_t i = 0; i < batch.count; i++)
			TRY(take(context, &batch.points[i], err));
	}
	return OK;
}
