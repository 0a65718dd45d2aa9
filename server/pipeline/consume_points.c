/*
 * Points that were sent as such: consumed in their stream's order, as those that were found in lines. They take the
 * attempt that the stream's lines are in. A later point of the same series and step is a point of its own.
 */
#include "pipeline/internal.h"

#include "store/journal_points.h"

/* Labels are no part of what a name says of a role. */
static struct span bare_name(struct span metric)
{
	ptrdiff_t labels = span_find_char(metric, '{');

	return labels < 0 ? metric : span_of(metric.ptr, (size_t)labels);
}

static void widen_times(struct stream_state *stream, int64_t ts_ms)
{
	if (!stream->first_ms || ts_ms < stream->first_ms)
		stream->first_ms = ts_ms;
	if (ts_ms > stream->last_ms)
		stream->last_ms = ts_ms;
}

static enum status consume_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct batch_series *sent, int64_t arrival_ms, struct error *err)
{
	struct metric_definition definition = {.name = sent->metric, .unit = sent->unit};
	struct series_state *series;

	definition.role = sent->role < ROLE_COUNT ? (enum role)sent->role : role_guess(bare_name(sent->metric));
	TRY(consume_find_series(pipeline, stream, &definition, &series, err));
	if (!series) {
		atomic_fetch_add(&pipeline->figures.refused_points, sent->count);
		return OK;
	}
	for (size_t i = 0; i < sent->count; i++) {
		uint64_t count = series->sealed_points + series->tail_count;
		struct point point = {.step = sent->steps[i] == NO_STEP ? (int64_t)count : sent->steps[i],
			.ts_ms = sent->ts_ms[i],
			.value = sent->values[i],
			.line = NO_LINE,
			.attempt = extractor_attempt(stream->extractor)};
		TRY(consume_point(pipeline, stream, series, &point, arrival_ms, err));
		widen_times(stream, point.ts_ms);
	}
	if (!stream->said)
		atomic_fetch_add(&pipeline->figures.points, sent->count);
	return OK;
}

enum status consume_points(
	struct pipeline *pipeline, struct stream_state *stream, const struct journal_slice *slice, struct error *err)
{
	struct journal_points cursor = journal_points_open(slice->body);
	struct batch_series series;
	bool has_one = true;

	while (has_one) {
		AUTO(arena) arena = arena_new(); /* of one series: the columns of all are a slice of memory */
		if (!arena)
			return error_set(err, ERR_MEMORY, "out of memory");
		TRY(journal_points_next(&cursor, arena, &series, &has_one, err));
		if (has_one)
			TRY(consume_series(pipeline, stream, &series, slice->arrival_ms, err));
	}
	return OK;
}
