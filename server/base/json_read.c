#include "base/json_node.h"
#include "base/json_write.h"

#include <math.h>

static const double largest_exact = 9007199254740992.0; /* 2^53: beyond it neighbours read as the same double */

static void free_node(struct json *node)
{
	json_free(node->child);
	mem_free((void *)(uintptr_t)node->key.ptr);
	if (node->kind == JSON_STRING)
		mem_free((void *)(uintptr_t)node->text.ptr);
	mem_free(node);
}

void json_free(struct json *document)
{
	for (struct json *next; document; document = next) {
		next = document->next;
		free_node(document);
	}
}

enum json_kind json_kind(const struct json *node)
{
	return node->kind;
}

static const struct json *find(const struct json *object, struct span key)
{
	if (!object || object->kind != JSON_OBJECT)
		return NULL;
	for (const struct json *item = object->child; item; item = item->next)
		if (span_equal(item->key, key))
			return item;
	return NULL;
}

const struct json *json_get(const struct json *object, const char *key)
{
	return find(object, span_from(key));
}

const struct json *json_get_path(const struct json *object, const char *dotted)
{
	struct span rest = span_from(dotted), part;

	while (object && span_next(&rest, '.', &part))
		object = find(object, part);
	return object;
}

const struct json *json_first(const struct json *node)
{
	return node ? node->child : NULL;
}

const struct json *json_next(const struct json *node)
{
	return node->next;
}

struct span json_key_of(const struct json *node)
{
	return node->key.ptr ? node->key : SPAN("");
}

size_t json_count(const struct json *node)
{
	size_t count = 0;

	for (const struct json *item = json_first(node); item; item = json_next(item))
		count++;
	return count;
}

struct span json_string_of(const struct json *node)
{
	return node && node->kind == JSON_STRING ? node->text : SPAN("");
}

bool json_number_of(const struct json *node, double *value)
{
	if (!node || node->kind != JSON_NUMBER)
		return false;
	*value = node->number;
	return true;
}

bool json_is_true(const struct json *node)
{
	return node && node->kind == JSON_BOOL && node->is_true;
}

static enum status wrong_kind(const struct json *node, const char *key, const char *wanted, struct error *err)
{
	static const char *const names[] = {[JSON_NULL] = "null",
		[JSON_BOOL] = "a boolean",
		[JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string",
		[JSON_ARRAY] = "an array",
		[JSON_OBJECT] = "an object"};

	return error_set_field(err, ERR_SEMANTIC, key, "'%s' must be %s, not %s", key, wanted, names[json_kind(node)]);
}

/* The field when it is there and not null. */
static const struct json *present(const struct json *object, const char *key)
{
	const struct json *node = json_get(object, key);

	return node && json_kind(node) != JSON_NULL ? node : NULL;
}

enum status json_want_string(const struct json *object, const char *key, struct span *out, struct error *err)
{
	const struct json *node = present(object, key);

	if (!node)
		return OK;
	if (json_kind(node) != JSON_STRING)
		return wrong_kind(node, key, "a string", err);
	*out = json_string_of(node);
	return OK;
}

enum status json_want_i64(const struct json *object, const char *key, int64_t *out, struct error *err)
{
	const struct json *node = present(object, key);
	double value;

	if (!node)
		return OK;
	if (!json_number_of(node, &value))
		return wrong_kind(node, key, "a whole number", err);
	if (fabs(value) > largest_exact || value != trunc(value))
		return error_set_field(err, ERR_SEMANTIC, key,
			"'%s' must be a whole number between -2^53 and 2^53, not %.17g", key, value);
	*out = (int64_t)value;
	return OK;
}

enum status json_want_bool(const struct json *object, const char *key, bool *out, struct error *err)
{
	const struct json *node = present(object, key);

