#include "model/jobs/evaluation.h"

#include "base/map.h"
#include "model/json_form.h"

#include <math.h>
#include <stdio.h>

enum { SUITE_BYTES = 64, BELOW_MAX = 100000 /* tasks below groups, of one document */ };

static const int64_t largest = (int64_t)1 << 53, time_max_ms = (int64_t)1 << 45;
static const int64_t time_min_ms = 946684800000; /* 2000: before it lie seconds that were taken for milliseconds */

const char *const evaluation_step_from_names[EVALUATION_STEP_COUNT] = {NULL, "stated", "path", "log"};
const char *const evaluation_lower_from_names[EVALUATION_LOWER_COUNT] = {"assumed", "stated", "name"};

struct reading {
	struct evaluation *out;
	struct arena *arena;
	struct map *samples, *shots, *better, *parts, *groups; /* of lm-evaluation-harness, by task */
	struct span *waiting; /* room for all that is below groups */
	size_t below_count; /* tasks below groups that were looked at */
	int64_t group_samples; /* of the group that is read; -1: not known, or no group */
	double all_shots; /* of 0.3; NaN */
};

/* ---- names and numbers ---- */

static enum status take_name(
	struct arena *arena, struct span name, size_t most, const char *field, struct span *out, struct error *err)
{
	TRY(json_check_name(name, most, field, field, err));
	*out = arena_copy(arena, name);
	return out->ptr ? OK : error_no_memory(err);
}

/* A number that is there and can be one; else -1. */
static double number_or_unknown(const struct json *node)
{
	double value;

	return node && json_number_of(node, &value) && isfinite(value) && value >= 0 ? value : -1;
}

static int64_t count_or_unknown(const struct json *node)
{
	double value = number_or_unknown(node);

	return value >= 0 && value <= (double)largest && value == floor(value) ? (int64_t)value : -1;
}

static enum status want_count_of(
	const struct json *object, const char *key, int64_t most, int64_t *out, struct error *err)
{
	int64_t value = -1;

	TRY(json_want_i64(object, key, &value, err));
	if (value > most || (value < 0 && json_get(object, key) && json_kind(json_get(object, key)) != JSON_NULL))
		return error_set_field(err, ERR_SEMANTIC, key, "%s is %lld; it takes 0 to %lld", key, (long long)value,
			(long long)most);
	*out = value;
	return OK;
}

/* ---- scores ---- */

static enum status put_score(struct reading *r, const struct evaluation_score *score, struct error *err)
{
	struct evaluation_score *put = &r->out->scores[r->out->count];

	*put = *score;
	TRY(take_name(r->arena, score->task, EVALUATION_NAME_BYTES, "task", &put->task, err));
	TRY(take_name(r->arena, score->metric, EVALUATION_NAME_BYTES, "metric", &put->metric, err));
	r->out->count++;
	return OK;
}

static enum status skip_score(struct reading *r, struct span task, struct span metric, struct error *err)
{
	if (r->out->skipped_count++ >= EVALUATION_SKIPPED_SHOWN)
		return OK;
	struct evaluation_skipped *skipped = &r->out->skipped[r->out->skipped_count - 1];
	TRY(take_name(r->arena, task, EVALUATION_NAME_BYTES, "task", &skipped->task, err));
	return take_name(r->arena, metric, EVALUATION_NAME_BYTES, "metric", &skipped->metric, err);
}

static enum status make_room(struct reading *r, size_t count, const char *field, struct error *err)
{
	if (count > EVALUATION_SCORES_MAX)
		return error_set_field(err, ERR_TOO_LARGE, field,
			"the document has %zu scores, more than %d: send it in parts", count, EVALUATION_SCORES_MAX);
	r->out->scores = arena_alloc(r->arena, (count + 1) * sizeof *r->out->scores);
	return r->out->scores ? OK : error_no_memory(err);
}

/* ---- lm-evaluation-harness ---- */

/* "acc_stderr,none" is of "acc,none". */
static bool split_key(struct span key, struct span *metric, struct span *filter)
{
	ptrdiff_t comma = span_find_char(key, ',');

	*metric = comma < 0 ? key : span_of(key.ptr, (size_t)comma);
	*filter = comma < 0 ? SPAN("") : span_skip(key, (size_t)comma + 1);
	return !span_ends_with(*metric, SPAN("_stderr"));
}

