#include "state/streams/stream_head.h"

#include "state/streams/job_view.h"

enum { HEALTH_MIN_BYTES = 5, FORMAT_MIN_BYTES = 4 };

static struct summary unpack_summary(struct unpacker *in, uint64_t format)
{
	struct summary s = {0};

	s.count = unpack_u64(in);
	s.nan_count = unpack_u64(in);
	s.inf_count = unpack_u64(in);
	s.last = unpack_double(in);
	s.min = unpack_double(in);
	s.max = unpack_double(in);
	s.sum.plain = unpack_double(in);
	s.sum.huge = format > STREAM_FORMAT_WITHOUT_HUGE_SUMS ? unpack_double(in) : 0;
	s.first_step = unpack_i64(in);
	s.last_step = unpack_i64(in);
	s.last_ts_ms = unpack_i64(in);
	return s;
}

static enum role unpack_role(struct unpacker *in)
{
	uint64_t role = unpack_u64(in);

	return role < ROLE_COUNT ? (enum role)role : ROLE_OTHER;
}

static struct totals unpack_totals(struct unpacker *in, uint64_t format)
{
	struct totals totals = {0};

	if (!unpack_u64(in) || format <= STREAM_FORMAT_WITHOUT_TOTALS)
		return totals;
	totals.is_known = true;
	totals.start_ms = unpack_i64(in);
	totals.ts_ms = unpack_i64(in);
	totals.sum = unpack_double(in);
	totals.count = unpack_double(in);
	return totals;
}

struct series_view stream_head_unpack_series(
	struct unpacker *in, struct arena *arena, uint64_t format, bool *needs_summary)
{
	struct series_view view = {0};

	view.series_id = (uint32_t)unpack_u64(in);
	view.metric = unpack_span(in);
	view.unit = unpack_span(in);
	view.role = unpack_role(in);
	view.higher = (int)unpack_i64(in);
	view.totals = unpack_totals(in, format);
	view.summary = unpack_summary(in, format);
	view.min_step = unpack_i64(in);
	view.max_step = unpack_i64(in);
	view.min_ms = unpack_i64(in);
	view.max_ms = unpack_i64(in);
	view.sealed_points = unpack_u64(in);
	uint64_t flags = unpack_u64(in);
	*needs_summary = flags & SERIES_NEEDS_SUMMARY;
	view.is_told = flags & SERIES_IS_TOLD;
	view.has_given_way = flags & SERIES_HAS_GIVEN_WAY;
	view.says_steps = flags & SERIES_SAYS_STEPS;
	if (flags & SERIES_HAS_AXIS)
		view.axis = own_axis_unpack(in, arena);
	return view;
}

static void *take_array(struct unpacker *in, struct arena *arena, size_t count, size_t item_bytes)
{
	void *items = arena_alloc(arena, count * item_bytes);

	if (!items)
		unpacker_no_memory(in);
	else
		memset(items, 0, count * item_bytes);
	return items;
}

/* Who kept no clusters knows the ends of all; out has those of the row. */
static void take_rough_stretch(struct stream_view *out)
{
	out->stretches = (struct stretches){.is_rough = true};
	if (out->first_ms || out->last_ms)
		stretches_add_stretch(
			&out->stretches, &(struct time_cluster){out->first_ms, out->last_ms, 0, STRETCH_COUNTS_FROM});
}

static void unpack_formats(struct unpacker *in, struct arena *arena, struct stream_view *out)
{
	out->format_count = unpack_count(in, FORMAT_MIN_BYTES);
	out->formats = take_array(in, arena, out->format_count, sizeof *out->formats);
	for (size_t i = 0; i < out->format_count && out->formats; i++) {
		struct format_view *format = &out->formats[i];
		format->preset = unpack_span(in);
		format->reason = unpack_span(in);
		format->lines = unpack_u64(in);
		format->last_line = unpack_u64(in);
	}
}

uint64_t stream_head_unpack(struct unpacker *in, struct arena *arena, struct stream_view *out)
{
	uint64_t format = unpack_u64(in);

	if (format < STREAM_FORMAT_WITHOUT_SENT_POINTS || format > STREAM_FORMAT)
		in->has_failed = true;
	out->attempt = (uint32_t)unpack_u64(in);
	out->attempt_start_count = unpack_count(in, 1);
	int64_t *starts = take_array(in, arena, out->attempt_start_count, sizeof *starts);
	for (size_t i = 0; i < out->attempt_start_count && starts; i++)
		starts[i] = unpack_i64(in);
	out->attempt_starts = starts;
	out->last_arrival_ms = unpack_i64(in);
	out->sent_points = format == STREAM_FORMAT_WITHOUT_SENT_POINTS ? 0 : unpack_u64(in);
	if (format > STREAM_FORMAT_WITHOUT_STRETCHES)
		stretches_unpack(&out->stretches, in);
	else
		take_rough_stretch(out);
	out->preset = unpack_span(in);
	out->preset_reason = format <= STREAM_FORMAT_BEFORE ? SPAN("") : unpack_span(in);
	out->series_base = format <= STREAM_FORMAT_BEFORE ? 0 : (uint32_t)unpack_u64(in);
	if (format > STREAM_FORMAT_WITHOUT_FORMATS)
		unpack_formats(in, arena, out);
	out->health_count = unpack_count(in, HEALTH_MIN_BYTES);
	out->health = take_array(in, arena, out->health_count, sizeof *out->health);
	for (size_t i = 0; i < out->health_count && out->health; i++) {
		struct health_view *health = &out->health[i];
		health->name = unpack_span(in);
		health->tried = unpack_u64(in);
		health->matched = unpack_u64(in);
		health->not_numeric = unpack_u64(in);
		health->limited = unpack_u64(in);
		health->missing = format > STREAM_FORMAT_WITHOUT_PLACES ? unpack_u64(in) : 0;
		health->without_step = format > STREAM_FORMAT_WITHOUT_PLACES ? unpack_u64(in) : 0;
	}
	return format;
}

enum status stream_unpack_view(struct span state, struct arena *arena, struct stream_view *out, struct error *err)
{
	struct unpacker in = unpacker_on(state);
	bool needs_summary;

	if (!state.len)
		return OK;
	uint64_t format = stream_head_unpack(&in, arena, out);
	out->series_count = unpack_count(&in, STREAM_SERIES_MIN_BYTES);
	out->series = take_array(&in, arena, out->series_count, sizeof *out->series);
	for (size_t i = 0; i < out->series_count && out->series; i++)
		out->series[i] = stream_head_unpack_series(&in, arena, format, &needs_summary);
	if (in.is_out_of_memory)
		return error_no_memory(err);
	if (in.has_failed)
		return error_set(err, ERR_IO, "the sealed state of a stream is damaged");
	return OK;
}
