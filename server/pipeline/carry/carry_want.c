#include "pipeline/carry/carry_want.h"

#include "model/jobs/job_time.h"

#include <stdio.h>

enum status want_node(
	const struct json *object, const char *key, const struct json **out, const char *what, struct error *err)
{
	*out = json_get(object, key);
	return *out ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is missing: %s", key, what);
}

enum status want_array(const struct json *object, const char *key, const struct json **out, struct error *err)
{
	TRY(want_node(object, key, out, "an array", err));
	return json_kind(*out) == JSON_ARRAY ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is no array", key);
}

/* Strings as the JSON's own: text of ours is valid UTF-8 without NUL. */
enum status want_text(const struct json *object, const char *key, size_t max_bytes, struct arena *arena,
	struct span *out, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, key, &node, "a string", err));
	struct span text = json_string_of(node);
	if (json_kind(node) != JSON_STRING || !span_is_utf8(text) || span_find_char(text, 0) >= 0)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no string without NUL", key);
	if (text.len > max_bytes)
		return error_set_field(
			err, ERR_SEMANTIC, key, "'%s' has %zu bytes; at most %zu are taken", key, text.len, max_bytes);
	*out = arena_copy(arena, text);
	return out->ptr ? OK : error_no_memory(err);
}

bool want_parse_i64(const struct json *node, int64_t *out)
{
	const double exact = 9007199254740992.0;
	double number;

	if (json_kind(node) == JSON_STRING)
		return span_parse_i64(json_string_of(node), out);
	if (!json_number_of(node, &number) || !(number >= -exact && number <= exact) ||
		number != (double)(int64_t)number)
		return false;
	*out = (int64_t)number;
	return true;
}

enum status want_i64(
	const struct json *object, const char *key, int64_t min, int64_t max, int64_t *out, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, key, &node, "a whole number", err));
	if (!want_parse_i64(node, out))
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is no whole number", key);
	if (*out < min || *out > max)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is %lld; it must be %lld to %lld", key,
			(long long)*out, (long long)min, (long long)max);
	return OK;
}

enum status want_count(const struct json *object, const char *key, uint64_t *out, struct error *err)
{
	int64_t value = 0;

	TRY(want_i64(object, key, 0, INT64_MAX / 2, &value, err));
	*out = (uint64_t)value;
	return OK;
}

enum status want_time(const struct json *object, const char *key, int64_t *out, struct error *err)
{
	return want_i64(object, key, INT64_MIN + 1, INT64_MAX, out, err);
}

/* Of a job or a status of it. */
enum status want_job_time(const struct json *object, const char *key, int64_t *out, struct error *err)
{
	return want_i64(object, key, 0, JOB_LATEST_MS - 1, out, err);
}

enum status want_bool(const struct json *object, const char *key, bool *out, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, key, &node, "true or false", err));
	if (json_kind(node) != JSON_BOOL)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is neither true nor false", key);
	*out = json_is_true(node);
	return OK;
}

bool want_parse_double(const struct json *node, double *out)
{
	return json_number_of(node, out) ||
	       (json_kind(node) == JSON_STRING && span_parse_double(json_string_of(node), out));
}

enum status want_u32(const struct json *object, const char *key, uint32_t *out, struct error *err)
{
	int64_t number = 0;

	TRY(want_i64(object, key, 0, UINT32_MAX, &number, err));
	*out = (uint32_t)number;
	return OK;
}

enum status want_double(const struct json *object, const char *key, double *out, struct error *err)
{
	const struct json *node;

	TRY(want_node(object, key, &node, "a number", err));
	return want_parse_double(node, out) ? OK : error_set_field(err, ERR_SEMANTIC, key, "'%s' is no number", key);
}

enum status want_bad_element(const char *key, size_t at, const char *what, struct error *err)
{
	char field[64];

	snprintf(field, sizeof field, "%s[%zu]", key, at);
	return error_set_field(err, ERR_SEMANTIC, field, "'%s' is no %s", field, what);
}

static enum status check_control(struct span text, const char *key, struct error *err)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] < ' ' || text.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, key, "'%s' holds a control character at byte %zu", key, i);
	return OK;
}

enum status want_name(const struct json *object, const char *key, size_t least, struct arena *arena, struct span *out,
	struct error *err)
{
	TRY(want_text(object, key, NAME_MAX_BYTES, arena, out, err));
	if (out->len < least)
		return error_set_field(err, ERR_SEMANTIC, key, "'%s' is empty", key);
	return check_control(*out, key, err);
}

enum status want_printed(const struct json *node, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(SIZE_MAX / 2);

	json_print(node, &text);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

/* An element of an array that must be an object. */
enum status want_object(const struct json *node, const char *key, size_t at, struct error *err)
{
	return json_kind(node) == JSON_OBJECT ? OK : want_bad_element(key, at, "object", err);
}

enum status want_rows(
	const struct json *array, size_t row_bytes, struct arena *arena, size_t *count, void **out, struct error *err)
{
	*count = json_count(array);
	*out = arena_alloc(arena, *count * row_bytes + 1);
	if (!*out)
		return error_no_memory(err);
	memset(*out, 0, *count * row_bytes);
	return OK;
}
