/*
 * Job: the query API of Prometheus (docs/prometheus.md), so that Grafana and others read points by PromQL.
 * Ownership: new/free; outlives the HTTP server. Threads: workers.
 */
#pragma once

#include "http/http.h"
#include "prometheus/prometheus_options.h"

struct prometheus;

enum status prometheus_new(
	struct prometheus **out, const struct prometheus_options *options, struct error *err) MUST_CHECK;
void prometheus_free(struct prometheus *prometheus);
const struct http_route *prometheus_routes(const struct prometheus *prometheus, size_t *count);

AUTO_TYPE(prometheus)
