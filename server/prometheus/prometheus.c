#include "prometheus/prometheus.h"

#include "prometheus/call.h"

enum { FORM_MAX_BYTES = 1 << 20 };

struct prometheus {
	struct prometheus_options options;
	struct http_route *routes;
	size_t route_count;
};

#define CALL(name, handler, parameters)                                                                                \
	static enum status route_##name(void *context, void *worker, const struct http_request *request,               \
		struct http_response *response, struct error *err)                                                     \
	{                                                                                                              \
		const struct prometheus *prometheus = context;                                                         \
		return call_run(&prometheus->options, worker, request, response, parameters, handler, err);            \
	}

CALL(query, call_query, "query time timeout")
CALL(query_range, call_query_range, "query start end step timeout")
CALL(series, call_series, "match[] start end limit timeout")
CALL(labels, call_labels, "match[] start end limit timeout")
CALL(values, call_values, "match[] start end limit timeout")
CALL(metadata, call_metadata, "metric limit limit_per_metric timeout")
CALL(buildinfo, call_buildinfo, "timeout")
CALL(rules, call_rules, "type rule_name[] rule_group[] file[] exclude_alerts match[] timeout")
CALL(exemplars, call_exemplars, "query start end timeout")
CALL(format, call_format, "query timeout")
CALL(line_format, loki_format, "query timeout")
CALL(lines, loki_query_range, "query start end since limit direction step interval timeout")
CALL(expression, loki_query, "query time limit direction timeout")
CALL(line_series, loki_series, "match[] start end since limit timeout")
CALL(line_labels, loki_labels, "start end since query limit timeout")
CALL(line_values, loki_values, "start end since query limit timeout")
CALL(line_stats, loki_index_stats, "start end since query timeout")
CALL(line_tail, loki_tail, "query start limit delay_for timeout")

/* Whatever is asked of what is not here. */
#define ABSENT(name, handler)                                                                                          \
	static enum status route_##name(void *context, void *worker, const struct http_request *request,               \
		struct http_response *response, struct error *err)                                                     \
	{                                                                                                              \
		struct prom_call call = {.request = request};                                                          \
                                                                                                                       \
		(void)context, (void)worker, (void)response;                                                           \
		return handler(&call, err);                                                                            \
	}

ABSENT(absent, call_absent)
ABSENT(line_absent, loki_absent)

static const struct http_route templates[] = {
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/query", SCOPE_READ, .handler = route_query,
		.summary = "Prometheus: an expression of PromQL at one time"},
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/query_range", SCOPE_READ, .handler = route_query_range,
		.summary = "Prometheus: an expression of PromQL at equally spaced times"},
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/series", SCOPE_READ, .handler = route_series,
		.summary = "Prometheus: the series that selectors choose"},
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/labels", SCOPE_READ, .handler = route_labels,
		.summary = "Prometheus: the names of labels"},
	{HTTP_GET, "/prometheus/api/v1/label/{name}/values", SCOPE_READ, .handler = route_values,
		.summary = "Prometheus: the values of one label"},
	{HTTP_GET, "/prometheus/api/v1/metadata", SCOPE_READ, .handler = route_metadata,
		.summary = "Prometheus: metadata of metrics, of which none are kept"},
	{HTTP_GET, "/prometheus/api/v1/rules", SCOPE_READ, .handler = route_rules,
		.summary = "Prometheus: its rules, of which there are none here"},
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/query_exemplars", SCOPE_READ, .handler = route_exemplars,
		.summary = "Prometheus: exemplars of a query, of which none are kept"},
	{HTTP_GET, "/prometheus/api/v1/status/buildinfo", SCOPE_READ, .handler = route_buildinfo,
		.summary = "Prometheus: the version whose PromQL is answered here"},
	{HTTP_GET | HTTP_POST, "/prometheus/api/v1/format_query", SCOPE_READ, .handler = route_format,
		.summary = "Prometheus: an expression of PromQL, written as it is usual"},
	{HTTP_GET | HTTP_POST, "/loki/api/v1/query_range", SCOPE_READ, .handler = route_lines, .refuse = loki_refuse,
		.summary = "Loki: lines of a selector and filters, newest first, or an expression of counts of lines"},
	{HTTP_GET | HTTP_POST, "/loki/api/v1/query", SCOPE_READ, .handler = route_expression, .refuse = loki_refuse,
		.summary = "Loki: an expression of counts of lines at one time"},
	{HTTP_GET | HTTP_POST, "/loki/api/v1/series", SCOPE_READ, .handler = route_line_series, .refuse = loki_refuse,
		.summary = "Loki: the streams that a selector chooses"},
	{HTTP_GET, "/loki/api/v1/labels", SCOPE_READ, .handler = route_line_labels, .refuse = loki_refuse,
		.summary = "Loki: the names of labels: job, stream and host"},
	{HTTP_GET, "/loki/api/v1/label/{name}/values", SCOPE_READ, .handler = route_line_values, .refuse = loki_refuse,
		.summary = "Loki: the values of one label"},
	{HTTP_GET, "/loki/api/v1/index/stats", SCOPE_READ, .handler = route_line_stats, .refuse = loki_refuse,
		.summary = "Loki: how many streams, lines and bytes a selector chooses, at most"},
	{HTTP_GET | HTTP_POST, "/loki/api/v1/format_query", SCOPE_READ, .handler = route_line_format,
		.refuse = loki_refuse, .summary = "Loki: a query, written as it is usual"},
	{HTTP_GET, "/loki/api/v1/tail", SCOPE_READ, .handler = route_line_tail, .refuse = loki_refuse,
		.summary = "Loki: not implemented; it says what to do instead"},
	{HTTP_GET, "/prometheus/api/v1/{rest...}", SCOPE_READ, .handler = route_absent,
		.summary = "Prometheus: not implemented; it says what is"},
	{HTTP_GET, "/loki/api/v1/{rest...}", SCOPE_READ, .handler = route_line_absent, .refuse = loki_refuse,
		.summary = "Loki: not implemented; it says what is"},
};

enum { ROUTE_COUNT = sizeof templates / sizeof *templates };

static bool is_slow(const struct http_request *request)
{
	(void)request;
	return true;
}

static struct http_route route_of(struct prometheus *prometheus, const struct http_route *template)
{
	struct http_route route = *template;

	route.kind = ROUTE_WORKER;
	route.query = "*"; /* unknown ones are refused in this protocol's form */
	route.max_body_bytes = route.methods & HTTP_POST ? FORM_MAX_BYTES : 0;
	route.context = prometheus;
	route.is_slow = is_slow;
	if (!route.refuse)
		route.refuse = call_refuse;
	return route;
}

enum status prometheus_new(struct prometheus **out, const struct prometheus_options *options, struct error *err)
{
	AUTO(prometheus) prometheus = mem_zeroed(sizeof *prometheus);

	if (!prometheus || !(prometheus->routes = mem_zeroed(ROUTE_COUNT * sizeof *prometheus->routes)))
		return error_no_memory(err);
	prometheus->options = *options;
	for (; prometheus->route_count < ROUTE_COUNT; prometheus->route_count++)
		prometheus->routes[prometheus->route_count] = route_of(prometheus, &templates[prometheus->route_count]);
	*out = TAKE(prometheus);
	return OK;
}

void prometheus_free(struct prometheus *prometheus)
{
	if (!prometheus)
		return;
	mem_free(prometheus->routes);
	mem_free(prometheus);
}

const struct http_route *prometheus_routes(const struct prometheus *prometheus, size_t *count)
{
	*count = prometheus->route_count;
	return prometheus->routes;
}