static bool is_about(struct span key)
{
	static const char *const names[] = {"alias", "name", "samples", "sample_len", "sample_count"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return true;
	return !span_trim(key).len; /* " " of groups that have no score */
}

static bool is_score(const struct json *member)
{
	struct span metric, filter;

	return !is_about(json_key_of(member)) && split_key(json_key_of(member), &metric, &filter) && metric.len;
}

static double find_error(const struct json *task, struct span metric, struct span filter)
{
	char key[2 * EVALUATION_NAME_BYTES + 16];
	int len = snprintf(
		key, sizeof key, "%.*s_stderr%s%.*s", SPAN_ARGS(metric), filter.len ? "," : "", SPAN_ARGS(filter));

	return len > 0 && (size_t)len < sizeof key ? number_or_unknown(json_get(task, key)) : -1;
}

static void set_better(struct reading *r, const struct json *task, struct span metric, struct evaluation_score *score)
{
	const struct json *of_task = map_get(r->better, json_key_of(task)), *better = NULL;

	for (const struct json *at = json_first(of_task); at && !better; at = json_next(at))
		if (span_equal(json_key_of(at), metric))
			better = at;
	if (better && json_kind(better) == JSON_BOOL) {
		score->is_lower = !json_is_true(better);
		score->lower_from = EVALUATION_LOWER_STATED;
		return;
	}
	score->is_lower = evaluation_is_lower(metric);
	score->lower_from = score->is_lower ? EVALUATION_LOWER_NAME : EVALUATION_LOWER_ASSUMED;
}

static enum status index_by_key(const struct json *object, struct map **out, struct error *err)
{
	if (!(*out = map_new()))
		return error_no_memory(err);
	for (const struct json *at = json_first(object); at; at = json_next(at))
		if (json_key_of(at).len && !map_put(*out, json_key_of(at), (void *)at))
			return error_no_memory(err);
	return OK;
}

static bool is_group(const struct reading *r, struct span task)
{
	return json_first(map_get(r->groups, task)) != NULL;
}

/* Tasks and groups right below it that were not met before, behind those that wait. */
static enum status push_below(struct reading *r, struct span group, struct map *met, size_t *count, struct error *err)
{
	for (const struct json *at = json_first(map_get(r->groups, group)); at && r->below_count < BELOW_MAX;
		at = json_next(at)) {
		struct span task = json_string_of(at);
		r->below_count++;
		if (!task.len || map_get(met, task))
			continue;
		if (!map_put(met, task, (void *)at))
			return error_no_memory(err);
		r->waiting[(*count)++] = task;
	}
	return OK;
}

/* The harness says how many samples a task has, and nothing of groups: the sum of the tasks below, each once; -1: one does not say. */
static enum status sum_below(struct reading *r, struct span group, int64_t *out, struct error *err)
{
	AUTO(map) met = map_new();
	size_t count = 0;
	int64_t sum = 0;

	*out = -1;
	if (!met)
		return error_no_memory(err);
	TRY(push_below(r, group, met, &count, err));
	while (count) {
		struct span task = r->waiting[--count];
		if (is_group(r, task)) {
			TRY(push_below(r, task, met, &count, err));
			continue;
		}
		int64_t of_task = count_or_unknown(json_get(map_get(r->samples, task), "effective"));
		if (of_task < 0 || __builtin_add_overflow(sum, of_task, &sum))
			return OK;
	}
	if (r->below_count < BELOW_MAX)
		*out = sum;
	return OK;
}

static enum status index_groups(struct reading *r, const struct json *groups, struct error *err)
{
	size_t count = 0;

	TRY(index_by_key(groups, &r->groups, err));
	for (const struct json *group = json_first(groups); group; group = json_next(group))
		count += json_count(group);
	r->waiting = arena_alloc(r->arena, (count + 1) * sizeof *r->waiting);
	return r->waiting ? OK : error_no_memory(err);
}

static int64_t find_samples(struct reading *r, const struct json *task, const struct json *member)
{
	const struct json *of_task = map_get(r->samples, json_key_of(task)), *each = json_get(task, "sample_count");
	int64_t count = count_or_unknown(json_get(of_task, "effective"));

	for (const struct json *at = json_first(each); at && count < 0; at = json_next(at))
		if (span_equal(json_key_of(at), json_key_of(member)))
			count = count_or_unknown(at);
	if (count < 0)
		count = count_or_unknown(json_get(task, "sample_len"));
	return count < 0 ? count_or_unknown(json_get(task, "samples")) : count;
}

static enum status read_member(struct reading *r, const struct json *task, const struct json *member, struct error *err)
{
	struct evaluation_score score = r->out->like;
	struct span metric, filter;

	split_key(json_key_of(member), &metric, &filter);
	score.task = json_key_of(task);
	score.metric = span_equal(filter, SPAN("none")) ? metric : json_key_of(member);
	if (json_kind(member) != JSON_NUMBER || !json_number_of(member, &score.value) || !isfinite(score.value))
		return skip_score(r, score.task, score.metric, err);
	score.error = find_error(task, metric, filter);
	score.samples = find_samples(r, task, member);
	if (score.samples < 0)
		score.samples = r->group_samples;
	score.shots = count_or_unknown(map_get(r->shots, score.task));
	if (score.shots < 0 && !isnan(r->all_shots))
		score.shots = (int64_t)r->all_shots;
	score.is_part = map_get(r->parts, score.task) != NULL;
	set_better(r, task, metric, &score);
	return put_score(r, &score, err);
}

/* Tasks below a group that has a score. */
static enum status index_parts(
	struct reading *r, const struct json *document, const struct json *results, struct error *err)
{
	AUTO(map) scored = map_new();

	if (!scored || !(r->parts = map_new()))
		return error_no_memory(err);
	for (const struct json *task = json_first(results); task; task = json_next(task))
		for (const struct json *at = json_first(task); at; at = json_next(at))
			if (is_score(at) && json_kind(at) == JSON_NUMBER &&
				!map_put(scored, json_key_of(task), (void *)task))
				return error_no_memory(err);
	for (const struct json *group = json_first(json_get(document, "group_subtasks")); group;
		group = json_next(group)) {
		if (!map_get(scored, json_key_of(group)))
			continue;
		for (const struct json *at = json_first(group); at; at = json_next(at))
			if (json_string_of(at).len && !map_put(r->parts, json_string_of(at), (void *)at))
				return error_no_memory(err);
	}
	return OK;
}

static enum status read_results(struct reading *r, const struct json *document, struct error *err)
{
	const struct json *results = json_get(document, "results");
	size_t count = 0;

	for (const struct json *task = json_first(results); task; task = json_next(task)) {
		if (json_kind(task) != JSON_OBJECT)
			return error_set_field(err, ERR_SEMANTIC, "results", "results.%.*s is no object of metrics",
				SPAN_ARGS(span_cut(json_key_of(task), 60)));
		for (const struct json *at = json_first(task); at; at = json_next(at))
			count += is_score(at);
	}
	TRY(make_room(r, count, "results", err));
	TRY(index_by_key(json_get(document, "n-samples"), &r->samples, err));
	TRY(index_groups(r, json_get(document, "group_subtasks"), err));
	TRY(index_by_key(json_get(document, "n-shot"), &r->shots, err));
	TRY(index_by_key(json_get(document, "higher_is_better"), &r->better, err));
	TRY(index_parts(r, document, results, err));
	int64_t shots = count_or_unknown(json_get_path(document, "config.num_fewshot"));
	r->all_shots = shots < 0 ? NAN : (double)shots;
	for (const struct json *task = json_first(results); task; task = json_next(task)) {
		r->group_samples = -1;
		if (is_group(r, json_key_of(task)))
			TRY(sum_below(r, json_key_of(task), &r->group_samples, err));
		for (const struct json *at = json_first(task); at; at = json_next(at))
			if (is_score(at))
				TRY(read_member(r, task, at, err));
	}
	return OK;
}

static struct span find_argument(const void *context, const char *name)
{
	const struct json *arguments = context;
	struct span text = json_string_of(arguments);

	if (json_kind(arguments) == JSON_OBJECT)
		return json_string_of(json_get(arguments, name));
	return evaluation_argument(&text, name);
}

static enum status find_model(struct reading *r, const struct json *document, struct error *err)
{
	const struct json *arguments = json_get_path(document, "config.model_args");
	AUTO_DONE(buf) path = BUF_INIT(1 << 16);

	if (arguments)
		evaluation_append_model(find_argument, arguments, &path);
	if (!path.len)
		buf_append_span(&path, json_string_of(json_get(document, "model_name")));
	TRY(buf_status(&path, err));
	return take_name(r->arena, buf_span(&path), EVALUATION_PATH_BYTES, "path", &r->out->like.path, err);
}

static enum status read_harness(struct reading *r, const struct json *document, struct error *err)
{
	double date = number_or_unknown(json_get(document, "date"));

	r->out->like.suite = SPAN("lm-evaluation-harness");
	if (date * 1000 > 0 && date * 1000 < (double)time_max_ms)
		r->out->like.evaluated_ms = (int64_t)(date * 1000);
	if (!r->out->like.path.len)
		TRY(find_model(r, document, err));
	return OK;
}

/* ---- ours ---- */

static enum status read_details(const struct json *node, struct evaluation_score *score, struct error *err)
{
	const struct json *better = json_get(node, "higher_is_better"), *error = json_get(node, "stderr");

	for (const struct json *at = json_first(node); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		if (!span_equal(key, SPAN("value")) && !span_equal(key, SPAN("stderr")) &&
			!span_equal(key, SPAN("n")) && !span_equal(key, SPAN("shots")) &&
			!span_equal(key, SPAN("higher_is_better")))
			return error_set_field(err, ERR_SEMANTIC, "scores",
				"'%.*s' of a score is none of: value stderr n shots higher_is_better",
				SPAN_ARGS(span_cut(key, 60)));
	}
	if (error && json_kind(error) != JSON_NULL && (score->error = number_or_unknown(error)) < 0)
		return error_set_field(err, ERR_SEMANTIC, "stderr", "stderr is a number from 0 on");
	if (json_get(node, "n"))
		TRY(want_count_of(node, "n", largest, &score->samples, err));
	TRY(want_count_of(node, "shots", largest, &score->shots, err));
	if (!better || json_kind(better) == JSON_NULL)
		return OK;
	if (json_kind(better) != JSON_BOOL)
		return error_set_field(err, ERR_SEMANTIC, "higher_is_better", "higher_is_better is true or false");
	score->is_lower = !json_is_true(better);
	score->lower_from = EVALUATION_LOWER_STATED;
	return OK;
}

static bool split_name(struct span name, struct span *task, struct span *metric)
{
	size_t at = name.len;

	while (at && name.ptr[at - 1] != '/')
		at--;
	if (at < 2 || at == name.len)
		return false;
	*task = span_of(name.ptr, at - 1);
	*metric = span_skip(name, at);
	return true;
}

/* As suites write it that have no NaN, or no score. */
static bool says_no_number(struct span text)
{
	static const char *const words[] = {
		"n/a", "na", "nan", "none", "null", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(span_trim(text), span_from(words[i])))
			return true;
	return false;
}

static enum status read_score(struct reading *r, const struct json *node, struct error *err)
{
	struct evaluation_score score = r->out->like;
	bool has_details = json_kind(node) == JSON_OBJECT;
	const struct json *value = has_details ? json_get(node, "value") : node;

	if (!split_name(json_key_of(node), &score.task, &score.metric))
		return error_set_field(err, ERR_SEMANTIC, "scores", "'%.*s' is no TASK/METRIC, as mmlu/acc",
			SPAN_ARGS(span_cut(json_key_of(node), 60)));
	score.is_lower = evaluation_is_lower(score.metric);
	score.lower_from = score.is_lower ? EVALUATION_LOWER_NAME : EVALUATION_LOWER_ASSUMED;
	if (has_details)
		TRY(read_details(node, &score, err));
	if (value && (json_kind(value) == JSON_NULL || says_no_number(json_string_of(value))))
		return skip_score(r, score.task, score.metric, err);
	if (!value || !json_number_of(value, &score.value) || !isfinite(score.value))
		return error_set_field(err, ERR_SEMANTIC, "scores",
			"'%.*s' is neither a number nor an object with value",
			SPAN_ARGS(span_cut(json_key_of(node), 60)));
	return put_score(r, &score, err);
}

static enum status read_own(struct reading *r, const struct json *document, struct error *err)
{
	struct evaluation_score *like = &r->out->like;
	struct span suite = SPAN(""), path = SPAN("");
	int64_t when = -1;

	for (const struct json *at = json_first(document); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		if (!span_equal(key, SPAN("step")) && !span_equal(key, SPAN("path")) &&
			!span_equal(key, SPAN("suite")) && !span_equal(key, SPAN("n")) &&
			!span_equal(key, SPAN("evaluated_ms")) && !span_equal(key, SPAN("scores")))
			return error_set_field(err, ERR_SEMANTIC, "scores",
				"'%.*s' is none of: step path suite n evaluated_ms scores",
				SPAN_ARGS(span_cut(key, 60)));
	}
	TRY(json_want_string(document, "suite", &suite, err));
	TRY(take_name(r->arena, suite, SUITE_BYTES, "suite", &like->suite, err));
	TRY(json_want_string(document, "path", &path, err));
	if (!like->path.len)
		TRY(take_name(r->arena, path, EVALUATION_PATH_BYTES, "path", &like->path, err));
	TRY(want_count_of(document, "n", largest, &like->samples, err));
	TRY(want_count_of(document, "evaluated_ms", time_max_ms, &when, err));
	if (when > 0 && when < time_min_ms)
		return error_set_field(err, ERR_SEMANTIC, "evaluated_ms",
			"evaluated_ms is %lld, which is before the year 2000: it counts milliseconds since 1970",
			(long long)when);
	like->evaluated_ms = when > 0 ? when : 0;
	return OK;
}

static enum status read_scores(struct reading *r, const struct json *document, struct error *err)
{
	const struct json *scores = json_get(document, "scores");

	TRY(make_room(r, json_count(scores), "scores", err));
	for (const struct json *at = json_first(scores); at; at = json_next(at))
		TRY(read_score(r, at, err));
	return OK;
}

/* ---- the document ---- */

/* What is said outright counts, then the path's digits. */
static enum status find_step(struct reading *r, const struct json *document, int64_t stated, struct error *err)
{
	struct evaluation_score *like = &r->out->like;
	int64_t step = -1;

	TRY(want_count_of(document, "step", largest, &step, err));
	if (step >= 0 && stated >= 0 && step != stated)
		return error_set_field(err, ERR_SEMANTIC, "step", "the document says step %lld, the request %lld",
			(long long)step, (long long)stated);
	int64_t of_path;
	if (step < 0 && stated >= 0 && evaluation_step_of_path(like->path, &of_path) && of_path != stated)
		return error_set_field(err, ERR_SEMANTIC, "step", "the path '%.*s' says step %lld, the request %lld",
			SPAN_ARGS(span_cut(like->path, 200)), (long long)of_path, (long long)stated);
	step = step < 0 ? stated : step;
	like->step_from = step < 0 ? EVALUATION_STEP_UNKNOWN : EVALUATION_STEP_STATED;
	if (step < 0 && evaluation_step_of_path(like->path, &step))
		like->step_from = EVALUATION_STEP_PATH;
	like->has_step = like->step_from != EVALUATION_STEP_UNKNOWN;
	like->step = like->has_step ? step : 0;
	if (like->has_step || like->path.len)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "step",
		"nothing says which checkpoint this is of: give step or path, here or as step= or path=");
}

