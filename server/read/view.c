/*
 * What readers see of a job: RAM first, then the store, so that nothing is missing between the two (a sealer's commit moves
 * things from RAM to the store; RAM forgets only afterwards). What is in both is dropped by line number and by ordinal.
 */
#include "read/view.h"

#include "extract/printed_name.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/pipeline_state.h"
#include "state/streams/stream_head.h"
#include "state/streams/stream_rebuild.h"
#include "store/jobs.h"
#include "store/streams.h"
#include "store/views.h"

#include <stdlib.h>

enum { REASON_MAX_BYTES = 1000 };

struct viewing {
	struct pipeline *pipeline;
	struct arena *arena;
	struct span metric;
	const struct metric_definition
		*printed; /* what the log prints by that name; NULL: nothing that is called otherwise */
	unsigned parts;
};

static bool is_asked(const struct viewing *viewing, struct span metric, enum role role)
{
	return !viewing->metric.len || metric_matches(metric, viewing->metric) ||
	       span_equal(viewing->metric, span_from(role_name(role))) ||
	       (viewing->printed && metric_matches(metric, viewing->printed->name));
}

static bool copy_tail(const struct viewing *viewing, const struct series_state *series, struct series_view *view)
{
	if (!(viewing->parts & VIEW_TAILS))
		return true;
	view->tail_count = series->tail_count;
	view->tail = arena_alloc(viewing->arena, series->tail_count * sizeof *view->tail);
	if (view->tail && series->tail_count)
		memcpy(view->tail, series->tail, series->tail_count * sizeof *view->tail);
	return view->tail != NULL;
}

static bool copy_axis(const struct viewing *viewing, const struct series_state *series, struct series_view *view)
{
	size_t bytes = series->axis.count * sizeof *series->axis.starts;

	if (!series->axis.count)
		return true;
	view->axis.starts = arena_alloc(viewing->arena, bytes);
	if (view->axis.starts)
		memcpy(view->axis.starts, series->axis.starts, bytes);
	view->axis.count = series->axis.count;
	return view->axis.starts != NULL;
}

static bool view_series(const struct viewing *viewing, const struct series_state *series, struct series_view *view)
{
	*view = (struct series_view){.series_id = series->series_id,
		.metric = arena_copy(viewing->arena, span_from(series->metric)),
		.unit = arena_copy(viewing->arena, span_from(series->unit)),
		.role = series->role,
		.higher = series->higher,
		.summary = series->summary,
		.is_told = series->is_told,
		.has_given_way = series->has_given_way,
		.min_step = series->min_step,
		.max_step = series->max_step,
		.min_ms = series->min_ms,
		.max_ms = series->max_ms,
		.sealed_points = series->sealed_points};
	return view->metric.ptr && view->unit.ptr && copy_axis(viewing, series, view) &&
	       copy_tail(viewing, series, view);
}

static bool view_formats(const struct viewing *viewing, const struct stream_state *stream,
	const struct definition_set *set, struct stream_view *view)
{
	view->format_count = extractor_format_count(stream->extractor);
	view->formats = arena_alloc(viewing->arena, view->format_count * sizeof *view->formats);
	for (size_t i = 0; i < view->format_count && view->formats; i++) {
		AUTO_DONE(buf) reason = BUF_INIT(REASON_MAX_BYTES);
		struct extracted_format format = extractor_format_at(stream->extractor, i);
		const char *name = definition_set_preset_name(set, format.preset);
		extractor_format_reason(stream->extractor, i, &reason);
		view->formats[i] = (struct format_view){arena_copy(viewing->arena, span_from(name ? name : "")),
			arena_copy(viewing->arena, buf_span(&reason)), format.lines, format.last_line};
		if (!view->formats[i].preset.ptr || !view->formats[i].reason.ptr)
			return false;
	}
	if (view->format_count && view->formats) {
		view->preset = view->formats[0].preset;
		view->preset_reason = view->formats[0].reason;
	}
	return view->formats != NULL;
}

