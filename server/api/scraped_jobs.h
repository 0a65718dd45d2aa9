/*
 * Job: what /metrics?jobs= says of jobs: their state and the newest value of each of their series, in the text format of Prometheus.
 * Ownership: the caller's. Threads: workers.
 */
#pragma once

#include "api/core/api_state.h"
#include "http/http.h"

/* Nothing without jobs=. ERR_INVALID, ERR_SEMANTIC: its names. Beyond --max-scraped-series series are left out, and counted. */
enum status scraped_jobs_write(const struct api *api, struct store_reader *reader, const struct http_request *request,
	struct buf *out, struct error *err) MUST_CHECK;
/* name="value" */
void scraped_label_write(struct buf *out, const char *name, struct span value);
