#include "api/charts/points_asked.h"

#include "api/core/request.h"
#include "read/charts/work_axis.h"

#include <math.h>

enum status api_parse_axis(struct span x, struct chart_query *query, struct error *err)
{
	query->axis = AXIS_STEP;
	if (!x.len || span_equal(x, SPAN("step")))
		return OK;
	if (span_equal(x, SPAN("time")))
		query->axis = AXIS_TIME;
	else if (span_equal(x, SPAN("relative")))
		query->axis = AXIS_RELATIVE;
	else if (span_equal(x, SPAN("tokens")))
		query->axis = AXIS_TOKENS;
	else if (span_equal(x, SPAN("flops")))
		query->axis = AXIS_FLOPS;
	else
		return error_set_field(
			err, ERR_INVALID, "x", "x '%.*s' is none of step, time, relative, tokens, flops", SPAN_ARGS(x));
	return OK;
}

static enum status read_work(const struct http_request *request, const char *name, double *out, struct error *err)
{
	struct span text;

	if (http_request_query(request, name, &text) && (!span_parse_double(text, out) || !isfinite(*out)))
		return error_set_field(err, ERR_INVALID, name, "'%s' must be a number, not '%.*s'", name,
			(int)(text.len > 40 ? 40 : text.len), text.ptr);
	return OK;
}

enum status api_read_window(const struct http_request *request, struct chart_query *query, struct error *err)
{
	query->from = INT64_MIN;
	query->to = INT64_MAX;
	query->work_from = -INFINITY;
	query->work_to = INFINITY;
	if (chart_axis_is_work(query->axis)) {
		TRY(read_work(request, "from", &query->work_from, err));
		return read_work(request, "to", &query->work_to, err);
	}
	TRY(http_query_i64(request, "from", INT64_MIN, INT64_MAX, &query->from, err));
	return http_query_i64(request, "to", INT64_MIN, INT64_MAX, &query->to, err);
}

enum status api_parse_attempts(struct span attempts, struct chart_query *query, struct error *err)
{
	int64_t number = 0;

	query->attempts = ATTEMPTS_LIVE;
	if (!attempts.len || span_equal(attempts, SPAN("live")))
		return OK;
	if (span_equal(attempts, SPAN("all"))) {
		query->attempts = ATTEMPTS_ALL;
		return OK;
	}
	if (!span_parse_i64(attempts, &number) || number < 1 || number > INT32_MAX)
		return error_set_field(err, ERR_INVALID, "attempts",
			"attempts '%.*s' is none of live, all, or a number from 1", SPAN_ARGS(attempts));
	query->attempts = (int)number;
	return OK;
}
