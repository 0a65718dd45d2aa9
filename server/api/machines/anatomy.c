/* What a step is made of, by what its trainer times, and by profilers' traces: docs/anatomy.md. */
#include "read/charts/anatomy_traces.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "pipeline/alert/communication_watch.h"
#include "pipeline/jobs/gpu_traces.h"
#include "store/jobs.h"
#include "store/sessions.h"

#include <math.h>

enum { TRACES_SHOWN = 500 };

static void write_shares(struct json_writer *w, const double share[ANATOMY_PARTS], double exposed)
{
	json_key(w, "share");
	json_object(w);
	for (int part = 0; part < ANATOMY_PARTS; part++)
		api_put_known(w, anatomy_part_name((enum anatomy_part)part), share[part]);
	json_object_end(w);
	api_put_known(w, "exposed_communication", exposed); /* by traces: no timer tells what ran beside it */
}

static void write_stream(struct json_writer *w, const struct anatomy_stream *stream)
{
	json_object(w);
	json_put_span(w, "stream", stream->name);
	json_put_i64(w, "steps", (int64_t)stream->steps);
	write_shares(w, stream->share, stream->exposed);
	json_put_i64(w, "traces", (int64_t)stream->traces);
	json_key(w, "from");
	json_object(w);
	for (int part = 0; part < ANATOMY_PARTS; part++)
		if (stream->from[part].len)
			json_put_span(w, anatomy_part_name((enum anatomy_part)part), stream->from[part]);
	if (stream->traces)
		json_put_text(w, "exposed_communication", "(communication_us - overlap_us) / kernel_us");
	json_object_end(w);
	json_object_end(w);
}

static const char *anatomy_absence(const struct anatomy *found)
{
	if (found->has_timed_steps)
		return "none of the chosen steps has both a step time and a timer of its parts";
	if (found->has_timers)
		return "the parts of a step are timed, but not the step itself: shares need a metric whose role is step_time in the same stream (docs/anatomy.md)";
	return "no stream has timers of a step's parts, nor a trace (docs/anatomy.md)";
}

/* ---- traces ---- */

static void write_trace(struct json_writer *w, const struct anatomy_trace *row)
{
	const struct gpu_trace *trace = &row->trace;
	int64_t busy_us = trace->kernel_us - trace->idle_us;

	json_object(w);
	gpu_trace_write(trace, w);
	api_put_known(w, "idle", gpu_trace_share(trace, trace->idle_us));
	api_put_known(w, "compute", gpu_trace_share(trace, trace->compute_us));
	api_put_known(w, "non_compute", gpu_trace_share(trace, busy_us - trace->compute_us));
	api_put_known(w, "overlap",
		trace->communication_us ? (double)trace->overlap_us / (double)trace->communication_us : NAN);
	api_put_known(w, "exposed_communication", gpu_trace_share(trace, gpu_trace_exposed_us(trace)));
	json_put_i64(w, "received_ms", row->received_ms);
	json_put_span(w, "author", row->author);
	json_object_end(w);
}

/* Of more the last ones: each stream's are in the order of their steps. */
static void write_traces(struct json_writer *w, const struct anatomy_traces *traces)
{
	size_t first = traces->count > TRACES_SHOWN ? traces->count - TRACES_SHOWN : 0;

	json_key(w, "traces");
	json_array(w);
	for (size_t i = first; i < traces->count; i++)
		write_trace(w, &traces->traces[i]);
	json_array_end(w);
	json_put_i64(w, "traces_total", (int64_t)traces->count);
}

enum status api_job_anatomy(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	int64_t from = INT64_MIN, to = INT64_MAX;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct anatomy_traces traces;
	struct anatomy found;
	struct job_row job;

	TRY(http_query_i64(request, "from_step", 0, INT64_MAX, &from, err));
	TRY(http_query_i64(request, "to_step", 0, INT64_MAX, &to, err));
	if (to < from)
		return error_set_field(err, ERR_SEMANTIC, "to_step",
			"'to_step' (%lld) must not be below 'from_step' (%lld)", (long long)to, (long long)from);
	TRY(api_arena(&arena, err));
	TRY(anatomy_read(api->options.pipeline, reader, arena, http_request_segment(request, 0),
		&(struct anatomy_range){from, to, ANATOMY_STREAMS_MAX}, &found, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(anatomy_read_traces(reader, arena, job.job_id, from, to, &traces, err));
	TRY(anatomy_add_traces(&found, &traces, arena, err));
	json_object(&w);
	json_put_i64(&w, "steps", (int64_t)found.steps);
	write_shares(&w, found.share, found.exposed);
	json_key(&w, "by_stream");
	json_array(&w);
	for (size_t i = 0; i < found.count; i++)
		write_stream(&w, &found.streams[i]);
	json_array_end(&w);
	json_put_i64(&w, "left_out", (int64_t)found.left_out);
	write_traces(&w, &traces);
	if (!found.count)
		json_put_text(&w, "reason", anatomy_absence(&found));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- changes ---- */

/* A run whose name another had is called otherwise (NAME-2): who beside it knows its start alone asks by run_key=, as its session did. */
static enum status find_run(const struct http_request *request, struct store_reader *reader, struct arena *arena,
	struct span *job, struct error *err)
{
	struct span run_key, known;

	*job = http_request_segment(request, 0);
	if (!http_request_query(request, "run_key", &run_key) || !run_key.len)
		return OK;
	TRY(store_read_run_name(reader, arena, *job, run_key, &known, err));
	*job = known.len ? known : *job;
	return OK;
}

static enum status change(struct api *api, const struct http_request *request, struct arena *arena,
	struct gpu_trace_change *change, struct error *err)
{
	change->team = api_team(request);
	change->most = api->options.max_traces;
	return pipeline_change_gpu_trace(api->options.pipeline, arena, change, err);
}

enum status api_job_anatomy_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	struct gpu_trace trace;
	struct span document, job;
	struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(api_check_members(body, GPU_TRACE_MEMBERS, err));
	TRY(gpu_trace_read(&trace, body, arena, err));
	TRY(gpu_trace_print(&trace, arena, &document, err));
	TRY(find_run(request, reader, arena, &job, err));
	TRY(change(context, request, arena,
		&(struct gpu_trace_change){.job = job,
			.row = {.stream = trace.stream,
				.trace = trace.trace,
				.document = document,
				.received_ms = http_request_arrival_ms(request),
				.author = span_from(http_request_principal(request)->name)}},
		err));
	TRY(communication_watch_look(api->options.pipeline, reader, arena, job, trace.stream, err));
	struct json_writer w = api_reply(response);
	response->status = 201;
	json_raw(&w, document);
	return buf_status(&response->body, err);
}

enum status api_job_anatomy_delete(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct gpu_trace_change deletion = {.job = http_request_segment(request, 0), .is_deletion = true};
	AUTO(arena) arena = NULL;

	(void)worker;
	TRY(api_arena(&arena, err));
	if (!http_request_query(request, "stream", &deletion.row.stream) ||
		!http_request_query(request, "trace", &deletion.row.trace))
		return error_set_field(err, ERR_SEMANTIC, "trace", "stream= and trace= say which trace's summary goes");
	TRY(change(context, request, arena, &deletion, err));
	if (!deletion.deleted)
		return error_set(err, ERR_NOT_FOUND, "stream '%.*s' of the job has no trace '%.*s'",
			SPAN_ARGS(span_cut(deletion.row.stream, 100)), SPAN_ARGS(span_cut(deletion.row.trace, 100)));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_i64(&w, "deleted", (int64_t)deletion.deleted);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
