/*
 * Job: gzip, zlib and zstd bodies, as they arrive and back; nothing grows beyond what the caller allows.
 *      inflate.c is the only user of zlib, zstd.c of zstd.
 * Ownership: new/free. Threads: one at a time.
 */
#pragma once

#include "base/buf.h"

enum encoding { ENCODING_IDENTITY, ENCODING_GZIP, ENCODING_DEFLATE, ENCODING_ZSTD };

/* From a Content-Encoding header's value; false: unknown. "" and "identity" are IDENTITY. */
bool encoding_parse(struct span name, enum encoding *out);

struct inflater;
/* max_bytes: the whole output; one byte more is ERR_TOO_LARGE (0: no limit). */
enum status inflater_new(
	struct inflater **out, enum encoding encoding, uint64_t max_bytes, struct error *err) MUST_CHECK;
void inflater_free(struct inflater *inflater);
/*
 * Takes some of *input and returns some output that is valid until the next call; output.len 0 means all of *input was
 * taken and nothing more comes out of it. Call again until then. ERR_INVALID: the bytes are not of that encoding.
 */
enum status inflater_step(
	struct inflater *inflater, struct span *input, struct span *output, struct error *err) MUST_CHECK;
/* At the end of the input: ERR_INVALID when the stream is cut off. */
enum status inflater_end(struct inflater *inflater, struct error *err) MUST_CHECK;

/* A whole gzip member, for replies. */
enum status deflate_gzip(struct span plain, int level, struct buf *out, struct error *err) MUST_CHECK;

/* A body that is packed as it is made: gzip or zstd. */
struct deflater;
enum status deflater_new(struct deflater **out, enum encoding encoding, int level, struct error *err) MUST_CHECK;
void deflater_free(struct deflater *deflater);
/* Appends what comes of plain, all of it, so that a reader sees it at once; is_last: and the end. */
enum status deflater_step(
	struct deflater *deflater, struct span plain, bool is_last, struct buf *out, struct error *err) MUST_CHECK;

AUTO_TYPE(inflater)
AUTO_TYPE(deflater)
