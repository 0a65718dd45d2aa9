#include "api/charts/points.h"

#include "api/charts/points_asked.h"
#include "api/charts/points_raw.h"
#include "api/core/api_state.h"
#include "api/core/csv.h"
#include "api/core/handlers.h"
#include "api/core/health.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/charts/derivation.h"
#include "read/charts/main_series.h"
#include "read/charts/run_inputs.h"
#include "read/charts/work_axis.h"
#include "read/view.h"
#include "state/streams/job_view.h"

#include <math.h>
#include <stdio.h>

/* ---- series ---- */

/* The one that it answers for; ROLE_OTHER: for none. */
static enum role main_role_of(const struct span mains[ROLE_COUNT], struct span metric)
{
	for (unsigned role = ROLE_OTHER + 1; role < ROLE_COUNT; role++)
		if (span_equal(mains[role], metric))
			return (enum role)role;
	return ROLE_OTHER;
}

static void write_series(struct json_writer *w, const struct stream_view *stream, const struct series_view *series,
	const struct span mains[ROLE_COUNT], const struct inputs *inputs)
{
	const struct summary *summary = &series->summary;
	enum role main_role = main_role_of(mains, series->metric);

	json_object(w);
	json_put_span(w, "metric", series->metric);
	json_put_span(w, "stream", stream->name);
	json_put_text(w, "role", role_name(main_role != ROLE_OTHER ? main_role : series->role));
	if (main_role != ROLE_OTHER)
		json_put_bool(w, "is_main", true);
	json_put_span(w, "unit", series->unit);
	if (series->higher)
		json_put_bool(w, "higher", series->higher > 0);
	json_put_i64(w, "count", (int64_t)summary->count);
	if (summary->count) {
		json_put_double(w, "last", summary->last);
		json_put_i64(w, "first_step", summary->first_step);
		json_put_i64(w, "last_step", summary->last_step);
		json_put_i64(w, "last_ts_ms", summary->last_ts_ms);
	}
	if (summary_has_finite(summary)) {
		json_put_double(w, "min", summary->min);
		json_put_double(w, "max", summary->max);
		json_put_double(w, "mean", summary_mean(summary));
	}
	if (summary->nan_count)
		json_put_i64(w, "nan", (int64_t)summary->nan_count);
	if (summary->inf_count)
		json_put_i64(w, "inf", (int64_t)summary->inf_count);
	derivation_write(inputs, series->metric, w);
	json_object_end(w);
}

static void write_parameters(struct json_writer *w, double value, struct span from)
{
	json_key(w, "parameters");
	json_object(w);
	json_put_double(w, "value", value);
	json_put_span(w, "from", from);
	json_object_end(w);
}

/* parameters: NULL where it is made of tokens alone. */
static void write_axis(struct json_writer *w, const char *name, struct span tokens_from, const char *missing,
	const struct input_value *parameters)
{
	json_key(w, name);
	json_object(w);
	if (missing)
		json_put_text(w, "missing", missing);
	else
		json_put_span(w, "tokens", tokens_from);
	if (!missing && parameters)
		write_parameters(w, parameters->value, span_from(parameters->from));
	json_object_end(w);
}

/* Which axes its charts have beside steps and time, by which count of tokens; or why not. */
static enum status write_axes(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct json_writer *w, struct error *err)
{
	static const enum input parameters[] = {INPUT_PARAMETERS};
	struct work_count by;
	struct inputs *inputs = NULL;

	TRY(work_count_read(api->options.pipeline, reader, arena, view, &by, err));
	const char *no_tokens = by.metric.len ? NULL : work_no_tokens, *no_flops = no_tokens;
	if (by.metric.len) {
		TRY(run_inputs_read(api->options.pipeline, reader, arena, &view->row, parameters, 1, &inputs, err));
		no_flops = inputs->items[INPUT_PARAMETERS].value > 0 ? NULL : work_no_parameters;
	}
	json_key(w, "axes");
	json_object(w);
	write_axis(w, "tokens", by.from, no_tokens, NULL);
	write_axis(w, "flops", by.from, no_flops, inputs ? &inputs->items[INPUT_PARAMETERS] : NULL);
	json_object_end(w);
	return OK;
}

