/*
 * Job: walks over one JSON document from left to right: no tree, nothing allocated, what is not asked for is skipped.
 * Ownership: values point into the document. Threads: values.
 *
 * for (TRY(json_scan_open(s, '{')); ; ) { TRY(json_scan_key(s, &key, &is_end)); if (is_end) break; … one value … }
 */
#pragma once

#include "base/error.h"
#include "ingest/ndjson_scan.h"

enum { JSON_SCAN_DEPTH = 64 };

struct json_scan {
	const char *start, *at, *end;
	unsigned depth;
	bool is_first; /* no member or item of the innermost open object or array was taken yet */
};

struct json_scan json_scan_on(struct span document);
/* All of these are ERR_INVALID with line and column when something else stands there. */
enum status json_scan_open(struct json_scan *s, char bracket, struct error *err) MUST_CHECK; /* '{' or '[' */
/* The next member's key and its colon, or the end of the object. */
enum status json_scan_key(struct json_scan *s, struct ndjson_value *key, bool *is_end, struct error *err) MUST_CHECK;
/* Stands before the next item, or behind the end of the array. */
enum status json_scan_item(struct json_scan *s, bool *is_end, struct error *err) MUST_CHECK;
enum status json_scan_text(struct json_scan *s, struct ndjson_value *text, struct error *err) MUST_CHECK;
/* A number, or a text (protobuf's JSON writes 64 bits so): its characters; null is empty. */
enum status json_scan_number(struct json_scan *s, struct span *number, struct error *err) MUST_CHECK;
enum status json_scan_bool(struct json_scan *s, bool *value, struct error *err) MUST_CHECK;
enum status json_scan_skip(
	struct json_scan *s, struct error *err) MUST_CHECK; /* any value; Python's NaN and Infinity, too */
enum status json_scan_end(struct json_scan *s, struct error *err) MUST_CHECK; /* nothing is left but blanks */

char json_scan_peek(struct json_scan *s); /* the next character that is no blank; 0: the end */
bool json_scan_null(struct json_scan *s); /* takes it */
enum status json_scan_expected(const struct json_scan *s, const char *what, struct error *err);
/* Keys are plain in every protocol here: one with escapes is none of ours. */
static inline bool json_scan_is(const struct ndjson_value *key, const char *name)
{
	return span_equal(key->raw, span_from(name));
}
/* The text without its escapes: in the document, or in scratch. */
enum status json_scan_decode(const struct json_scan *s, const struct ndjson_value *text, struct buf *scratch,
	struct span *out, struct error *err) MUST_CHECK;

/* Each item of an array by a call, which takes it. */
typedef enum status json_scan_take(void *context, struct json_scan *s, struct error *err);
enum status json_scan_each(struct json_scan *s, json_scan_take *take, void *context, struct error *err) MUST_CHECK;
