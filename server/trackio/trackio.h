/*
 * Job: what Trackio's client sends to a server of its own kind, so that it runs unchanged: a run is a job, its logs series of points
 *      (docs/trackio.md).
 * Ownership: new/free; outlives the HTTP server. Threads: admission on I/O threads, calls on workers.
 */
#pragma once

#include "trackio/trackio_options.h"

struct trackio;

enum status trackio_new(struct trackio **out, const struct trackio_options *options, struct error *err) MUST_CHECK;
void trackio_free(struct trackio *trackio);
const struct http_route *trackio_routes(const struct trackio *trackio, size_t *count);

AUTO_TYPE(trackio)
