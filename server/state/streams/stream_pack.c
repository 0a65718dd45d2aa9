/* The state of a stream's consumers as one blob; its format is in stream_head.h. */
#include "state/streams/stream_pack.h"

#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/watchers/score_state.h"
#include "state/watchers/sign_state.h"
#include "state/watchers/silence_state.h"
#include "state/streams/stream_head.h"
#include "state/streams/watcher_pack.h"

enum { REASON_MAX_BYTES = 1000 };

static void pack_summary(struct buf *out, const struct summary *s)
{
	pack_u64(out, s->count);
	pack_u64(out, s->nan_count);
	pack_u64(out, s->inf_count);
	pack_double(out, s->last);
	pack_double(out, s->min);
	pack_double(out, s->max);
	pack_double(out, s->sum.plain);
	pack_double(out, s->sum.huge);
	pack_i64(out, s->first_step);
	pack_i64(out, s->last_step);
	pack_i64(out, s->last_ts_ms);
}

static void pack_series(struct buf *out, const struct series_state *series)
{
	pack_u64(out, series->series_id);
	pack_span(out, span_from(series->metric));
	pack_span(out, span_from(series->unit));
	pack_u64(out, series->role);
	pack_i64(out, series->higher);
	pack_u64(out, series->totals.is_known); /* of older formats a definition's number */
	if (series->totals.is_known) {
		pack_i64(out, series->totals.start_ms);
		pack_i64(out, series->totals.ts_ms);
		pack_double(out, series->totals.sum);
		pack_double(out, series->totals.count);
	}
	pack_summary(out, &series->summary);
	pack_i64(out, series->min_step);
	pack_i64(out, series->max_step);
	pack_i64(out, series->min_ms);
	pack_i64(out, series->max_ms);
	pack_u64(out, series->sealed_points + series->tail_count);
	bool has_axis = series->axis.count || series->axis.awaited;
	pack_u64(out, (series->needs_summary ? SERIES_NEEDS_SUMMARY : 0) | (series->is_told ? SERIES_IS_TOLD : 0) |
			      (series->has_given_way ? SERIES_HAS_GIVEN_WAY : 0) |
			      (series->says_steps ? SERIES_SAYS_STEPS : 0) | (has_axis ? SERIES_HAS_AXIS : 0));
	if (has_axis)
		own_axis_pack(&series->axis, out);
}

static void pack_formats(const struct stream_state *stream, const struct definitions *definitions, struct buf *out)
{
	size_t count = definitions ? extractor_format_count(stream->extractor) : 0;

	pack_u64(out, count);
	for (size_t i = 0; i < count; i++) {
		struct extracted_format format = extractor_format_at(stream->extractor, i);
		const char *name = definition_set_preset_name(definitions->set, format.preset);
		AUTO_DONE(buf) reason = BUF_INIT(REASON_MAX_BYTES);
		extractor_format_reason(stream->extractor, i, &reason);
		pack_span(out, span_from(name ? name : ""));
		pack_span(out, buf_span(&reason));
		pack_u64(out, format.lines);
		pack_u64(out, format.last_line);
	}
}

static void pack_definition_health(const struct stream_state *stream, const struct definition_set *set, struct buf *out)
{
	size_t formats = extractor_format_count(stream->extractor);

	for (size_t i = 0; i < (formats ? formats : 1); i++) {
		int preset = extractor_format_at(stream->extractor, i).preset;
		for (size_t j = 0; j < definition_set_count(set, preset); j++) {
			struct definition_health health = extractor_format_health(stream->extractor, i, j);
			pack_span(out, definition_set_get(set, preset, j).name);
			pack_u64(out, health.tried);
			pack_u64(out, health.matched);
			pack_u64(out, health.not_numeric);
			pack_u64(out, health.limited);
			pack_u64(out, health.missing);
			pack_u64(out, health.without_step);
		}
	}
}

