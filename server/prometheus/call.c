#include "prometheus/call.h"

#include "base/clock.h"
#include "base/text/iso8601.h"
#include "prometheus/tokens.h"

#include <math.h>

enum { PARAMETERS_MAX = 256, STATUS_TIMEOUT = 503 };
static const double LATEST_S = 253402300800.0; /* the year 10000 */

/* ---- faults, in Prometheus' words ---- */

static const struct {
	int http_status;
	const char *type;
} faults[STATUS_COUNT] = {
	[ERR_INVALID] = {400, "bad_data"},
	[ERR_SEMANTIC] = {422, "execution"},
	[ERR_TOO_LARGE] = {422, "execution"},
	[ERR_UNAUTHORIZED] = {401, "unauthorized"},
	[ERR_FORBIDDEN] = {403, "forbidden"},
	[ERR_NOT_FOUND] = {404, "not_found"},
	[ERR_UNAVAILABLE] = {503, "timeout"},
	[ERR_BUSY] = {429, "unavailable"},
	[ERR_MEMORY] = {503, "unavailable"},
};

void call_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response)
{
	const char *type = faults[err->status].type;

	(void)context;
	(void)request;
	response->status = type ? faults[err->status].http_status : http_status_of(err->status);
	response->content_type = "application/json";
	buf_reset(&response->body);
	struct json_writer w = json_writer_on(&response->body);
	json_object(&w);
	json_put_text(&w, "status", "error");
	json_put_text(&w, "errorType", type ? type : response->status < 500 ? "bad_data" : "internal");
	json_put_text(&w, "error", err->text);
	json_object_end(&w);
	if (response->status == 429 || response->status == 503)
		http_response_header(response, "Retry-After", "%d", err->retry_after_s > 0 ? err->retry_after_s : 1);
}

/* ---- parameters ---- */

/* %41 and, as in forms, + for a blank. */
static bool decode(struct span raw, char *to, struct span *out)
{
	char *from = to;

	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];
		if (c == '%') {
			int high = i + 2 < raw.len ? span_hex_digit(raw.ptr[i + 1]) : -1;
			int low = high >= 0 ? span_hex_digit(raw.ptr[i + 2]) : -1;
			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		}
		*to++ = c == '+' && raw.ptr[i] == '+' ? ' ' : c;
	}
	*out = span_of(from, (size_t)(to - from));
	return span_is_utf8(*out) && span_find_char(*out, 0) < 0;
}

static bool is_known(const char *names, struct span name)
{
	struct span rest = span_from(names), one;

	while (span_next(&rest, ' ', &one))
		if (span_equal(one, name))
			return true;
	return false;
}

static enum status add_parameter(
	struct prom_call *call, const char *names, struct span name, struct span value, struct error *err)
{
	if (!is_known(names, name))
		return error_set(err, ERR_INVALID, "unknown parameter '%.*s'; known here: %s",
			SPAN_ARGS(span_cut(name, 60)), names);
	if (call->parameter_count == PARAMETERS_MAX)
		return error_set(err, ERR_INVALID, "more than %d parameters", PARAMETERS_MAX);
	call->parameters[call->parameter_count].name = name;
	call->parameters[call->parameter_count++].value = value;
	return OK;
}

static enum status read_form(struct prom_call *call, const char *names, struct error *err)
{
	struct span rest = http_request_body(call->request), pair;
	char *room = arena_alloc(call->arena, rest.len + 1);

	if (!room)
		return error_no_memory(err);
	while (rest.len && span_next(&rest, '&', &pair)) {
		ptrdiff_t equals = span_find_char(pair, '=');
		struct span name = equals < 0 ? pair : span_of(pair.ptr, (size_t)equals);
		struct span value = equals < 0 ? SPAN("") : span_skip(pair, (size_t)equals + 1);
		if (!pair.len)
			continue;
		if (!decode(name, room, &name))
			return error_set(err, ERR_INVALID, "the form has a name that cannot be decoded");
		room += name.len;
		if (!decode(value, room, &value))
			return error_set(err, ERR_INVALID, "the value of '%.*s' cannot be decoded",
				SPAN_ARGS(span_cut(name, 60)));
		room += value.len;
		TRY(add_parameter(call, names, name, value, err));
	}
	return OK;
}

static enum status read_parameters(struct prom_call *call, const char *names, struct error *err)
{
	struct span name, value, type = http_request_header(call->request, "Content-Type");