enum status api_series(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct inputs *inputs;
	struct span mains[ROLE_COUNT];
	struct job_view view;

	TRY(api_arena(&arena, err));
	TRY(view_read_job(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(main_series_find_all(((struct api_worker *)worker)->reader, arena, &view, mains, err));
	TRY(derivation_read_inputs(
		api->options.pipeline, ((struct api_worker *)worker)->reader, arena, &view.row, &inputs, err));
	json_object(&w);
	TRY(write_axes(api, ((struct api_worker *)worker)->reader, arena, &view, &w, err));
	json_key(&w, "series");
	json_array(&w);
	for (size_t i = 0; i < view.stream_count; i++)
		for (size_t j = 0; j < view.streams[i].series_count; j++)
			write_series(&w, &view.streams[i], &view.streams[i].series[j], mains, inputs);
	json_array_end(&w);
	json_key(&w, "definitions");
	TRY(api_write_health(arena, &view, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- points ---- */

static enum status read_query(const struct http_request *request, struct chart_query *query, struct error *err)
{
	int64_t buckets = CHART_BUCKETS_DEFAULT;
	struct span axis = SPAN(""), attempts = SPAN("");

	*query = (struct chart_query){.stream = SPAN("")};
	if (!http_request_query(request, "metric", &query->metric) || !query->metric.len)
		return error_set_field(
			err, ERR_INVALID, "metric", "which metric? give metric=NAME (names: GET …/metrics)");
	http_request_query(request, "stream", &query->stream);
	http_request_query(request, "x", &axis);
	http_request_query(request, "attempts", &attempts);
	TRY(api_parse_axis(axis, query, err));
	TRY(api_parse_attempts(attempts, query, err));
	TRY(api_read_window(request, query, err));
	TRY(http_query_i64(request, "buckets", 1, CHART_BUCKETS_MAX, &buckets, err));
	query->buckets = (size_t)buckets;
	return OK;
}

/* Of the finite values, whose places are known; where there is none the first value, in its place. */
static double min_of(const struct bucket *bucket)
{
	return bucket->count ? bucket->min : bucket->first;
}

static double max_of(const struct bucket *bucket)
{
	return bucket->count ? bucket->max : bucket->first;
}

static double mean_of(const struct bucket *bucket)
{
	return bucket->count ? sum_mean(bucket->sum, bucket->count, bucket->min, bucket->max) : NAN;
}

/* The line to open on a click: of the value farther from the mean; of the first point when none is finite. */
static bool is_max_farther(const struct bucket *bucket)
{
	return bucket->max - mean_of(bucket) >= mean_of(bucket) - bucket->min;
}

enum column {
	X,
	MIN,
	MIN_X,
	MIN_LINE,
	MAX,
	MAX_X,
	MAX_LINE,
	FIRST,
	LAST,
	MEAN,
	COUNT,
	NON_FINITE,
	INF,
	NEG_INF,
	ATTEMPT,
	LINE,
	LINE_STREAM,
	COLUMN_COUNT
};
enum { CELLS_AT_ONCE = 512 };
static const char *const column_names[COLUMN_COUNT] = {"x", "min", "min_x", "min_line", "max", "max_x", "max_line",
	"first", "last", "mean", "count", "non_finite", "inf", "neg_inf", "attempt", "line", "line_stream"};

/* A loop each: of the column's expression over a bucket. */
#define EACH(expression)                                                                                               \
	for (size_t i = 0; i < count; i++) {                                                                           \
		const struct bucket *bucket = &buckets[i];                                                             \
		out[i] = (expression);                                                                                 \
	}                                                                                                              \
	break;

static void collect_integers(const struct bucket *buckets, size_t count, enum column column, int64_t *out)
{
	switch (column) {
	case X:
		EACH(bucket->x)
	case MIN_X:
		EACH(bucket->count ? bucket->min_x : bucket->x)
	case MAX_X:
		EACH(bucket->count ? bucket->max_x : bucket->x)
	case MIN_LINE:
		EACH((int64_t)(bucket->count ? bucket->min_line : bucket->first_line))
	case MAX_LINE:
		EACH((int64_t)(bucket->count ? bucket->max_line : bucket->first_line))
	case LINE:
		EACH((int64_t)(!bucket->count           ? bucket->first_line
			       : is_max_farther(bucket) ? bucket->max_line
							: bucket->min_line))
	case COUNT:
		EACH((int64_t)(bucket->count + bucket->nan_count + bucket->inf_count + bucket->neg_inf_count))
	case NON_FINITE:
		EACH((int64_t)(bucket->nan_count + bucket->inf_count + bucket->neg_inf_count))
	case INF:
		EACH((int64_t)bucket->inf_count)
	case NEG_INF:
		EACH((int64_t)bucket->neg_inf_count)
	default:
		EACH(bucket->attempt)
	}
}

static void collect_doubles(const struct bucket *buckets, size_t count, enum column column, double *out)
{
	switch (column) {
	case MIN:
		EACH(min_of(bucket))
	case MAX:
		EACH(max_of(bucket))
	case FIRST:
		EACH(bucket->first)
	case LAST:
		EACH(bucket->last)
	default:
		EACH(mean_of(bucket))
	}
}
#undef EACH

/* A line that is none is null. */
static void write_lines(struct json_writer *w, const int64_t *lines, size_t count)
{
	for (size_t i = 0, end; i < count; i = end) {
		bool is_line = lines[i] >= 0;
		for (end = i; end < count && (lines[end] >= 0) == is_line; end++)
			if (!is_line)
				json_null(w);
		if (is_line)
			json_i64s(w, lines + i, end - i);
	}
}

/* Of tokens an integer, of FLOPs more than one holds. */
static void write_xs(struct json_writer *w, const struct chart *chart, const int64_t *xs, size_t count)
{
	double values[CELLS_AT_ONCE];

	if (!chart->work || chart->work->each == 1) {
		json_i64s(w, xs, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		values[i] = (double)xs[i] * chart->work->each;
	json_doubles(w, values, count);
}

static void write_streams(struct json_writer *w, const struct chart *chart, const struct bucket *buckets, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct bucket *bucket = &buckets[i];
		json_span(w, chart->view
				     .streams[!bucket->count           ? bucket->first_stream
					      : is_max_farther(bucket) ? bucket->max_stream
								       : bucket->min_stream]
				     .name);
	}
}

static void write_cells(struct json_writer *w, const struct chart *chart, size_t from, size_t count, enum column column)
{
	const struct bucket *buckets = chart->buckets + from;
	int64_t integers[CELLS_AT_ONCE];
	double doubles[CELLS_AT_ONCE];

	if (column == LINE_STREAM) {
		write_streams(w, chart, buckets, count);
	} else if (column == MIN || column == MAX || column == FIRST || column == LAST || column == MEAN) {
		collect_doubles(buckets, count, column, doubles);
		json_doubles(w, doubles, count);
	} else {
		collect_integers(buckets, count, column, integers);
		if (column == X || column == MIN_X || column == MAX_X)
			write_xs(w, chart, integers, count);
		else
			write_lines(w, integers, count);
	}
}

static void write_column(struct json_writer *w, const struct chart *chart, enum column column)
{
	json_key(w, column_names[column]);
	json_array(w);
	for (size_t from = 0, some; from < chart->count; from += some) {
		some = chart->count - from < CELLS_AT_ONCE ? chart->count - from : CELLS_AT_ONCE;
		write_cells(w, chart, from, some, column);
	}
	json_array_end(w);
}

/* Where each attempt opened, on the metric's axis; one that has not come to it is left out. */
static void write_attempts(struct json_writer *w, struct attempt_starts starts)
{
	json_key(w, "attempts");
	json_array(w);
	for (size_t i = 0; i < starts.count; i++) {
		if (starts.steps[i] == INT64_MAX)
			continue;
		json_object(w);
		json_put_i64(w, "attempt", (int64_t)i + 1);
		json_put_i64(w, "first_step", starts.steps[i]);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_chain(struct json_writer *w, const struct chart *chart)
{
	json_key(w, "chain");
	json_array(w);
	for (size_t i = 0; i < chart->link_count; i++) {
		json_object(w);
		json_put_span(w, "job", chart->links[i].job);
		json_put_i64(w, "first_step", chart->links[i].first_step);
		json_put_i64(w, "buckets", (int64_t)chart->links[i].buckets);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_numbers(struct json_writer *w, const char *name, const double *values, size_t count, double each)
{
	json_key(w, name);
	json_array(w);
	for (size_t i = 0; i < count; i++)
		json_double(w, values[i] * each);
	json_array_end(w);
}

/* What its x is worked out from, and at which steps it is known. */
static void write_work(struct json_writer *w, const struct work_axis *work)
{
	bool is_flops = work->each != 1;

	json_key(w, "axis");
	json_object(w);
	json_put_text(w, "x", is_flops ? "flops" : "tokens");
	json_put_text(w, "formula", is_flops ? WORK_FLOPS_FORMULA : "tokens");
	json_key(w, "inputs");
	json_object(w);
	json_put_span(w, "tokens", work->tokens_from);
	if (is_flops)
		write_parameters(w, work->parameters, work->parameters_from);
	json_object_end(w);
	write_numbers(w, "steps", work->steps, work->count, 1);
	write_numbers(w, "values", work->tokens, work->count, work->each);
	json_object_end(w);
}

enum status api_parse_columns(const struct json *names, unsigned *columns, struct error *err)
{
	*columns = names ? 0 : ~0u;
	if (names && json_kind(names) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "columns", "columns is a list of names");
	for (const struct json *node = names ? json_first(names) : NULL; node; node = json_next(node)) {
		unsigned column = 0;
		while (column < COLUMN_COUNT && !span_equal(json_string_of(node), span_from(column_names[column])))
			column++;
		if (column == COLUMN_COUNT)
			return error_set_field(err, ERR_SEMANTIC, "columns",
				"'%.*s' is no column of a chart: x, min, max, first, last, mean, count, line and others are",
				SPAN_ARGS(json_string_of(node)));
		*columns |= 1u << column;
	}
	return OK;
}

void api_write_chart(struct json_writer *w, const struct chart *chart, unsigned columns)
{
	char seq[24];

	json_object(w);
	json_put_span(w, "metric", chart->metric);
	json_key(w, "columns");
	json_object(w);
	for (unsigned column = 0; column < COLUMN_COUNT; column++)
		if (columns & 1u << column)
			write_column(w, chart, (enum column)column);
	json_object_end(w);
	json_put_span(w, "unit", chart->unit);
	json_put_i64(w, "total_points", (int64_t)chart->total_points);
	json_put_i64(w, "bucket_width", chart->bucket_width);
	if (chart->work)
		write_work(w, chart->work);
	if (chart->links)
		write_chain(w, chart);
	else
		write_attempts(w, chart_starts(&chart->view, chart->metric));
	snprintf(seq, sizeof seq, "%llu", (unsigned long long)chart->view.seq);
	json_put_text(w, "seq", seq);
	json_object_end(w);
}

/* A bucket a row, for who asks buckets= with format=csv. */
static void write_csv(struct buf *out, const struct chart *chart, struct span stream)
{
	buf_append_text(out, "job,stream,x,count,min,mean,max,first,last\n");
	for (size_t i = 0; i < chart->count; i++) {
		const struct bucket *b = &chart->buckets[i];
		const double values[] = {min_of(b), mean_of(b), max_of(b), b->first, b->last};
		csv_put_cell(out, chart->view.row.name);
		buf_append_char(out, ',');
		csv_put_cell(out, stream);
		uint64_t count = b->count + b->nan_count + b->inf_count + b->neg_inf_count;
		if (chart->work && chart->work->each != 1) {
			buf_append_char(out, ',');
			api_csv_double(out, (double)b->x * chart->work->each);
		} else {
			buf_printf(out, ",%lld", (long long)b->x);
		}
		buf_printf(out, ",%llu", (unsigned long long)count);
		for (size_t j = 0; j < sizeof values / sizeof *values; j++) {
			buf_append_char(out, ',');
			api_csv_double(out, values[j]);
		}
		buf_append_char(out, '\n');
	}
}

static enum status read_format(const struct http_request *request, bool *is_csv, struct error *err)
{
	struct span format;

	*is_csv = false;
	if (!http_request_query(request, "format", &format) || span_equal(format, SPAN("json")))
		return OK;
	*is_csv = span_equal(format, SPAN("csv"));
	return *is_csv ? OK
		       : error_set_field(
				 err, ERR_INVALID, "format", "format '%.*s' is none of json, csv", SPAN_ARGS(format));
}

enum status api_points(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct chart_query query;
	struct chart chart;
	struct span buckets;
	bool is_raw = false, is_chain = false, is_csv;

	TRY(api_arena(&arena, err));
	TRY(read_query(request, &query, err));
	TRY(http_query_bool(request, "raw", &is_raw, err));
	TRY(read_format(request, &is_csv, err));
	TRY(http_query_bool(request, "chain", &is_chain, err));
	bool has_chain = query.axis == AXIS_STEP || chart_axis_is_work(query.axis);
	if (is_chain && (is_raw || is_csv || !has_chain))
		return error_set_field(err, ERR_SEMANTIC, "chain",
			"chain=true is drawn by x=step, tokens or flops, in buckets and as JSON alone");
	if (is_raw || (is_csv && !http_request_query(request, "buckets", &buckets)))
		return api_points_raw(api, worker, request, &query, is_csv, response, err);
	TRY(work_axis_chart(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), &query, is_chain, &chart, err));
	if (is_csv) {
		response->content_type = "text/csv; charset=utf-8";
		write_csv(&response->body, &chart, query.stream);
	} else {
		api_write_chart(&w, &chart, ~0u);
	}
	return buf_status(&response->body, err);
}
