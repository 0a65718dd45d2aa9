#include "read/leaders.h"

#include "base/alloc.h"
#include "base/map.h"
#include "read/checkpoints.h"
#include "store/evaluations.h"
#include "store/jobs.h"
#include "store/run.h"
#include "store/search.h"

#include <math.h>
#include <stdlib.h>

enum { JOBS_MAX = 10000, MATCHED_AT_ONCE = 200, SCORES_READ = 1000000, KNOWN_MAX = 10000 };

struct board {
	struct store_reader *reader;
	struct arena *arena;
	struct job_row *jobs; /* that the query finds, newest first */
	size_t job_count;
	enum leaders_by by;
	struct leaders *out;
	size_t cap; /* of out->rows */
	struct map *known; /* name -> struct score_count */
};

/* ---- which jobs ---- */

static enum status keep_matching(struct board *board, const struct query_node *query, const struct job_row *rows,
	size_t count, struct error *err)
{
	bool matches[MATCHED_AT_ONCE];

	for (size_t i = 0; i < count; i++)
		matches[i] = true;
	if (query)
		TRY(store_match_jobs(board->reader, board->arena, query, NULL, rows, count, matches, err));
	for (size_t i = 0; i < count; i++)
		if (matches[i])
			board->jobs[board->job_count++] = rows[i];
	return OK;
}

/* Of a job its number and name: documents would be much. *is_there: it was not deleted. */
static enum status read_name(
	struct board *board, int64_t job_id, struct job_row *out, bool *is_there, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct job_row row;

	if (!own)
		return error_no_memory(err);
	enum status status = store_read_job_by_id(board->reader, own, job_id, &row, err);
	*is_there = status == OK;
	if (status != OK)
		return status == ERR_NOT_FOUND ? OK : status;
	*out = (struct job_row){.job_id = job_id, .name = arena_copy(board->arena, row.name)};
	return out->name.ptr ? OK : error_no_memory(err);
}

static enum status find_jobs(struct board *board, const struct query_node *query, struct error *err)
{
	struct job_row *rows;
	size_t count, used = 0;
	int64_t *ids;

	TRY(store_list_evaluated_jobs(board->reader, board->arena, JOBS_MAX + 1, &ids, &count, err));
	board->out->is_partial = count > JOBS_MAX;
	count -= board->out->is_partial;
	rows = arena_alloc(board->arena, (count + 1) * sizeof *rows);
	board->jobs = arena_alloc(board->arena, (count + 1) * sizeof *board->jobs);
	if (!rows || !board->jobs)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		bool is_there;
		TRY(read_name(board, ids[i], &rows[used], &is_there, err));
		used += is_there;
	}
	for (size_t i = 0; i < used; i += MATCHED_AT_ONCE)
		TRY(keep_matching(
			board, query, rows + i, used - i < MATCHED_AT_ONCE ? used - i : MATCHED_AT_ONCE, err));
	return OK;
}

/* ---- which scores there are ---- */

static enum status count_name(struct board *board, struct span name, struct error *err)
{
	struct score_count *known = map_get(board->known, name);

	if (!known) {
		if (map_count(board->known) == KNOWN_MAX)
			return OK;
		known = arena_alloc(board->arena, sizeof *known);
		if (!known || !(known->name = arena_copy(board->arena, name)).ptr ||
			!map_put(board->known, name, known))
			return error_no_memory(err);
		known->jobs = 0;
	}
	known->jobs++;
	return OK;
}

static int by_name(const void *a, const void *b)
{
	const struct evaluation_score *left = a, *right = b;
	int order = span_compare(left->task, right->task);

	return order ? order : span_compare(left->metric, right->metric);
}

/* Each of the job's once, whatever its checkpoints. */
static enum status count_names(struct board *board, struct evaluation_score *scores, size_t count, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(2 * EVALUATION_NAME_BYTES + 2);

	if (count)
		qsort(scores, count, sizeof *scores, by_name);
	for (size_t i = 0; i < count; i++) {
		if (i && !by_name(&scores[i - 1], &scores[i]))
			continue;
		buf_reset(&name);
		buf_append_span(&name, scores[i].task);
		buf_append_char(&name, '/');
		buf_append_span(&name, scores[i].metric);
		TRY(buf_status(&name, err));
		TRY(count_name(board, buf_span(&name), err));
	}
	return OK;
}

