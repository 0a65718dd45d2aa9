/* Scores of a job's checkpoints: what suites found, which checkpoint is best, what fell. docs/evaluations.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/jobs/references.h"
#include "base/map.h"
#include "model/jobs/evaluation_judge.h"
#include "pipeline/jobs/evaluations.h"
#include "read/charts/evaluation_read.h"
#include "read/checkpoint_place.h"
#include "read/checkpoints.h"
#include "store/jobs.h"

#include <math.h>
#include <stdlib.h>

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 100000, REGRESSIONS_SHOWN = 1000, CHECKPOINTS_MAX = 65536 };

static const double errors_max = 1000;

struct shown {
	struct evaluation_checkpoint *checkpoints;
	size_t count;
	struct checkpoint_row *logged; /* by step; of one step those that can be used first, the newest first */
	size_t logged_count;
};

/* ---- one checkpoint ---- */

static void put_count(struct json_writer *w, const char *key, int64_t count)
{
	api_put_known(w, key, count < 0 ? NAN : (double)count);
}

static void put_step(struct json_writer *w, const char *key, bool has_step, int64_t step)
{
	json_key(w, key);
	if (has_step)
		json_i64(w, step);
	else
		json_null(w);
}

static void put_path(struct json_writer *w, struct span path)
{
	json_key(w, "path");
	if (path.len)
		json_span(w, path);
	else
		json_null(w);
}

struct name {
	char text[2 * EVALUATION_NAME_BYTES + 1];
	size_t len;
};

static struct name name_of(struct span task, struct span metric)
{
	struct name name = {.len = task.len + 1 + metric.len};

	memcpy(name.text, task.ptr, task.len);
	name.text[task.len] = '/';
	memcpy(name.text + task.len + 1, metric.ptr, metric.len);
	return name;
}

static void key_of(struct json_writer *w, struct span task, struct span metric)
{
	struct name name = name_of(task, metric);

	json_key_span(w, span_of(name.text, name.len));
}

static void write_details(struct json_writer *w, const struct evaluation_score *score)
{
	key_of(w, score->task, score->metric);
	json_object(w);
	api_put_known(w, "stderr", score->error < 0 ? NAN : score->error);
	put_count(w, "n", score->samples);
	put_count(w, "shots", score->shots);
	json_put_bool(w, "higher_is_better", !score->is_lower);
	json_put_text(w, "higher_is_better_from", evaluation_lower_from_names[score->lower_from]);
	if (score->is_part)
		json_put_bool(w, "part_of_group", true);
	if (score->suite.len)
		json_put_span(w, "suite", score->suite);
	if (score->series.len) {
		json_put_span(w, "series", score->series);
		json_put_span(w, "stream", score->stream);
	}
	json_object_end(w);
}

/* Of each task once: its metrics are of the same samples. What is below a group is in the group's, where that says how many. */
static int64_t sum_samples(const struct evaluation_checkpoint *checkpoint)
{
	int64_t sum = -1;
	const struct evaluation_score *last = NULL;

	for (size_t i = 0; i < checkpoint->count; i++) {
		const struct evaluation_score *score = checkpoint->scores[i];
		bool is_counted = last && span_equal(last->task, score->task);
		if (is_counted || score->samples < 0 || score->is_part)
			continue;
		sum = (sum < 0 ? 0 : sum) + score->samples;
		last = score;
	}
	return sum;
}

static int by_step(const void *a, const void *b)
{
	const struct checkpoint_row *left = a, *right = b;

	if (left->step != right->step)
		return left->step < right->step ? -1 : 1;
	if (left->is_denied != right->is_denied)
		return left->is_denied ? 1 : -1;
	return (left->attempt < right->attempt) - (left->attempt > right->attempt);
}

static int by_number(const void *a, const void *b)
{
	const int64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* NULL: nobody tells of it. */
static const struct checkpoint_row *find_logged(
	const struct shown *shown, const struct evaluation_checkpoint *checkpoint)
{
	size_t low = 0, high = shown->logged_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (shown->logged[middle].step < checkpoint->step)
			low = middle + 1;
		else
			high = middle;
	}
	bool is_it = checkpoint->has_step && low < shown->logged_count && shown->logged[low].step == checkpoint->step;
	return is_it ? &shown->logged[low] : NULL;
}

/* Where the log tells of it; null: it does not. */
static void write_logged(
	struct json_writer *w, const struct shown *shown, const struct evaluation_checkpoint *checkpoint)
{
	const struct checkpoint_row *logged = find_logged(shown, checkpoint);

	json_key(w, "checkpoint");
	if (!logged) {
		json_null(w);
		return;
	}
	json_object(w);
	checkpoint_write_place(w, logged);
	json_object_end(w);
}

