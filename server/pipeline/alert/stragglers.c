#include "pipeline/alert/stragglers.h"

#include "base/clock.h"
#include "extract/derive.h"
#include "model/incident.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/incidents.h"
#include "state/streams/directory.h"
#include "state/streams/host_lines.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"

enum {
	NOTED_MAX = 4096, /* of a series, between two looks */
	TAKEN_UP_MAX = 4096, /* stragglers of a job */
	FEW_STREAMS_MS = 60 * 1000 /* so long what a job of few streams says is kept for more streams to come */
};

static bool tells_pace(enum role role)
{
	return role == ROLE_STEP_TIME || role == ROLE_THROUGHPUT;
}

enum status stragglers_note(struct stream_state *stream, struct series_state *series, uint64_t ordinal,
	const struct point *point, struct error *err)
{
	uint32_t seen = tells_pace(series->role) ? detector_set_pace(series->detectors, NULL, NULL) : 0;
	double rate, newest;

	if (seen == series->paces_seen)
		return OK;
	series->paces_seen = seen;
	if (!seen || !detector_set_pace(series->detectors, &rate, &newest) || !(rate > 0))
		return OK;
	if (series->pace_count == NOTED_MAX) { /* the older half: looks are far behind */
		series->pace_count = NOTED_MAX / 2;
		memmove(series->paces, series->paces + NOTED_MAX / 2, series->pace_count * sizeof *series->paces);
	}
	if (!mem_grow((void **)&series->paces, series->pace_count, &series->pace_cap, sizeof *series->paces))
		return error_no_memory(err);
	stream->has_paces = true;
	double unit = pace_unit(series->role,
		span_from(series->unit)); /* one stream's trainer may print s where the others' prints ms */
	series->paces[series->pace_count++] = (struct pace){.step = point->step,
		.ts_ms = point->ts_ms,
		.ordinal = ordinal,
		.rate = rate / unit,
		.newest = newest / unit,
		.attempt = point->attempt,
		.sender = host_lines_number(stream, point->line)};
	return OK;
}

static void drop_noted(struct series_state *series)
{
	mem_free(series->paces);
	series->paces = NULL;
	series->pace_count = series->pace_cap = 0;
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

static struct pace_metric *find_metric(const struct stragglers *stragglers, const char *name)
{
	for (size_t i = 0; i < stragglers->count; i++)
		if (strcmp(stragglers->metrics[i].name, name) == 0)
			return &stragglers->metrics[i];
	return NULL;
}

/* *metric: until the next one is added. */
static enum status add_metric(
	struct stragglers *stragglers, struct span name, struct pace_metric **metric, struct error *err)
{
	AUTO(pace_watch) watch = pace_watch_new();
	AUTO_MEM char *copy = mem_copy_bytes(name.ptr, name.len);

	if (!watch || !copy ||
		!mem_grow((void **)&stragglers->metrics, stragglers->count, &stragglers->cap, sizeof **metric))
		return error_no_memory(err);
	*metric = &stragglers->metrics[stragglers->count++];
	**metric = (struct pace_metric){.name = TAKE(copy), .watch = TAKE(watch)};
	return OK;
}

static enum status add_slow(struct pace_metric *metric, size_t lane, const struct incident *incident, struct error *err)
{
	if (!mem_grow((void **)&metric->slow, metric->slow_count, &metric->slow_cap, sizeof *metric->slow))
		return error_no_memory(err);
	metric->slow[metric->slow_count++] = (struct slow_stream){lane, *incident};
	return OK;
}

static size_t find_lane(struct job_state *job, const struct incident_row *row)
{
	struct stream_state *stream;
	size_t lane = 0;

	while ((stream = job_stream_at(job, lane)) && stream->stream_id != row->series_id >> SERIES_BITS)
		lane++;
	return lane; /* as many as there are streams: none of them */
}

static enum status take_up_one(
	struct stragglers *stragglers, struct job_state *job, const struct incident_row *row, struct error *err)
{
	size_t lane = find_lane(job, row);

	AUTO_MEM char *name = mem_copy_bytes(row->metric.ptr, row->metric.len);
	if (!name)
		return error_no_memory(err);
	struct pace_metric *metric = find_metric(stragglers, name);
	if (!job_stream_at(job, lane) || (!metric && stragglers->count == PACE_METRICS_MAX))
		return OK;
	if (!metric)
		TRY(add_metric(stragglers, row->metric, &metric, err));
	if (!pace_watch_resume(metric->watch, lane, row->incident.opened_step))
		return error_no_memory(err);
	return add_slow(metric, lane, &row->incident, err);
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
		.limit = TAKEN_UP_MAX};
	struct incident_row *rows;
	struct span cursor;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_incidents(reader, arena, &filter, &rows, &count, &cursor, err));
	for (size_t i = 0; i < count; i++)
		TRY(take_up_one(stragglers, job, &rows[i], err));
	return OK;
}

