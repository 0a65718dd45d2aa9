/*
 * Is a point there already? MLflow 3 logs metrics of a run again when it logs a model: those of the model's step, as the history has them, and
 * with the model's id. Without this each of them would be there twice, and one of step 0 as a new one behind the last.
 */
#include "mlflow/internal.h"
#include "model/metrics/point.h"
#include "read/charts/points_walk.h"
#include "read/view.h"

#include <math.h>

struct search {
	const struct point *asked;
	bool is_found;
};

static bool is_same_value(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static enum status compare_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct search *search = context;
	const struct point *asked = search->asked;

	(void)stream;
	(void)series;
	(void)x;
	(void)err;
	search->is_found = search->is_found || (point->step == asked->step && point->ts_ms == asked->ts_ms &&
						       is_same_value(point->value, asked->value));
	return OK;
}

enum status mlflow_has_point(void *context, struct span key, const struct point *asked, bool *out, struct error *err)
{
	const struct job_points *of = context;
	const struct chart_query query = {.metric = key,
		.stream = SPAN(MLFLOW_STREAM),
		.axis = AXIS_TIME,
		.from = asked->ts_ms,
		.to = asked->ts_ms,
		.attempts = ATTEMPTS_ALL};
	struct search search = {.asked = asked};
	AUTO(arena) arena = arena_new();
	struct job_view view;

	*out = false;
	if (!arena)
		return error_no_memory(err);
	enum status status = view_read_job(of->call->pipeline, of->call->reader, arena, of->job, query.stream, key,
		VIEW_SERIES | VIEW_TAILS, &view, err);
	if (status == ERR_NOT_FOUND) /* a run that has logged nothing has no stream */
		return OK;
	TRY(status);
	TRY(points_walk_window(of->call->reader, arena, &view, &query, compare_point, &search, err));
	*out = search.is_found;
	return OK;
}