	if (!node)
		return OK;
	if (json_kind(node) != JSON_BOOL)
		return wrong_kind(node, key, "true or false", err);
	*out = json_is_true(node);
	return OK;
}

/* A number beyond a double's range was read as infinite; this text reads as the same again. */
static void print_number(double value, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	if (isinf(value))
		buf_append_text(out, value > 0 ? "1e999" : "-1e999");
	else
		json_double(&w, value);
}

static void print_children(const struct json *node, const char brackets[2], struct buf *out)
{
	buf_append_char(out, brackets[0]);
	for (const struct json *item = json_first(node); item; item = json_next(item)) {
		struct json_writer w = json_writer_on(out);
		if (item != json_first(node))
			buf_append_char(out, ',');
		if (json_kind(node) == JSON_OBJECT)
			json_key_span(&w, json_key_of(item));
		json_print(item, out);
	}
	buf_append_char(out, brackets[1]);
}

/* Not by the writer's nesting, which ends at JSON_MAX_DEPTH: what could be read can be written. */
void json_print(const struct json *node, struct buf *out)
{
	struct json_writer w = json_writer_on(out);

	switch (json_kind(node)) {
	case JSON_NULL:
		json_null(&w);
		break;
	case JSON_BOOL:
		json_bool(&w, json_is_true(node));
		break;
	case JSON_NUMBER:
		print_number(node->number, out);
		break;
	case JSON_STRING:
		json_span(&w, json_string_of(node));
		break;
	case JSON_ARRAY:
		print_children(node, "[]", out);
		break;
	case JSON_OBJECT:
		print_children(node, "{}", out);
		break;
	}
}

static bool copy_span(struct span *out, struct span text)
{
	char *copy = mem_copy_bytes(text.ptr ? text.ptr : "", text.len);

	if (copy)
		*out = span_of(copy, text.len);
	return copy;
}

/* Takes the item over, whether it succeeds or not. The new one stands where the old one stood. */
static bool set(struct json *object, const char *key, struct json *new_item)
{
	AUTO(json) item = new_item;
	struct json **place = &object->child;

	if (!item || !copy_span(&item->key, span_from(key)))
		return false;
	while (*place && !span_equal((*place)->key, item->key))
		place = &(*place)->next;
	struct json *old = *place;
	item->next = old ? old->next : NULL;
	*place = item;
	item = NULL;
	if (old)
		free_node(old);
	return true;
}

/* Without its key. NULL: out of memory. */
static struct json *duplicate(const struct json *node)
{
	AUTO(json) copy = mem_zeroed(sizeof *copy);

	if (!copy)
		return NULL;
	struct json **last = &copy->child;
	copy->is_true = node->is_true;
	if (node->kind == JSON_NUMBER)
		copy->number = node->number;
	if (node->kind == JSON_STRING && !copy_span(&copy->text, node->text))
		return NULL;
	copy->kind = node->kind;
	for (const struct json *child = node->child; child; child = child->next) {
		*last = duplicate(child);
		if (!*last || (child->key.ptr && !copy_span(&(*last)->key, child->key)))
			return NULL;
		last = &(*last)->next;
	}
	struct json *whole = copy;
	copy = NULL;
	return whole;
}

bool json_set_copy(struct json *object, const char *key, const struct json *value)
{
	return set(object, key, duplicate(value));
}

bool json_set_string(struct json *object, const char *key, struct span value)
{
	AUTO(json) item = mem_zeroed(sizeof *item);

	if (!item || !copy_span(&item->text, value))
		return false;
	item->kind = JSON_STRING;
	struct json *whole = item;
	item = NULL;
	return set(object, key, whole);
}

bool json_replace_string(const struct json *node, const char *value)
{
	struct json *changed = (struct json *)(uintptr_t)node;
	struct span text;

	if (node->kind != JSON_STRING || !copy_span(&text, span_from(value)))
		return false;
	mem_free((void *)(uintptr_t)changed->text.ptr);
	changed->text = text;
	return true;
}

void json_remove(struct json *object, const char *key)
{
	struct json **place = &object->child;

	while (*place && !span_equal((*place)->key, span_from(key)))
		place = &(*place)->next;
	struct json *old = *place;
	if (!old)
		return;
	*place = old->next;
	free_node(old);
}