/* Somebody says that nothing can go on from it: none to choose. */
static bool is_lost(const struct shown *shown, const struct evaluation_checkpoint *checkpoint)
{
	const struct checkpoint_row *logged = find_logged(shown, checkpoint);

	return logged && logged->is_denied;
}

static const struct evaluation_score *newest_of(const struct evaluation_checkpoint *checkpoint)
{
	const struct evaluation_score *newest = checkpoint->scores[0];

	for (size_t i = 1; i < checkpoint->count; i++) {
		const struct evaluation_score *score = checkpoint->scores[i];
		bool is_sent = !score->series.len, was_sent = !newest->series.len;
		if (is_sent != was_sent ? is_sent : score->received_ms > newest->received_ms)
			newest = score;
	}
	return newest;
}

static void write_checkpoint(
	struct json_writer *w, const struct shown *shown, const struct evaluation_checkpoint *checkpoint)
{
	const struct evaluation_score *newest = newest_of(checkpoint);

	json_object(w);
	put_step(w, "step", checkpoint->has_step, checkpoint->step);
	json_key(w, "step_from");
	if (checkpoint->has_step)
		json_text(w, evaluation_step_from_names[newest->step_from]);
	else
		json_null(w);
	put_path(w, checkpoint->path);
	write_logged(w, shown, checkpoint);
	json_key(w, "scores");
	json_object(w);
	for (size_t i = 0; i < checkpoint->count; i++) {
		key_of(w, checkpoint->scores[i]->task, checkpoint->scores[i]->metric);
		json_double(w, checkpoint->scores[i]->value);
	}
	json_object_end(w);
	put_count(w, "n", sum_samples(checkpoint));
	json_key(w, "details");
	json_object(w);
	for (size_t i = 0; i < checkpoint->count; i++)
		write_details(w, checkpoint->scores[i]);
	json_object_end(w);
	put_count(w, "evaluated_ms", newest->evaluated_ms ? newest->evaluated_ms : -1);
	json_put_i64(w, "received_ms", newest->received_ms);
	json_put_span(w, "author", newest->author);
	json_object_end(w);
}

static void write_checkpoints(struct json_writer *w, const struct shown *shown, size_t limit)
{
	size_t first = shown->count > limit ? shown->count - limit : 0;

	json_key(w, "checkpoints");
	json_array(w);
	for (size_t i = first; i < shown->count; i++)
		write_checkpoint(w, shown, &shown->checkpoints[i]);
	json_array_end(w);
	json_put_i64(w, "total", (int64_t)shown->count);
}

/* ---- the best, and what fell ---- */

static void write_rule(struct json_writer *w, const struct evaluation_weight *weights, size_t count)
{
	json_key(w, "weights");
	json_object(w);
	for (size_t i = 0; i < count; i++) {
		key_of(w, weights[i].task, weights[i].metric);
		json_double(w, weights[i].weight);
	}
	json_object_end(w);
}

static void write_best_of(
	struct json_writer *w, const struct shown *shown, const struct evaluation_weight *weights, size_t count)
{
	const struct evaluation_checkpoint *best = NULL;
	double most = NAN;
	int64_t compared = 0, lost = 0;

	for (size_t i = 0; i < shown->count; i++) {
		double value = evaluation_weighted(&shown->checkpoints[i], weights, count);
		if (isnan(value))
			continue;
		bool is_gone = is_lost(shown, &shown->checkpoints[i]);
		lost += is_gone;
		compared += !is_gone;
		if (is_gone || (best && value <= most))
			continue;
		best = &shown->checkpoints[i];
		most = value;
	}
	json_key(w, "best");
	if (!best) {
		json_null(w);
		if (shown->count)
			json_put_text(w, "best_why",
				lost    ? "somebody says of all that have the scores that nothing can go on from them"
				: count ? "no checkpoint has all scores that the rule weighs"
					: "no score is known of all checkpoints: weights= says which count");
		return;
	}
	json_object(w);
	put_step(w, "step", best->has_step, best->step);
	put_path(w, best->path);
	json_put_double(w, "value", most);
	write_rule(w, weights, count);
	json_put_i64(w, "compared", compared);
	json_object_end(w);
}

static enum status write_best(struct json_writer *w, const struct http_request *request, const struct shown *shown,
	struct arena *arena, struct error *err)
{
	struct evaluation_weight *weights;
	struct span text;
	size_t count;

	if (http_request_query(request, "weights", &text))
		TRY(evaluation_read_weights(text, arena, &weights, &count, err));
	else
		TRY(evaluation_usual_weights(shown->checkpoints, shown->count, arena, &weights, &count, err));
	write_best_of(w, shown, weights, count);
	return OK;
}

