/*
 * Job: brings training jobs of a real AWS account (or of any server that speaks its protocols) here: lists and describes them, and
 *      follows their log streams. Reads only, and no more often than it is told.
 *      Where it stands is what is stored: a start goes on behind the last line of each stream, so nothing is lost or doubled.
 * Ownership: start/free; texts of the options are the caller's and outlive it. Threads: one of its own; wake from any.
 * Source: docs.aws.amazon.com/sagemaker/latest/APIReference, …/AmazonCloudWatchLogs/latest/APIReference
 */
#pragma once

#include "base/buf.h"
#include "collect/collector_options.h"

struct collector;

enum status collector_start(
	struct collector **out, const struct collector_options *options, struct error *err) MUST_CHECK;
void collector_free(struct collector *collector);
/* Something has happened: the next round begins at once. */
void collector_wake(struct collector *collector);
/* Prometheus' text. */
void collector_write_metrics(const struct collector *collector, struct buf *out);

AUTO_TYPE(collector)
