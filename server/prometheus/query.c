/* query and query_range: an expression at one time, or at equally spaced ones. */
#include "prometheus/call.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 11000, LOOKBACK_MS = 5 * 60 * 1000, FORMAT_BYTES = 16 << 20 };

static void write_value(struct json_writer *w, int64_t ts_ms, double value)
{
	char digits[33];
	size_t len;

	json_array(w);
	json_double(w, (double)ts_ms / 1000);
	if (isnan(value))
		json_text(w, "NaN");
	else if (isinf(value))
		json_text(w, value > 0 ? "+Inf" : "-Inf");
	else {
		len = json_format_double(value, digits);
		json_span(w, span_of(digits, len));
	}
	json_array_end(w);
}

static enum status parse(struct prom_call *call, struct promql_node **out, struct error *err)
{
	struct span query = call_parameter(call, "query");

	if (!query.len)
		return error_set(err, ERR_INVALID, "invalid parameter \"query\": it is empty, or not there");
	enum status status = promql_parse(out, query, call->arena, err);
	if (status == ERR_INVALID)
		error_prefix(err, "invalid parameter \"query\"");
	return status;
}

/* What there is to a result: "resultType" stands in front of it. */
static void begin_result(struct prom_call *call, const char *type)
{
	json_object(&call->w);
	json_put_text(&call->w, "resultType", type);
	json_key(&call->w, "result");
}

/* ---- at one time ---- */

static void write_vector(struct prom_call *call, const struct eval *eval, const struct prom_rows *rows)
{
	begin_result(call, "vector");
	json_array(&call->w);
	for (size_t i = 0; i < rows->count; i++) {
		if (!rows->at[i].has[0])
			continue;
		json_object(&call->w);
		json_key(&call->w, "metric");
		labels_write(&rows->at[i].labels, &call->w);
		json_key(&call->w, "value");
		write_value(&call->w, eval->start_ms, rows->at[i].values[0]);
		json_object_end(&call->w);
	}
	json_array_end(&call->w);
}

static enum status write_points(void *context, const struct prom_labels *labels, struct error *err)
{
	struct prom_call *call = context;

	(void)err;
	json_object(&call->w);
	json_key(&call->w, "metric");
	labels_write(labels, &call->w);
	json_key(&call->w, "values");
	json_array(&call->w);
	for (size_t i = 0; i < call->reading.point_count; i++)
		write_value(&call->w, call->reading.points[i].ts_ms, call->reading.points[i].value);
	json_array_end(&call->w);
	json_object_end(&call->w);
	return OK;
}

/* A range alone: its points as they are. */
static enum status write_range(
	struct prom_call *call, const struct eval *eval, const struct promql_node *node, struct error *err)
{
	struct series_asked asked = {.matchers = node->matchers,
		.matcher_count = node->matcher_count,
		.from_ms = eval->start_ms - node->offset_ms - node->range_ms,
		.to_ms = eval->start_ms - node->offset_ms,
		.needs_points = true};

	begin_result(call, "matrix");
	json_array(&call->w);
	TRY(matchers_prepare(node->matchers, node->matcher_count, err));
	enum status status = series_each(&call->reading, &asked, call->arena, write_points, call, err);
	matchers_done(node->matchers, node->matcher_count);
	TRY(status);
	json_array_end(&call->w);
	return OK;
}

static enum status evaluate(struct prom_call *call, struct eval *eval, const struct promql_node *node,
	struct prom_rows *rows, struct error *err)
{
	eval->reading = &call->reading;
	eval->arena = call->arena;
	eval->lookback_ms = LOOKBACK_MS;
	return eval_node(eval, node, rows, err);
}

static enum status write_instant(
	struct prom_call *call, struct eval *eval, const struct promql_node *node, struct error *err)
{
	struct prom_rows rows = {0};

	enum status status = evaluate(call, eval, node, &rows, err);
	if (status == OK && node->type == PROMQL_SCALAR) {
		begin_result(call, "scalar");
		write_value(&call->w, eval->start_ms, rows.at[0].values[0]);
	} else if (status == OK) {
		write_vector(call, eval, &rows);
	}
	rows_done(&rows);
	return status;
}

