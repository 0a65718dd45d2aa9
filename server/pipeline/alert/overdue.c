#include "pipeline/alert/overdue.h"

#include "base/clock.h"
#include "model/incident.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/job_incident.h"
#include "read/checkpoints.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/faults.h"
#include "store/job_facts.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	GAPS = 8,
	GAPS_MIN = 2 /* of three checkpoints */,
	DAYS_MOST = 28,
	LOOKS = 3,
	SETTLED_MS = 20000,
	FIRST_SAVE_MS = 3 * 60 * 60 * 1000, /* three times the hour that many save in */
	FACTS_BYTES = 512,
	NEVER_ORDINAL = 0 /* of checkpoint_overdue: others have the time of the last one */
};

/* ---- the deadline ---- */

int64_t overdue_limit_s(const struct json *document)
{
	const struct json *condition = json_get(document, "StoppingCondition");
	const int64_t most_s = DAYS_MOST * INT64_C(86400);
	double seconds;

	if (!json_number_of(json_get(condition, "MaxRuntimeInSeconds"), &seconds) || seconds < 1 ||
		seconds > (double)most_s)
		return most_s;
	return (int64_t)seconds;
}

bool overdue_is_late(int64_t needed_s, int64_t limit_s, bool was_late)
{
	return was_late ? needed_s * 100 > limit_s * 98 : needed_s > limit_s;
}

/* Of one that was announced and not begun as far as is known: then. */
static int64_t start_of(const struct job_row *row)
{
	return row->started_ms ? row->started_ms : row->created_ms;
}

struct look {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct arena *arena;
	struct job_state *job;
	struct job_row row;
};

static enum status open_deadline(const struct look *look, int64_t needed_s, int64_t limit_s, struct error *err)
{
	struct job_incident note = {.pipeline = look->pipeline, .job = look->job};
	int64_t now_ms = clock_wall_ms();
	char facts[FACTS_BYTES];

	int64_t eta_ms = start_of(&look->row) + needed_s * 1000, limit_ms = start_of(&look->row) + limit_s * 1000;
	snprintf(facts, sizeof facts, "\"eta_ms\":%lld,\"limit_ms\":%lld,\"unit\":\"s\"", (long long)eta_ms,
		(long long)limit_ms);
	note.row.facts = span_from(facts);
	note.row.detail = SPAN("");
	note.row.incident = (struct incident){.kind = INCIDENT_DEADLINE,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = (uint64_t)now_ms,
		.opened_ms = now_ms,
		.value = (double)needed_s,
		.expected = (double)limit_s,
		.worst = (double)needed_s};
	return job_incident_put(&note, err);
}

/* Several looks in a row: the pace of the first steps says little. */
static enum status look_at_deadline(const struct look *look, struct error *err)
{
	struct job_state *job = look->job;
	AUTO(json) document = NULL;
	struct job_progress progress;
	struct incident_row *open;
	bool is_late = false;
	int64_t needed_s = 0, limit_s = 0;

	TRY(store_read_progress(look->reader, look->arena, job->job_id, &progress, err));
	TRY(job_incident_find_open(look->reader, look->arena, job->job_id, INCIDENT_DEADLINE, &open, err));
	bool is_known = progress.eta_ms && !look->row.ended_ms;
	if (is_known) {
		TRY(json_parse(&document, look->row.document, err));
		needed_s = (progress.eta_ms - start_of(&look->row)) / 1000;
		limit_s = overdue_limit_s(document);
		is_late = overdue_is_late(needed_s, limit_s, open != NULL);
	}
	job->is_due = job->is_due || open;
	if (open)
		return is_late ? OK : job_incident_end(look->pipeline, job, open, err);
	job->late_looks = is_late ? job->late_looks + 1 : 0;
	if (job->late_looks < LOOKS || !is_late)
		return OK;
	job->late_looks = 0;
	return open_deadline(look, needed_s, limit_s, err);
}

/* ---- checkpoints ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof *values, by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* The median, and how far the others are from it, as a part of it. */
static double usual(const double *gaps, size_t count, double *unrest)
{
	double sorted[GAPS], off[GAPS] = {0};

	memcpy(sorted, gaps, count * sizeof *gaps);
	double middle = median_of(sorted, count);
	for (size_t i = 0; i < count; i++)
		off[i] = gaps[i] > middle ? gaps[i] - middle : middle - gaps[i];
	*unrest = middle > 0 ? median_of(off, count) / middle : 1e9;
	return middle;
}

