#include "state/streams/work_times.h"

#include "model/metrics/stream_name.h"
#include "state/streams/block_times.h"
#include "state/streams/job_view.h"

/* So many blocks are opened for the times of their lines: of the others the ends are enough, or must do. */
enum { OPENED_MAX = 8 };

void work_times_of(const struct job_view *view, struct stretches *out)
{
	*out = (struct stretches){0};
	for (size_t i = 0; i < view->stream_count; i++)
		if (!stream_is_system(view->streams[i].name))
			stretches_merge(out, &view->streams[i].stretches);
}

int64_t job_believed_first_ms(const struct job_view *view)
{
	struct stretches work;

	work_times_of(view, &work);
	return stretches_first_ms(&work);
}

static void add_time(void *context, uint64_t line, int64_t ts_ms)
{
	(void)line;
	stretches_add(context, ts_ms);
}

/* Of a block that is not opened two times are known, and not how many lines are near which. */
static void add_ends(struct stretches *out, const struct block_head *head, bool is_narrow)
{
	unsigned distinct = head->line_count < STRETCH_COUNTS_FROM ? (unsigned)head->line_count : STRETCH_COUNTS_FROM;

	if (is_narrow) {
		stretches_add_stretch(
			out, &(struct time_cluster){head->first_ms, head->last_ms, head->line_count, distinct});
		return;
	}
	stretches_add(out, head->first_ms);
	stretches_add_stretch(out, &(struct time_cluster){head->last_ms, head->last_ms, head->line_count - 1, 1});
}

static enum status add_blocks(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t stream_id,
	struct stretches *out, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct block_head *heads;
	size_t count, opened = 0;

	if (!zstd)
		return error_no_memory(err);
	TRY(store_read_block_heads(reader, arena, job_id, stream_id, &heads, &count, err));
	for (size_t i = 0; i < count; i++) {
		bool is_narrow = heads[i].last_ms - heads[i].first_ms <= STRETCH_GAP_MS;
		if (is_narrow || opened == OPENED_MAX) {
			add_ends(out, &heads[i], is_narrow);
			continue;
		}
		TRY(block_times_walk(reader, zstd, job_id, &heads[i], add_time, out, err));
		opened++;
	}
	return OK;
}

/* Points that were sent as such are in no block. */
static void add_series(struct stretches *out, const struct stream_view *stream)
{
	for (size_t i = 0; i < stream->series_count && stream->sent_points; i++) {
		const struct series_view *series = &stream->series[i];
		unsigned distinct = series->sealed_points < STRETCH_COUNTS_FROM ? (unsigned)series->sealed_points
										: STRETCH_COUNTS_FROM;
		if (distinct)
			stretches_add_stretch(out, &(struct time_cluster){series->min_ms, series->max_ms,
							   series->sealed_points, distinct});
	}
}

enum status work_times_rebuild(
	struct store_reader *reader, int64_t job_id, struct stream_view *stream, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct stretches found = {0};

	if (!arena)
		return error_no_memory(err);
	if (stream->last_ms - stream->first_ms > STRETCH_GAP_MS) {
		TRY(add_blocks(reader, arena, job_id, stream->stream_id, &found, err));
		add_series(&found, stream);
		if (found.count) /* its text may have been deleted: then it is what it was */
			stream->stretches = found;
	}
	stream->stretches.is_rough = false;
	return OK;
}

enum status work_times_read(
	struct store_reader *reader, struct job_view *view, struct stretches *out, struct error *err)
{
	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].stretches.is_rough)
			TRY(work_times_rebuild(reader, view->row.job_id, &view->streams[i], err));
	work_times_of(view, out);
	return OK;
}
