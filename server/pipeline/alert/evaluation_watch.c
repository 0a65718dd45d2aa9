#include "pipeline/alert/evaluation_watch.h"

#include "base/hash128.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "model/incident.h"
#include "model/jobs/evaluation_judge.h"
#include "pipeline/alert/job_incident.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/evaluations.h"
#include "store/jobs.h"

#include <stdlib.h>

enum {
	FACTS_BYTES = 16 << 10,
	SCORES_READ = 1000000, /* of one job: what --max-evaluations allows at most */
	KNOWN_MOST = 10000, /* incidents of this kind, of one job */
	TOLD_MOST = 100, /* at once */
	JUDGED_MOST = 32 /* jobs in one round */
};

static const double errors_told = 1, errors_warned = 2;

/* ---- which falls there are ---- */

/* Of a score that a later checkpoint has, a fall is no news; those of tasks below a group that has a score of its own are the group's. */
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
		if (!(*out)[i].now->is_part && (*out)[i].is_newest)
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

static enum status open_incident(
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
	note.row.incident =
		job_incident_since(INCIDENT_EVALUATION_FELL, now->step, at_ms, now->value, fall->before->value);
	note.row.incident.opened_ordinal = key_of(fall);
	note.row.incident.spread = fall->error;
	note.row.incident.score = score;
	if (fall->error > 0 && score <= errors_warned)
		note.row.incident.severity = SEVERITY_INFO;
	return job_incident_put(&note, err);
}

/* ---- what is told ---- */

/* What a look found of a job, and what is known of it. */
struct looking {
	struct pipeline *pipeline;
	struct job_state *job;
	const struct evaluation_regression *falls;
	uint64_t *keys; /* of the falls, ascending */
	size_t count;
	const struct incident_row *known;
	uint64_t *known_keys; /* ascending */
	size_t known_count;
	bool has_more; /* falls that were not told yet */
};

static int by_key(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static bool is_among(const uint64_t *keys, size_t count, uint64_t key)
{
	return count && bsearch(&key, keys, count, sizeof *keys, by_key);
}

static enum status sort_keys(struct looking *looking, struct arena *arena, struct error *err)
{
	looking->keys = arena_alloc(arena, (looking->count + 1) * sizeof *looking->keys);
	looking->known_keys = arena_alloc(arena, (looking->known_count + 1) * sizeof *looking->known_keys);
	if (!looking->keys || !looking->known_keys)
		return error_no_memory(err);
	for (size_t i = 0; i < looking->count; i++)
		looking->keys[i] = key_of(&looking->falls[i]);
	for (size_t i = 0; i < looking->known_count; i++)
		looking->known_keys[i] = looking->known[i].incident.opened_ordinal;
	if (looking->count)
		qsort(looking->keys, looking->count, sizeof *looking->keys, by_key);
	if (looking->known_count)
		qsort(looking->known_keys, looking->known_count, sizeof *looking->known_keys, by_key);
	return OK;
}

static enum status tell(struct looking *looking, struct error *err)
{
	size_t told = 0;

	for (size_t i = 0; i < looking->known_count; i++) {
		const struct incident *incident = &looking->known[i].incident;
		if (incident->state == INCIDENT_OPEN &&
			!is_among(looking->keys, looking->count, incident->opened_ordinal))
			TRY(job_incident_end(looking->pipeline, looking->job, &looking->known[i], err));
	}
	for (size_t i = 0; i < looking->count && !looking->has_more; i++) {
		if (is_among(looking->known_keys, looking->known_count, key_of(&looking->falls[i])))
			continue;
		if ((looking->has_more = told++ == TOLD_MOST))
			break; /* the others at the next look */
		TRY(open_incident(looking->pipeline, looking->job, &looking->falls[i], err));
	}
	return OK;
}

/* ---- looks ---- */

static enum status look(struct looking *looking, struct store_reader *reader, struct arena *arena, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = looking->job->job_id,
		.state = -1,
		.kind = INCIDENT_EVALUATION_FELL,
		.cursor = SPAN(""),
		.limit = KNOWN_MOST};
	struct evaluation_regression *falls;
	struct incident_row *known;
	struct span cursor;

	TRY(find_falls(reader, arena, filter.job_id, &falls, &looking->count, err));
	TRY(store_read_incidents(reader, arena, &filter, &known, &looking->known_count, &cursor, err));
	looking->falls = falls;
	looking->known = known;
	TRY(sort_keys(looking, arena, err));
	return tell(looking, err);
}

static enum status end_mark(void *context, struct store_tx *tx, struct error *err)
{
	return store_end_evaluation_mark(tx, context, err);
}

/* The job as it is in RAM; what is over for long is not there, and needs none but to be told of. */
static struct job_state *find_job(struct pipeline *pipeline, const struct job_row *row)
{
	struct job_state *job = directory_find(pipeline->directory, row->name);

	if (job && job->job_id == row->job_id)
		return job;
	job_unref(job);
	return job_state_new(row);
}

static enum status judge(
	struct pipeline *pipeline, struct store_reader *reader, struct evaluation_mark *mark, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_job_by_id(reader, arena, mark->job_id, &row, err));
	AUTO(job_state) job = find_job(pipeline, &row);
	struct looking looking = {.pipeline = pipeline, .job = job};
	if (!job)
		return error_no_memory(err);
	TRY(look(&looking, reader, arena, err));
	return looking.has_more ? OK : writer_execute(pipeline, end_mark, mark, err);
}

void evaluation_watch_run(struct pipeline *pipeline, struct store_reader *reader, int64_t *after_job_id)
{
	AUTO(arena) arena = arena_new();
	struct evaluation_mark *marks;
	struct error err;
	size_t count;

	if (!arena ||
		store_read_evaluation_marks(reader, arena, *after_job_id, JUDGED_MOST, &marks, &count, &err) != OK)
		return; /* the next round tries again */
	*after_job_id = count == JUDGED_MOST ? marks[count - 1].job_id : INT64_MIN;
	for (size_t i = 0; i < count; i++) {
		enum status status = judge(pipeline, reader, &marks[i], &err);
		if (status != OK && status != ERR_UNAVAILABLE && status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "evaluation_watch_failed", "job_id=%lld error=\"%s\"",
				(long long)marks[i].job_id, err.text);
	}
}
