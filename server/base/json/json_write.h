/*
 * Job: writes JSON into a buf without a tree; commas and nesting are kept by the writer.
 * Ownership: the buf is the caller's; check buf_status once at the end. Threads: one at a time.
 * Source: RFC 8259. Bytes that are not UTF-8 become U+FFFD; numbers that are not finite become the strings
 *         "NaN", "Infinity", "-Infinity" (JSON has no word for them, and the most important point must not be lost).
 */
#pragma once

#include "base/buf.h"

enum { JSON_MAX_DEPTH = 32 };

struct json_writer {
	struct buf *out;
	unsigned depth;
	bool needs_comma; /* before the next key or value */
};

struct json_writer json_writer_on(struct buf *out);

void json_object(struct json_writer *w); /* { */
void json_object_end(struct json_writer *w);
void json_array(struct json_writer *w);
void json_array_end(struct json_writer *w);
void json_key(struct json_writer *w, const char *key); /* key: plain ASCII of ours */
void json_key_span(struct json_writer *w, struct span key);

void json_span(struct json_writer *w, struct span text);
void json_text(struct json_writer *w, const char *text);
void json_i64(struct json_writer *w, int64_t value);
void json_u64(struct json_writer *w, uint64_t value);
void json_double(struct json_writer *w, double value); /* shortest text that reads back as the same double */
void json_bool(struct json_writer *w, bool value);
void json_null(struct json_writer *w);
void json_raw(struct json_writer *w, struct span json); /* one finished value */
void json_members(
	struct json_writer *w, struct span members); /* finished ones, into an object that is open; "": none */
/* Unix milliseconds as SageMaker writes times: seconds with a fraction. */
void json_seconds(struct json_writer *w, int64_t ms);

/* key and value in one. */
void json_put_span(struct json_writer *w, const char *key, struct span text);
void json_put_text(struct json_writer *w, const char *key, const char *text);
void json_put_i64(struct json_writer *w, const char *key, int64_t value);
void json_put_double(struct json_writer *w, const char *key, double value);
void json_put_bool(struct json_writer *w, const char *key, bool value);

/* Elements of an array that is open, as json_i64 and json_double write each: a chart is tens of thousands of numbers. */
void json_i64s(struct json_writer *w, const int64_t *values, size_t count);
void json_doubles(struct json_writer *w, const double *values, size_t count);

/* The digits alone, for CSV and the like: at most 32 bytes and a NUL. */
size_t json_format_double(double value, char out[33]);
