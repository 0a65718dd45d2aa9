/* Metric definitions: tried on given or stored lines. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "pipeline/backfill/definitions_trial.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "state/streams/job_view.h"

enum { LINES_DEFAULT = 200, LINES_MAX = 1000 };

struct sample {
	struct span *lines;
	size_t count;
};

/* {"lines": ["…", …]}, or one text with newlines, as it comes out of a clipboard. */
static enum status given_lines(const struct json *given, struct arena *arena, struct sample *out, struct error *err)
{
	struct span text = json_string_of(given), line;

	out->lines = arena_alloc(arena, LINES_MAX * sizeof *out->lines);
	if (!out->lines)
		return error_no_memory(err);
	if (json_kind(given) == JSON_STRING) {
		while (span_next(&text, '\n', &line)) {
			if (out->count == LINES_MAX)
				return error_set_field(
					err, ERR_TOO_LARGE, "lines", "at most %d lines are tried at once", LINES_MAX);
			out->lines[out->count++] = line;
		}
		return OK;
	}
	if (json_kind(given) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, "lines", "lines must be an array of strings, or one string");
	if (json_count(given) > LINES_MAX)
		return error_set_field(err, ERR_TOO_LARGE, "lines", "at most %d lines are tried at once; these are %zu",
			LINES_MAX, json_count(given));
	for (const struct json *item = json_first(given); item; item = json_next(item)) {
		if (json_kind(item) != JSON_STRING)
			return error_set_field(err, ERR_SEMANTIC, "lines", "lines[%zu] is no string", out->count);
		out->lines[out->count++] = json_string_of(item);
	}
	return OK;
}

/* {"job", "stream", "from", "limit"}: lines as they are stored; without `from` the last ones. */
static enum status stored_lines(struct api *api, struct api_worker *worker, const struct json *body,
	struct arena *arena, struct sample *out, struct error *err)
{
	struct span job = SPAN(""), stream = SPAN("");
	int64_t from = -1, limit = LINES_DEFAULT;
	struct line_view *lines;
	struct job_view view;
	uint64_t total;

	TRY(json_want_string(body, "job", &job, err));
	TRY(json_want_string(body, "stream", &stream, err));
	TRY(json_want_i64(body, "from", &from, err));
	TRY(json_want_i64(body, "limit", &limit, err));
	if (!job.len)
		return error_set_field(
			err, ERR_SEMANTIC, "lines", "say lines, or the job (and stream) whose lines are to be tried");
	if (limit < 1 || limit > LINES_MAX)
		return error_set_field(
			err, ERR_SEMANTIC, "limit", "limit %lld is not between 1 and %d", (long long)limit, LINES_MAX);
	if (!stream.len) {
		TRY(view_read_job(
			api->options.pipeline, worker->reader, arena, job, SPAN(""), SPAN(""), 0, &view, err));
		if (!view.stream_count)
			return OK;
		stream = view.streams[0].name;
	}
	TRY(lines_read(api->options.pipeline, worker->reader, arena, job, stream,
		from < 0 ? UINT64_MAX : (uint64_t)from, (size_t)limit, SIZE_MAX, &lines, &out->count, &total, err));
	out->lines = arena_alloc(arena, (out->count + 1) * sizeof *out->lines);
	if (!out->lines)
		return error_no_memory(err);
	for (size_t i = 0; i < out->count; i++)
		out->lines[i] = lines[i].text;
	return OK;
}

enum status api_definitions_test(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct sample sample = {0};

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	const struct json *given = json_get(body, "lines");
	if (given)
		TRY(given_lines(given, arena, &sample, err));
	else
		TRY(stored_lines(api, worker, body, arena, &sample, err));
	TRY(pipeline_try_definitions(
		api->options.pipeline, json_get(body, "MetricDefinitions"), sample.lines, sample.count, &w, err));
	return buf_status(&response->body, err);
}
