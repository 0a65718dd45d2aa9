/*
 * Job: what a glob has found and is not read, so that it is said once.
 * Ownership: paths are copied; done frees them. Threads: one at a time.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct refused_file {
	char *path;
	bool may_come; /* it could not be read: it is looked at again */
};
struct refused_files { /* zeroed: none */
	struct refused_file *items;
	size_t count, cap;
};

void refused_files_done(struct refused_files *files);
/* Borrowed, until one is added or removed; NULL: it is none. */
const struct refused_file *refused_files_find(const struct refused_files *files, const char *path);
enum status refused_files_add(
	struct refused_files *files, const char *path, bool may_come, struct error *err) MUST_CHECK;
/* Nothing, if it is none. */
void refused_files_remove(struct refused_files *files, const char *path);