static bool view_definitions(const struct viewing *viewing, const struct stream_state *stream,
	const struct definition_set *set, struct stream_view *view)
{
	size_t formats = view->format_count ? view->format_count : 1, at = 0;

	view->health_count = extractor_definition_count(stream->extractor, set);
	view->health = arena_alloc(viewing->arena, view->health_count * sizeof *view->health);
	for (size_t i = 0; i < formats && view->health; i++) {
		int preset = extractor_format_at(stream->extractor, i).preset;
		for (size_t j = 0; j < definition_set_count(set, preset); j++) {
			struct definition_health health = extractor_format_health(stream->extractor, i, j);
			struct span name = arena_copy(viewing->arena, definition_set_get(set, preset, j).name);
			if (!name.ptr)
				return false;
			view->health[at++] = (struct health_view){name, health.tried, health.matched,
				health.not_numeric, health.limited, health.missing, health.without_step};
		}
	}
	return view->health != NULL;
}

static bool view_health(const struct viewing *viewing, const struct stream_state *stream, struct stream_view *view)
{
	pthread_mutex_lock(&stream->job->mutex);
	struct definitions *definitions = definitions_ref(stream->job->definitions);
	pthread_mutex_unlock(&stream->job->mutex);
	if (!definitions)
		return true;
	bool is_whole = view_formats(viewing, stream, definitions->set, view);
	/* others than those it ran, as long as it has had no line since they changed: its counts have no names here */
	if (is_whole && definitions->generation == stream->generation)
		is_whole = view_definitions(viewing, stream, definitions->set, view);
	definitions_unref(definitions);
	return is_whole;
}

static bool view_attempts(const struct viewing *viewing, const struct stream_state *stream, struct stream_view *view)
{
	const int64_t *starts;

	view->attempt = extractor_attempt(stream->extractor);
	view->attempt_start_count = extractor_attempt_starts(stream->extractor, &starts);
	int64_t *copy = arena_alloc(viewing->arena, view->attempt_start_count * sizeof *copy);
	if (copy && view->attempt_start_count)
		memcpy(copy, starts, view->attempt_start_count * sizeof *copy);
	view->attempt_starts = copy;
	return copy != NULL;
}

enum status view_read_tail(
	struct arena *arena, struct job_state *job, uint32_t stream_id, struct series_view *series, struct error *err)
{
	const struct viewing viewing = {.arena = arena, .parts = VIEW_TAILS};
	struct stream_state *stream = job_find_stream_id(job, stream_id);
	bool is_whole = true;

	if (!stream)
		return OK;
	pthread_mutex_lock(&stream->mutex);
	const struct series_state *now = stream_find_series(stream, series->metric);
	if (now && now->series_id == series->series_id) {
		series->sealed_points = now->sealed_points;
		is_whole = copy_tail(&viewing, now, series);
	}
	pthread_mutex_unlock(&stream->mutex);
	return is_whole ? OK : error_no_memory(err);
}

/* Under the stream's lock. */
static bool view_live_stream(const struct viewing *viewing, const struct stream_state *stream, struct stream_view *view)
{
	*view = (struct stream_view){.stream_id = stream->stream_id,
		.name = arena_copy(viewing->arena, span_from(stream->name)),
		.host = arena_copy(viewing->arena, span_from(stream->host)),
		.lines = stream->committed_line,
		.extracted_lines = stream->extracted_lines,
		.sent_points = stream->committed_point,
		.extracted_points = stream->extracted_points,
		.has_hole = stream->has_hole,
		.damage = SPAN(""),
		.bytes = stream->committed_byte,
		.first_ms = stream->first_ms,
		.last_ms = stream->last_ms,
		.stretches = stream->stretches,
		.last_arrival_ms = stream->last_arrival_ms,
		.preset = SPAN(""),
		.preset_reason = SPAN(""),
		.series_base = stream->series_base};
	view->has_skew = clock_skew_ms(&stream->skew, &view->skew_ms);
	if (stream->damage && !(view->damage = arena_copy(viewing->arena, span_from(stream->damage))).ptr)
		return false;
	if (!view->name.ptr || !view->host.ptr || !view_attempts(viewing, stream, view))
		return false;
	if (!(viewing->parts & VIEW_SERIES))
		return true;
	view->series = arena_alloc(viewing->arena, stream->series_count * sizeof *view->series);
	for (size_t i = 0; i < stream->series_count && view->series; i++) {
		const struct series_state *series = stream->series[i];
		if (series_has_points(series) && is_asked(viewing, span_from(series->metric), series->role) &&
			!view_series(viewing, series, &view->series[view->series_count++]))
			return false;
	}
	/* Who asks for one metric draws it, and has no use for the health of all. */
	return view->series && (viewing->metric.len || view_health(viewing, stream, view));
}