/* Newest first. */
bool overdue_is_checkpoint(
	const struct checkpoint_row *rows, size_t count, int64_t step, int64_t now_ms, struct overdue *out)
{
	double steps[GAPS], seconds[GAPS], step_unrest, second_unrest;
	size_t gaps = 0;

	*out = (struct overdue){0};
	for (size_t i = 0; i + 1 < count && gaps < GAPS; i++)
		if (rows[i].attempt == rows[i + 1].attempt && rows[i].step > rows[i + 1].step &&
			rows[i].ts_ms >= rows[i + 1].ts_ms) {
			steps[gaps] = (double)(rows[i].step - rows[i + 1].step);
			seconds[gaps++] = (double)(rows[i].ts_ms - rows[i + 1].ts_ms) / 1000;
		}
	if (gaps < GAPS_MIN)
		return false;
	double usual_steps = usual(steps, gaps, &step_unrest), usual_s = usual(seconds, gaps, &second_unrest);
	out->is_by_time = second_unrest < step_unrest;
	out->usual = out->is_by_time ? usual_s : usual_steps;
	out->since = out->is_by_time ? (double)(now_ms - rows[0].ts_ms) / 1000 : (double)(step - rows[0].step);
	return out->usual > 0 && out->since > 2 * out->usual;
}

