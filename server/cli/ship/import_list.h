/*
 * Job: which files an --import means: below a folder, by a regular expression whose named groups say job, stream, host.
 * Ownership: new/free; all texts live as long as the list. Threads: read-only once made.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"
#include "cli/input/file_kind.h"
#include "cli/input/table_scan.h"

#include <stdbool.h>
#include <stdint.h>

struct import_file {
	const char *path, *job, *stream, *host; /* host: NULL where the pattern has none */
	struct span folder; /* of the path, below what names the job; may be empty */
	uint64_t bytes;
	int64_t written_ms;
	enum file_kind kind; /* of lines, of TensorBoard's events, or a table of runs */
	const struct table_part *part; /* of a table; NULL: of none */
	const struct span *metrics; /* of the part */
	size_t metric_count;
	bool has_times; /* the table */
};

struct import_refused {
	const char *path, *why;
};

struct import_list {
	struct arena *arena;
	/* Sorted by job, then import_is_timeless, stream and path; a table of several runs is there once for each. */
	struct import_file *files;
	size_t count, cap;
	size_t path_count; /* files that hold something to send */
	size_t other_count; /* files that did not match */
	struct import_refused *refused; /* matched, but hold nothing to send */
	size_t refused_count, refused_cap;
};

/* Of all files whose names the pattern has no groups for; each may be NULL. job: of those that name no run. */
struct import_names {
	const char *job, *stream, *host;
};

/* ERR_INVALID: the pattern, the folder, or two files alike. */
enum status import_list_new(struct import_list **out, const char *pattern, const struct import_names *names,
	size_t max_record_bytes, struct error *err) MUST_CHECK;
/* A table none of whose points has a time. */
bool import_is_timeless(const struct import_file *file);
void import_list_free(struct import_list *list);

AUTO_TYPE(import_list)
