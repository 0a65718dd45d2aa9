/*
 * Job: brings training jobs of a real AWS account (or of any server that speaks its protocols) here: lists and describes them, and
 *      follows their log streams. Reads only, and no more often than it is told.
 *      Where it stands is what is stored: a start goes on behind the last line of each stream, so nothing is lost or doubled.
 * Ownership: start/free; texts of the options are the caller's and outlive it. Threads: one of its own; wake from any.
 * Source: docs.aws.amazon.com/sagemaker/latest/APIReference, …/AmazonCloudWatchLogs/latest/APIReference
 */
#pragma once

#include "base/buf.h"
#include "base/span.h"

#include <stdatomic.h>

struct collector;

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

enum status collector_start(
	struct collector **out, const struct collector_options *options, struct error *err) MUST_CHECK;
void collector_free(struct collector *collector);
/* Something has happened: the next round begins at once. */
void collector_wake(struct collector *collector);
/* Prometheus' text. */
void collector_write_metrics(const struct collector *collector, struct buf *out);

AUTO_TYPE(collector)
