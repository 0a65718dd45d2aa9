/* The publisher: at most each 50 ms one event a job with what is new, rendered only for somebody who listens. */
#include "pipeline/publish.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/jobs/job_json.h"
#include "pipeline/life/pools.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"

enum { TICK_MS = 50, ROW_EVENT_MS = 1000, ROWS_MS = 20, EVENT_MAX_BYTES = 1 << 20, POINTS_MAX = 10000 };

static void publish(struct pipeline *pipeline, const struct job_state *job, enum hub_kind kind, const struct buf *json)
{
	const struct hub_topic topic = {span_from(job->name), span_from(job->team)};
	struct error err;

	if (json->failure || hub_publish(pipeline->options.hub, topic, kind,
				     atomic_load(&pipeline->figures.extracted_seq), buf_span(json), &err) != OK)
		log_line(LOG_WARNING, "event_dropped", "job=\"%s\" kind=%d", job->name, (int)kind);
}

static void write_point(struct json_writer *w, const struct point *point)
{
	json_array(w);
	json_i64(w, point->step);
	json_i64(w, point->ts_ms);
	json_double(w, point->value);
	json_i64(w, (int64_t)point->line);
	json_i64(w, point->attempt);
	json_array_end(w);
}

static void write_series(struct stream_state *stream, struct series_state *series, struct json_writer *w)
{
	/* together they stay below EVENT_MAX_BYTES: an event beyond it would be dropped as a whole */
	size_t most = POINTS_MAX / stream->series_count + 1;
	uint64_t first = series->published < series->sealed_points ? series->sealed_points : series->published;
	uint64_t end = series->sealed_points + series->tail_count;

	if (end - first > most) /* a burst: a chart this far behind fetches; the newest are enough to see it move */
		first = end - most;
	json_object(w);
	json_put_text(w, "metric", series->metric);
	json_put_text(w, "stream", stream->name);
	json_put_text(w, "role", role_name(series->role));
	json_key(w, "points");
	json_array(w);
	for (uint64_t i = first; i < end; i++)
		write_point(w, &series->tail[i - series->sealed_points]);
	json_array_end(w);
	json_object_end(w);
}

/* Under the stream's lock. */
static bool has_unpublished(const struct stream_state *stream)
{
	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i]->sealed_points + stream->series[i]->tail_count > stream->series[i]->published)
			return true;
	return false;
}

/* Under the stream's lock. False: nothing new. */
static bool write_points(struct stream_state *stream, bool is_wanted, struct buf *out)
{
	struct json_writer w = json_writer_on(out);
	bool has_news = false;

	json_object(&w);
	json_put_text(&w, "job", stream->job->name);
	json_key(&w, "series");
	json_array(&w);
	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		uint64_t end = series->sealed_points + series->tail_count;
		if (is_wanted && end > series->published) {
			write_series(stream, series, &w);
			has_news = true;
		}
		series->published = end;
	}
	json_array_end(&w);
	json_object_end(&w);
	return has_news;
}

static bool write_lines(struct stream_state *stream, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	if (!stream->live_count)
		return false;
	json_object(&w);
	json_put_text(&w, "job", stream->job->name);
	json_put_text(&w, "stream", stream->name);
	json_put_i64(&w, "from", (int64_t)stream->live_from);
	json_put_i64(&w, "count", (int64_t)stream->live_count);
	json_key(&w, "lines");
	bool is_whole = !stream->live_lines.failure;
	buf_append_char(out, '[');
	if (is_whole)
		buf_append_span(out, buf_span(&stream->live_lines));
	buf_append_text(out, "]}");
	buf_reset(&stream->live_lines);
	stream->live_count = 0;
	return true;
}

static void publish_stream(
	struct pipeline *pipeline, struct stream_state *stream, struct buf *points, struct buf *lines)
{
	bool is_wanted = hub_wants(pipeline->options.hub, span_from(stream->job->name), HUB_POINTS);

	buf_reset(points);
	buf_reset(lines);
	pthread_mutex_lock(&stream->mutex);
	bool is_skipped = !is_wanted && has_unpublished(stream), has_skipped_lines = stream->has_skipped_lines;
	bool has_points = write_points(stream, is_wanted, points);
	bool has_lines = write_lines(stream, lines);
	stream->has_skipped_lines = false;
	pthread_mutex_unlock(&stream->mutex);
	uint64_t seq = atomic_load(&pipeline->figures.committed_seq); /* whatever was skipped is of it, or of before */
	if (is_skipped)
		hub_skip(pipeline->options.hub, span_from(stream->job->name), HUB_POINTS, seq);
	if (has_skipped_lines)
		hub_skip(pipeline->options.hub, span_from(stream->job->name), HUB_LINES, seq);
	if (has_points)
		publish(pipeline, stream->job, HUB_POINTS, points);
	if (has_lines)
		publish(pipeline, stream->job, HUB_LINES, lines);
}