static void write_regression(struct json_writer *w, const struct evaluation_regression *fall)
{
	json_object(w);
	json_put_i64(w, "step", fall->now->step);
	put_path(w, fall->now->path);
	json_put_span(w, "task", fall->now->task);
	json_put_span(w, "metric", fall->now->metric);
	json_put_double(w, "value", fall->now->value);
	json_put_i64(w, "before_step", fall->before->step);
	json_put_double(w, "before", fall->before->value);
	json_put_double(w, "drop", fall->drop);
	json_put_double(w, "stderr", fall->error);
	api_put_known(w, "errors", fall->error > 0 ? fall->drop / fall->error : NAN);
	json_object_end(w);
}

static enum status write_regressions(struct json_writer *w, const struct http_request *request,
	const struct shown *shown, struct arena *arena, struct error *err)
{
	struct evaluation_regression *found;
	size_t count, unjudged;
	struct span text;
	double errors = 1;

	if (http_request_query(request, "errors", &text) &&
		(!span_parse_double(text, &errors) || !(errors >= 0 && errors <= errors_max)))
		return error_set_field(err, ERR_INVALID, "errors", "errors=%.*s is no number from 0 to %g",
			SPAN_ARGS(span_cut(text, 60)), errors_max);
	TRY(evaluation_find_regressions(
		shown->checkpoints, shown->count, errors, arena, &found, &count, &unjudged, err));
	json_key(w, "regressions");
	json_array(w);
	for (size_t i = count > REGRESSIONS_SHOWN ? count - REGRESSIONS_SHOWN : 0; i < count; i++)
		write_regression(w, &found[i]);
	json_array_end(w);
	json_put_i64(w, "regressions_total", (int64_t)count);
	json_put_i64(w, "without_stderr", (int64_t)unjudged);
	return OK;
}

/* Of which checkpoints something is known. */
static enum status find_steps(const struct shown *shown, const struct evaluation_score *scores, size_t count,
	struct arena *arena, int64_t **out, size_t *out_count, struct error *err)
{
	int64_t *steps = arena_alloc(arena, (count + shown->logged_count + 1) * sizeof *steps);

	if (!steps)
		return error_no_memory(err);
	*out_count = 0;
	for (size_t i = 0; i < count; i++)
		if (scores[i].has_step)
			steps[(*out_count)++] = scores[i].step;
	for (size_t i = 0; i < shown->logged_count; i++)
		steps[(*out_count)++] = shown->logged[i].step;
	if (*out_count)
		qsort(steps, *out_count, sizeof *steps, by_number);
	*out = steps;
	return OK;
}

/* What was sent or printed as a table, and what the trainer printed of the same checkpoints. */
static enum status read_scores(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, const struct shown *shown, struct evaluation_score **out, size_t *out_count,
	struct error *err)
{
	struct evaluation_score *sent, *printed, *all;
	size_t sent_count, printed_count, step_count;
	int64_t *steps;

	TRY(store_read_evaluations(
		reader, arena, job->job_id, NULL, (size_t)api->options.max_evaluations, &sent, &sent_count, err));
	TRY(find_steps(shown, sent, sent_count, arena, &steps, &step_count, err));
	TRY(evaluation_read_printed(
		api->options.pipeline, reader, arena, job->name, steps, step_count, &printed, &printed_count, err));
	*out_count = sent_count + printed_count;
	if (!(*out = all = arena_alloc(arena, (*out_count + 1) * sizeof *all)))
		return error_no_memory(err);
	for (size_t i = 0; i < *out_count; i++)
		all[i] = i < sent_count ? sent[i] : printed[i - sent_count];
	if (printed_count)
		evaluation_sort(all, *out_count);
	return OK;
}

static enum status read_shown(struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, struct shown *shown, struct error *err)
{
	struct evaluation_score *scores;
	size_t count;

	TRY(checkpoints_read_all(
		reader, arena, job->job_id, INT64_MAX, CHECKPOINTS_MAX, &shown->logged, &shown->logged_count, err));
	if (shown->logged_count)
		qsort(shown->logged, shown->logged_count, sizeof *shown->logged, by_step);
	TRY(read_scores(api, reader, arena, job, shown, &scores, &count, err));
	return evaluation_group(scores, count, arena, &shown->checkpoints, &shown->count, err);
}

/* Those of scores that the job has. */
static enum status write_references(struct json_writer *w, struct api *api, struct store_reader *reader,
	struct arena *arena, const struct shown *shown, struct error *err)
{
	AUTO(map) names = map_new();

