/*
 * Job: how long a history may be read, asked with each point. Ownership: the caller's. Threads: a worker.
 */
#pragma once

#include "wandb/internal.h"

enum { ROWS_READ_MAX_MS = 10 * 1000 };

struct rows_watch {
	const struct http_request *request;
	int64_t until_ms;
	uint64_t seen; /* points */
};

struct rows_watch rows_watch_begin(const struct wandb_call *call);
/* ERR_UNAVAILABLE: nobody waits for the answer. ERR_SEMANTIC: it takes too long. */
enum status rows_watch_point(struct rows_watch *watch, struct error *err) MUST_CHECK;