void pipeline_expect_reader(struct pipeline *pipeline, struct span job)
{
	struct job_state *state = directory_find(pipeline->directory, job);

	if (!state) /* sends nothing; nor must names that somebody invents be kept */
		return;
	hub_expect(pipeline->options.hub, job, HUB_POINTS | HUB_LINES | HUB_JOB | HUB_INCIDENT);
	job_unref(state);
}

static enum status write_row(const struct pipeline *pipeline, struct store_reader *reader, const char *name,
	struct buf *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct json_writer w = json_writer_on(out);
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job(reader, arena, span_from(name), &row, err));
	TRY(pipeline_write_job_row(pipeline, reader, arena, &row, &w, err));
	return buf_status(out, err);
}

struct rows { /* jobs to look at in this second */
	struct job_state **jobs; /* counted from `at` on */
	size_t count, at;
	int64_t listed_ms;
};

static void publish_row(struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct buf *out)
{
	bool is_wanted = hub_wants(pipeline->options.hub, span_from(job->name), HUB_JOB);
	struct error err;

	buf_reset(out);
	if (is_wanted && atomic_exchange(&job->is_row_dirty, false) &&
		write_row(pipeline, reader, job->name, out, &err) == OK)
		publish(pipeline, job, HUB_JOB, out);
}

/*
 * Rows of jobs that changed, once a second: numbers that people read need not be faster. Some in each tick, all in turn:
 * thousands at once would hold up the points, and the uploads that wait for the tick.
 */
static void publish_rows(
	struct pipeline *pipeline, struct store_reader *reader, struct rows *rows, int64_t now_ms, struct buf *out)
{
	struct error err;

	if (rows->at == rows->count && now_ms - rows->listed_ms >= ROW_EVENT_MS) {
		mem_free(rows->jobs);
		*rows = (struct rows){.listed_ms = now_ms};
		if (directory_list(pipeline->directory, &rows->jobs, &rows->count, &err) != OK)
			return; /* out of memory: the next second tries again */
	}
	while (rows->at < rows->count && clock_mono_ms() - now_ms < ROWS_MS) {
		publish_row(pipeline, reader, rows->jobs[rows->at], out);
		job_unref(rows->jobs[rows->at++]);
	}
}

static void rows_done(struct rows *rows)
{
	while (rows->at < rows->count)
		job_unref(rows->jobs[rows->at++]);
	mem_free(rows->jobs);
}

static void measure_rate(struct pipeline *pipeline, uint64_t *lines_before)
{
	uint64_t lines = atomic_load(&pipeline->figures.lines), before = atomic_load(&pipeline->figures.lines_per_s);

	/* smoothed over about four seconds, so that a pause between two bursts does not read as an outage */
	atomic_store(&pipeline->figures.lines_per_s, (before * 3 + (lines - *lines_before)) / 4);
	*lines_before = lines;
	atomic_store(&pipeline->figures.lag_ms, atomic_exchange(&pipeline->figures.lag_so_far_ms, 0));
}

void *publisher_run(void *context)
{
	struct pipeline *pipeline = context;
	AUTO(store_reader) reader = NULL;
	AUTO_DONE(buf) points = BUF_INIT(EVENT_MAX_BYTES);
	AUTO_DONE(buf) lines = BUF_INIT(EVENT_MAX_BYTES);
	struct rows rows = {0};
	int64_t measured_ms = 0;
	uint64_t lines_before = 0;
	int64_t pool_change = pipeline->pool_change;
	struct error err;

	pthread_setname_np(pthread_self(), "publisher");
	if (control_wait_reader(pipeline, "publisher", &reader, &err) != OK) {
		log_line(LOG_ERROR, "publisher_failed", "error=\"%s\"", err.text);
		return NULL;
	}
	if (!reader)
		return NULL;
	while (!control_wait_tick(pipeline, TICK_MS)) {
		int64_t now_ms = clock_mono_ms();
		directory_swap(pipeline->directory, STREAMS_DIRTY);
		for (struct stream_state *stream; (stream = directory_pop(pipeline->directory, STREAMS_DIRTY));) {
			publish_stream(pipeline, stream, &points, &lines);
			job_unref(stream->job);
		}
		pools_publish(pipeline, reader, &pool_change);
		publish_rows(pipeline, reader, &rows, clock_mono_ms(), &points);
		if (now_ms - measured_ms >= ROW_EVENT_MS) {
			measure_rate(pipeline, &lines_before);
			measured_ms = now_ms;
		}
		hub_flush(pipeline->options.hub, now_ms);
	}
	rows_done(&rows);
	return NULL;
}