	if (!names)
		return error_no_memory(err);
	for (size_t i = 0; i < shown->count; i++)
		for (size_t j = 0; j < shown->checkpoints[i].count; j++) {
			const struct evaluation_score *score = shown->checkpoints[i].scores[j];
			struct name name = name_of(score->task, score->metric);
			if (!map_put(names, span_of(name.text, name.len), (void *)score))
				return error_no_memory(err);
		}
	return api_put_references(api, reader, arena, names, w, err);
}

enum status api_evaluations_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct shown shown = {0};
	struct job_row job;
	size_t limit;

	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(read_shown(context, reader, arena, &job, &shown, err));
	json_object(&w);
	write_checkpoints(&w, &shown, limit);
	TRY(write_best(&w, request, &shown, arena, err));
	TRY(write_regressions(&w, request, &shown, arena, err));
	TRY(write_references(&w, context, reader, arena, &shown, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- changes ---- */

static enum status read_stated(const struct http_request *request, struct evaluation_stated *out, struct error *err)
{
	*out = (struct evaluation_stated){-1, SPAN("")};
	if (!http_request_query(request, "path", &out->path))
		out->path = SPAN("");
	return http_query_i64(request, "step", 0, (int64_t)1 << 53, &out->step, err);
}

static enum status read_body(struct api *api, const struct http_request *request, struct json **out, struct error *err)
{
	struct span body = http_request_body(request);
	AUTO_DONE(buf) mended = BUF_INIT(2 * (api->options.max_evaluation_bytes + 1));

	if (body.len > api->options.max_evaluation_bytes)
		return error_set(err, ERR_TOO_LARGE,
			"the evaluation has %zu bytes, more than %zu (--max-evaluation-bytes)", body.len,
			api->options.max_evaluation_bytes);
	if (!span_trim(body).len)
		return error_set(err, ERR_INVALID, "the body is empty; a JSON object is expected");
	evaluation_mend_json(body, &mended);
	TRY(buf_status(&mended, err));
	return json_parse(out, buf_span(&mended), err);
}

static void write_taken(struct json_writer *w, const struct evaluation *document)
{
	size_t shown =
		document->skipped_count > EVALUATION_SKIPPED_SHOWN ? EVALUATION_SKIPPED_SHOWN : document->skipped_count;

	json_object(w);
	put_step(w, "step", document->like.has_step, document->like.step);
	json_key(w, "step_from");
	if (document->like.has_step)
		json_text(w, evaluation_step_from_names[document->like.step_from]);
	else
		json_null(w);
	put_path(w, document->like.path);
	json_put_i64(w, "scores", (int64_t)document->count);
	json_put_i64(w, "skipped_count", (int64_t)document->skipped_count);
	json_key(w, "skipped");
	json_array(w);
	for (size_t i = 0; i < shown; i++) {
		json_object(w);
		json_put_span(w, "task", document->skipped[i].task);
		json_put_span(w, "metric", document->skipped[i].metric);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

enum status api_evaluations_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct evaluation_stated stated;
	struct evaluation document;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(read_stated(request, &stated, err));
	TRY(read_body(api, request, &body, err));
	TRY(evaluation_read(&document, body, &stated, arena, err));
	for (size_t i = 0; i < document.count; i++) {
		document.scores[i].received_ms = http_request_arrival_ms(request);
		document.scores[i].author = span_from(http_request_principal(request)->name);
	}
	struct evaluation_change change = {.job = http_request_segment(request, 0),
		.team = api_team(request),
		.document = &document,
		.most = api->options.max_evaluations};
	TRY(pipeline_change_evaluations(api->options.pipeline, arena, &change, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	write_taken(&w, &document);
	return buf_status(&response->body, err);
}

enum status api_evaluations_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct evaluation_change change = {.job = http_request_segment(request, 0), .team = api_team(request)};
	struct evaluation_stated stated;
	AUTO(arena) arena = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	TRY(read_stated(request, &stated, err));
	if (stated.step < 0 && !stated.path.len)
		return error_set_field(err, ERR_SEMANTIC, "step",
			"step= and path= say which checkpoint's scores go: both, as it has them");
	change.checkpoint = (struct evaluation_score){
		.has_step = stated.step >= 0, .step = stated.step < 0 ? 0 : stated.step, .path = stated.path};
	TRY(pipeline_change_evaluations(api->options.pipeline, arena, &change, err));
	if (!change.deleted)
		return error_set(err, ERR_NOT_FOUND, "the job has no scores of a checkpoint with this step and path");
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_i64(&w, "deleted", (int64_t)change.deleted);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
