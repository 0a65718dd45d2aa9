#include "pipeline/jobs/went_on.h"

#include "model/metrics/stream_name.h"
#include "read/charts/points_walk.h"
#include "read/view.h"

/* The one that is logged most often is the nearest to when it went on. */
static const struct series_view *most_logged(const struct job_view *view, struct span *stream)
{
	const struct series_view *most = NULL;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count && !stream_is_system(view->streams[i].name); j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (most && series->summary.count <= most->summary.count)
				continue;
			most = series;
			*stream = view->streams[i].name;
		}
	return most;
}

static enum status take_first(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	int64_t *first_ms = context;

	(void)stream, (void)series, (void)x, (void)err;
	*first_ms = point->ts_ms;
	return ERR_CONFLICT; /* no more is wanted */
}

enum status went_on_find(struct pipeline *pipeline, struct store_reader *reader, struct span job, int64_t after_ms,
	int64_t until_ms, int64_t *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct chart_query query = {.axis = AXIS_TIME, .from = after_ms + 1, .to = until_ms, .attempts = ATTEMPTS_ALL};
	struct job_view view;

	*out = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	const struct series_view *series = most_logged(&view, &query.stream);
	if (!series)
		return OK;
	query.metric = series->metric;
	TRY(view_read_job(
		pipeline, reader, arena, job, query.stream, query.metric, VIEW_SERIES | VIEW_TAILS, &view, err));
	enum status status = points_walk_window(reader, arena, &view, &query, take_first, out, err);
	return *out ? OK : status;
}
