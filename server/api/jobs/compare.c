/* What differs between jobs: GET /api/v1/compare?jobs=a,b,c. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "store/job_facts.h"
#include "store/jobs.h"

#include <stdlib.h>

enum { JOBS_CAP = 256, FRACTIONS = 7 };

struct compared {
	struct span name;
	struct job_row row;
	struct attribute_row *settings; /* by key */
	size_t setting_count, at;
	struct summary_row *metrics; /* by name */
	size_t metric_count;
	struct ranking_row *rankings; /* by name */
	size_t ranking_count;
	bool has_steps;
	int64_t first_step, last_step;
};

struct comparison {
	struct api_worker *worker;
	struct arena *arena;
	struct json_writer *w;
	struct compared *jobs;
	size_t count;
};

/* ---- which jobs ---- */

static enum status read_names(struct comparison *c, const struct http_request *request, size_t most, struct error *err)
{
	struct span rest = SPAN(""), part;

	if (!http_request_query(request, "jobs", &rest) || !rest.len)
		return error_set_field(err, ERR_INVALID, "jobs", "'jobs' is missing: names of jobs, parted by commas");
	while (span_next(&rest, ',', &part)) {
		struct span name;
		if (!part.len)
			continue;
		if (c->count == most)
			return error_set_field(
				err, ERR_TOO_LARGE, "jobs", "at most %zu jobs are compared (--max-compare-jobs)", most);
		TRY(api_decode_name(c->arena, part, &name, err));
		if (!span_is_utf8(name) || span_find_char(name, 0) >= 0)
			return error_set_field(
				err, ERR_INVALID, "jobs", "name %zu is not UTF-8 without NUL", c->count + 1);
		for (size_t i = 0; i < c->count; i++)
			if (span_equal(c->jobs[i].name, name))
				return error_set_field(err, ERR_SEMANTIC, "jobs", "job '%.*s' is named twice",
					(int)(name.len < 255 ? name.len : 255), name.ptr);
		c->jobs[c->count++] = (struct compared){.name = name};
	}
	return c->count > 1 ? OK : error_set_field(err, ERR_SEMANTIC, "jobs", "one job alone is not compared");
}

static enum status read_job(struct comparison *c, struct compared *job, struct error *err)
{
	struct store_reader *reader = c->worker->reader;
	struct job_counts counts;

	TRY(store_read_job(reader, c->arena, job->name, &job->row, err));
	TRY(store_read_attributes(reader, c->arena, job->row.job_id, &job->settings, &job->setting_count, err));
	TRY(store_read_summaries(reader, c->arena, job->row.job_id, &counts, &job->metrics, &job->metric_count, err));
	return store_read_rankings(reader, c->arena, job->row.job_id, &job->rankings, &job->ranking_count, err);
}

/* ---- settings ---- */

/* What tells jobs apart, or became of them, is no setting. */
static bool is_setting(struct span key)
{
	static const char *const names[] = {"TrainingJobName", "TrainingJobArn", "TrainingJobStatus", "SecondaryStatus",
		"FailureReason", "FailureClass", "CreationTime", "LastModifiedTime", "TrainingStartTime",
		"TrainingEndTime", "TrainingTimeInSeconds", "BillableTimeInSeconds"};
	static const char *const trees[] = {"SecondaryStatusTransitions.", "FinalMetricDataList.", "WarmPoolStatus.",
		"ModelArtifacts.", "by_hand.settings." /* hp.NAME has what was set */,
		"label." /* each of them is in Labels */};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(key, span_from(names[i])))
			return false;
	for (size_t i = 0; i < sizeof trees / sizeof *trees; i++)
		if (span_starts_with(key, span_from(trees[i])))
			return false;
	return true;
}

/* How many of the job's rows have the key that its next row has, if that is `key`. */
static size_t count_values(const struct compared *job, struct span key)
{
	size_t count = 0;

	while (job->at + count < job->setting_count && span_equal(job->settings[job->at + count].key, key))
		count++;
	return count;
}

static bool is_same_value(const struct attribute_row *a, const struct attribute_row *b)
{
	return span_equal(a->text, b->text) || (a->is_number && b->is_number && a->number == b->number);
}

static bool is_same(const struct compared *a, const struct compared *b, struct span key)
{
	size_t count = count_values(a, key);

	if (count != count_values(b, key))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!is_same_value(&a->settings[a->at + i], &b->settings[b->at + i]))
			return false;
	return true;
}

static void write_setting(struct json_writer *w, const struct compared *job, struct span key)
{
	size_t count = count_values(job, key);

	if (count == 0) {
		json_null(w);
		return;
	}
	if (count > 1)
		json_array(w);
	for (size_t i = 0; i < count; i++)
		json_span(w, job->settings[job->at + i].text);
	if (count > 1)
		json_array_end(w);
}

