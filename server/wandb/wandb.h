/*
 * Job: what the SDK of W&B speaks, so that it runs unchanged: a run is a job, its history series of points, its console lines of the log
 *      (docs/wandb.md). What a call does, the pipeline and the store do.
 * Ownership: new/free; outlives the HTTP server. Threads: admission on I/O threads, calls on workers.
 */
#pragma once

#include "wandb/wandb_options.h"

struct wandb;

enum status wandb_new(struct wandb **out, const struct wandb_options *options, struct error *err) MUST_CHECK;
void wandb_free(struct wandb *wandb);
const struct http_route *wandb_routes(const struct wandb *wandb, size_t *count);

AUTO_TYPE(wandb)
