/*
 * Job: zstd frames in one piece, for the journal and blocks. The only user of the zstd library.
 * Ownership: results in the caller's buf. Threads: a context belongs to one thread.
 */
#pragma once

#include "base/buf.h"

struct zstd; /* reusable contexts for both directions */

struct zstd *zstd_new(void) __attribute__((warn_unused_result));
void zstd_free(struct zstd *zstd);
/* Appends one frame. */
enum status zstd_pack(struct zstd *zstd, struct span plain, int level, struct buf *out, struct error *err) MUST_CHECK;
/* Appends the content; a frame whose content is larger than max_bytes is ERR_TOO_LARGE, a broken one ERR_INVALID. */
enum status zstd_unpack(
	struct zstd *zstd, struct span frame, size_t max_bytes, struct buf *out, struct error *err) MUST_CHECK;

/* For inflate.h: one streaming decoder. */
struct zstd_stream;
struct zstd_stream *zstd_stream_new(void) __attribute__((warn_unused_result));
void zstd_stream_free(struct zstd_stream *stream);
/* Takes from *input, writes at most room bytes; returns how many. *is_at_end: a frame just ended. */
enum status zstd_stream_step(struct zstd_stream *stream, struct span *input, char *out, size_t room, size_t *written,
	bool *is_at_end, struct error *err) MUST_CHECK;

AUTO_TYPE(zstd)
