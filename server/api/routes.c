/* The whole REST surface in one table; the OpenAPI document is written from it. */
#include "api/internal.h"

enum { DOCUMENT_BYTES = 4 << 20, SMALL_BYTES = 64 << 10 };

static const struct http_route routes[] = {
	{HTTP_GET, "/healthz", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_healthz, .query = "", .summary = "Liveness"},
	{HTTP_GET, "/readyz", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_readyz, .query = "",
		.summary = "Readiness, with the reason when not"},
	{HTTP_GET, "/metrics", SCOPE_READ, ROUTE_WORKER, .handler = api_metrics_text, .query = "",
		.summary = "Prometheus text"},
	{HTTP_GET, "/api/v1/info", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_info, .query = "",
		.summary = "Version, features, counts"},
	{HTTP_GET, "/api/v1/openapi.json", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_openapi, .query = "",
		.summary = "This interface as OpenAPI 3.1"},

	{HTTP_GET, "/api/v1/session", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_session_get, .query = "",
		.summary = "Who is signed in"},
	{HTTP_POST, "/api/v1/session", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_session_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "Sign in with a token: sets a cookie"},
	{HTTP_DELETE, "/api/v1/session", SCOPE_PUBLIC, ROUTE_INLINE, .handler = api_session_delete, .query = "",
		.summary = "Sign out"},
	{HTTP_GET, "/api/v1/tokens", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_list, .query = "",
		.summary = "Tokens, without their text"},
	{HTTP_POST, "/api/v1/tokens", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "A new token; its text is shown once"},
	{HTTP_DELETE, "/api/v1/tokens/{token}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_tokens_delete, .query = "",
		.summary = "Revoke a token"},

	{HTTP_POST | HTTP_PUT, "/api/v1/logs", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_lines,
		.query = "job stream host offset", .summary = "Lines: text/plain or application/x-ndjson"},
	{HTTP_POST, "/api/v1/points", SCOPE_WRITE, ROUTE_UPLOAD, .upload = &api_upload_points,
		.query = "job stream host", .summary = "Points: JSON columns or objects, or application/x-ndjson"},
	{HTTP_GET, "/api/v1/live", SCOPE_READ, ROUTE_STREAM, .stream = &api_live,
		.query = "jobs kinds after stream filter filter_regex filter_ignore_case",
		.summary = "Server-sent events: points, lines, job, incident"},

	{HTTP_GET, "/api/v1/jobs", SCOPE_READ, ROUTE_WORKER, .handler = api_jobs_list,
		.query = "q sort limit cursor total", .summary = "Search jobs"},
	{HTTP_POST, "/api/v1/jobs", SCOPE_WRITE, ROUTE_WORKER, .handler = api_jobs_create, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .summary = "A CreateTrainingJob document"},
	{HTTP_GET, "/api/v1/jobs/{job}", SCOPE_READ, ROUTE_WORKER, .handler = api_job_get, .query = "",
		.summary = "One job: its document and what was derived"},
	{HTTP_PATCH, "/api/v1/jobs/{job}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_job_patch, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "Change a job's own limits on its log text"},
	{HTTP_DELETE, "/api/v1/jobs/{job}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_job_delete, .query = "",
		.summary = "Delete a job that ended"},
	{HTTP_POST, "/api/v1/jobs/{job}/transitions", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_transition,
		.query = "", .max_body_bytes = SMALL_BYTES, .summary = "A new secondary status"},
	{HTTP_GET, "/api/v1/jobs/{job}/streams", SCOPE_READ, ROUTE_WORKER, .handler = api_streams, .query = "",
		.summary = "Log streams of a job"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs", SCOPE_READ, ROUTE_WORKER, .handler = api_lines,
		.query = "stream from limit around_ms merge cursor",
		.summary = "Lines of a stream by number or time; merge=true: of all streams by time"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/raw", SCOPE_READ, ROUTE_WORKER, .handler = api_lines_raw,
		.query = "stream from limit", .summary = "A stream's text as it came"},
	{HTTP_GET, "/api/v1/jobs/{job}/logs/search", SCOPE_READ, ROUTE_WORKER, .handler = api_log_search,
		.query = "q regex ignore_case stream limit cursor order from_ms to_ms histogram",
		.summary = "Lines of all streams that hold a text or match a regular expression"},
	{HTTP_GET, "/api/v1/jobs/{job}/metrics", SCOPE_READ, ROUTE_WORKER, .handler = api_series, .query = "",
		.summary = "Series, and the health of each definition"},
	{HTTP_GET, "/api/v1/jobs/{job}/points", SCOPE_READ, ROUTE_WORKER, .handler = api_points,
		.query = "metric stream x from to buckets attempts raw format",
		.summary = "A chart: points folded into buckets; raw=true: every point"},
	{HTTP_GET, "/api/v1/points", SCOPE_READ, ROUTE_WORKER, .handler = api_points_search, .query = "q metric format",
		.summary = "CSV of a metric's points in all jobs of a search"},
	{HTTP_POST, "/api/v1/points/query", SCOPE_READ, ROUTE_WORKER, .handler = api_points_query, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .summary = "Charts of many jobs and metrics"},

	{HTTP_GET, "/api/v1/retention", SCOPE_READ, ROUTE_WORKER, .handler = api_retention_get, .query = "",
		.summary = "Limits on log text, what is used, and what goes next"},
	{HTTP_PUT, "/api/v1/retention", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_retention_put, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "Change limits: of the server, of a team"},
	{HTTP_POST, "/api/v1/jobs/{job}/pin", SCOPE_WRITE, ROUTE_WORKER, .handler = api_job_pin, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "Keep a job's log text whatever the limits, or no longer"},

	{HTTP_POST, "/api/v1/definitions/test", SCOPE_READ, ROUTE_WORKER, .handler = api_definitions_test, .query = "",
		.max_body_bytes = DOCUMENT_BYTES, .summary = "Try metric definitions on given or stored lines"},

	{HTTP_GET, "/api/v1/incidents", SCOPE_READ, ROUTE_WORKER, .handler = api_incidents,
		.query = "q state kind limit cursor", .summary = "Incidents, newest first"},
	{HTTP_POST, "/api/v1/incidents/{id}/ack", SCOPE_WRITE, ROUTE_WORKER, .handler = api_incident_acknowledge,
		.query = "", .max_body_bytes = SMALL_BYTES, .summary = "Acknowledge an incident"},
	{HTTP_GET, "/api/v1/webhooks", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhooks_list, .query = "",
		.summary = "Webhooks, without their secrets"},
	{HTTP_POST, "/api/v1/webhooks", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhooks_create, .query = "",
		.max_body_bytes = SMALL_BYTES, .summary = "A new webhook"},
	{HTTP_DELETE, "/api/v1/webhooks/{id}", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_webhook_delete, .query = "",
		.summary = "Delete a webhook"},
	{HTTP_GET, "/api/v1/webhooks/{id}/deliveries", SCOPE_ADMIN, ROUTE_WORKER, .handler = api_deliveries,
		.query = "limit", .summary = "Deliveries, newest first"},
	{HTTP_POST, "/api/v1/webhooks/{id}/deliveries/{n}/retry", SCOPE_ADMIN, ROUTE_WORKER,
		.handler = api_delivery_retry, .query = "", .max_body_bytes = SMALL_BYTES, .summary = "Send once more"},

	{HTTP_GET, "/{path...}", SCOPE_PUBLIC, ROUTE_WORKER, .handler = api_assets, .query = "*",
		.summary = "The page"},
};

const struct http_route *api_routes(size_t *count)
{
	*count = sizeof routes / sizeof *routes;
	return routes;
}