static enum status read_document(
	struct reading *r, const struct json *document, const struct evaluation_stated *stated, struct error *err)
{
	const struct json *results = json_get(document, "results"), *scores = json_get(document, "scores");
	struct evaluation_score *like = &r->out->like;
	bool is_own = scores != NULL;

	if (!results == !scores || json_kind(is_own ? scores : results) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, is_own ? "scores" : "results",
			"an evaluation has one of two objects: results, as lm-evaluation-harness writes it, or scores, {\"TASK/METRIC\": 0.5}");
	TRY(json_check_form(document, err));
	*like = (struct evaluation_score){
		.path = SPAN(""), .suite = SPAN(""), .author = SPAN(""), .error = -1, .samples = -1, .shots = -1};
	TRY(take_name(r->arena, stated->path, EVALUATION_PATH_BYTES, "path", &like->path, err));
	TRY(is_own ? read_own(r, document, err) : read_harness(r, document, err));
	TRY(find_step(r, document, stated->step, err));
	TRY(is_own ? read_scores(r, document, err) : read_results(r, document, err));
	if (r->out->count)
		return OK;
	return error_set_field(
		err, ERR_SEMANTIC, is_own ? "scores" : "results", "there is no score that is a number in it");
}

enum status evaluation_read(struct evaluation *out, const struct json *document, const struct evaluation_stated *stated,
	struct arena *arena, struct error *err)
{
	struct reading r = {.out = out, .arena = arena, .all_shots = NAN};

	*out = (struct evaluation){0};
	enum status status = read_document(&r, document, stated, err);
	map_free(r.samples);
	map_free(r.shots);
	map_free(r.better);
	map_free(r.parts);
	map_free(r.groups);
	return status;
}