static enum status begin(struct job_state *job, struct store_reader *reader, struct error *err)
{
	AUTO(stragglers) stragglers = mem_zeroed(sizeof *stragglers);

	if (!stragglers)
		return error_no_memory(err);
	TRY(take_up(stragglers, reader, job, err));
	job->stragglers = TAKE(stragglers);
	if (!job->paced_since_ms)
		job->paced_since_ms = clock_mono_ms();
	return OK;
}

static bool has_noted(struct job_state *job)
{
	struct stream_state *stream;
	bool has = false;

	for (size_t i = 0; !has && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		has = stream->has_paces;
		pthread_mutex_unlock(&stream->mutex);
	}
	return has;
}

/* Under the lock of the series' stream. */
static enum status fetch_series(
	struct stragglers *stragglers, size_t lane, const struct series_state *series, struct error *err)
{
	struct pace_metric *metric = find_metric(stragglers, series->metric);
	bool fits = true;

	if (!metric && stragglers->count == PACE_METRICS_MAX)
		return OK;
	if (!metric)
		TRY(add_metric(stragglers, span_from(series->metric), &metric, err));
	metric->role = series->role;
	for (size_t i = 0; fits && i < series->pace_count; i++)
		fits = pace_watch_add(metric->watch, lane, &series->paces[i]);
	return fits ? OK : error_no_memory(err);
}

static enum status fetch(struct job_state *job, struct error *err)
{
	struct stream_state *stream;
	enum status status = OK;

	for (size_t i = 0; status == OK && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		for (size_t j = 0; stream->has_paces && j < stream->series_count; j++) {
			if (status == OK && stream->series[j]->pace_count)
				status = fetch_series(job->stragglers, i, stream->series[j], err);
			drop_noted(stream->series[j]);
		}
		stream->has_paces = false;
		pthread_mutex_unlock(&stream->mutex);
	}
	return status;
}

struct looking {
	struct pipeline *pipeline;
	struct job_state *job;
	struct pace_metric *metric;
	enum status status;
	struct error *err;
};

static enum status hand_over(struct looking *looking, struct pace_metric *metric, struct slow_stream *slow)
{
	struct stream_state *stream = job_stream_at(looking->job, slow->lane);
	struct incident *incident = &slow->incident;
	enum status status = OK;

	pthread_mutex_lock(&stream->mutex);
	incident->is_historic = incident->opened_ms < stream->last_arrival_ms - HISTORIC_MS;
	for (size_t i = 0; i < stream->series_count; i++)
		if (strcmp(stream->series[i]->metric, metric->name) == 0)
			status = incidents_hand_over(
				looking->pipeline, stream, stream->series[i], incident, looking->err);
	pthread_mutex_unlock(&stream->mutex);
	return status;
}

/* Rates are what is compared; people know the figures that their log prints. unit: of the stream that is slow. */
static struct straggler as_printed(const struct straggler *found, enum role role, double unit)
{
	if (role != ROLE_STEP_TIME)
		return *found;
	return (struct straggler){.rate = 1 / (found->rate * unit),
		.usual = 1 / (found->usual * unit),
		.spread = found->spread / (found->usual * found->usual * unit), /* of a small one: the slope of 1 / x */
		.score = -found->score};
}

static double unit_of(const struct looking *looking, size_t lane)
{
	struct stream_state *stream = job_stream_at(looking->job, lane);
	const struct pace_metric *metric = looking->metric;

	pthread_mutex_lock(&stream->mutex);
	const struct series_state *series = stream_find_series(stream, span_from(metric->name));
	double unit = series ? pace_unit(series->role, span_from(series->unit)) : 1;
	pthread_mutex_unlock(&stream->mutex);
	return unit;
}

static struct incident open_incident(const struct looking *looking, const struct pace_finding *finding)
{
	struct straggler found = as_printed(&finding->found, looking->metric->role, unit_of(looking, finding->lane));
	const struct pace *pace = &finding->pace;

	return (struct incident){.kind = INCIDENT_STRAGGLER,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = pace->ordinal,
		.first_step = finding->first_step,
		.opened_step = pace->step,
		.last_step = pace->step,
		.opened_ms = pace->ts_ms,
		.line = NO_LINE,
		.value = found.rate,
		.expected = found.usual,
		.spread = found.spread,
		.score = found.score,
		.worst = found.rate,
		.worst_step = pace->step};
}

