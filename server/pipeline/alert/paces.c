/* How fast the jobs go that are in RAM: what their detectors know anyway. */
#include "pipeline/alert/paces.h"

#include "state/streams/directory.h"
#include "state/pipeline_state.h"

enum { STREAMS_LOOKED_AT = 64 /* of a job: one that prints a rate is among the first */ };

/* Under the stream's lock: a throughput is better than a step time. */
static const struct series_state *find_rate(const struct stream_state *stream, double *now)
{
	const struct series_state *best = NULL;
	double rate, newest;

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_state *series = stream->series[i];
		bool is_rate = series->role == ROLE_THROUGHPUT || series->role == ROLE_STEP_TIME;
		if (!is_rate || (best && best->role == ROLE_THROUGHPUT) || !series->detectors ||
			!detector_set_pace(series->detectors, &rate, &newest) ||
			!(detector_set_usual_pace(series->detectors) > 0))
			continue;
		best = series;
		*now = rate;
	}
	return best;
}

/* False: of this stream no pace is known. */
static bool read_stream(
	struct stream_state *stream, struct arena *arena, int64_t heard_after_ms, struct job_pace *out, bool *is_full)
{
	double now = 0;

	pthread_mutex_lock(&stream->mutex);
	const struct series_state *series = stream->last_arrival_ms > heard_after_ms ? find_rate(stream, &now) : NULL;
	if (series) {
		*out = (struct job_pace){.job = arena_copy(arena, span_from(stream->job->name)),
			.metric = arena_copy(arena, span_from(series->metric)),
			.unit = arena_copy(arena, span_from(series->unit ? series->unit : "")),
			.is_step_time = series->role == ROLE_STEP_TIME,
			.now = now,
			.usual = detector_set_usual_pace(series->detectors),
			.heard_ms = stream->last_arrival_ms};
		*is_full = !out->job.ptr || !out->metric.ptr || !out->unit.ptr;
	}
	pthread_mutex_unlock(&stream->mutex);
	return series != NULL;
}

static void read_job(struct job_state *job, struct arena *arena, int64_t heard_after_ms, struct job_pace *rows,
	size_t *count, bool *is_full)
{
	struct stream_state *stream;

	for (size_t i = 0; i < STREAMS_LOOKED_AT && (stream = job_stream_at(job, i)); i++)
		if (read_stream(stream, arena, heard_after_ms, &rows[*count], is_full)) {
			*count += 1;
			return;
		}
}

enum status pipeline_read_paces(struct pipeline *pipeline, struct arena *arena, int64_t heard_after_ms,
	struct job_pace **out, size_t *count, struct error *err)
{
	struct job_state **jobs;
	size_t job_count;
	bool is_full = false;

	*count = 0;
	TRY(directory_list(pipeline->directory, &jobs, &job_count, err));
	*out = arena_alloc(arena, (job_count + 1) * sizeof **out);
	for (size_t i = 0; i < job_count; i++) {
		if (*out && !is_full && !atomic_load(&jobs[i]->is_deleted))
			read_job(jobs[i], arena, heard_after_ms, *out, count, &is_full);
		job_unref(jobs[i]);
	}
	mem_free(jobs);
	return *out && !is_full ? OK : error_no_memory(err);
}