static enum status view_live(
	const struct viewing *viewing, struct span stream_name, struct job_view *out, struct error *err)
{
	struct job_state *job = directory_find(viewing->pipeline->directory, out->row.name);
	bool is_whole = true;

	if (!job)
		return OK;
	pthread_mutex_lock(&job->mutex);
	size_t count = job->stream_count;
	struct stream_state **streams = arena_alloc(viewing->arena, count * sizeof(struct stream_state *));
	if (streams && count)
		memcpy(streams, job->streams, count * sizeof(struct stream_state *));
	pthread_mutex_unlock(&job->mutex);
	out->streams = arena_alloc(viewing->arena, count * sizeof *out->streams);
	is_whole = streams && out->streams;
	unsigned changes;
	do { /* a back-fill takes the place of what all streams have at once: none of the old beside some of the new */
		changes = atomic_load(&job->changes);
		out->stream_count = 0;
		for (size_t i = 0; i < count && is_whole; i++) {
			if (stream_name.len && !span_equal(span_from(streams[i]->name), stream_name))
				continue;
			pthread_mutex_lock(&streams[i]->mutex);
			is_whole = view_live_stream(viewing, streams[i], &out->streams[out->stream_count]);
			pthread_mutex_unlock(&streams[i]->mutex);
			out->stream_count++;
		}
	} while (is_whole && (changes & 1 || changes != atomic_load(&job->changes)));
	job_unref(job);
	return is_whole ? OK : error_no_memory(err);
}

