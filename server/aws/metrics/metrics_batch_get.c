/* BatchGetMetrics: the points of a job's metric by steps or by time, each group as one statistic. */
#include "aws/metrics/metrics.h"
#include "model/metrics/point.h"

#include <math.h>
#include <stdlib.h>

enum { RESULT_MAX = 10000, SECOND_MS = 1000, POINTS_MAX = 1000000 };

struct batch_query {
	struct aws_call *call;
	struct span stat;
	int64_t period_ms; /* 0: by iterations */
	bool is_x_step;
	int64_t from, to; /* of x, inclusive: steps, or seconds */
	struct batch_point {
		int64_t key; /* of its group: its step, or where its period begins */
		int64_t step, ts_ms;
		double value;
	} * points;
	size_t count, cap;
	bool has_too_many;
};

/* ---- reading ---- */

static int64_t floor_to(int64_t ms, int64_t width_ms)
{
	int64_t behind = ms % width_ms;

	return ms - (behind < 0 ? behind + width_ms : behind);
}

static enum status add_point(void *context, const struct point *point, double value, struct error *err)
{
	struct batch_query *query = context;
	int64_t key = query->period_ms ? floor_to(point->ts_ms, query->period_ms) : point->step;

	if (!isfinite(value))
		return OK;
	if (query->count == POINTS_MAX) {
		query->has_too_many = true;
		return OK;
	}
	if (!mem_grow((void **)&query->points, query->count, &query->cap, sizeof *query->points))
		return error_no_memory(err);
	query->points[query->count++] = (struct batch_point){key, point->step, point->ts_ms, value};
	return OK;
}

static int compare_points(const void *left, const void *right)
{
	const struct batch_point *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->ts_ms > b->ts_ms) - (a->ts_ms < b->ts_ms);
}

static int64_t period_of(struct span name)
{
	enum { MINUTE_MS = 60000 };

	return span_equal(name, SPAN("OneMinute"))    ? MINUTE_MS
	       : span_equal(name, SPAN("FiveMinute")) ? 5 * MINUTE_MS
	       : span_equal(name, SPAN("OneHour"))    ? 60 * MINUTE_MS
						      : 0;
}

static struct span job_of_arn(struct span arn)
{
	ptrdiff_t slash = span_find_char(arn, '/');

	return slash < 0 ? SPAN("") : metrics_job_of_component(span_skip(arn, (size_t)slash + 1));
}

/* ---- groups ---- */

/* Points from `first` on of one key; what it comes to, and *end. */
static double fold_group(const struct batch_query *query, size_t first, size_t *end)
{
	double sum = 0, squares = 0, min = INFINITY, max = -INFINITY;
	size_t at = first;

	for (; at < query->count && query->points[at].key == query->points[first].key; at++) {
		double value = query->points[at].value;
		sum += value;
		squares += value * value;
		min = fmin(min, value);
		max = fmax(max, value);
	}
	*end = at;
	double count = (double)(at - first), mean = sum / count;
	if (span_equal(query->stat, SPAN("Min")))
		return min;
	if (span_equal(query->stat, SPAN("Max")))
		return max;
	if (span_equal(query->stat, SPAN("Count")))
		return count;
	if (span_equal(query->stat, SPAN("Avg")))
		return mean;
	if (span_equal(query->stat, SPAN("Last")))
		return query->points[at - 1].value;
	return sqrt(fmax(0, squares / count - mean * mean));
}

static int64_t x_of_group(const struct batch_query *query, size_t end)
{
	const struct batch_point *last = &query->points[end - 1];

	if (query->is_x_step)
		return last->step;
	return (query->period_ms ? last->key : last->ts_ms) / SECOND_MS;
}

static void write_result(const struct batch_query *query, struct span message, struct json_writer *w)
{
	AUTO_DONE(buf) values = BUF_INIT(1 << 20);
	struct json_writer v = json_writer_on(&values);
	size_t written = 0;
	bool is_cut = false;

	json_object(w);
	json_key(w, "XAxisValues");
	json_array(w);
	json_array(&v);
	for (size_t at = 0, end; at < query->count && !is_cut; at = end) {
		double value = fold_group(query, at, &end);
		is_cut = written++ == RESULT_MAX;
		if (is_cut)
			break;
		json_i64(w, x_of_group(query, end));
		metrics_write_double(&v, value);
	}
	json_array_end(w);
	json_array_end(&v);
	json_key(w, "MetricValues");
	json_raw(w, buf_span(&values));
	json_put_text(w, "Status", message.len ? "ValidationError" : is_cut ? "Truncated" : "Complete");
	if (message.len)
		json_put_span(w, "Message", message);
	json_object_end(w);
}

/* ---- a query ---- */

static int64_t scaled(int64_t seconds)
{
	int64_t ms;

	return __builtin_mul_overflow(seconds, SECOND_MS, &ms) ? (seconds < 0 ? INT64_MIN + 1 : INT64_MAX) : ms;
}

static enum status read_points(struct batch_query *query, const struct json *node, struct error *err)
{
	struct metric_dimension dimension = {SPAN("TrainingJobName"), job_of_arn(metrics_text(node, "ResourceArn"))};
	struct metric_identity identity = {
		SPAN("/aws/sagemaker/TrainingJobs"), metrics_text(node, "MetricName"), &dimension, 1};
	struct metrics_window window = {.is_by_step = query->is_x_step, .unit = SPAN("")};
	struct metrics_series series;

	window.from_ms = query->is_x_step ? query->from : scaled(query->from);
	window.until_ms = query->is_x_step ? query->to : scaled(query->to);
	window.until_ms += window.until_ms < INT64_MAX; /* inclusive */
	TRY(metrics_each(query->call, &identity, &window, add_point, query, &series, err));
	if (query->count)
		qsort(query->points, query->count, sizeof *query->points, compare_points);
	return OK;
}

static enum status run_query(struct batch_query *query, const struct json *node, struct error *err)
{
	struct span message = SPAN("");
	struct error cause = {0};

	query->stat = metrics_text(node, "MetricStat");
	query->period_ms = period_of(metrics_text(node, "Period"));
	query->is_x_step = span_equal(metrics_text(node, "XAxisType"), SPAN("IterationNumber"));
	query->from = INT64_MIN + 1;
	query->to = INT64_MAX;
	aws_integer(json_get(node, "Start"), &query->from);
	aws_integer(json_get(node, "End"), &query->to);
	enum status status = read_points(query, node, &cause);
	if (status == ERR_SEMANTIC) {
		message = span_from(cause.text);
	} else if (status != OK) {
		*err = cause;
		return status;
	}
	if (query->has_too_many) {
		query->count = 0;
		message = SPAN("more than 1000000 points lie between Start and End; ask for fewer");
	}
	write_result(query, message, &query->call->w);
	return OK;
}

enum status metrics_batch_get(struct aws_call *call, struct error *err)
{
	json_key(&call->w, "MetricQueryResults");
	json_array(&call->w);
	for (const struct json *node = json_first(json_get(call->input, "MetricQueries")); node;
		node = json_next(node)) {
		struct batch_query query = {.call = call};
		enum status status = run_query(&query, node, err);
		mem_free(query.points);
		TRY(status);
	}
	json_array_end(&call->w);
	return OK;
}
