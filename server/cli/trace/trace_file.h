/*
 * Job: the bytes of a trace's file, from its beginning as often as it is asked for: as they are, or out of gzip or zstd. That nobody
 *      writes it meanwhile is checked.
 * Ownership: done. Threads: one at a time.
 */
#pragma once

#include "base/codec/inflate.h"

#include <sys/stat.h>

struct trace_file {
	int fd; /* -1: none */
	struct inflater *inflater;
	bool is_packed;
	struct stat info; /* as it was opened */
	struct span packed, plain; /* read and not inflated; inflated and not taken */
	char *room;
};
#define TRACE_FILE_NONE                                                                                                \
	(struct trace_file)                                                                                            \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

enum status trace_file_open(struct trace_file *file, const char *path, struct error *err) MUST_CHECK;
void trace_file_done(struct trace_file *file);
/* To the first byte. ERR_BUSY: it is not what was opened: it is being written. */
enum status trace_file_rewind(struct trace_file *file, struct error *err) MUST_CHECK;
/* As json_pull.h wants it, context being the file. ERR_INVALID: what is packed is damaged or cut off. */
enum status trace_file_read(void *context, char *room, size_t bytes, size_t *got, struct error *err) MUST_CHECK;

AUTO_DONE_TYPE(trace_file)
