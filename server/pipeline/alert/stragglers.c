#include "pipeline/alert/stragglers.h"

#include "base/clock.h"
#include "model/incident.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/incidents.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"

enum {
	NOTED_MAX = 4096, /* of a series, between two looks */
	FEW_STREAMS_MS = 60 * 1000 /* so long what a job of few streams says is kept for more streams to come */
};

static bool tells_pace(enum role role)
{
	return role == ROLE_STEP_TIME || role == ROLE_THROUGHPUT;
}

enum status stragglers_note(struct stream_state *stream, struct series_state *series, uint64_t ordinal,
	const struct point *point, struct error *err)
{
	double rate;
	uint32_t seen = tells_pace(series->role) ? detector_set_pace(series->detectors, &rate) : 0;

	if (seen == series->paces_seen)
		return OK;
	series->paces_seen = seen;
	if (!seen || !(rate > 0))
		return OK;
	if (series->pace_count == NOTED_MAX) { /* the older half: looks are far behind */
		series->pace_count = NOTED_MAX / 2;
		memmove(series->paces, series->paces + NOTED_MAX / 2, series->pace_count * sizeof *series->paces);
	}
	if (!mem_grow((void **)&series->paces, series->pace_count, &series->pace_cap, sizeof *series->paces))
		return error_no_memory(err);
	stream->has_paces = true;
	series->paces[series->pace_count++] = (struct pace){point->step, point->ts_ms, ordinal, rate, point->attempt};
	return OK;
}

/* What one series noted, taken out of it. */
struct noted {
	struct pace *paces;
	size_t count;
};

static void drop_noted(struct series_state *series)
{
	mem_free(series->paces);
	series->paces = NULL;
	series->pace_count = series->pace_cap = 0;
}

/* A step time is better than a throughput; else what is compared already stays. */
static struct series_state *better(const struct stragglers *now, struct series_state *best, struct series_state *series)
{
	bool is_compared = now && strcmp(now->metric, series->metric) == 0;

	if (!best || series->role != best->role)
		return !best || series->role == ROLE_STEP_TIME ? series : best;
	return is_compared ? series : best;
}

/* Under the stream's lock: the series whose pace would be compared, of those that noted some. */
static struct series_state *find_noted(const struct stragglers *now, struct stream_state *stream)
{
	struct series_state *best = NULL;

	for (size_t i = 0; stream->has_paces && i < stream->series_count; i++)
		if (stream->series[i]->pace_count)
			best = better(now, best, stream->series[i]);
	return best;
}

static void drop_all_noted(struct job_state *job)
{
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		for (size_t j = 0; stream->has_paces && j < stream->series_count; j++)
			drop_noted(stream->series[j]);
		stream->has_paces = false;
		pthread_mutex_unlock(&stream->mutex);
	}
}

/* After a start: what is open already. */
static enum status take_up(
	struct stragglers *stragglers, struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct incident_filter filter = {.job_id = job->job_id,
		.state = INCIDENT_OPEN,
		.kind = INCIDENT_STRAGGLER,
		.cursor = SPAN(""),
		.limit = 1};
	struct incident_row *rows;
	struct stream_state *stream;
	struct span cursor;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	for (size_t i = 0; count && (stream = job_stream_at(job, i)); i++)
		if (stream->stream_id == rows[0].series_id >> SERIES_BITS) {
			stragglers->incident = rows[0].incident;
			pace_watch_resume(stragglers->watch, i, rows[0].incident.opened_step);
		}
	return OK;
}

static enum status begin(
	struct job_state *job, struct store_reader *reader, const char *metric, enum role role, struct error *err)
{
	AUTO(stragglers) stragglers = mem_zeroed(sizeof *stragglers);

	if (!stragglers || !(stragglers->metric = mem_copy_string(metric)) || !(stragglers->watch = pace_watch_new()))
		return error_no_memory(err);
	stragglers->role = role;
	TRY(take_up(stragglers, reader, job, err));
	stragglers_free(job->stragglers);
	job->stragglers = TAKE(stragglers);
	if (!job->paced_since_ms)
		job->paced_since_ms = clock_mono_ms();
	return OK;
}

/* *metric: the one to begin with, to be freed; NULL: what is compared stays, or nothing was noted. */
static enum status find_metric(struct job_state *job, char **metric, enum role *role, struct error *err)
{
	struct stream_state *stream;
	enum status status = OK;