static void pack_health(const struct stream_state *stream, struct buf *out)
{
	/* names; any generation's set lives with the job's lock */
	struct definitions *definitions = stream->own_definitions ? stream->own_definitions : stream->job->definitions;
	AUTO_DONE(buf) reason = BUF_INIT(REASON_MAX_BYTES);
	bool has_names = definitions && definitions->generation == stream->generation; /* of what its counts are */
	size_t count = has_names ? extractor_definition_count(stream->extractor, definitions->set) : 0;
	const char *preset =
		definitions ? definition_set_preset_name(definitions->set, extractor_preset(stream->extractor)) : NULL;

	pack_span(out, span_from(preset ? preset : ""));
	if (preset)
		extractor_preset_reason(stream->extractor, &reason);
	pack_span(out, buf_span(&reason));
	pack_u64(out, stream->series_base);
	pack_formats(stream, definitions, out);
	pack_u64(out, count);
	if (has_names)
		pack_definition_health(stream, definitions->set, out);
}

void stream_pack(const struct stream_state *stream, struct buf *out)
{
	const int64_t *starts;
	size_t count = extractor_attempt_starts(stream->extractor, &starts);

	pack_u64(out, STREAM_FORMAT);
	pack_u64(out, extractor_attempt(stream->extractor));
	pack_u64(out, count);
	for (size_t i = 0; i < count; i++)
		pack_i64(out, starts[i]);
	pack_i64(out, stream->last_arrival_ms);
	pack_u64(out, stream->extracted_points);
	stretches_pack(&stream->stretches, out);
	pthread_mutex_lock(&stream->job->mutex);
	pack_health(stream, out);
	pthread_mutex_unlock(&stream->job->mutex);
	pack_u64(out, stream->series_count);
	for (size_t i = 0; i < stream->series_count; i++)
		pack_series(out, stream->series[i]);
	pack_u64(out, stream->generation);
	extractor_pack(stream->extractor, out);
	for (size_t i = 0; i < stream->series_count; i++)
		detector_set_pack(stream->series[i]->detectors, out);
	pack_u64(out, stream->settings != NULL);
	if (stream->settings)
		settings_pack(stream->settings, out);
	derive_pack(stream->derive, out);
	pack_u64(out, stream->signs != NULL);
	if (stream->signs)
		signs_pack(stream->signs, out);
	pack_u64(out, stream->silences != NULL);
	if (stream->silences)
		silences_pack(stream->silences, out);
	pack_u64(out, stream->scores != NULL);
	if (stream->scores)
		evaluation_table_pack(&stream->scores->table, out);
	watchers_pack(stream, out);
}

static enum status add_series(
	struct stream_state *stream, const struct series_view *view, bool needs_summary, struct error *err)
{
	struct series_state *series = mem_zeroed(sizeof *series);

	if (!series || !mem_grow((void **)&stream->series, stream->series_count, &stream->series_cap,
			       sizeof(struct series_state *))) {
		mem_free(series);
		return error_no_memory(err);
	}
	stream->series[stream->series_count++] = series;
	series->series_id = view->series_id;
	series->metric = mem_copy_bytes(view->metric.ptr, view->metric.len);
	series->unit = mem_copy_bytes(view->unit.ptr, view->unit.len);
	series->role = view->role;
	series->higher = view->higher;
	series->summary = view->summary;
	series->totals = view->totals;
	series->min_step = view->min_step;
	series->max_step = view->max_step;
	series->min_ms = view->min_ms;
	series->max_ms = view->max_ms;
	series->sealed_points = series->published = view->sealed_points;
	series->needs_summary = needs_summary;
	stream->has_unsummed = stream->has_unsummed || needs_summary;
	series->is_told = view->is_told;
	series->has_given_way = view->has_given_way;
	series->says_steps = view->says_steps;
	series->measure = measure_of(view->metric, view->role, view->unit, &series->factor);
	stream->derived_count += series_is_derived(view->series_id);
	bool has_axis = own_axis_copy(&series->axis, &view->axis);
	return series->metric && series->unit && has_axis ? OK : error_no_memory(err);
}

static enum status restore_series(
	struct stream_state *stream, struct unpacker *in, struct arena *arena, uint64_t format, struct error *err)
{
	bool needs_summary;
	struct series_view view = stream_head_unpack_series(in, arena, format, &needs_summary);

	return add_series(stream, &view, needs_summary, err);
}

