#include "pipeline/stragglers.h"

#include "base/log.h"
#include "detect/straggler.h"

enum { RUN = 2 }; /* looks with new figures of all streams */

struct pace {
	struct stream_state *stream;
	uint32_t series_id;
	uint32_t seen;
};

struct paces {
	struct pace *items;
	double *rates, *scratch;
	size_t count;
};

static void paces_done(struct paces *paces)
{
	mem_free(paces->items);
	mem_free(paces->rates);
	mem_free(paces->scratch);
}
AUTO_DONE_TYPE(paces)

static struct series_state *series_with_pace(struct stream_state *stream, enum role role, const char *metric)
{
	double rate;

	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		bool is_asked = metric ? strcmp(series->metric, metric) == 0 : series->role == role;
		if (is_asked && detector_set_pace(series->detectors, &rate))
			return series;
	}
	return NULL;
}

/* Of the first stream: step time, else throughput. *out NULL: it tells no pace. */
static enum status find_metric(struct job_state *job, char **out, struct error *err)
{
	struct stream_state *stream = job_stream_at(job, 0);
	struct series_state *series;

	*out = NULL;
	if (!stream || !job_stream_at(job, STRAGGLER_STREAMS_MIN - 1))
		return OK;
	pthread_mutex_lock(&stream->mutex);
	series = series_with_pace(stream, ROLE_STEP_TIME, NULL);
	series = series ? series : series_with_pace(stream, ROLE_THROUGHPUT, NULL);
	bool has_one = series != NULL;
	if (has_one)
		*out = mem_copy_string(series->metric);
	pthread_mutex_unlock(&stream->mutex);
	return has_one && !*out ? error_set(err, ERR_MEMORY, "out of memory") : OK;
}

static bool grow(struct paces *paces, size_t *cap)
{
	size_t caps[] = {*cap, *cap, *cap};
	bool fits = mem_grow((void **)&paces->items, paces->count, &caps[0], sizeof *paces->items) &&
		    mem_grow((void **)&paces->rates, paces->count, &caps[1], sizeof *paces->rates) &&
		    mem_grow((void **)&paces->scratch, paces->count, &caps[2], sizeof *paces->scratch);

	*cap = caps[0];
	return fits;
}

static enum status gather(struct job_state *job, const char *metric, struct paces *out, struct error *err)
{
	struct stream_state *stream;
	size_t cap = 0;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		if (!grow(out, &cap))
			return error_set(err, ERR_MEMORY, "out of memory");
		pthread_mutex_lock(&stream->mutex);
		struct series_state *series = series_with_pace(stream, ROLE_OTHER, metric);
		uint32_t seen = series ? detector_set_pace(series->detectors, &out->rates[out->count]) : 0;
		if (seen)
			out->items[out->count++] = (struct pace){stream, series->series_id, seen};
		pthread_mutex_unlock(&stream->mutex);
	}
	return OK;
}

/* All streams have a new figure since the last look. A restart of the job begins at low numbers again: that is news, too. */
static bool are_new(struct job_state *job, const struct paces *paces)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < paces->count; i++)
		least = paces->items[i].seen < least ? paces->items[i].seen : least;
	bool is_new = least != job->paces_seen;
	job->paces_seen = least;
	return is_new;
}

static enum status say(struct pipeline *pipeline, const struct pace *of, struct incident *incident, struct error *err)
{
	struct stream_state *stream = of->stream;
	enum status status = OK;

	pthread_mutex_lock(&stream->mutex);
	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		if (series->series_id != of->series_id)
			continue;
		incident->last_step = series->summary.last_step;
		if (!incident->opened_ms) {
			incident->first_step = incident->opened_step = incident->worst_step = series->summary.last_step;
			incident->opened_ms = series->summary.last_ts_ms;
			incident->opened_ordinal = series->sealed_points + series->tail_count;
			incident->is_historic = incident->opened_ms < stream->last_arrival_ms - HISTORIC_MS;
		}
		status = incidents_hand_over(pipeline, stream, series, incident, err);
	}
	pthread_mutex_unlock(&stream->mutex);
	return status;
}

/* In points of throughput or, of step time, its inverse: both as rates. */
static enum status open_one(struct pipeline *pipeline, struct job_state *job, const struct pace *of,
	const struct straggler *found, struct error *err)
{
	job->straggler_series = of->series_id;
	job->straggler = (struct incident){.kind = INCIDENT_STRAGGLER,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.line = NO_LINE,
		.value = found->rate,
		.expected = found->usual,
		.spread = found->spread,
		.score = found->score,
		.worst = found->rate};
	return say(pipeline, of, &job->straggler, err);
}

static enum status follow(struct pipeline *pipeline, struct job_state *job, const struct paces *paces,
	const struct straggler *found, struct error *err)
{
	for (size_t i = 0; i < paces->count; i++) {
		if (paces->items[i].series_id != job->straggler_series ||
			!straggler_has_caught_up(paces->rates[i], found->usual))
			continue;
		job->straggler_series = 0;
		job->straggler.state = INCIDENT_RECOVERED;
		job->straggler.closed_ms = clock_wall_ms();
		return say(pipeline, &paces->items[i], &job->straggler, err);
	}
	return OK;
}

/* After a start: what is open already. */
static enum status take_up(struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_filter filter = {.job_id = job->job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_STRAGGLER,
		.cursor = SPAN(""),
		.limit = 1};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	job->is_paced = true;
	if (count) {
		job->straggler = rows[0].incident;
		job->straggler_series = rows[0].series_id;
	}
	return OK;
}

static enum status look_at(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO_DONE(paces) paces = {0};
	AUTO_MEM char *metric = NULL;

	TRY(find_metric(job, &metric, err));
	if (!metric)
		return OK;
	TRY(gather(job, metric, &paces, err));
	if (paces.count < STRAGGLER_STREAMS_MIN || !are_new(job, &paces))
		return OK;
	if (!job->is_paced)
		TRY(take_up(reader, job, err));
	struct straggler found = straggler_find(paces.rates, paces.scratch, paces.count);
	if (job->straggler_series)
		return follow(pipeline, job, &paces, &found, err);
	uint32_t slowest = paces.items[found.slowest].series_id;
	job->slow_run = !found.is_slow ? 0 : slowest == job->slow_series ? job->slow_run + 1 : 1;
	job->slow_series = slowest;
	return job->slow_run >= RUN ? open_one(pipeline, job, &paces.items[found.slowest], &found, err) : OK;
}

void stragglers_run(struct pipeline *pipeline, struct store_reader *reader)
{
	AUTO_MEM struct job_state **jobs = NULL;
	struct error err;
	size_t count;

	if (directory_list(pipeline->directory, &jobs, &count, &err) != OK)
		return; /* out of memory: the next round tries again */
	for (size_t i = 0; i < count; i++) {
		enum status status = atomic_load(&jobs[i]->is_deleted) ? OK : look_at(pipeline, reader, jobs[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE)
			log_line(LOG_WARNING, "straggler_failed", "job=\"%s\" error=\"%s\"", jobs[i]->name, err.text);
		job_unref(jobs[i]);
	}
}
