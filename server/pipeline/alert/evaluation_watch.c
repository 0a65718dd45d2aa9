#include "pipeline/alert/evaluation_watch.h"

#include "base/clock.h"
#include "base/hash128.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "model/jobs/evaluation_judge.h"
#include "pipeline/alert/each_job.h"
#include "pipeline/alert/job_incident.h"
#include "state/pipeline_state.h"
#include "store/evaluations.h"

#include <stdatomic.h>

enum {
	FACTS_BYTES = 16 << 10,
	SCORES_READ = 1000000, /* of one job: what --max-evaluations allows at most */
	KNOWN_MOST = 10000, /* incidents of this kind, of one job */
	TOLD_MOST = 100 /* at once */
};

static const double errors_told = 1, errors_warned = 2;

/* ---- which falls there are ---- */

static bool is_same_score(const struct evaluation_score *a, const struct evaluation_score *b)
{
	return span_equal(a->task, b->task) && span_equal(a->metric, b->metric);
}

/* A later checkpoint has the score: what is of this one is known to whoever looks, and no news. */
static bool is_newest(
	const struct evaluation_checkpoint *checkpoints, size_t count, const struct evaluation_score *score)
{
	for (size_t i = count; i-- > 0;) {
		if (!checkpoints[i].has_step)
			continue;
		if (checkpoints[i].step <= score->step)
			return true;
		for (size_t j = 0; j < checkpoints[i].count; j++)
			if (is_same_score(checkpoints[i].scores[j], score))
				return false;
	}
	return true;
}

/* In the order that they were found in; those of tasks below a group that has a score of its own are the group's. */
static enum status find_falls(struct store_reader *reader, struct arena *arena, int64_t job_id,
	struct evaluation_regression **out, size_t *out_count, struct error *err)
{
	struct evaluation_checkpoint *checkpoints;
	struct evaluation_score *scores;
	size_t count, groups, found, unjudged;

	TRY(store_read_evaluations(reader, arena, job_id, NULL, SCORES_READ, &scores, &count, err));
	TRY(evaluation_group(scores, count, arena, &checkpoints, &groups, err));
	TRY(evaluation_find_regressions(checkpoints, groups, errors_told, arena, out, &found, &unjudged, err));
	*out_count = 0;
	for (size_t i = 0; i < found; i++)
		if (!(*out)[i].now->is_part && is_newest(checkpoints, groups, (*out)[i].now))
			(*out)[(*out_count)++] = (*out)[i];
	return OK;
}

/* ---- incidents ---- */

/* One a task, metric and checkpoint. */
static uint64_t key_of(const struct evaluation_regression *fall)
{
	struct hash128 hash = {0};
	int64_t step = fall->now->step;

	hash128_add(&hash, fall->now->task);
	hash128_add(&hash, fall->now->metric);
	hash128_add(&hash, span_of((const char *)&step, sizeof step));
	return hash.low & (uint64_t)INT64_MAX;
}

static enum status write_facts(const struct evaluation_regression *fall, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FACTS_BYTES);
	struct json_writer w = json_writer_on(&text);

	json_object(&w);
	json_put_span(&w, "task", fall->now->task);
	json_put_span(&w, "task_metric", fall->now->metric);
	if (fall->now->path.len)
		json_put_span(&w, "path", fall->now->path);
	json_put_i64(&w, "before_step", fall->before->step);
	json_object_end(&w);
	TRY(buf_status(&text, err));
	buf_append(out, text.ptr + 1, text.len - 2); /* its members alone */
	return buf_status(out, err);
}

static enum status open(
	struct pipeline *pipeline, struct job_state *job, const struct evaluation_regression *fall, struct error *err)
{
	struct job_incident note = {.pipeline = pipeline, .job = job};
	const struct evaluation_score *now = fall->now;
	int64_t at_ms = now->evaluated_ms ? now->evaluated_ms : now->received_ms;
	double score = fall->error > 0 ? fall->drop / fall->error : 0;
	AUTO_DONE(buf) facts = BUF_INIT(FACTS_BYTES);

	TRY(write_facts(fall, &facts, err));
	note.row.facts = buf_span(&facts);
	note.row.detail = SPAN("");
	note.row.incident = (struct incident){.kind = INCIDENT_EVALUATION_FELL,
		.severity = !fall->error || score > errors_warned ? SEVERITY_WARNING : SEVERITY_INFO,
		.state = INCIDENT_OPEN,
		.opened_ordinal = key_of(fall),
		.opened_ms = at_ms,
		.first_step = now->step,
		.last_step = now->step,
		.opened_step = now->step,
		.worst_step = now->step,
		.value = now->value,
		.worst = now->value,
		.expected = fall->before->value,
		.spread = fall->error,
		.score = score,
		.is_historic = at_ms < clock_wall_ms() - HISTORIC_MS};
	return job_incident_put(&note, err);
}

static const struct incident_row *find_known(const struct incident_row *rows, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].incident.opened_ordinal == key)
			return &rows[i];
	return NULL;
}

static bool is_among(const struct evaluation_regression *falls, size_t count, uint64_t key)
{
	for (size_t i = 0; i < count; i++)
		if (key_of(&falls[i]) == key)
			return true;
	return false;
}

static enum status tell(struct pipeline *pipeline, struct job_state *job, const struct evaluation_regression *falls,
	size_t count, const struct incident_row *known, size_t known_count, struct error *err)
{
	size_t told = 0, at = 0;

	for (size_t i = 0; i < known_count; i++)
		if (known[i].incident.state == INCIDENT_OPEN &&
			!is_among(falls, count, known[i].incident.opened_ordinal))
			TRY(job_incident_end(pipeline, job, &known[i], err));
	for (; at < count && told < TOLD_MOST; at++) {
		if (find_known(known, known_count, key_of(&falls[at])))
			continue;
		TRY(open(pipeline, job, &falls[at], err));
		told++;
	}
	if (at < count)
		atomic_store(&job->has_new_scores, true); /* the others at the next look */
	return OK;
}

/* ---- looks ---- */

static enum status look(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job->job_id,
		.state = -1,
		.kind = INCIDENT_EVALUATION_FELL,
		.cursor = SPAN(""),
		.limit = KNOWN_MOST};
	AUTO(arena) arena = arena_new();
	struct evaluation_regression *falls;
	struct incident_row *known;
	struct span cursor;
	size_t count, known_count;

	if (!arena)
		return error_no_memory(err);
	TRY(find_falls(reader, arena, job->job_id, &falls, &count, err));
	TRY(store_read_incidents(reader, arena, &filter, &known, &known_count, &cursor, err));
	return tell(pipeline, job, falls, count, known, known_count, err);
}

static enum status watch(
	struct pipeline *pipeline, struct store_reader *reader, struct job_state *job, struct error *err)
{
	if (!atomic_exchange(&job->has_new_scores, false))
		return OK;
	enum status status = look(pipeline, reader, job, err);
	if (status != OK)
		atomic_store(&job->has_new_scores, true);
	return status;
}

void evaluation_watch_mark(struct pipeline *pipeline, struct span name)
{
	AUTO(job_state) job = directory_find(pipeline->directory, name);

	if (job)
		atomic_store(&job->has_new_scores, true);
}

void evaluation_watch_run(struct pipeline *pipeline, struct store_reader *reader)
{
	each_job_look(pipeline, reader, "evaluation_watch_failed", watch);
}
