#include "state/streams/job_view.h"

static bool is_beside(struct span metric, struct span asked)
{
	return span_starts_with(span_of(metric.ptr + asked.len, metric.len - asked.len), SPAN("{preset=\""));
}

bool stream_view_means(const struct stream_view *stream, const struct series_view *series, struct span asked)
{
	if (!metric_matches(series->metric, asked))
		return false;
	if (!is_beside(series->metric, asked))
		return true;
	/* a label of that name may also be a sender's own: then nothing else has the name */
	for (size_t i = 0; i < stream->series_count; i++)
		if (metric_matches(stream->series[i].metric, asked) && !is_beside(stream->series[i].metric, asked))
			return false;
	return true;
}

struct attempt_starts stream_view_starts(const struct stream_view *stream, const struct series_view *series)
{
	return own_axis_or(&series->axis, (struct attempt_starts){stream->attempt_starts, stream->attempt_start_count});
}

const struct series_view *stream_view_find(const struct stream_view *stream, struct span asked)
{
	for (size_t i = 0; asked.len && i < stream->series_count; i++)
		if (stream_view_means(stream, &stream->series[i], asked))
			return &stream->series[i];
	return NULL;
}

bool stream_view_counts(const struct stream_view *stream, struct span metric)
{
	uint64_t own = 0;

	for (size_t i = 0; i < stream->health_count; i++) {
		const struct health_view *health = &stream->health[i];
		if (health->without_step < health->matched)
			return false;
		if (span_equal(health->name, metric))
			own += health->matched;
	}
	return own > 0;
}

uint32_t job_view_attempts(const struct job_view *view)
{
	uint32_t attempts = 1;

	for (size_t i = 0; i < view->stream_count; i++)
		attempts = view->streams[i].attempt > attempts ? view->streams[i].attempt : attempts;
	return attempts;
}
