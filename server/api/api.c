#include "api/api.h"

#include "api/core/api_options.h"
#include "api/core/api_state.h"
#include "api/core/audit.h"
#include "api/core/handlers.h"
#include "api/core/signed_urls.h"
#include "api/core/page_sessions.h"
#include "api/core/person_sessions.h"
#include "api/core/persons.h"
#include "api/core/request.h"
#include "api/core/sign_in.h"
#include "api/core/tokens.h"
#include "api/jobs/job_page.h"
#include "api/send/upload.h"
#include "api/send/upload_timer.h"
#include "base/clock.h"
#include "base/text/zone.h"
#include "fleet/advice.h"
#include "ingest/labels.h"
#include "ingest/otlp/span_names.h"
#include "pipeline/jobs/session_table.h"
#include "pipeline/pipeline.h"
#include "pipeline/publish.h"
#include "store/jobs.h"

#include <stdio.h>

enum { EMBED_ORIGINS_BYTES = 200 };

/* "https://wiki.example.org, https://a:8443" as frame-ancestors has it. What a header would take for more is refused. */
static enum status read_embed_origins(struct api *api, struct error *err)
{
	struct span rest = span_from(api->options.embed_origins ? api->options.embed_origins : ""), part;
	AUTO_DONE(buf) list = BUF_INIT(EMBED_ORIGINS_BYTES);

	while (span_next(&rest, ',', &part)) {
		part = span_trim(part);
		bool is_origin = span_starts_with(part, SPAN("http://")) || span_starts_with(part, SPAN("https://"));
		for (size_t i = 0; i < part.len && is_origin; i++)
			is_origin = part.ptr[i] > ' ' && part.ptr[i] < 0x7f && !strchr(";'\"", part.ptr[i]);
		if (part.len && !is_origin && !span_equal(part, SPAN("*")))
			return error_set_field(err, ERR_SEMANTIC, "embed-origin",
				"--embed-origin: '%.*s' is no origin, as https://wiki.example.org is", SPAN_ARGS(part));
		if (part.len)
			buf_printf(&list, "%s%.*s", list.len ? " " : "", SPAN_ARGS(part));
	}
	if (list.failure)
		return error_set_field(err, ERR_SEMANTIC, "embed-origin", "--embed-origin is longer than %d bytes",
			EMBED_ORIGINS_BYTES);
	buf_append_char(&list, 0);
	TRY(buf_status(&list, err));
	api->frame_ancestors = mem_copy_string(list.len > 1 ? list.ptr : "'none'");
	return api->frame_ancestors ? OK : error_no_memory(err);
}

static enum status read_team_reads(struct api *api, struct error *err)
{
	struct span text = span_from(api->options.team_reads ? api->options.team_reads : "open");

	api->are_reads_own = span_equal(text, SPAN("own"));
	return api->are_reads_own || span_equal(text, SPAN("open"))
		       ? OK
		       : error_set_field(err, ERR_INVALID, "team-reads", "--team-reads '%.*s' is neither open nor own",
				 SPAN_ARGS(text));
}

static enum status read_labels(struct api *api, struct error *err)
{
	const char *lists[LABEL_ROLES];

	TRY(ingest_span_names_new(&api->span_names, api->options.span_names, err));
	TRY(ingest_labels_new(&api->labels, api->options.labels, err));
	memcpy(lists, api->options.labels, sizeof lists);
	lists[LABEL_JOB] = api->options.prometheus_job_labels;
	return ingest_labels_new(&api->prometheus_labels, lists, err);
}

static enum status make_person_sessions(struct api *api, struct error *err)
{
	const struct person_sessions_options options = {.people = api->options.people,
		.longest_ms = api->options.sign_in_ms,
		.most = api->options.max_sign_ins};

	return person_sessions_new(&api->person_sessions, &options, api->options.store, err);
}

enum status api_new(struct api **out, const struct api_options *options, struct error *err)
{
	AUTO(api) api = mem_zeroed(sizeof *api);

	if (!api)
		return error_no_memory(err);
	api->options = *options;
	api->started_ms = clock_wall_ms();
	pthread_rwlock_init(&api->tokens_lock, NULL);
	pthread_mutex_init(&api->tokens_loading, NULL);
	pthread_mutex_init(&api->uploads_mutex, NULL);
	if (zone_new(&api->zone, span_from(options->timezone), err)) {
		error_prefix(err, "--timezone");
		return ERR_SEMANTIC;
	}
	TRY(read_team_reads(api, err));
	TRY(read_embed_origins(api, err));
	TRY(read_labels(api, err));
	TRY(advice_new(&api->advice, options->advice, err));
	TRY(page_sessions_new(&api->ended_sessions, options->store, err));
	TRY(make_person_sessions(api, err));
	TRY(tokens_load(api, err));
	api->sessions = session_table_new(options->lease_ms, options->max_sessions);
	if (!api->sessions)
		return error_no_memory(err);
	*out = TAKE(api);
	return OK;
}

enum status api_start(struct api *api, struct error *err)
{
	TRY(person_sessions_sweep(api->person_sessions, api->options.pipeline, err));
	TRY(sign_in_desks_start(&api->desks, api, err));
	return upload_timer_start(&api->upload_timer, api, err);
}

void api_stop(struct api *api)
{
	if (!api)
		return;
	sign_in_desks_stop(api->desks);
	upload_timer_stop(TAKE(api->upload_timer));
	uploads_hand_over(api, clock_mono_ms());
}

