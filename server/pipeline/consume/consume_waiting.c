/* Sent points whose attempt is not decided: consume.h says how. They are the last ones of their series, and not sealed yet. */
#include "pipeline/consume/consume.h"

#include <math.h>

bool consume_may_wait(const struct stream_state *stream, const struct series_state *series, const struct point *point)
{
	bool may_be_restart = point->line == NO_LINE && point->ts_ms >= extractor_fallen_ms(stream->extractor);

	return isfinite(point->value) && (series->is_waiting || may_be_restart);
}

void consume_wait(struct stream_state *stream, struct series_state *series, uint64_t ordinal)
{
	stream->has_waiting = true;
	if (series->is_waiting)
		return;
	series->is_waiting = true;
	series->waits_from = ordinal;
}

/* What the restart has made again, and came behind it, is of the attempt before. */
static enum status look_at_all(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	int64_t arrival_ms, struct error *err)
{
	uint32_t attempt = extractor_attempt(stream->extractor);
	uint64_t from = series->waits_from > series->sealed_points ? series->waits_from : series->sealed_points;

	series->is_waiting = false;
	for (uint64_t i = from; i < series->sealed_points + series->tail_count; i++) {
		const struct point *point = &series->tail[i - series->sealed_points];
		if (isfinite(point->value) && point->attempt == attempt)
			TRY(consume_look_at(pipeline, stream, series, i, point, 0, arrival_ms, err));
	}
	return OK;
}

enum status consume_waiting(
	struct pipeline *pipeline, struct stream_state *stream, int64_t arrival_ms, struct error *err)
{
	if (!stream->has_waiting)
		return OK;
	stream->has_waiting = false;
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i]->is_waiting)
			TRY(look_at_all(pipeline, stream, stream->series[i], arrival_ms, err));
	return OK;
}

void consume_forget_waiting(struct stream_state *stream)
{
	for (size_t i = 0; i < stream->series_count; i++)
		stream->series[i]->is_waiting = false;
	stream->has_waiting = false;
}