/* What is said of the metric that leads alone. */
static enum status say(struct looking *looking, struct slow_stream *slow)
{
	const struct stragglers *stragglers = looking->job->stragglers;

	return looking->metric == &stragglers->metrics[stragglers->leader] ? hand_over(looking, looking->metric, slow)
									   : OK;
}

static enum status say_slow(struct looking *looking, const struct pace_finding *finding)
{
	struct pace_metric *metric = looking->metric;
	struct incident incident = open_incident(looking, finding);

	TRY(add_slow(metric, finding->lane, &incident, looking->err));
	return say(looking, &metric->slow[metric->slow_count - 1]);
}

static enum status say_caught_up(struct looking *looking, const struct pace_finding *finding)
{
	struct pace_metric *metric = looking->metric;
	size_t at = 0;

	while (at < metric->slow_count && metric->slow[at].lane != finding->lane)
		at++;
	if (at == metric->slow_count)
		return OK;
	struct slow_stream slow = metric->slow[at];
	metric->slow[at] = metric->slow[--metric->slow_count];
	slow.incident.state = INCIDENT_RECOVERED;
	if (finding->last_step > slow.incident.last_step) /* its opening is the last so far; a restart may go back */
		slow.incident.last_step = finding->last_step;
	slow.incident.closed_ms = finding->pace.ts_ms;
	return say(looking, &slow);
}

static void report(void *context, const struct pace_finding *finding)
{
	struct looking *looking = context;

	if (looking->status == OK)
		looking->status = finding->is_slow ? say_slow(looking, finding) : say_caught_up(looking, finding);
}

/* More streams have it: a tracker often tells the step time of one rank alone. Of as many, a step time is better. */
static bool leads(const struct pace_metric *one, const struct pace_metric *other)
{
	size_t streams = pace_watch_count(one->watch), of_other = pace_watch_count(other->watch);

	if (streams != of_other)
		return streams > of_other;
	return one->role == ROLE_STEP_TIME && other->role != ROLE_STEP_TIME;
}

/* One metric leads until all that it said has ended. */
static enum status choose_leader(struct looking *looking)
{
	struct stragglers *stragglers = looking->job->stragglers;
	struct pace_metric *leader = &stragglers->metrics[stragglers->leader];

	if (leader->slow_count)
		return OK;
	for (size_t i = 0; i < stragglers->count; i++)
		if (leads(&stragglers->metrics[i], leader))
			leader = &stragglers->metrics[i];
	stragglers->leader = (size_t)(leader - stragglers->metrics);
	for (size_t i = 0; i < leader->slow_count; i++)
		TRY(hand_over(looking, leader, &leader->slow[i]));
	return OK;
}

static enum status look_at(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	struct looking looking = {pipeline, job, NULL, OK, err};
	bool has_many = job_stream_at(job, STRAGGLER_STREAMS_MIN - 1) != NULL;

	if (!has_many && job->paced_since_ms && clock_mono_ms() - job->paced_since_ms > FEW_STREAMS_MS) {
		stragglers_free(job->stragglers);
		job->stragglers = NULL;
		drop_all_noted(job);
		return OK;
	}
	if (!job->stragglers && has_noted(job))
		TRY(begin(job, reader, err));
	if (!job->stragglers)
		return OK;
	TRY(fetch(job, err));
	if (job->stragglers->count)
		TRY(choose_leader(&looking));
	for (size_t i = 0; looking.status == OK && i < job->stragglers->count; i++) {
		looking.metric = &job->stragglers->metrics[i];
		pace_watch_look(looking.metric->watch, report, &looking);
	}
	return looking.status;
}

void stragglers_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "straggler_failed", look_at);
}

bool stragglers_slow_to(struct job_state *job, const struct incident_row *row, int64_t *step)
{
	size_t lane = find_lane(job, row);

	for (size_t i = 0; job->stragglers && i < job->stragglers->count; i++)
		if (span_equal(row->metric, span_from(job->stragglers->metrics[i].name)))
			return pace_watch_slow_to(job->stragglers->metrics[i].watch, lane, step);
	return false;
}

void stragglers_end(struct job_state *job, const struct incident_row *row)
{
	size_t lane = find_lane(job, row);

	for (size_t i = 0; job->stragglers && i < job->stragglers->count; i++) {
		struct pace_metric *metric = &job->stragglers->metrics[i];
		pace_watch_end(metric->watch, lane);
		for (size_t at = metric->slow_count; at-- > 0;)
			if (metric->slow[at].lane == lane)
				metric->slow[at] = metric->slow[--metric->slow_count];
	}
}
