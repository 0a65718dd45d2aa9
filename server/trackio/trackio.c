#include "trackio/trackio.h"

#include "trackio/internal.h"

/* The one version of its interface there is; of the package, the one that this door was written after. */
enum { API_VERSION = 1 };
#define PACKAGE_VERSION "0.43.0"

static enum status version(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct json_writer w = json_writer_on(&response->body);

	(void)context;
	(void)worker;
	(void)request;
	response->content_type = "application/json";
	json_object(&w);
	json_put_text(&w, "version", PACKAGE_VERSION);
	json_put_i64(&w, "api_version", API_VERSION);
	json_put_bool(&w, "writes_paused", false);
	json_put_text(&w, "api_transport", "http");
	json_object_end(&w);
	return buf_status(&response->body, err);
}

enum status trackio_no_media(struct trackio_call *call, struct error *err)
{
	(void)call;
	return error_set(err, ERR_UNSUPPORTED,
		"this server keeps no pictures, videos and tables: put files beside the checkpoints, and log where");
}

enum status trackio_no_artifacts(struct trackio_call *call, struct error *err)
{
	(void)call;
	return error_set(err, ERR_UNSUPPORTED,
		"this server keeps no artifacts: put files beside the checkpoints, and log where");
}

#define CALL(name, use)                                                                                                \
	static enum status route_##name(void *context, void *worker, const struct http_request *request,               \
		struct http_response *response, struct error *err)                                                     \
	{                                                                                                              \
		return trackio_run_call(context, worker, request, response, use, trackio_##name, err);                 \
	}

CALL(get_runs, TRACKIO_BY_SENDERS)
CALL(get_run_summary, TRACKIO_BY_SENDERS)
CALL(bulk_log, TRACKIO_WRITES)
CALL(bulk_log_system, TRACKIO_WRITES)
CALL(bulk_alert, TRACKIO_WRITES)
CALL(no_media, TRACKIO_WRITES)
CALL(no_artifacts, TRACKIO_WRITES)

static const struct http_route templates[] = {
	{HTTP_POST, "/api/get_runs_for_project", SCOPE_READ, .handler = route_get_runs,
		.summary = "Trackio: the runs of a project, newest first; also with a token to write"},
	{HTTP_POST, "/api/get_run_summary", SCOPE_READ, .handler = route_get_run_summary,
		.summary = "Trackio: how far a run has come; also with a token to write"},
	{HTTP_POST, "/api/bulk_log", SCOPE_WRITE, .handler = route_bulk_log,
		.summary = "Trackio: log points of runs, which are jobs PROJECT/RUN"},
	{HTTP_POST, "/api/bulk_log_system", SCOPE_WRITE, .handler = route_bulk_log_system,
		.summary = "Trackio: log what the machine of a run measures"},
	{HTTP_POST, "/api/bulk_alert", SCOPE_WRITE, .handler = route_bulk_alert,
		.summary = "Trackio: what runs say by alert(): lines of their jobs, and incidents"},
	{HTTP_POST, "/api/upload", SCOPE_WRITE, .handler = route_no_media,
		.summary = "Trackio: not implemented; it says what to do instead"},
	{HTTP_POST, "/api/bulk_upload_media", SCOPE_WRITE, .handler = route_no_media,
		.summary = "Trackio: not implemented; it says what to do instead"},
	{HTTP_POST, "/api/artifact_log", SCOPE_WRITE, .handler = route_no_artifacts,
		.summary = "Trackio: not implemented; it says what to do instead"},
	{HTTP_POST, "/api/check_artifact_blobs", SCOPE_WRITE, .handler = route_no_artifacts,
		.summary = "Trackio: not implemented; it says what to do instead"},
	/* Public, so that a client whose token is wrong hears of that, and not that this is no server of Trackio's. */
	{HTTP_GET, "/version", SCOPE_PUBLIC, .handler = version,
		.summary = "Trackio: by which its client knows a server of its kind"},
};

enum { ROUTE_COUNT = sizeof templates / sizeof *templates };

static struct http_route route_of(struct trackio *trackio, const struct http_route *template)
{
	struct http_route route = *template;

	route.context = trackio;
	route.kind = ROUTE_WORKER;
	route.query = "*";
	if (route.scope == SCOPE_PUBLIC)
		return route;
	route.max_body_bytes = trackio->options.max_body_bytes;
	route.admit = trackio_admit;
	route.refuse = trackio_refuse;
	return route;
}

enum status trackio_new(struct trackio **out, const struct trackio_options *options, struct error *err)
{
	AUTO(trackio) trackio = mem_zeroed(sizeof *trackio);

	if (!trackio || !(trackio->routes = mem_zeroed(ROUTE_COUNT * sizeof *trackio->routes)))
		return error_no_memory(err);
	trackio->options = *options;
	for (; trackio->route_count < ROUTE_COUNT; trackio->route_count++)
		trackio->routes[trackio->route_count] = route_of(trackio, &templates[trackio->route_count]);
	*out = TAKE(trackio);
	return OK;
}

void trackio_free(struct trackio *trackio)
{
	if (!trackio)
		return;
	mem_free(trackio->routes);
	mem_free(trackio);
}

const struct http_route *trackio_routes(const struct trackio *trackio, size_t *count)
{
	*count = trackio->route_count;
	return trackio->routes;
}