void api_free(struct api *api)
{
	if (!api)
		return;
	arena_free(api->tokens_arena);
	page_sessions_free(api->ended_sessions);
	sign_in_desks_free(api->desks);
	person_sessions_free(api->person_sessions);
	mem_free(api->frame_ancestors);
	ingest_labels_free(api->labels);
	ingest_span_names_free(api->span_names);
	ingest_labels_free(api->prometheus_labels);
	zone_free(api->zone);
	advice_free(api->advice);
	session_table_free(api->sessions);
	pthread_rwlock_destroy(&api->tokens_lock);
	pthread_mutex_destroy(&api->tokens_loading);
	pthread_mutex_destroy(&api->uploads_mutex);
	mem_free(api);
}

void api_set_server(struct api *api, struct http_server *server)
{
	api->server = server;
}

void api_set_stopping(struct api *api)
{
	atomic_store(&api->is_stopping, true);
}

static enum status worker_new(void *context, void **out, struct error *err)
{
	struct api *api = context;
	struct api_worker *worker = mem_zeroed(sizeof *worker);

	if (!worker)
		return error_no_memory(err);
	worker->api = api;
	worker->body = BUF_INIT(1 << 20);
	enum status status = store_reader_new(&worker->whole, api->options.store, err);
	if (status != OK) {
		mem_free(worker);
		return status;
	}
	worker->reader = worker->whole;
	*out = worker;
	return OK;
}

struct store_reader *api_worker_reader(void *worker)
{
	struct api_worker *own = worker;

	return own->reader;
}

static void worker_free(void *context)
{
	struct api_worker *worker = context;

	store_reader_free(worker->whole);
	store_reader_free(worker->narrow);
	buf_done(&worker->body);
	mem_free(worker);
}

/* The only place that decides what of the database a request reads: all handlers read by the worker's reader. */
static enum status see_as(void *context, void *own, const struct principal *principal, struct error *err)
{
	struct api *api = context;
	struct api_worker *worker = own;

	worker->reader = worker->whole;
	if (!api_is_narrow(api, principal))
		return OK;
	worker->reader = NULL; /* whatever fails: nothing is read by the other one */
	if (!worker->narrow)
		TRY(store_reader_new_narrow(&worker->narrow, api->options.store, err));
	TRY(store_reader_narrow_to(worker->narrow, span_from(principal->team), err));
	worker->reader = worker->narrow;
	return OK;
}

/* Of a job in the path that whoever asks may not see: that there is one is not told, whichever route was asked. */
static enum status hide_job(
	void *context, void *own, const struct http_request *request, const struct http_route *route, struct error *err)
{
	static const char of_a_job[] = "/api/v1/jobs/{job}";
	struct api_worker *worker = own;
	AUTO(arena) arena = NULL;
	struct error unseen = {0};
	struct job_row job;

	if (!api_is_narrow(context, http_request_principal(request)) ||
		strncmp(route->pattern, of_a_job, sizeof of_a_job - 1) != 0)
		return ERR_FORBIDDEN;
	TRY(api_arena(&arena, err));
	if (store_read_job(worker->reader, arena, http_request_segment(request, 0), &job, &unseen) == OK)
		return ERR_FORBIDDEN;
	*err = unseen;
	return unseen.status;
}

struct http_hooks api_hooks(struct api *api)
{
	return (struct http_hooks){.context = api,
		.authenticate = tokens_authenticate,
		.authenticate_person = persons_authenticate,
		.check_signature = signatures_check,
		.is_known = tokens_are_known,
		.see_as = see_as,
		.forbidden = hide_job,
		.enter = audit_enter,
		.leave = audit_leave,
		.worker_new = worker_new,
		.worker_free = worker_free};
}

static bool is_open_to_all(struct api *api)
{
	struct principal nobody = {0};
	struct error err;

	return tokens_authenticate(api, SPAN(""), &nobody, &err) == OK && http_may(&nobody, SCOPE_READ);
}

static bool may_read(struct api *api, const struct http_request *request)
{
	const struct principal *principal = http_request_principal(request);

	return principal->scope == SCOPE_PUBLIC ? is_open_to_all(api) : http_may(principal, SCOPE_READ);
}

/* What the page asks for goes on from here: all of it is asked for later. Only for those who may ask at all. */
static void tell_seq(struct api *api, const struct http_request *request, struct http_response *response)
{
	if (!may_read(api, request))
		return;
	struct span path = http_request_path(request);
	if (span_ends_with(path, SPAN("/logs")))
		path.len -= sizeof "/logs" - 1;
	if (span_starts_with(path, SPAN("/jobs/")))
		pipeline_expect_reader(api->options.pipeline, span_skip(path, sizeof "/jobs/" - 1));
	http_response_header(response, "Server-Timing", "seq;desc=\"%llu\"",
		(unsigned long long)atomic_load(&pipeline_figures(api->options.pipeline)->extracted_seq));
}

static void finish_page(struct api *api, const struct http_request *request, struct http_response *response)
{
	struct span embed;

	if (span_starts_with(span_from(response->content_type), SPAN("text/html")))
		tell_seq(api, request, response);
	if (http_request_query(request, "embed", &embed) && span_equal(embed, SPAN("1")) &&
		span_starts_with(http_request_path(request), SPAN("/jobs/")))
		http_response_frames(response, api->frame_ancestors);
}

enum status api_job_page(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO_DONE(buf) head = BUF_INIT(JOB_HEAD_BYTES);
	struct api *api = context;

	if (may_read(api, request))
		TRY(job_page_write_head(worker, http_request_segment(request, 0), is_open_to_all(api), &head, err));
	TRY(assets_serve_job(api->options.assets, buf_span(&head), request, response, err));
	finish_page(api, request, response);
	return OK;
}

enum status api_assets(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;

	(void)worker;
	TRY(assets_serve(api->options.assets, request, response, err));
	finish_page(api, request, response);
	return OK;
}
