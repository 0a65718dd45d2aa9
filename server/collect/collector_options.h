/*
 * Job: what the collector and its calls are told, and what they count.
 * Ownership: texts are the caller's. Threads: the options are not changed; the figures are read by any.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct pipeline;
struct store;

struct collector_options {
	struct store *store;
	struct pipeline *pipeline;
	const char *sagemaker_url, *logs_url;
	const char *region;
	const char *credentials; /* "KEY-ID:SECRET"; NULL: requests are not signed */
	const char *session_token; /* NULL: none */
	const char *name_contains; /* of the jobs; NULL: all */
	int64_t every_ms; /* between two rounds, if no event comes before */
	int64_t since_ms; /* at a start: jobs that changed so long before are looked at */
	int64_t requests_per_s;
	size_t max_line_bytes;
};

struct collector_figures {
	atomic_uint_fast64_t requests, throttled;
	atomic_uint_fast64_t failures; /* rounds that ended early, and jobs that were refused here */
	atomic_uint_fast64_t jobs; /* descriptions that were taken */
	atomic_uint_fast64_t lines;
};
