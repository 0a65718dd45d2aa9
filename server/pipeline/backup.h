/*
 * Job: a copy of the database while work goes on.
 * Ownership: the caller's. Threads: the calling one; it blocks.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>

struct pipeline;

/*
 * Copies the database to path while work goes on, checks the copy, then puts it in place. Blocks; progress is asked four times
 * a second, in the calling thread; false ends it.
 */
enum status pipeline_backup(struct pipeline *pipeline, const char *path,
	bool (*progress)(void *context, uint64_t left, uint64_t total), void *context, struct error *err) MUST_CHECK;
