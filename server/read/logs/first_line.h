/*
 * Job: the earliest time within a range that lines of some streams bear, in whatever order they came: a shipper sends an older batch again behind
 *      a newer one, and two files of one stream have clocks of their own.
 * Ownership: values. Threads: any but the writer.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct first_line_range {
	struct span job;
	const struct span *streams;
	size_t stream_count;
	int64_t after_ms, to_ms; /* behind the first, up to the second */
};

/* *found_ms becomes it if it is earlier. What was deleted is not looked at; of many blocks whose lines are not in the order of their times
 * only the newest are. */
enum status first_line_find(struct pipeline *pipeline, struct store_reader *reader,
	const struct first_line_range *range, int64_t *found_ms, struct error *err) MUST_CHECK;
