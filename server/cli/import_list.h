/*
 * Job: which files an --import means: below a folder, by a regular expression whose named groups say job, stream, host.
 * Ownership: new/free; all texts live as long as the list. Threads: read-only once made.
 */
#pragma once

#include "base/alloc.h"
#include "base/error.h"

#include <stdint.h>

struct import_file {
	const char *path, *job, *stream, *host; /* host: NULL where the pattern has none */
	uint64_t bytes;
	int64_t written_ms;
};

struct import_list {
	struct arena *arena;
	struct import_file *files; /* sorted by job, then stream */
	size_t count, cap;
	size_t other_count; /* files that did not match */
};

/* job: of all files when the pattern names none; may be NULL. ERR_INVALID: the pattern, the folder, or two files alike. */
enum status import_list_new(
	struct import_list **out, const char *pattern, const char *job, struct error *err) MUST_CHECK;
void import_list_free(struct import_list *list);

AUTO_TYPE(import_list)