/* Of the newest line and loss: log times are compared with log times. */
static void find_now(struct job_state *job, int64_t *step, int64_t *now_ms)
{
	struct stream_state *stream;

	*step = *now_ms = -1;
	for (size_t i = 0; (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		*now_ms = stream->last_ms > *now_ms ? stream->last_ms : *now_ms;
		for (size_t j = 0; j < stream->series_count; j++) {
			const struct series_state *series = stream->series[j];
			if (series->role == ROLE_LOSS && series->summary.last_step > *step)
				*step = series->summary.last_step;
		}
		pthread_mutex_unlock(&stream->mutex);
	}
}

static enum status open_overdue(const struct look *look, const struct checkpoint_row *last,
	const struct overdue *overdue, int64_t step, int64_t at_ms, struct error *err)
{
	struct job_incident note = {.pipeline = look->pipeline, .job = look->job};
	const char *unit = overdue->is_by_time ? "s" : "steps";
	char facts[FACTS_BYTES];

	snprintf(facts, sizeof facts, "\"last_checkpoint\":{\"step\":%lld,\"ts_ms\":%lld},\"unit\":\"%s\"",
		(long long)last->step, (long long)last->ts_ms, unit);
	note.row.facts = span_from(facts);
	note.row.detail = span_from(unit);
	note.row.incident = (struct incident){.kind = INCIDENT_CHECKPOINT_OVERDUE,
		.severity = SEVERITY_WARNING,
		.state = INCIDENT_OPEN,
		.opened_ordinal = (uint64_t)last->ts_ms, /* of one checkpoint's lack there is one incident */
		.first_step = last->step,
		.opened_step = step,
		.last_step = step,
		.opened_ms = at_ms,
		.is_historic = at_ms < clock_wall_ms() - HISTORIC_MS,
		.value = overdue->since,
		.expected = overdue->usual,
		.score = overdue->since / overdue->usual,
		.worst = overdue->since,
		.worst_step = step};
	return job_incident_put(&note, err);
}

/* ---- never one ---- */

static bool wants_checkpoints(const struct json *document)
{
	const struct json *config = json_get(document, "CheckpointConfig");

	return json_string_of(json_get(config, "S3Uri")).len || json_string_of(json_get(config, "LocalPath")).len;
}

/* One of the formats of a stream, or of those that say where its steps stand. */
static bool reads_saves(const struct pipeline *pipeline, const struct extractor *extractor)
{
	for (size_t i = 0; i < extractor_known_count(extractor); i++) {
		const char *name = definition_set_preset_name(pipeline->presets, extractor_known_at(extractor, i));
		if (name && signature_reads_saves(pipeline->signatures, span_from(name)))
			return true;
	}
	return false;
}

/* Would a save be seen? */
static bool has_known_format(const struct look *look)
{
	bool is_known = false;
	struct stream_state *stream;

	for (size_t i = 0; (stream = job_stream_at(look->job, i)) && !is_known; i++) {
		if (stream_is_system(span_from(stream->name)))
			continue;
		pthread_mutex_lock(&stream->mutex);
		is_known = stream->extractor && reads_saves(look->pipeline, stream->extractor);
		pthread_mutex_unlock(&stream->mutex);
	}
	return is_known;
}

/* As long as it was in Training; of what lies between two of them nothing could be saved. */
static enum status find_trained(const struct look *look, int64_t now_ms, int64_t *out, struct error *err)
{
	struct transition_row *rows;
	size_t count;

	*out = 0;
	TRY(store_read_transitions(look->reader, look->arena, look->job->job_id, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		int64_t end_ms = rows[i].end_ms ? rows[i].end_ms : now_ms;
		if (span_equal(rows[i].status, SPAN("Training")) && end_ms > rows[i].start_ms)
			*out += end_ms - rows[i].start_ms;
	}
	return OK;
}

static enum status open_never(const struct look *look, int64_t step, int64_t trained_ms, struct error *err)
{
	static const char facts[] =
		"\"never\":true,\"unit\":\"s\",\"title\":\"CheckpointConfig is there, and the log tells of no checkpoint so far\","
		"\"action\":\"See whether the program saves at all, and into CheckpointConfig.LocalPath (/opt/ml/checkpoints): until it "
		"does, a failure loses everything.\"";
	struct job_incident note = {.pipeline = look->pipeline, .job = look->job};
	double trained_s = (double)trained_ms / 1000;

	note.row.facts = span_from(facts);
	note.row.detail = SPAN("s");
	note.row.incident = (struct incident){.kind = INCIDENT_CHECKPOINT_OVERDUE,
		.severity = SEVERITY_INFO,
		.state = INCIDENT_OPEN,
		.opened_ordinal = NEVER_ORDINAL, /* one a job */
		.opened_step = step,
		.last_step = step,
		.opened_ms = clock_wall_ms(),
		.value = trained_s,
		.expected = (double)FIRST_SAVE_MS / 1000,
		.score = trained_s * 1000 / FIRST_SAVE_MS,
		.worst = trained_s,
		.worst_step = step};
	return job_incident_put(&note, err);
}

/* Of a job that trains now, by what its lines show: what is imported, or silent, saves nothing any more. */
static enum status look_for_first(const struct look *look, struct error *err)
{
	AUTO(json) document = NULL;
	int64_t step, newest_ms, trained_ms;

	if (look->row.ended_ms || !span_equal(look->row.secondary, SPAN("Training")) || !look->pipeline->signatures)
		return OK;
	TRY(json_parse(&document, look->row.document, err));
	find_now(look->job, &step, &newest_ms);
	if (!wants_checkpoints(document) || newest_ms < clock_wall_ms() - HISTORIC_MS || !has_known_format(look))
		return OK;
	TRY(find_trained(look, newest_ms, &trained_ms, err));
	return trained_ms < FIRST_SAVE_MS ? OK : open_never(look, step, trained_ms, err);
}

static enum status look_at_checkpoints(const struct look *look, struct error *err)
{
	struct checkpoint_row *rows;
	struct incident_row *open;
	struct overdue overdue;
	int64_t step, now_ms;
	size_t count;

	TRY(job_incident_find_open(
		look->reader, look->arena, look->job->job_id, INCIDENT_CHECKPOINT_OVERDUE, &open, err));
	TRY(checkpoints_read(look->reader, look->arena, look->job->job_id, INT64_MAX, GAPS + 1, &rows, &count, err));
	if (!count && !open)
		return look_for_first(look, err);
	if (!count && !look->row.ended_ms) {
		look->job->is_due = true;
		return OK; /* of the first one there is no news yet */
	}
	if (count < 3 && !open)
		return OK;
	find_now(look->job, &step, &now_ms);
	bool is_overdue = !look->row.ended_ms && count >= 3 &&
			  (!open || open->incident.opened_ordinal != NEVER_ORDINAL) &&
			  overdue_is_checkpoint(rows, count, step, now_ms, &overdue);
	look->job->is_due = look->job->is_due || open;
	if (open)
		return is_overdue ? OK : job_incident_end(look->pipeline, look->job, open, err);
	return is_overdue ? open_overdue(look, &rows[0], &overdue, step, now_ms, err) : OK;
}

static enum status look_at(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct look look = {pipeline, reader, arena, job, {0}};
	int64_t touched_ms = atomic_load(&job->touched_ms);

	if (!arena)
		return error_no_memory(err);
	if (touched_ms == job->looked_ms && !job->is_due)
		return OK; /* nothing has come since, and nothing is to be ended */
	job->is_due = false;
	TRY(store_read_job_by_id(reader, arena, job->job_id, &look.row, err));
	TRY(look_at_deadline(&look, err));
	TRY(look_at_checkpoints(&look, err));
	if (clock_wall_ms() - touched_ms > SETTLED_MS) /* what came is extracted by now */
		job->looked_ms = touched_ms;
	return OK;
}

void overdue_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "due_failed", look_at);
}