int64_t view_stream_heard_ms(struct pipeline *pipeline, struct span job_name, struct span stream_name)
{
	struct job_state *job = directory_find(pipeline->directory, job_name);
	struct stream_state *stream = job ? job_find_stream(job, stream_name) : NULL;
	int64_t heard_ms = 0;

	if (stream) {
		pthread_mutex_lock(&stream->mutex);
		heard_ms = stream->last_arrival_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return heard_ms;
}

bool view_stream_times(
	struct pipeline *pipeline, struct span job_name, struct span stream_name, int64_t *first_ms, int64_t *last_ms)
{
	struct job_state *job = directory_find(pipeline->directory, job_name);
	struct stream_state *stream = job ? job_find_stream(job, stream_name) : NULL;

	if (stream) {
		pthread_mutex_lock(&stream->mutex);
		*first_ms = stream->first_ms;
		*last_ms = stream->last_ms;
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return stream != NULL;
}

bool view_has_live_points(struct pipeline *pipeline, struct span job_name)
{
	struct job_state *job = directory_find(pipeline->directory, job_name);
	struct stream_state *stream;
	bool has_points = false;

	if (!job)
		return false;
	for (size_t i = 0; !has_points && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		for (size_t j = 0; j < stream->series_count; j++)
			has_points |= series_has_points(stream->series[j]);
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return has_points;
}

static struct stream_view view_row(const struct stream_row *row)
{
	return (struct stream_view){.stream_id = row->stream_id,
		.name = row->name,
		.host = row->host,
		.lines = row->sealed_lines,
		.extracted_lines = row->sealed_lines,
		.bytes = row->sealed_bytes,
		.first_ms = row->first_ms,
		.last_ms = row->last_ms,
		.attempt = 1,
		.damage = SPAN(""),
		.preset = SPAN(""),
		.preset_reason = SPAN("")};
}

static enum status view_sealed_stream(const struct viewing *viewing, struct store_reader *reader,
	const struct stream_row *row, struct stream_view *view, struct error *err)
{
	struct error why;

	*view = view_row(row);
	enum status status = stream_unpack_view(row->state, viewing->arena, view, &why);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (!row->state.len && row->sealed_seq)
		status = error_set(&why, ERR_IO, "the sealed state is missing");
	if (status != OK) { /* as when it is loaded (resolve.c) */
		*view = view_row(row);
		TRY(stream_rebuild_view(reader, row, &why, viewing->arena, view, err));
	}
	view->extracted_points = view->sent_points;
	size_t kept = 0;
	for (size_t i = 0; i < view->series_count; i++)
		if (view->series[i].sealed_points && is_asked(viewing, view->series[i].metric, view->series[i].role))
			view->series[kept++] = view->series[i];
	view->series_count = kept;
	return OK;
}

static int by_id(const void *a, const void *b)
{
	uint32_t left = ((const struct stream_view *)a)->stream_id, right = ((const struct stream_view *)b)->stream_id;

	return (left > right) - (left < right);
}

static bool is_live(const struct job_view *view, uint32_t stream_id)
{
	struct stream_view key = {.stream_id = stream_id};

	return view->stream_count && bsearch(&key, view->streams, view->stream_count, sizeof key, by_id);
}

/* Of streams that are not in RAM. Numbers go up from 1: a job that runs has all of them there, and its rows, with their states, are not read. */
static enum status read_rows(const struct viewing *viewing, struct store_reader *reader, struct span stream_name,
	const struct job_view *live, struct stream_row **rows, size_t *count, struct error *err)
{
	uint32_t first = 1;

	if (stream_name.len)
		return store_read_streams(reader, viewing->arena, live->row.job_id, stream_name, rows, count, err);
	for (size_t i = 0; i < live->stream_count && live->streams[i].stream_id == first; i++)
		first++;
	return store_read_streams_from(reader, viewing->arena, live->row.job_id, first, rows, count, err);
}

/* Streams that are not in RAM are whole in the store. */
static enum status add_sealed(const struct viewing *viewing, struct store_reader *reader, struct span stream_name,
	struct job_view *out, struct error *err)
{
	struct stream_row *rows;
	size_t count;

	if (out->stream_count)
		qsort(out->streams, out->stream_count, sizeof *out->streams, by_id);
	TRY(read_rows(viewing, reader, stream_name, out, &rows, &count, err));
	struct stream_view *all = arena_alloc(viewing->arena, (count + out->stream_count) * sizeof *all);
	if (!all)
		return error_no_memory(err);
	if (out->stream_count)
		memcpy(all, out->streams, out->stream_count * sizeof *all);
	size_t live = out->stream_count, total = live;
	for (size_t i = 0; i < count; i++)
		if (!is_live(out, rows[i].stream_id))
			TRY(view_sealed_stream(viewing, reader, &rows[i], &all[total++], err));
	out->streams = all;
	out->stream_count = total;
	qsort(all, total, sizeof *all, by_id);
	return OK;
}

enum status view_read_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct span stream, struct span metric, unsigned parts, struct job_view *out, struct error *err)
{
	struct viewing viewing = {pipeline, arena, metric, printed_name_find(metric), parts};

	*out = (struct job_view){.seq = atomic_load(&pipeline->figures.extracted_seq)};
	TRY(store_read_job(reader, arena, job, &out->row, err));
	TRY(view_live(&viewing, stream, out, err));
	TRY(add_sealed(&viewing, reader, stream, out, err));
	if (stream.len && !out->stream_count)
		return error_set_field(err, ERR_NOT_FOUND, "stream", "job '%.*s' has no stream '%.*s'", SPAN_ARGS(job),
			SPAN_ARGS(stream));
	return OK;
}
