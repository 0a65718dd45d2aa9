/* Which metric is meant by a role: as the summaries say, so that charts, rows and searches agree; of a job that has none yet, by the same rule. */
#include "read/charts/main_series.h"

#include "extract/printed_name.h"
#include "model/metrics/main_metric.h"
#include "model/metrics/stream_name.h"
#include "read/charts/chart_query.h"
#include "state/streams/job_view.h"
#include "store/job_facts.h"

static struct metric_candidate *find_candidate(struct metric_candidate *rows, size_t count, struct span metric)
{
	for (size_t i = 0; i < count; i++)
		if (span_equal(rows[i].metric, metric))
			return &rows[i];
	return NULL;
}

static enum status decide(const struct job_view *view, enum role role, struct span *metric, struct error *err)
{
	AUTO_MEM struct metric_candidate *rows = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		for (size_t j = 0; !stream_is_system(stream->name) && j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			bool is_named = span_equal(series->metric, span_from(role_name(role)));
			if (series->role != role && !is_named)
				continue;
			struct metric_candidate *row = find_candidate(rows, count, series->metric);
			if (!row) {
				if (!mem_grow((void **)&rows, count, &cap, sizeof *rows))
					return error_no_memory(err);
				row = &rows[count++];
				*row = (struct metric_candidate){series->metric, series->unit, series->role, 0};
			}
			row->count += series->summary.count;
		}
	}
	size_t main = main_metric_find(role, rows, count);
	*metric = main < count ? rows[main].metric : SPAN("");
	return OK;
}

static bool has_metric(const struct job_view *view, struct span metric)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (span_equal(view->streams[i].series[j].metric, metric))
				return true;
	return false;
}

enum status main_series_find(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	enum role role, struct span *metric, struct error *err)
{
	TRY(store_find_main_metric(reader, arena, view->row.job_id, role, metric, err));
	return metric->len && has_metric(view, *metric) ? OK : decide(view, role, metric, err);
}

enum status main_series_find_all(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	struct span mains[ROLE_COUNT], struct error *err)
{
	mains[ROLE_OTHER] = SPAN("");
	for (unsigned role = ROLE_OTHER + 1; role < ROLE_COUNT; role++)
		TRY(main_series_find(reader, arena, view, (enum role)role, &mains[role], err));
	return OK;
}

static bool has_any(const struct job_view *view, struct span metric)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++)
			if (metric_matches(view->streams[i].series[j].metric, metric))
				return true;
	return false;
}

/* As the log prints it, while the metric is called otherwise: "tokens_per_second". */
static struct span find_printed(const struct job_view *view, struct span name)
{
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (printed_name_is(name, series->metric, series->unit))
				return series->metric;
		}
	return SPAN("");
}

enum status main_series_resolve(struct store_reader *reader, struct arena *arena, const struct job_view *view,
	const struct chart_query *query, struct span *metric, struct error *err)
{
	struct span main = SPAN("");
	enum role role;

	if (has_any(view, query->metric)) {
		*metric = query->metric;
		return OK;
	}
	if (role_parse(query->metric, &role) && role != ROLE_OTHER)
		TRY(main_series_find(reader, arena, view, role, &main, err));
	else
		main = find_printed(view, query->metric);
	if (!main.len)
		return error_set_field(err, ERR_NOT_FOUND, "metric", "job '%.*s' has no metric '%.*s'%s",
			SPAN_ARGS(view->row.name), SPAN_ARGS(query->metric),
			query->stream.len ? " in this stream" : "");
	ptrdiff_t labels = span_find_char(main, '{'); /* those with other labels are meant, too */
	*metric = labels >= 0 ? span_of(main.ptr, (size_t)labels) : main;
	return OK;
}
