/*
 * Job: is a file a table of runs (run_table.h), and of which? A look through it before anything is sent.
 * Ownership: new/free. Threads: any.
 */
#pragma once

#include "cli/input/run_table.h"

/* What of a table is one job's; its rows lie between the places. */
struct table_part {
	const char *path;
	const char *run; /* NULL: all rows */
	uint64_t start, end, line;
	int64_t written_ms; /* of points of which the table says no time */
	size_t max_record_bytes;
};

struct table_scan_run {
	const char *name; /* NULL: the table names none */
	uint64_t start, end, line; /* of its rows */
	struct span *metrics;
	size_t metric_count, metric_cap;
};

struct table_scan {
	struct arena *arena;
	enum run_table_kind kind;
	bool has_times;
	struct table_scan_run *runs;
	size_t count, cap;
};

/* *out is NULL when it is no such table. ERR_INVALID: it is one that cannot be read, "a chart …". */
enum status table_scan_new(
	struct table_scan **out, const char *path, size_t max_record_bytes, struct error *err) MUST_CHECK;
void table_scan_free(struct table_scan *scan);

AUTO_TYPE(table_scan)
