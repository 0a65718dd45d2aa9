/*
 * Job: the earliest time within each of some ranges that lines of some streams bear, in whatever order they came: a shipper sends an older batch again behind
 *      a newer one, and two files of one stream have clocks of their own.
 * Ownership: values. Threads: any but the writer.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct first_line_range {
	int64_t after_ms, to_ms; /* behind the first, up to the second */
	int64_t found_ms; /* becomes it if it is earlier */
	size_t blocks_read;
};

struct first_line_search {
	struct span job;
	const struct span *streams;
	size_t stream_count;
	struct first_line_range *ranges; /* asked together, so that what several need is read once */
	size_t range_count;
};

/* What was deleted is not looked at; of many blocks whose lines are not in the order of their times only the newest are. */
enum status first_line_find(struct pipeline *pipeline, struct store_reader *reader, struct first_line_search *search,
	struct error *err) MUST_CHECK;
