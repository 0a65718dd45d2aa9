/*
 * Job: the REST surface. One resource a file: decode, call the pipeline or the store, encode.
 * Ownership: new/free; outlives the HTTP server.
 * Threads: handlers run as their route's kind says (http.h); api_tick belongs to the pipeline's publisher.
 */
#pragma once

#include "api/core/api_options.h"
#include "http/http.h"

struct api;
struct store_reader;

enum status api_new(struct api **out, const struct api_options *options, struct error *err) MUST_CHECK;
void api_free(struct api *api);
/* Its own thread, while there is a server. api_stop, once the pipeline takes nothing more: uploads that wait for it are told the end;
 * before http_server_free. */
enum status api_start(struct api *api, struct error *err) MUST_CHECK;
void api_stop(struct api *api);

/* For its figures, and to tell it of tokens that ended; before it serves. */
void api_set_server(struct api *api, struct http_server *server);
/* Its database connection; worker: as api_hooks' worker_new made it. */
struct store_reader *api_worker_reader(void *worker);
/* From now on /readyz says that the server is stopping. */
void api_set_stopping(struct api *api);

const struct http_route *api_routes(size_t *count);
struct http_hooks api_hooks(struct api *api);

AUTO_TYPE(api)
