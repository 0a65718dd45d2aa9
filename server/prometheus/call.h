/*
 * Job: what the calls of the query API share: parameters out of the query or a form, the envelope of a reply, what one may cost.
 * Ownership: what a call has is in its arena, and ends with its reply. Threads: a worker.
 */
#pragma once

#include "http/http.h"
#include "prometheus/eval.h"
#include "prometheus/prometheus_options.h"

struct prom_call {
	const struct prometheus_options *options;
	const struct http_request *request;
	struct arena *arena;
	struct {
		struct span name, value;
	} * parameters;
	size_t parameter_count;
	struct prom_budget budget;
	struct series_reading reading;
	struct json_writer w; /* of "data" */
	bool is_cut; /* there was more than its limit= */
};
typedef enum status prom_handler(struct prom_call *call, struct error *err);

enum status call_run(const struct prometheus_options *options, void *worker, const struct http_request *request,
	struct http_response *response, const char *names, prom_handler *handler, struct error *err) MUST_CHECK;
void call_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* "": it is not there. */
struct span call_parameter(const struct prom_call *call, const char *name);
/* Seconds since 1970 with a fraction, or RFC 3339; what is not there is `fallback`. */
enum status call_time(
	const struct prom_call *call, const char *name, int64_t fallback, int64_t *ms, struct error *err) MUST_CHECK;
/* limit=, of what a reply lists: 0 is none, as in Prometheus, and what is not there. */
enum status call_limit(const struct prom_call *call, size_t *limit, struct error *err) MUST_CHECK;
/* Seconds, or 5m. */
enum status call_duration(const struct prom_call *call, const char *name, int64_t *ms, struct error *err) MUST_CHECK;

/* query.c: an expression at one time, or at the steps, as the result of a call */
enum status call_evaluate(
	struct prom_call *call, struct eval *eval, const struct promql_node *node, struct error *err) MUST_CHECK;
enum status call_evaluate_steps(
	struct prom_call *call, struct eval *eval, const struct promql_node *node, struct error *err) MUST_CHECK;
/* From start_ms by step_ms to end_ms, which is not before; ERR_INVALID: too many. */
enum status call_set_steps(struct eval *eval, int64_t end_ms, struct error *err) MUST_CHECK;

/* loki.c: Loki's errors are texts */
prom_handler loki_query, loki_query_range, loki_series, loki_labels, loki_values, loki_index_stats, loki_tail,
	loki_format, loki_absent;
void loki_refuse(
	void *context, const struct http_request *request, const struct error *err, struct http_response *response);

/* query.c, metadata.c */
prom_handler call_query, call_query_range, call_series, call_labels, call_values, call_metadata, call_buildinfo,
	call_rules, call_exemplars, call_format, call_absent;
