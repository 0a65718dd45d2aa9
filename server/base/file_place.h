/* Job: files that are in their place whole or not at all, also after the power was lost. Threads: any. */
#pragma once

#include "base/error.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* ERR_UNAVAILABLE for a disk that is full or read-only, else ERR_IO: "cannot VERB 'PATH': …", by errno. */
enum status file_problem(const char *verb, const char *path, struct error *err);
/* All of it; false: errno says why. A disk that fills takes the first bytes, and says why at the next ones. */
bool file_write(int fd, struct span bytes) MUST_CHECK;
/* The names in the folder of this path: what came, went or was renamed. */
enum status file_sync_folder(const char *path, struct error *err) MUST_CHECK;
enum status file_sync(const char *partial, struct error *err) MUST_CHECK;
/* Synced before and behind the rename. */
enum status file_put_in_place(const char *partial, const char *path, struct error *err) MUST_CHECK;