	*metric = NULL;
	for (size_t i = 0; status == OK && !*metric && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		const struct series_state *series = find_noted(job->stragglers, stream);
		bool is_new = series && (!job->stragglers || (series->role == ROLE_STEP_TIME &&
								     job->stragglers->role != ROLE_STEP_TIME));
		if (is_new) {
			*role = series->role;
			*metric = mem_copy_string(series->metric);
			status = *metric ? OK : error_no_memory(err);
		}
		pthread_mutex_unlock(&stream->mutex);
	}
	return status;
}

static struct noted take_noted(const struct stragglers *stragglers, struct stream_state *stream)
{
	struct noted noted = {0};

	pthread_mutex_lock(&stream->mutex);
	for (size_t i = 0; stream->has_paces && i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		if (!series->paces)
			continue;
		if (strcmp(series->metric, stragglers->metric) == 0) {
			noted = (struct noted){series->paces, series->pace_count};
			series->paces = NULL;
		}
		drop_noted(series);
	}
	stream->has_paces = false;
	pthread_mutex_unlock(&stream->mutex);
	return noted;
}

struct looking {
	struct pipeline *pipeline;
	struct job_state *job;
	enum status status;
	struct error *err;
};

static enum status hand_over(struct looking *looking, struct stream_state *stream, struct incident *incident)
{
	const struct stragglers *stragglers = looking->job->stragglers;
	enum status status = OK;

	pthread_mutex_lock(&stream->mutex);
	incident->is_historic = incident->opened_ms < stream->last_arrival_ms - HISTORIC_MS;
	for (size_t i = 0; i < stream->series_count; i++)
		if (strcmp(stream->series[i]->metric, stragglers->metric) == 0)
			status = incidents_hand_over(
				looking->pipeline, stream, stream->series[i], incident, looking->err);
	pthread_mutex_unlock(&stream->mutex);
	return status;
}

/* Rates are what is compared; people know the figures that their log prints. */
static struct straggler as_printed(const struct straggler *found, enum role role)
{
	if (role != ROLE_STEP_TIME)
		return *found;
	return (struct straggler){.rate = 1 / found->rate,
		.usual = 1 / found->usual,
		.spread = found->spread / (found->usual * found->usual), /* of a small one: the slope of 1 / x */
		.score = -found->score};
}

static void report(void *context, bool is_slow, size_t lane, const struct pace *pace, const struct straggler *rates)
{
	struct looking *looking = context;
	struct straggler found = as_printed(rates, looking->job->stragglers->role);
	struct stream_state *stream = job_stream_at(looking->job, lane);
	struct incident *incident = &looking->job->stragglers->incident;

	if (looking->status != OK)
		return;
	if (is_slow)
		*incident = (struct incident){.kind = INCIDENT_STRAGGLER,
			.severity = SEVERITY_WARNING,
			.opened_ordinal = pace->ordinal,
			.first_step = pace->step,
			.opened_step = pace->step,
			.opened_ms = pace->ts_ms,
			.line = NO_LINE,
			.value = found.rate,
			.expected = found.usual,
			.spread = found.spread,
			.score = found.score,
			.worst = found.rate,
			.worst_step = pace->step};
	incident->state = is_slow ? INCIDENT_OPEN : INCIDENT_RECOVERED;
	incident->last_step = pace->step;
	incident->closed_ms = is_slow ? 0 : pace->ts_ms;
	looking->status = hand_over(looking, stream, incident);
}

static enum status fetch(struct job_state *job, struct error *err)
{
	struct stream_state *stream;
	bool fits = true;

	for (size_t i = 0; fits && (stream = job_stream_at(job, i)); i++) {
		struct noted noted = take_noted(job->stragglers, stream);
		for (size_t j = 0; fits && j < noted.count; j++)
			fits = pace_watch_add(job->stragglers->watch, i, &noted.paces[j]);
		mem_free(noted.paces);
	}
	return fits ? OK : error_no_memory(err);
}

static enum status look_at(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	struct looking looking = {pipeline, job, OK, err};
	AUTO_MEM char *metric = NULL;
	enum role role = ROLE_OTHER;
	bool has_many = job_stream_at(job, STRAGGLER_STREAMS_MIN - 1) != NULL;

	if (!has_many && job->paced_since_ms && clock_mono_ms() - job->paced_since_ms > FEW_STREAMS_MS) {
		stragglers_free(job->stragglers);
		job->stragglers = NULL;
		drop_all_noted(job);
		return OK;
	}
	TRY(find_metric(job, &metric, &role, err));
	if (metric)
		TRY(begin(job, reader, metric, role, err));
	if (!job->stragglers)
		return OK;
	TRY(fetch(job, err));
	pace_watch_look(job->stragglers->watch, report, &looking);
	return looking.status;
}

void stragglers_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "straggler_failed", look_at);
}
