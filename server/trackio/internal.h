/*
 * Job: what the calls of the door for Trackio share. A call is POST /api/NAME with {"args": [], "kwargs": {…}}; its reply is
 *      {"data": …} or {"error": text}.
 * Ownership: what a call has is in its arena, and ends with its reply. Threads: a worker.
 */
#pragma once

#include "base/json/json_write.h"
#include "pipeline/jobs/tracked_projects.h"
#include "pipeline/jobs/tracked_runs.h"
#include "trackio/entries.h"
#include "trackio/trackio_options.h"

enum {
	TRACKIO_RUNS_MAX = 100, /* that one request may be of */
	TRACKIO_CHUNK = 1000, /* entries that are stored at once */
};

/* Of a run's job: what it logs, what its machine measures, and what it says by alert(). */
#define TRACKIO_STREAM "algo-1"
#define TRACKIO_SYSTEM_STREAM "system/host"

struct trackio_call {
	const struct trackio_options *options;
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct span body;
	struct span team; /* the principal's */
	int64_t now_ms; /* when the request came */
	struct arena *arena;
	struct json_writer w; /* before the value of "data" */
};

typedef enum status trackio_handler(struct trackio_call *call, struct error *err);

struct trackio {
	struct trackio_options options;
	struct http_route *routes;
	size_t route_count;
};

/* ---- call.c: a call from its body to its reply ---- */
/* Who may call it; BY_SENDERS: with a token to write or to read. */
enum trackio_use { TRACKIO_WRITES, TRACKIO_BY_SENDERS };
enum status trackio_run_call(struct trackio *trackio, void *worker, const struct http_request *request,
	struct http_response *response, enum trackio_use use, trackio_handler *handler, struct error *err) MUST_CHECK;
enum status trackio_admit(
	void *context, const struct http_request *request, struct principal *out, struct error *err) MUST_CHECK;
void trackio_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* ---- runs.c: which run is meant ---- */
struct trackio_run {
	struct span key; /* its id in the store: of tracker, team, project and what the client calls it */
	struct span job;
	bool has_config; /* it was stated in this request */
	bool begins; /* by a process that began behind all that has come of the run */
};
/* That of the entry, made if it is not there; its config is stated. The arena's. */
enum status trackio_have_run(struct trackio_call *call, const struct trackio_entry *entry, struct trackio_run *out,
	struct error *err) MUST_CHECK;
enum status trackio_key(const struct trackio_call *call, struct span project, struct span run, struct span run_id,
	struct span *out, struct error *err) MUST_CHECK;
trackio_handler trackio_get_runs, trackio_get_run_summary;

/* ---- logs.c ---- */
trackio_handler trackio_bulk_log, trackio_bulk_log_system, trackio_bulk_alert;

/* ---- trackio.c ---- */
trackio_handler trackio_no_media, trackio_no_artifacts;
