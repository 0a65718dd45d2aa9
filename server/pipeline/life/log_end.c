#include "pipeline/life/log_end.h"

#include "base/clock.h"
#include "model/metrics/stream_name.h"
#include "read/view.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/patience.h"
#include "state/pipeline_state.h"
#include "state/streams/work_times.h"

enum {
	LOOK_MS = 2,
	RETRY_S = 1,
};

bool log_end_is_past(const struct log_end *end)
{
	return end->last_ms && end->last_ms < end->heard_ms - HISTORIC_MS;
}

/* ---- all that was acknowledged ---- */

struct mark {
	uint64_t lines, points;
};

static bool is_read_up_to(struct stream_state *stream, const struct mark *mark)
{
	pthread_mutex_lock(&stream->mutex);
	bool is_so = stream->has_hole ||
		     (stream->extracted_lines >= mark->lines && stream->extracted_points >= mark->points);
	pthread_mutex_unlock(&stream->mutex);
	return is_so;
}

/* Only what is committed now: lines that go on coming are none of what was told. */
static enum status await_stream(struct pipeline *pipeline, const struct job_state *job, struct stream_state *stream,
	int64_t until_ms, struct error *err)
{
	pthread_mutex_lock(&stream->mutex);
	struct mark mark = {stream->committed_line, stream->committed_point};
	pthread_mutex_unlock(&stream->mutex);
	while (!is_read_up_to(stream, &mark) && !atomic_load(&job->is_deleted)) {
		if (clock_mono_ms() < until_ms && !control_wait_tick(pipeline, LOOK_MS))
			continue;
		error_set(err, ERR_BUSY, "what was sent of job '%s' is still being read", job->name);
		if (err)
			err->retry_after_s = RETRY_S;
		return ERR_BUSY;
	}
	return OK;
}

enum status log_end_await(struct pipeline *pipeline, struct span name, struct error *err)
{
	AUTO(job_state) job = directory_find(pipeline->directory, name);
	int64_t until_ms = clock_mono_ms() + patience_begin(pipeline);
	struct stream_state *stream;
	enum status status = OK;

	for (size_t i = 0; status == OK && job && (stream = job_stream_at(job, i)); i++)
		if (!stream_is_system(span_from(stream->name)))
			status = await_stream(pipeline, job, stream, until_ms, err);
	patience_end(pipeline);
	return status;
}

/* ---- where it ends ---- */

static void hear(struct log_end *end, const struct stream_view *stream)
{
	if (!stream_is_system(stream->name) && stream->last_arrival_ms > end->heard_ms)
		end->heard_ms = stream->last_arrival_ms;
}

static void take_all(const struct job_view *view, struct log_end *out)
{
	struct stretches work;

	work_times_of(view, &work);
	*out = (struct log_end){.last_ms = stretches_last_ms(&work)};
	for (size_t i = 0; i < view->stream_count; i++)
		hear(out, &view->streams[i]);
}

static enum status view_job(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct job_view *view, struct error *err)
{
	if (!arena)
		return error_no_memory(err);
	return view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), 0, view, err);
}

enum status log_end_of_job(
	struct pipeline *pipeline, struct store_reader *reader, struct span job, struct log_end *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view;

	TRY(view_job(pipeline, reader, arena, job, &view, err));
	take_all(&view, out);
	return OK;
}

enum status log_end_of_stream(struct pipeline *pipeline, struct store_reader *reader, struct span job,
	uint32_t stream_id, struct log_end *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_view view;

	TRY(view_job(pipeline, reader, arena, job, &view, err));
	take_all(&view, out);
	for (size_t i = 0; i < view.stream_count; i++) {
		const struct stream_view *stream = &view.streams[i];
		int64_t last_ms = stretches_last_ms(&stream->stretches);
		if (stream->stream_id != stream_id || !last_ms)
			continue;
		*out = (struct log_end){.last_ms = last_ms};
		hear(out, stream);
	}
	return OK;
}