static bool next_key(const struct comparison *c, struct span *key)
{
	bool has_key = false;

	for (size_t i = 0; i < c->count; i++) {
		const struct compared *job = &c->jobs[i];
		if (job->at == job->setting_count)
			continue;
		struct span own = job->settings[job->at].key;
		*key = !has_key || span_compare(own, *key) < 0 ? own : *key;
		has_key = true;
	}
	return has_key;
}

static bool are_same(const struct comparison *c, struct span key)
{
	for (size_t i = 1; i < c->count; i++)
		if (!is_same(&c->jobs[0], &c->jobs[i], key))
			return false;
	return true;
}

static void write_compared(struct comparison *c, struct span key, bool is_equal)
{
	json_object(c->w);
	json_put_span(c->w, "key", key);
	json_key(c->w, is_equal ? "value" : "values");
	if (!is_equal)
		json_array(c->w);
	for (size_t i = 0; i < (is_equal ? 1 : c->count); i++)
		write_setting(c->w, &c->jobs[i], key);
	if (!is_equal)
		json_array_end(c->w);
	json_object_end(c->w);
}

/* Those that are equal in all jobs, or those that are not. */
static void write_settings(struct comparison *c, const char *name, bool is_equal)
{
	struct span key = SPAN("");

	for (size_t i = 0; i < c->count; i++)
		c->jobs[i].at = 0;
	json_key(c->w, name);
	json_array(c->w);
	while (next_key(c, &key)) {
		if (is_setting(key) && are_same(c, key) == is_equal)
			write_compared(c, key, is_equal);
		for (size_t i = 0; i < c->count; i++)
			c->jobs[i].at += count_values(&c->jobs[i], key);
	}
	json_array_end(c->w);
}

/* ---- metrics ---- */

static void write_summary(struct json_writer *w, const struct compared *job, const struct summary_row *row)
{
	const struct summary *summary = row ? &row->summary : NULL;

	if (!row) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_span(w, "metric", row->metric);
	json_put_i64(w, "count", (int64_t)summary->count);
	json_put_double(w, "last", summary->last);
	json_put_i64(w, "last_step", summary->last_step);
	if (summary_has_finite(summary)) {
		json_put_double(w, "min", summary->min);
		json_put_double(w, "max", summary->max);
		json_put_double(w, "mean", summary_mean(summary));
	}
	for (size_t i = 0; i < job->ranking_count; i++)
		if (span_equal(job->rankings[i].metric, row->metric)) {
			json_put_double(w, "best", job->rankings[i].best);
			json_put_i64(w, "best_step", job->rankings[i].best_step);
			json_put_double(w, "final", job->rankings[i].final);
		}
	json_object_end(w);
}

static const struct summary_row *find_role(const struct compared *job, enum role role)
{
	for (size_t i = 0; i < job->metric_count; i++)
		if (job->metrics[i].main_role == role)
			return &job->metrics[i];
	return NULL;
}

static const struct summary_row *find_metric(const struct compared *job, struct span metric)
{
	for (size_t i = 0; i < job->metric_count; i++)
		if (span_equal(job->metrics[i].metric, metric))
			return &job->metrics[i];
	return NULL;
}

/* By role first: trainers have other names for the same. */
static void write_roles(const struct comparison *c)
{
	json_key(c->w, "roles");
	json_array(c->w);
	for (int role = ROLE_OTHER + 1; role < ROLE_COUNT; role++) {
		bool is_there = false;
		for (size_t i = 0; i < c->count; i++)
			is_there = is_there || find_role(&c->jobs[i], (enum role)role);
		if (!is_there)
			continue;
		json_object(c->w);
		json_put_text(c->w, "role", role_name((enum role)role));
		json_key(c->w, "values");
		json_array(c->w);
		for (size_t i = 0; i < c->count; i++)
			write_summary(c->w, &c->jobs[i], find_role(&c->jobs[i], (enum role)role));
		json_array_end(c->w);
		json_object_end(c->w);
	}
	json_array_end(c->w);
}

static int by_name(const void *a, const void *b)
{
	return span_compare(*(const struct span *)a, *(const struct span *)b);
}

static enum status write_metrics(const struct comparison *c, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < c->count; i++)
		count += c->jobs[i].metric_count;
	struct span *names = arena_alloc(c->arena, (count + 1) * sizeof *names);
	if (!names)
		return error_no_memory(err);
	count = 0;
	for (size_t i = 0; i < c->count; i++)
		for (size_t j = 0; j < c->jobs[i].metric_count; j++)
			names[count++] = c->jobs[i].metrics[j].metric;
	if (count)
		qsort(names, count, sizeof *names, by_name);
	json_key(c->w, "metrics");
	json_array(c->w);
	for (size_t i = 0; i < count; i++) {
		if (i && span_equal(names[i], names[i - 1]))
			continue;
		json_object(c->w);
		json_put_span(c->w, "metric", names[i]);
		json_key(c->w, "values");
		json_array(c->w);
		for (size_t j = 0; j < c->count; j++)
			write_summary(c->w, &c->jobs[j], find_metric(&c->jobs[j], names[i]));
		json_array_end(c->w);
		json_object_end(c->w);
	}
	json_array_end(c->w);
	return OK;
}

