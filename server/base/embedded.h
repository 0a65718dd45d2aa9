/*
 * Job: files inside the binary, put there by tools/embed.c; each table is sorted by name and ends with name NULL.
 * Ownership: static. Threads: any.
 */
#pragma once

#include "base/span.h"

struct embedded_file {
	const char *name;
	const char *bytes; /* followed by one NUL */
	size_t len;
};

static inline struct span embedded_span(const struct embedded_file *file)
{
	return span_of(file->bytes, file->len);
}

/* NULL: no such file. */
static inline const struct embedded_file *embedded_find(const struct embedded_file *table, struct span name)
{
	for (; table->name; table++)
		if (span_equal(span_from(table->name), name))
			return table;
	return NULL;
}
