#include "pipeline/life/halts.h"

#include "base/clock.h"
#include "base/log.h"
#include "model/metrics/stream_name.h"
#include "pipeline/life/life.h"
#include "pipeline/life/life_sign.h"
#include "read/charts/points_walk.h"
#include "read/logs/first_line.h"
#include "read/view.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/pack/chunk.h"
#include "store/told.h"

enum {
	HALTS_MAX = 32, /* the newest: some scripts state the same one each minute, for weeks */
};

/* ---- what was stated ---- */

struct halt {
	int64_t from_ms, to_ms; /* behind the first, up to the second; INT64_MAX: nothing is known behind it */
	bool needs_point;
	int64_t found_ms; /* when it trained again; INT64_MAX: nothing of it was found */
	bool is_certain; /* it did not: of points, which stay, and not of text, which may be deleted by now */
};

static bool is_known(const struct told_row *row)
{
	return row->source == SOURCE_STATED || row->source == SOURCE_LOG || row->source == SOURCE_EXIT;
}

/* Where somebody says when it trained, or that it did not yet, nothing is assumed. */
static bool is_open(const struct told_row *rows, size_t count, size_t at, struct halt *out)
{
	const struct told_row *row = &rows[at], *next = NULL;

	if (row->source != SOURCE_STATED || !phase_is_waiting(row->status))
		return false;
	for (size_t i = at + 1; i < count && !next; i++)
		if (is_known(&rows[i]) && rows[i].start_ms > row->start_ms)
			next = &rows[i];
	*out = (struct halt){row->start_ms, INT64_MAX, next && phase_is_waiting(next->status), INT64_MAX, false};
	if (next)
		out->to_ms = next->start_ms - !phase_is_final(next->status);
	return !next || phase_is_before(SPAN("Training"), next->status);
}

static enum status list_halts(const struct told_row *rows, size_t count, struct arena *arena, struct halt **out,
	size_t *halt_count, struct error *err)
{
	*halt_count = 0;
	*out = arena_alloc(arena, HALTS_MAX * sizeof **out);
	if (!*out)
		return error_no_memory(err);
	for (size_t i = count; i-- > 0 && *halt_count < HALTS_MAX;)
		*halt_count += is_open(rows, count, i, &(*out)[*halt_count]);
	return OK;
}

static enum status read_halts(struct store_reader *reader, struct arena *arena, int64_t job_id, struct halt **out,
	size_t *count, struct error *err)
{
	struct told_row *rows;
	size_t row_count;

	TRY(store_read_told_facts(reader, arena, job_id, &rows, &row_count, err));
	return list_halts(rows, row_count, arena, out, count, err);
}

static bool is_of_training(const struct stream_view *stream)
{
	return !stream_is_system(stream->name);
}

enum status halts_are_due(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, bool *out, struct error *err)
{
	struct job_view view;
	struct halt *halts;
	size_t count;

	*out = false;
	TRY(read_halts(reader, arena, job->job_id, &halts, &count, err));
	if (!count)
		return OK;
	TRY(view_read_job(pipeline, reader, arena, job->name, SPAN(""), SPAN(""), 0, &view, err));
	for (size_t i = 0; i < view.stream_count; i++)
		*out = *out || (is_of_training(&view.streams[i]) && view.streams[i].last_ms > halts[count - 1].from_ms);
	return OK;
}

/* ---- what the log says ---- */

struct look {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct job_view view;
	struct span *streams; /* of the training */
	size_t stream_count;
	bool has_points;
};

static enum status begin_look(struct look *look, struct span job, struct error *err)
{
	TRY(view_read_job(look->pipeline, look->reader, look->arena, job, SPAN(""), SPAN(""), VIEW_SERIES | VIEW_TAILS,
		&look->view, err));
	look->streams = arena_alloc(look->arena, (look->view.stream_count + 1) * sizeof *look->streams);
	if (!look->streams)
		return error_no_memory(err);
	for (size_t i = 0; i < look->view.stream_count; i++) {
		const struct stream_view *stream = &look->view.streams[i];
		if (!is_of_training(stream))
			continue;
		look->has_points |= stream->series_count > 0;
		if (stream->lines)
			look->streams[look->stream_count++] = stream->name;
	}
	return OK;
}

/* Of all at once: much may lie behind each other in the same blocks. */
static enum status find_lines(const struct look *look, struct halt *halts, size_t count, struct error *err)
{
	struct first_line_range ranges[HALTS_MAX];
	struct first_line_search search = {.job = look->view.row.name,
		.streams = look->streams,
		.stream_count = look->stream_count,
		.ranges = ranges};

	for (size_t i = 0; i < count; i++) /* what was printed just then is of before */
		if (!halts[i].is_certain)
			ranges[search.range_count++] =
				(struct first_line_range){halts[i].from_ms, halts[i].to_ms, .found_ms = INT64_MAX};
	if (!look->stream_count || !search.range_count)
		return OK;
	TRY(first_line_find(look->pipeline, look->reader, &search, err));
	for (size_t i = 0, at = 0; i < count; i++)
		if (!halts[i].is_certain)
			halts[i].found_ms = ranges[at++].found_ms;
	return OK;
}

struct point_look {
	struct chart_query query; /* its end moves to what was found */
	int64_t found_ms;
};

static enum status take_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct point_look *points = context;

	(void)stream;
	(void)series;
	(void)point;
	(void)err;
	if (x < points->found_ms) {
		points->found_ms = x;
		points->query.to = x - 1;
	}
	return OK;
}

