#include "model/json_form.h"

#include "base/map.h"

#include <math.h>

enum { PATH_MAX_BYTES = 100, FEW_KEYS = 8 };

static enum status fail(const struct buf *path, const char *what, struct error *err)
{
	char field[PATH_MAX_BYTES + 1] = "";

	memcpy(field, path->ptr ? path->ptr : "", path->len);
	field[path->len] = 0;
	return error_set_field(err, ERR_SEMANTIC, field, "%s: %s", field, what);
}

static bool has_before(const struct json *first, const struct json *node)
{
	for (const struct json *at = first; at != node; at = json_next(at))
		if (span_equal(json_key_of(at), json_key_of(node)))
			return true;
	return false;
}

/* *twice NULL: there is none. */
static enum status find_twice(const struct json *object, const struct json **twice, struct error *err)
{
	AUTO(map) seen = NULL;
	const struct json *first = json_first(object);
	bool are_few = json_count(object) <= FEW_KEYS;

	*twice = NULL;
	if (!are_few && !(seen = map_new()))
		return error_no_memory(err);
	for (const struct json *node = first; node && !*twice; node = json_next(node)) {
		if (are_few ? has_before(first, node) : map_get(seen, json_key_of(node)) != NULL)
			*twice = node;
		else if (!are_few && !map_put(seen, json_key_of(node), (void *)node))
			return error_no_memory(err);
	}
	return OK;
}

/* What does not fit is left out: the beginning tells where to look. */
static void append_part(struct buf *path, const struct json *node)
{
	struct span key = json_key_of(node);

	if (path->len + key.len + 1 > PATH_MAX_BYTES || !key.len)
		return;
	if (path->len)
		buf_append_char(path, '.');
	buf_append_span(path, key);
}

static enum status check(const struct json *node, struct buf *path, struct error *err)
{
	enum json_kind kind = json_kind(node);
	const struct json *twice = NULL;
	double number;

	if (kind == JSON_NUMBER)
		return json_number_of(node, &number) && isinf(number) ? fail(path, "no number is so large", err) : OK;
	if (kind == JSON_STRING && !span_is_utf8(json_string_of(node)))
		return fail(path, "it is not UTF-8", err);
	if (kind == JSON_OBJECT)
		TRY(find_twice(node, &twice, err));
	if (twice) {
		append_part(path, twice);
		return fail(path, "it is there twice, and only one can be kept", err);
	}
	if (kind != JSON_OBJECT && kind != JSON_ARRAY)
		return OK;
	for (const struct json *child = json_first(node); child; child = json_next(child)) {
		size_t len = path->len;
		if (!span_is_utf8(json_key_of(child)))
			return fail(path, "the name of a field is not UTF-8", err);
		append_part(path, child);
		TRY(check(child, path, err));
		path->len = len;
	}
	return OK;
}

enum status json_check_form(const struct json *document, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(PATH_MAX_BYTES);

	return check(document, &path, err);
}

enum status json_check_name(struct span name, size_t most, const char *field, const char *what, struct error *err)
{
	if (name.len > most)
		return error_set_field(err, ERR_SEMANTIC, field, "%s '%.*s…' has %zu bytes, more than %zu", what, 60,
			name.ptr, name.len, most);
	for (size_t i = 0; i < name.len; i++)
		if ((unsigned char)name.ptr[i] < ' ' || name.ptr[i] == 127)
			return error_set_field(
				err, ERR_SEMANTIC, field, "%s has a control character at byte %zu", what, i);
	if (!span_is_utf8(name))
		return error_set_field(err, ERR_SEMANTIC, field, "%s is not UTF-8", what);
	return OK;
}
