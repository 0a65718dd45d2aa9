/*
 * Job: what the protocols of AWS are told at the start: limits, and whom they ask who may do what.
 * Ownership: texts and context are the caller's. Threads: as each function says.
 */
#pragma once

#include "base/buf.h"
#include "http/http.h"
#include "pipeline/jobs/job_event.h"
#include "store/store.h"

struct command_row;

struct aws_options {
	struct pipeline *pipeline;
	const char *region; /* in ARNs */
	const char *account; /* twelve digits */
	size_t max_body_bytes; /* also unpacked */
	int64_t skew_ms; /* between a client's clock and ours */
	int64_t search_cpu_ms; /* processor time of a search of logs */
	int64_t job_search_ms; /* a search of jobs ends then, with what it has */
	size_t max_commands; /* of one job */
	size_t max_metric_points; /* that one PutMetricData may stand for */
	uint64_t max_group_values; /* kept for percentiles, in one request */
	/* What the workers that the HTTP server makes have of the database. */
	struct store_reader *(*reader_of)(void *worker);
	/* token "": none was sent; OK then: everybody may do everything. I/O threads; must not block. */
	enum status (*authenticate)(void *context, struct span token, struct principal *out, struct error *err);
	/* The secret of an access key; false: there is no such key. I/O threads and workers; must not block. */
	bool (*find_key)(void *context, struct span key_id, struct principal *out, struct buf *secret);
	/* A command is on disk: those who send the job are to be told. */
	void (*command_given)(void *context, const struct command_row *command);
	/* Of EventBridge's events: each, and then all of a request. Workers. */
	void (*event_judged)(void *context, enum event_verdict verdict);
	void (*events_end)(void *context);
	void *context; /* of all of these */
};