/* Of streams to which points were sent, or of all: there it is enough that there is one. */
static enum status find_point(
	const struct look *look, const struct halt *halt, bool is_any, int64_t *found_ms, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	AUTO_MEM struct point *chunk = mem_alloc(CHUNK_MAX_POINTS * sizeof *chunk);
	struct point_look points = {
		{.axis = AXIS_TIME, .from = halt->from_ms + 1, .to = halt->to_ms, .attempts = ATTEMPTS_ALL}, *found_ms};
	struct points_walk walk = {.reader = look->reader,
		.view = &look->view,
		.query = &points.query,
		.take = take_point,
		.context = &points,
		.zstd = zstd,
		.skips = true};

	if (!zstd || !chunk)
		return error_no_memory(err);
	for (size_t i = 0; i < look->view.stream_count; i++) {
		const struct stream_view *stream = &look->view.streams[i];
		bool is_asked = is_of_training(stream) && (is_any || stream->sent_points);
		for (size_t j = 0; is_asked && j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			if (series->max_ms < points.query.from || series->min_ms > points.query.to)
				continue;
			TRY(points_walk_series(&walk, stream, series, 0, chunk, err));
			if (is_any && points.found_ms != *found_ms)
				break;
		}
	}
	*found_ms = points.found_ms;
	return OK;
}

static enum status ask_points(const struct look *look, struct halt *halt, struct error *err)
{
	int64_t point_ms = INT64_MAX;

	if (!halt->needs_point || !look->has_points)
		return OK;
	TRY(find_point(look, halt, true, &point_ms, err));
	halt->is_certain = point_ms == INT64_MAX;
	return OK;
}

static enum status look_at(const struct look *look, struct halt *halts, size_t count, struct error *err)
{
	int64_t now_ms = clock_wall_ms();

	for (size_t i = 0; i < count; i++)
		TRY(ask_points(look, &halts[i], err));
	TRY(find_lines(look, halts, count, err));
	for (size_t i = 0; i < count; i++) {
		struct halt *halt = &halts[i];
		if (halt->is_certain)
			continue;
		TRY(find_point(look, halt, false, &halt->found_ms, err));
		if (halt->found_ms != INT64_MAX && halt->found_ms > now_ms) /* a clock that is ahead */
			halt->found_ms = now_ms > halt->from_ms ? now_ms : halt->from_ms;
	}
	return OK;
}

/* ---- what follows ---- */

struct settling {
	struct life life;
	int64_t job_id;
	const struct halt *halts; /* as the log was asked */
	size_t count;
};

/* Somebody may have stated more meanwhile, who looks for himself. */
static const struct halt *find_asked(const struct settling *settling, const struct halt *halt)
{
	for (size_t i = 0; i < settling->count; i++)
		if (settling->halts[i].from_ms == halt->from_ms && settling->halts[i].to_ms == halt->to_ms)
			return &settling->halts[i];
	return NULL;
}

static enum status write_settled(void *context, struct store_tx *tx, struct error *err)
{
	struct settling *settling = context;
	struct job_row row;
	struct told_row *rows;
	struct halt *halts;
	size_t row_count, count;

	settling->life.failed = (struct job_failed_incident){0};
	enum status status =
		store_read_job_by_id(store_tx_reader(tx), settling->life.arena, settling->job_id, &row, err);
	if (status == ERR_NOT_FOUND)
		return OK;
	TRY(status);
	TRY(store_read_told_facts(store_tx_reader(tx), settling->life.arena, row.job_id, &rows, &row_count, err));
	TRY(list_halts(rows, row_count, settling->life.arena, &halts, &count, err));
	for (size_t i = 0; i < count; i++) { /* each has a range of its own, so what was read is right for all */
		const struct halt *asked = find_asked(settling, &halts[i]);
		if (asked && (asked->is_certain || asked->found_ms != INT64_MAX))
			TRY(life_put_resumed(tx, row.job_id, rows, row_count,
				&(struct life_resumed){asked->from_ms, asked->to_ms, asked->found_ms}, err));
	}
	return life_write(&settling->life, tx, &row, false, err);
}

static void say_settled(void *context)
{
	const struct settling *settling = context;

	life_say(&settling->life);
}

static enum status settle(
	struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, int64_t job_id, struct error *err)
{
	struct look look = {.pipeline = pipeline, .reader = reader, .arena = arena};
	struct settling settling = {
		.life = {.pipeline = pipeline, .arena = arena, .now_ms = clock_wall_ms()}, .job_id = job_id};
	struct job_row row;
	struct halt *halts;

	TRY(read_halts(reader, arena, job_id, &halts, &settling.count, err));
	if (!settling.count)
		return OK;
	TRY(store_read_job_by_id(reader, arena, job_id, &row, err));
	TRY(begin_look(&look, row.name, err));
	TRY(look_at(&look, halts, settling.count, err));
	settling.halts = halts;
	return writer_execute_then(pipeline, write_settled, say_settled, &settling, err);
}

enum status halts_settle(struct pipeline *pipeline, struct store_reader *reader, int64_t job_id, struct error *err)
{
	AUTO(store_reader) own = NULL;
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	if (!reader)
		TRY(store_reader_new(&own, pipeline->options.store, err));
	enum status status = settle(pipeline, reader ? reader : own, arena, job_id, err);
	return status == ERR_NOT_FOUND ? OK : status;
}

void halts_settle_stated(struct pipeline *pipeline, struct span job, int64_t job_id)
{
	struct error err = {0};

	if (halts_settle(pipeline, NULL, job_id, &err) == OK)
		return;
	log_line(LOG_WARNING, "halt_not_settled", "job=\"%.*s\" error=\"%s\"", SPAN_ARGS(job), err.text);
	struct job_state *state = directory_find(pipeline->directory, job);
	if (state) {
		atomic_store(&state->is_halt_due, true);
		atomic_store(&state->is_summary_dirty, true);
	}
	job_unref(state);
}