	call->parameters = arena_alloc(call->arena, PARAMETERS_MAX * sizeof *call->parameters);
	if (!call->parameters)
		return error_no_memory(err);
	for (size_t i = 0; http_request_query_at(call->request, i, &name, &value); i++)
		TRY(add_parameter(call, names, name, value, err));
	if (http_request_method(call->request) != HTTP_POST || !http_request_body(call->request).len)
		return OK;
	if (!span_starts_with(type, SPAN("application/x-www-form-urlencoded")))
		return error_set(err, ERR_INVALID, "the body is to be application/x-www-form-urlencoded, not '%.*s'",
			SPAN_ARGS(span_cut(type, 60)));
	return read_form(call, names, err);
}

struct span call_parameter(const struct prom_call *call, const char *name)
{
	for (size_t i = 0; i < call->parameter_count; i++)
		if (span_equal(call->parameters[i].name, span_from(name)))
			return call->parameters[i].value;
	return SPAN("");
}

enum status call_time(const struct prom_call *call, const char *name, int64_t fallback, int64_t *ms, struct error *err)
{
	struct span text = call_parameter(call, name);
	double seconds;

	*ms = fallback;
	if (!text.len)
		return OK;
	if (span_parse_double(text, &seconds) && fabs(seconds) < LATEST_S) {
		*ms = (int64_t)round(seconds * 1000);
		return OK;
	}
	if (iso8601_parse(text, ms))
		return OK;
	return error_set(err, ERR_INVALID, "invalid parameter \"%s\": cannot parse \"%.*s\" to a valid timestamp", name,
		SPAN_ARGS(span_cut(text, 60)));
}

enum status call_duration(const struct prom_call *call, const char *name, int64_t *ms, struct error *err)
{
	struct span text = call_parameter(call, name);
	double seconds;

	if (!text.len)
		return OK;
	if (span_parse_double(text, &seconds) && seconds > 0 && seconds < LATEST_S)
		*ms = (int64_t)(seconds * 1000);
	else if (!tokens_duration(text, ms))
		*ms = 0;
	return *ms > 0 ? OK
		       : error_set(err, ERR_INVALID,
				 "invalid parameter \"%s\": \"%.*s\" is no duration greater than 0, as 15 or 5m", name,
				 SPAN_ARGS(span_cut(text, 60)));
}

enum status call_limit(const struct prom_call *call, size_t *limit, struct error *err)
{
	struct span text = call_parameter(call, "limit");
	uint64_t number = 0;

	if (text.len && (!span_parse_u64(text, &number) || number > SIZE_MAX / 2))
		return error_set(err, ERR_INVALID, "invalid parameter \"limit\": '%.*s' is no number from 0 on",
			SPAN_ARGS(span_cut(text, 60)));
	*limit = number ? (size_t)number : SIZE_MAX;
	return OK;
}

/* ---- a call ---- */

static enum status take_timeout(struct prom_call *call, struct error *err)
{
	int64_t ms = call->options->search_ms;

	TRY(call_duration(call, "timeout", &ms, err));
	ms = ms < call->options->search_ms ? ms : call->options->search_ms;
	call->budget = (struct prom_budget){.points = call->options->max_points,
		.most_points = call->options->max_points,
		.jobs = call->options->max_jobs,
		.most_jobs = call->options->max_jobs,
		.until_mono_ms = clock_mono_ms() + ms};
	call->reading.search_ms = ms;
	return OK;
}

static enum status answer(
	struct prom_call *call, struct buf *body, const char *names, prom_handler *handler, struct error *err)
{
	TRY(read_parameters(call, names, err));
	TRY(take_timeout(call, err));
	call->w = json_writer_on(body);
	json_object(&call->w);
	json_put_text(&call->w, "status", "success");
	json_key(&call->w, "data");
	TRY(handler(call, err));
	if (call->is_cut) {
		json_key(&call->w, "warnings");
		json_raw(&call->w, SPAN("[\"results truncated due to limit\"]"));
	}
	json_object_end(&call->w);
	return buf_status(body, err);
}

enum status call_run(const struct prometheus_options *options, void *worker, const struct http_request *request,
	struct http_response *response, const char *names, prom_handler *handler, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct prom_call call = {.options = options, .request = request, .arena = arena};

	if (!arena || !scratch)
		return error_no_memory(err);
	call.reading = (struct series_reading){.pipeline = options->pipeline,
		.reader = options->reader_of(worker),
		.scratch = scratch,
		.budget = &call.budget};
	enum status status = answer(&call, &response->body, names, handler, err);
	series_done(&call.reading);
	return status;
}