static int by_known_name(const void *a, const void *b)
{
	return span_compare(((const struct score_count *)a)->name, ((const struct score_count *)b)->name);
}

static enum status list_known(struct board *board, struct error *err)
{
	struct leaders *out = board->out;
	void *value;

	out->known = arena_alloc(board->arena, (map_count(board->known) + 1) * sizeof *out->known);
	if (!out->known)
		return error_no_memory(err);
	for (size_t at = 0; map_next(board->known, &at, NULL, &value);)
		out->known[out->known_count++] = *(struct score_count *)value;
	if (out->known_count)
		qsort(out->known, out->known_count, sizeof *out->known, by_known_name);
	return OK;
}

/* The score that most jobs have; of several the first by its name. */
static enum status choose_usual(struct board *board, struct error *err)
{
	struct leaders *out = board->out;
	const struct score_count *most = NULL;
	struct evaluation_weight *weights;

	for (size_t i = 0; i < out->known_count; i++)
		if (!most || out->known[i].jobs > most->jobs)
			most = &out->known[i];
	if (!most)
		return OK;
	TRY(evaluation_read_weights_of(most->name, board->arena, &weights, err));
	out->weights = weights;
	out->weight_count = 1;
	return OK;
}

/* ---- rows ---- */

static enum status add_row(
	struct board *board, const struct leader *row, const struct evaluation_checkpoint *of, struct error *err)
{
	struct leaders *out = board->out;

	if (out->count == board->cap) {
		size_t cap = board->cap ? 2 * board->cap : 256;
		struct leader *rows = arena_alloc(board->arena, cap * sizeof *rows);
		if (!rows)
			return error_no_memory(err);
		if (out->count)
			memcpy(rows, out->rows, out->count * sizeof *rows);
		out->rows = rows;
		board->cap = cap;
	}
	double *scores = arena_alloc(board->arena, out->weight_count * sizeof *scores);
	struct leader *put = &out->rows[out->count];
	*put = *row;
	put->scores = scores;
	put->path = arena_copy(board->arena, row->path);
	if (!scores || !put->path.ptr)
		return error_no_memory(err);
	for (size_t i = 0; i < out->weight_count; i++) {
		const struct evaluation_score *score =
			evaluation_find_score(of, out->weights[i].task, out->weights[i].metric);
		scores[i] = score->value;
		put->error = out->weight_count == 1 ? score->error : -1;
		put->evaluated_ms = score->evaluated_ms;
	}
	out->count++;
	return OK;
}

static struct leader row_of(const struct job_row *job, const struct evaluation_checkpoint *checkpoint, double value)
{
	return (struct leader){.job = job->name,
		.run = SPAN(""),
		.has_step = checkpoint->has_step,
		.step = checkpoint->step,
		.path = checkpoint->path,
		.value = value,
		.jobs = 1,
		.compared = 1};
}

static bool is_among(const int64_t *steps, size_t count, const struct evaluation_checkpoint *checkpoint)
{
	for (size_t i = 0; i < count; i++)
		if (checkpoint->has_step && steps[i] == checkpoint->step)
			return true;
	return false;
}

