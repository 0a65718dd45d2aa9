/*
 * Job: what the door for W&B is told at the start: limits, and whom it asks who may do what.
 * Ownership: context is the caller's. Threads: as each function says.
 */
#pragma once

#include "http/http.h"
#include "store/store.h"

struct pipeline;

struct wandb_options {
	struct pipeline *pipeline;
	size_t max_body_bytes; /* also unpacked */
	size_t max_line_bytes; /* of the console */
	size_t max_series; /* that one body may be of, as a stream may have */
	uint64_t max_processes; /* that share one run */
	/* What the workers that the HTTP server makes have of the database. */
	struct store_reader *(*reader_of)(void *worker);
	/* token "": none was sent; OK then: everybody may do everything. I/O threads; must not block. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	void *context; /* of authenticate */
};