enum status stream_take_rebuilt(struct stream_state *stream, const struct stream_view *view, struct error *err)
{
	stream->stretches = view->stretches;
	stream->last_arrival_ms = view->last_arrival_ms;
	stream->sealed_sent_points = stream->extracted_points = stream->committed_point = stream->planned_point =
		view->sent_points;
	stream->series_base = view->series_base;
	stream->damage = mem_copy_bytes(view->damage.ptr, view->damage.len);
	for (size_t i = 0; i < view->series_count; i++) {
		TRY(add_series(stream, &view->series[i], true, err)); /* its row may know less than its chunks */
		struct series_state *series = stream->series[i];
		series->detectors = detector_set_new(series->role);
		if (!series->detectors)
			return error_no_memory(err);
	}
	return stream->damage ? OK : error_no_memory(err);
}

static enum status restore_settings(struct stream_state *stream, struct unpacker *in, struct error *err)
{
	settings_free(stream->settings);
	stream->settings = NULL;
	return unpack_u64(in) ? settings_unpack(&stream->settings, in, err) : OK;
}

static enum status restore_derive(struct stream_state *stream, struct unpacker *in, struct error *err)
{
	derive_free(stream->derive);
	stream->derive = NULL;
	return derive_unpack(&stream->derive, in, err);
}

static enum status restore_signs(struct stream_state *stream, struct unpacker *in, struct error *err)
{
	signs_free(stream->signs);
	stream->signs = NULL;
	return signs_unpack(&stream->signs, in, err);
}

static enum status restore_scores(struct stream_state *stream, struct unpacker *in, struct error *err)
{
	if (!stream->scores && !(stream->scores = mem_zeroed(sizeof *stream->scores)))
		return error_no_memory(err);
	evaluation_table_unpack(&stream->scores->table, in);
	return OK;
}

static enum silences_format silences_format(uint64_t format)
{
	return format <= STREAM_FORMAT_WITHOUT_TRAILS  ? SILENCES_PLAIN
	       : format <= STREAM_FORMAT_WITHOUT_NAMES ? SILENCES_WITH_TRAILS
						       : SILENCES_WITH_NAMES;
}

enum status stream_unpack(struct stream_state *stream, struct span state, struct error *err)
{
	struct unpacker in = unpacker_on(state);
	AUTO(arena) arena = arena_new();
	struct stream_view head = {.first_ms = stream->first_ms, .last_ms = stream->last_ms};

	if (!arena)
		return error_no_memory(err);
	uint64_t format = stream_head_unpack(&in, arena, &head);
	stream->stretches = head.stretches;
	stream->last_arrival_ms = head.last_arrival_ms;
	stream->sealed_sent_points = stream->extracted_points = stream->committed_point = stream->planned_point =
		head.sent_points;
	stream->series_base = head.series_base;
	size_t count = unpack_count(&in, STREAM_SERIES_MIN_BYTES);
	for (size_t i = 0; i < count; i++)
		TRY(restore_series(stream, &in, arena, format, err));
	stream->generation = (uint32_t)unpack_u64(&in);
	if (in.is_out_of_memory)
		return error_no_memory(err);
	if (in.has_failed)
		return error_set(err, ERR_IO, "the sealed state is damaged");
	extractor_free(stream->extractor);
	stream->extractor = NULL;
	TRY(extractor_unpack(&stream->extractor, &in, err));
	for (size_t i = 0; i < stream->series_count; i++)
		TRY(detector_set_unpack(&stream->series[i]->detectors, stream->series[i]->role, &in, err));
	if (format > STREAM_FORMAT_BEFORE)
		TRY(restore_settings(stream, &in, err));
	if (format > STREAM_FORMAT_BEFORE)
		TRY(restore_derive(stream, &in, err));
	bool has_signs = format > STREAM_FORMAT_WITHOUT_SIGNS && unpack_u64(&in) != 0;
	if (has_signs && !in.has_failed)
		TRY(restore_signs(stream, &in, err));
	if (format > STREAM_FORMAT_WITHOUT_SILENCES && unpack_u64(&in) != 0 && !in.has_failed)
		TRY(silences_unpack(&stream->silences, silences_format(format), &in, err));
	if (format > STREAM_FORMAT_WITHOUT_SCORES && unpack_u64(&in) != 0 && !in.has_failed)
		TRY(restore_scores(stream, &in, err));
	TRY(watchers_unpack(stream, &in, err)); /* nothing where there are none */
	return unpacker_end(&in, "the sealed state of a stream", err);
}