/* Its best one, or each; but none of which somebody says that nothing can go on from it. */
static enum status rank_job(struct board *board, const struct job_row *job,
	const struct evaluation_checkpoint *checkpoints, size_t count, struct error *err)
{
	AUTO(arena) own = arena_new();
	const struct evaluation_checkpoint *best = NULL;
	struct leader row = {.compared = 0};
	size_t compared = 0, lost_count;
	int64_t *lost;

	if (!own)
		return error_no_memory(err);
	TRY(checkpoints_read_lost_steps(board->reader, own, job->job_id, &lost, &lost_count, err));
	for (size_t i = 0; i < count; i++) {
		double value = evaluation_weighted(&checkpoints[i], board->out->weights, board->out->weight_count);
		if (isnan(value) || is_among(lost, lost_count, &checkpoints[i]))
			continue;
		compared++;
		if (board->by != LEADERS_BY_CHECKPOINT && best && value <= row.value)
			continue;
		best = &checkpoints[i];
		row = row_of(job, best, value);
		if (board->by == LEADERS_BY_CHECKPOINT)
			TRY(add_row(board, &row, best, err));
	}
	if (!best || board->by == LEADERS_BY_CHECKPOINT)
		return OK;
	row.compared = compared;
	return add_row(board, &row, best, err);
}

static enum status look_at_job(
	struct board *board, const struct job_row *job, bool is_counted, bool is_ranked, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct evaluation_checkpoint *checkpoints;
	struct evaluation_score *scores;
	size_t count, groups;

	if (!own)
		return error_no_memory(err);
	TRY(store_read_evaluations(board->reader, own, job->job_id, NULL, SCORES_READ, &scores, &count, err));
	if (is_ranked) {
		TRY(evaluation_group(scores, count, own, &checkpoints, &groups, err));
		TRY(rank_job(board, job, checkpoints, groups, err));
	}
	return is_counted ? count_names(board, scores, count, err) : OK;
}

static enum status look_at_jobs(struct board *board, bool is_counted, bool is_ranked, struct error *err)
{
	for (size_t i = 0; i < board->job_count; i++)
		TRY(look_at_job(board, &board->jobs[i], is_counted, is_ranked, err));
	return OK;
}

/* ---- runs, and the order ---- */

static int by_value(const void *a, const void *b)
{
	const struct leader *left = a, *right = b;

	if (left->value != right->value)
		return left->value > right->value ? -1 : 1;
	int order = span_compare(left->job, right->job);
	return order ? order : (left->step > right->step) - (left->step < right->step);
}

static enum status find_run(struct board *board, struct leader *row, struct error *err)
{
	AUTO(arena) own = arena_new();
	struct run_link *links;
	size_t count, at;

	if (!own)
		return error_no_memory(err);
	TRY(store_read_run(board->reader, own, row->job, &links, &count, &at, err));
	row->run = arena_copy(board->arena, links[0].job);
	return row->run.ptr ? OK : error_no_memory(err);
}

/* In the order of their values, so the first of a run is its best one. */
static enum status join_runs(struct board *board, struct error *err)
{
	AUTO(map) runs = map_new();
	struct leaders *out = board->out;
	size_t used = 0;

	if (!runs)
		return error_no_memory(err);
	for (size_t i = 0; i < out->count; i++) {
		struct leader *row = &out->rows[i], *first;
		TRY(find_run(board, row, err));
		if ((first = map_get(runs, row->run))) {
			first->compared += row->compared;
			first->jobs++;
			continue;
		}
		out->rows[used] = *row;
		if (!map_put(runs, row->run, &out->rows[used++]))
			return error_no_memory(err);
	}
	out->count = used;
	return OK;
}

enum status leaders_read(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	const struct evaluation_weight *weights, size_t weight_count, enum leaders_by by, struct leaders *out,
	struct error *err)
{
	AUTO(map) known = map_new();
	struct board board = {.reader = reader, .arena = arena, .by = by, .out = out, .known = known};
	bool is_usual = weight_count == 0;

	*out = (struct leaders){.weights = weights, .weight_count = weight_count};
	if (!known)
		return error_no_memory(err);
	TRY(find_jobs(&board, query, err));
	TRY(look_at_jobs(&board, true, !is_usual, err));
	TRY(list_known(&board, err));
	if (is_usual) {
		TRY(choose_usual(&board, err));
		if (out->weight_count)
			TRY(look_at_jobs(&board, false, true, err));
	}
	if (out->count)
		qsort(out->rows, out->count, sizeof *out->rows, by_value);
	return by == LEADERS_BY_RUN ? join_runs(&board, err) : OK;
}