/* ---- the same steps ---- */

/* The last bucket of the chart from the first step to this one; *count 0: it has no points there. */
static enum status read_until(const struct comparison *c, const struct compared *job, struct span metric, int64_t step,
	struct bucket *out, size_t *count, struct error *err)
{
	struct chart_query query = {.metric = metric,
		.stream = SPAN(""),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = step,
		.buckets = 1,
		.attempts = ATTEMPTS_LIVE};
	struct error missing = {0};
	struct chart chart;

	*count = 0;
	enum status status = chart_read(
		c->worker->api->options.pipeline, c->worker->reader, c->arena, job->name, &query, &chart, &missing);
	if (status == ERR_NOT_FOUND) /* it has no such metric */
		return OK;
	if (status != OK) {
		if (err)
			*err = missing;
		return status;
	}
	*count = chart.count;
	if (chart.count) {
		*out = chart.buckets[chart.count - 1];
		out->x = chart.buckets[0].x;
	}
	return OK;
}

static enum status find_common(
	struct comparison *c, struct span metric, int64_t *first, int64_t *last, struct error *err)
{
	*first = INT64_MIN;
	*last = INT64_MAX;
	for (size_t i = 0; i < c->count; i++) {
		struct compared *job = &c->jobs[i];
		struct bucket bucket;
		size_t count;
		TRY(read_until(c, job, metric, INT64_MAX, &bucket, &count, err));
		job->has_steps = count > 0;
		if (!count)
			continue;
		*first = bucket.x > *first ? bucket.x : *first;
		*last = bucket.last_x < *last ? bucket.last_x : *last;
	}
	return OK;
}

static enum status write_step(
	const struct comparison *c, struct span metric, double fraction, int64_t step, struct error *err)
{
	json_object(c->w);
	json_put_double(c->w, "fraction", fraction);
	json_put_i64(c->w, "step", step);
	json_key(c->w, "values");
	json_array(c->w);
	for (size_t i = 0; i < c->count; i++) {
		struct bucket bucket;
		size_t count = 0;
		if (c->jobs[i].has_steps)
			TRY(read_until(c, &c->jobs[i], metric, step, &bucket, &count, err));
		if (!count) {
			json_null(c->w);
			continue;
		}
		json_object(c->w);
		json_put_i64(c->w, "step", bucket.last_x);
		json_put_double(c->w, "value", bucket.last);
		json_object_end(c->w);
	}
	json_array_end(c->w);
	json_object_end(c->w);
	return OK;
}

/* Over the steps that all jobs have that have the metric: of each job its value there, or the one before. */
static enum status write_steps(struct comparison *c, struct span metric, struct error *err)
{
	static const double fractions[FRACTIONS] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 1};
	int64_t first, last, before = INT64_MIN;

	TRY(find_common(c, metric, &first, &last, err));
	json_key(c->w, "steps");
	json_object(c->w);
	json_put_span(c->w, "metric", metric);
	json_key(c->w, "at");
	json_array(c->w);
	for (size_t i = 0; i < FRACTIONS && first > INT64_MIN && first <= last; i++) {
		int64_t step = i + 1 == FRACTIONS ? last : first + (int64_t)((double)(last - first) * fractions[i]);
		bool is_new = i == 0 || step > before;
		before = step;
		if (is_new)
			TRY(write_step(c, metric, fractions[i], step, err));
	}
	json_array_end(c->w);
	json_object_end(c->w);
	return OK;
}

/* ---- all of it ---- */

static enum status read_all(struct comparison *c, struct error *err)
{
	TRY(store_reader_begin(c->worker->reader, err));
	enum status status = OK;
	for (size_t i = 0; i < c->count && status == OK; i++)
		status = read_job(c, &c->jobs[i], err);
	store_reader_end(c->worker->reader);
	return status;
}

enum status api_compare(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	const struct api *api = context;
	struct json_writer w = api_reply(response);
	struct comparison c = {.worker = worker, .w = &w};
	struct span metric = SPAN("loss");
	AUTO(arena) arena = NULL;
	bool wants_equal = false;

	TRY(api_arena(&arena, err));
	c.arena = arena;
	c.jobs = arena_alloc(arena, JOBS_CAP * sizeof *c.jobs);
	if (!c.jobs)
		return error_no_memory(err);
	TRY(http_query_bool(request, "equal", &wants_equal, err));
	http_request_query(request, "metric", &metric);
	TRY(read_names(&c, request, api->options.max_compare_jobs, err));
	TRY(read_all(&c, err));
	json_object(&w);
	json_key(&w, "jobs");
	json_array(&w);
	for (size_t i = 0; i < c.count; i++)
		json_span(&w, c.jobs[i].name);
	json_array_end(&w);
	write_settings(&c, "differ", false);
	if (wants_equal)
		write_settings(&c, "equal", true);
	write_roles(&c);
	TRY(write_metrics(&c, err));
	TRY(write_steps(&c, metric, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
