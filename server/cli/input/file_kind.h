/*
 * Job: what a file of the user is, by its first bytes.
 * Ownership: nothing is kept. Threads: any.
 */
#pragma once

#include "base/span.h"

enum file_kind {
	FILE_OF_LINES,
	FILE_OF_EVENTS, /* TensorBoard's */
	FILE_OF_TABLE, /* of runs; its head says so, which may be longer than first bytes: see table_scan.h */
	FILE_OF_TRACE, /* of PyTorch's profiler, by its name: its lines are no log */
	FILE_PACKED, /* gzip, zstd, xz, bzip2, zip */
	FILE_BINARY, /* none of these */
	FILE_TOO_SHORT, /* so far: its first bytes are no text, and the rest of them is not written yet */
};

/* A file that cannot be read is one of lines: who opens it says why. */
enum file_kind file_kind_read(const char *path);
/* start: the first bytes of a file, all of them where it is short. name: the file's, which decides as long as it is empty. */
enum file_kind file_kind_of(struct span start, const char *name);
/* Why it is refused, for "'PATH' is …"; NULL: it is not. */
const char *file_kind_refusal(enum file_kind kind);
/* "….pt.trace.json", packed by gzip or not, as torch.profiler.tensorboard_trace_handler names them. */
bool file_kind_is_trace(const char *name);
