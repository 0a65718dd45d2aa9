/*
 * Job: the files beside a followed one: what it is called since it was renamed, and what bore its name in between.
 * Ownership: descriptors are the caller's. Threads: any.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

enum { ROTATION_MAX_PATH_BYTES = 4096 };

/* Opens a file of the same folder, the path's own first, that the question says yes to; -1: none. */
int rotation_find(const char *path, bool (*question)(const void *context, int fd), const void *context);

/*
 * Opens those that the file was renamed to (PATH.1, PATH-20260102: the name goes on with a dot or a dash; not packed)
 * and that were written last at the time of `since` or later, the oldest first, without the
 * file of `since` itself and that of `except`. The list is the caller's to free.
 */
enum status rotation_since(
	const char *path, const struct stat *since, int except, int **fds, size_t *count, struct error *err) MUST_CHECK;
