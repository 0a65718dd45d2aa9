/*
 * Job: members of a carried record as they must be: all that a format has must be there. ERR_SEMANTIC names the member.
 * Ownership: what is read lives in the caller's arena. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_read.h"

enum { NAME_MAX_BYTES = 255, STATUS_MAX_BYTES = 64 };

/* what: it should be, in words. */
enum status want_node(const struct json *object, const char *key, const struct json **out, const char *what,
	struct error *err) MUST_CHECK;
enum status want_array(
	const struct json *object, const char *key, const struct json **out, struct error *err) MUST_CHECK;
/* Strings as the JSON's own: text of ours is valid UTF-8 without NUL. */
enum status want_text(const struct json *object, const char *key, size_t max_bytes, struct arena *arena,
	struct span *out, struct error *err) MUST_CHECK;
/* Of at least so many bytes, and without control characters. */
enum status want_name(const struct json *object, const char *key, size_t least, struct arena *arena, struct span *out,
	struct error *err) MUST_CHECK;
enum status want_i64(const struct json *object, const char *key, int64_t min, int64_t max, int64_t *out,
	struct error *err) MUST_CHECK;
enum status want_u32(const struct json *object, const char *key, uint32_t *out, struct error *err) MUST_CHECK;
enum status want_count(const struct json *object, const char *key, uint64_t *out, struct error *err) MUST_CHECK;
enum status want_time(const struct json *object, const char *key, int64_t *out, struct error *err) MUST_CHECK;
/* Of a job or a status of it. */
enum status want_job_time(const struct json *object, const char *key, int64_t *out, struct error *err) MUST_CHECK;
enum status want_bool(const struct json *object, const char *key, bool *out, struct error *err) MUST_CHECK;
enum status want_double(const struct json *object, const char *key, double *out, struct error *err) MUST_CHECK;

/* ---- elements ---- */
/* Zeroed rows, one for each element. */
enum status want_rows(const struct json *array, size_t row_bytes, struct arena *arena, size_t *count, void **out,
	struct error *err) MUST_CHECK;
/* An element of an array that must be an object. */
enum status want_object(const struct json *node, const char *key, size_t at, struct error *err) MUST_CHECK;
enum status want_bad_element(const char *key, size_t at, const char *what, struct error *err) MUST_CHECK;
bool want_parse_i64(const struct json *node, int64_t *out);
bool want_parse_double(const struct json *node, double *out);
/* As JSON text. */
enum status want_printed(const struct json *node, struct arena *arena, struct span *out, struct error *err) MUST_CHECK;
