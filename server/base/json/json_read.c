/*
 * The tree is cJSON's: a `struct json` is a cJSON, whose header nobody else sees. Whether a text is JSON at all is found out before
 * (json_check), so that cJSON fails for want of memory alone. It never prints: its numbers lose digits.
 */
#include "base/json/json_read.h"
#include "base/json/json_check.h"
#include "base/json/json_write.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>

static const double largest_exact = 9007199254740992.0; /* 2^53: beyond it neighbours read as the same double */

/*
 * cJSON has one set of allocation functions for the process, set once, before its first use. It also notes the place of its last
 * failure for the process, without a lock, at each parse: two threads must not parse at a time. All else of it has no state.
 */
static struct {
	pthread_once_t once;
	pthread_mutex_t parsing;
} state = {PTHREAD_ONCE_INIT, PTHREAD_MUTEX_INITIALIZER};

static void install_hooks(void)
{
	/* without waiting for memory: others wait to parse */
	cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = mem_try, .free_fn = mem_free});
}

static const cJSON *tree(const struct json *node)
{
	return (const cJSON *)node;
}

static const struct json *node_of(const cJSON *item)
{
	return (const struct json *)item;
}

static cJSON *parse_alone(struct span text)
{
	pthread_mutex_lock(&state.parsing);
	cJSON *item = cJSON_ParseWithLength(text.ptr, text.len);
	pthread_mutex_unlock(&state.parsing);
	return item;
}

enum status json_parse(struct json **out, struct span text, struct error *err)
{
	cJSON *item;

	TRY(json_check(text, err));
	pthread_once(&state.once, install_hooks);
	do
		item = parse_alone(span_skip(text, json_bom_length(text)));
	while (!item && mem_may_come());
	if (!item)
		return error_no_memory(err);
	*out = (struct json *)item;
	return OK;
}

void json_free(struct json *document)
{
	cJSON_Delete((cJSON *)document);
}

enum json_kind json_kind(const struct json *node)
{
	if (!node)
		return JSON_NULL;
	switch (tree(node)->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
		return JSON_BOOL;
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	case cJSON_Object:
		return JSON_OBJECT;
	default:
		return JSON_NULL;
	}
}

static const struct json *find(const struct json *object, struct span key)
{
	if (!object || json_kind(object) != JSON_OBJECT)
		return NULL;
	for (const cJSON *item = tree(object)->child; item; item = item->next)
		if (span_equal(span_from(item->string), key))
			return node_of(item);
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
	return node ? node_of(tree(node)->child) : NULL;
}

const struct json *json_next(const struct json *node)
{
	return node_of(tree(node)->next);
}

static bool is_among(const char *names, struct span key)
{
	struct span rest = span_from(names), name;

	while (span_next(&rest, ' ', &name))
		if (span_equal(name, key))
			return true;
	return false;
}

const struct json *json_find_other(const struct json *object, const char *names)
{
	const struct json *at = json_first(object);

	while (at && is_among(names, json_key_of(at)))
		at = json_next(at);
	return at;
}

struct span json_key_of(const struct json *node)
{
	return tree(node)->string ? span_from(tree(node)->string) : SPAN("");
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
	return node && cJSON_IsString(tree(node)) ? span_from(tree(node)->valuestring) : SPAN("");
}

bool json_number_of(const struct json *node, double *value)
{
	if (!node || !cJSON_IsNumber(tree(node)))
		return false;
	*value = tree(node)->valuedouble;
	return true;
}

bool json_is_true(const struct json *node)
{
	return node && cJSON_IsTrue(tree(node));
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
		print_number(tree(node)->valuedouble, out);
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

static cJSON *duplicate(const struct json *node)
{
	cJSON *copy;

	do
		copy = cJSON_Duplicate(tree(node), true);
	while (!copy && mem_may_come());
	return copy;
}

/* Takes the item over, whether it succeeds or not. The new one stands where the old one stood. */
static bool set(struct json *object, const char *key, cJSON *item)
{
	char *name = item ? mem_copy_string(key) : NULL;
	cJSON *old = (cJSON *)json_get(object, key);

	if (!name) {
		cJSON_Delete(item);
		return false;
	}
	mem_free(item->string);
	item->string = name; /* by hand: cJSON's own functions lose the item when memory for its key is out */
	if (old)
		return cJSON_ReplaceItemViaPointer((cJSON *)object, old, item);
	return cJSON_AddItemToArray((cJSON *)object, item);
}

bool json_set_copy(struct json *object, const char *key, const struct json *value)
{
	return set(object, key, duplicate(value));
}

bool json_set_string(struct json *object, const char *key, struct span value)
{
	AUTO_MEM char *text = mem_copy_bytes(value.ptr, value.len);
	cJSON *item = text ? cJSON_CreateNull() : NULL;

	if (!item)
		return false;
	item->type = cJSON_String;
	item->valuestring = TAKE(text);
	return set(object, key, item);
}

bool json_replace_string(const struct json *node, const char *value)
{
	cJSON *item = (cJSON *)(uintptr_t)node;
	char *text = cJSON_IsString(item) ? mem_copy_string(value) : NULL;

	if (!text)
		return false;
	mem_free(item->valuestring);
	item->valuestring = text;
	return true;
}

void json_remove(struct json *object, const char *key)
{
	cJSON_DeleteItemFromObjectCaseSensitive((cJSON *)object, key);
}