enum status call_query(struct prom_call *call, struct error *err)
{
	struct eval eval = {.steps = 1};
	struct promql_node *node;

	TRY(call_time(call, "time", http_request_arrival_ms(call->request), &eval.start_ms, err));
	TRY(parse(call, &node, err));
	if (node->type == PROMQL_MATRIX) {
		TRY(write_range(call, &eval, node, err));
	} else if (node->type == PROMQL_STRING) {
		begin_result(call, "string");
		json_array(&call->w);
		json_double(&call->w, (double)eval.start_ms / 1000);
		json_span(&call->w, node->text);
		json_array_end(&call->w);
	} else {
		TRY(write_instant(call, &eval, node, err));
	}
	json_object_end(&call->w);
	return OK;
}

enum status call_evaluate(struct prom_call *call, struct eval *eval, const struct promql_node *node, struct error *err)
{
	TRY(write_instant(call, eval, node, err));
	json_object_end(&call->w);
	return OK;
}

/* ---- as text ---- */

enum status call_format(struct prom_call *call, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FORMAT_BYTES);
	struct promql_node *node;

	TRY(parse(call, &node, err));
	TRY(promql_check_patterns(node, err));
	promql_print(node, &text);
	TRY(buf_status(&text, err));
	json_span(&call->w, buf_span(&text));
	return OK;
}

/* ---- at many ---- */

static void write_row(struct prom_call *call, const struct eval *eval, const struct prom_row *row)
{
	bool has_one = false;

	for (size_t step = 0; step < eval->steps; step++) {
		if (!row->has[step])
			continue;
		if (!has_one) {
			json_object(&call->w);
			json_key(&call->w, "metric");
			labels_write(&row->labels, &call->w);
			json_key(&call->w, "values");
			json_array(&call->w);
		}
		has_one = true;
		write_value(&call->w, eval_time(eval, step), row->values[step]);
	}
	if (!has_one)
		return;
	json_array_end(&call->w);
	json_object_end(&call->w);
}

enum status call_set_steps(struct eval *eval, int64_t end_ms, struct error *err)
{
	if ((end_ms - eval->start_ms) / eval->step_ms >= STEPS_MAX)
		return error_set(err, ERR_INVALID,
			"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)");
	eval->steps = (size_t)((end_ms - eval->start_ms) / eval->step_ms) + 1;
	return OK;
}

static enum status read_steps(const struct prom_call *call, struct eval *eval, struct error *err)
{
	int64_t end_ms;

	if (!call_parameter(call, "start").len || !call_parameter(call, "end").len || !call_parameter(call, "step").len)
		return error_set(err, ERR_INVALID, "query_range needs the parameters start, end and step");
	TRY(call_time(call, "start", 0, &eval->start_ms, err));
	TRY(call_time(call, "end", 0, &end_ms, err));
	TRY(call_duration(call, "step", &eval->step_ms, err));
	if (end_ms < eval->start_ms)
		return error_set(
			err, ERR_INVALID, "invalid parameter \"end\": end timestamp must not be before start time");
	return call_set_steps(eval, end_ms, err);
}

enum status call_evaluate_steps(
	struct prom_call *call, struct eval *eval, const struct promql_node *node, struct error *err)
{
	struct prom_rows rows = {0};

	if (node->type != PROMQL_SCALAR && node->type != PROMQL_VECTOR)
		return error_set(err, ERR_INVALID,
			"invalid parameter \"query\": invalid expression type for range query, must be scalar or instant vector");
	enum status status = evaluate(call, eval, node, &rows, err);
	if (status == OK) {
		begin_result(call, "matrix");
		json_array(&call->w);
		for (size_t i = 0; i < rows.count; i++)
			write_row(call, eval, &rows.at[i]);
		json_array_end(&call->w);
		json_object_end(&call->w);
	}
	rows_done(&rows);
	return status;
}

enum status call_query_range(struct prom_call *call, struct error *err)
{
	struct promql_node *node;
	struct eval eval = {0};

	TRY(read_steps(call, &eval, err));
	TRY(parse(call, &node, err));
	return call_evaluate_steps(call, &eval, node, err);
}
