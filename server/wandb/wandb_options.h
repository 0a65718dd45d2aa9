/*
 * Job: what the door for W&B is told at the start: limits, and whom it asks who may do what.
 * Ownership: context is the caller's. Threads: as each function says.
 */
#pragma once

#include "http/http.h"
#include "store/attachments.h"

struct pipeline;

enum { WANDB_MAC_DIGITS = 32 };

struct wandb_options {
	struct pipeline *pipeline;
	size_t max_body_bytes; /* also unpacked */
	size_t max_line_bytes; /* of the console */
	size_t max_series; /* that one body may be of, as a stream may have */
	uint64_t max_processes; /* that share one run */
	size_t max_values; /* of one answer about a run's history */
	int64_t max_samples; /* rows that stand for all */
	bool has_trash; /* from which runs are restored that were deleted */
	bool keeps_files; /* of runs: as attachments of their jobs */
	bool is_tls; /* clients of its own port speak https */
	const char *public_url; /* NULL: none was given */
	struct attachment_limits attachments;
	/* A file as a reply; worker is the HTTP server's. */
	enum status (*send_attachment)(void *worker, const struct http_request *request, int64_t job_id,
		struct span path, struct http_response *response, struct error *err);
	/* What the workers that the HTTP server makes have of the database. */
	struct store_reader *(*reader_of)(void *worker);
	/* token "": none was sent; OK then: everybody may do everything. I/O threads; must not block. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	/* Who has the token of this number, as authenticate says. I/O threads. */
	enum status (*find_token)(void *context, uint64_t token_id, struct principal *out, struct error *err);
	/* A MAC by a key that only this database's servers have. Any thread. */
	void (*sign)(const void *context, struct span text, char digits[WANDB_MAC_DIGITS + 1]);
	void *context; /* of these three */
};
