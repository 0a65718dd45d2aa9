#include "base/json_read.h"
#include "base/json_write.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

/* A `struct json` is a cJSON; the name keeps its header out of everybody else's sight. */

static const double largest_exact = 9007199254740992.0; /* 2^53: beyond it neighbours read as the same double */

/* cJSON knows one set of allocation functions for the process; they are put in place once and never changed. */
static struct {
	pthread_once_t once;
} state = {PTHREAD_ONCE_INIT};

/* cJSON says only "failed": whether memory was the cause is noted here, by and for the thread that parses. */
static _Thread_local struct {
	bool is_out_of_memory;
} thread_state;

static void *allocate(size_t bytes)
{
	void *block = mem_alloc(bytes);

	thread_state.is_out_of_memory |= !block;
	return block;
}

static void install_hooks(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = allocate, .free_fn = mem_free});
}

static const cJSON *tree(const struct json *node)
{
	return (const cJSON *)node;
}

static cJSON *tree_to_change(struct json *node)
{
	return (cJSON *)node;
}

static const struct json *node_of(const cJSON *item)
{
	return (const struct json *)item;
}

/* Where the end of a text lies in the document that it begins. */
struct place {
	int depth;
	bool is_in_string;
	bool is_in_object;
};

static struct place place_of(struct span text)
{
	bool is_object[CJSON_NESTING_LIMIT] = {false};
	struct place place = {0};

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '"')
			place.is_in_string = !place.is_in_string;
		else if (c == '\\' && place.is_in_string)
			i++;
		else if (!place.is_in_string && (c == '[' || c == '{') && place.depth < CJSON_NESTING_LIMIT)
			is_object[place.depth++] = c == '{';
		else if (!place.is_in_string && (c == ']' || c == '}') && place.depth > 0)
			place.depth--;
	}
	place.is_in_object = place.depth > 0 && is_object[place.depth - 1];
	return place;
}

/* cJSON stands behind the character where it wanted a key and found something else. */
static bool is_bad_key(struct span text, size_t at)
{
	if (at == 0 || strchr("\" ,{:", text.ptr[at - 1]))
		return false;
	struct span before = span_trim(span_of(text.ptr, at - 1));
	bool is_first = span_ends_with(before, SPAN("{")) && text.ptr[at - 1] != '}';
	return (is_first || span_ends_with(before, SPAN(","))) && place_of(before).is_in_object;
}

static enum status place_error(struct error *err, struct span text, size_t at, const char *what)
{
	int64_t line = 1;
	size_t line_start = 0;

	for (size_t i = 0; i < at; i++)
		if (text.ptr[i] == '\n') {
			line++;
			line_start = i + 1;
		}
	int64_t column = (int64_t)(at - line_start) + 1;
	error_set(err, ERR_INVALID, "line %lld, column %lld: %s", (long long)line, (long long)column, what);
	if (err) {
		err->line = line;
		err->column = column;
	}
	return ERR_INVALID;
}

/* cJSON keeps strings as C strings: a NUL in one would cut it off without a word. Returns its place, or -1. */
static ptrdiff_t find_nul(struct span text)
{
	bool is_in_string = false;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == 0)
			return (ptrdiff_t)i;
		if (c == '"')
			is_in_string = !is_in_string;
		if (c != '\\' || !is_in_string)
			continue;
		if (span_starts_with(span_skip(text, i), SPAN("\\u0000")))
			return (ptrdiff_t)i;
		i++;
	}
	return -1;
}

static enum status explain(struct span text, size_t at, struct error *err)
{
	char what[48] = "the text ends in the middle of a value";

	if (thread_state.is_out_of_memory)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (span_trim(text).len == 0)
		return place_error(err, text, text.len, "there is no JSON value, the text is empty");
	if (is_bad_key(text, at))
		at--;
	struct place place = place_of(span_of(text.ptr, at));
	unsigned char c = at < text.len ? (unsigned char)text.ptr[at] : 0;
	if ((c == '[' || c == '{') && place.depth == CJSON_NESTING_LIMIT)
		return place_error(err, text, at, "nested too deeply, more than 1000 levels");
	if (place.is_in_string)
		return place_error(err, text, at, c == '\\' ? "not a valid escape" : "this string does not end");
	if (c > ' ' && c < 0x7f)
		snprintf(what, sizeof what, "'%c' is not valid JSON here", c);
	else if (at < text.len)
		snprintf(what, sizeof what, "byte 0x%02x is not valid JSON here", c);
	return place_error(err, text, at, what);
}

enum status json_parse(struct json **out, struct span text, struct error *err)
{
	pthread_once(&state.once, install_hooks);
	thread_state.is_out_of_memory = false;
	ptrdiff_t nul = find_nul(text);
	if (nul >= 0)
		return place_error(err, text, (size_t)nul, "a NUL character is not accepted");
	/* The NUL counts as input, so that an early end is found there; cJSON 1.7 looks one byte further in places. */
	AUTO_MEM char *copy = mem_alloc(text.len + 2);
	if (!copy)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	memset(copy + text.len, 0, 2);
	const char *end = copy;
	cJSON *item = cJSON_ParseWithLengthOpts(copy, text.len + 1, &end, 1);
	if (!item)
		return explain(span_of(copy, text.len), (size_t)(end - copy), err);
	*out = (struct json *)item;
	return OK;
}

void json_free(struct json *document)
{
	cJSON_Delete(tree_to_change(document));
}

enum json_kind json_kind(const struct json *node)
{
	const cJSON *item = tree(node);

	if (cJSON_IsBool(item))
		return JSON_BOOL;
	if (cJSON_IsNumber(item))
		return JSON_NUMBER;
	if (cJSON_IsString(item))
		return JSON_STRING;
	if (cJSON_IsArray(item))
		return JSON_ARRAY;
	return cJSON_IsObject(item) ? JSON_OBJECT : JSON_NULL;
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

struct span json_key_of(const struct json *node)
{
	const char *key = tree(node)->string;

	return span_from(key ? key : "");
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

/* Takes the item over, whether it succeeds or not. */
static bool set(struct json *object, const char *key, cJSON *item)
{
	char *name = item ? mem_copy_string(key) : NULL;
	cJSON *old = (cJSON *)json_get(object, key);

	if (!name) {
		cJSON_Delete(item);
		return false;
	}
	mem_free(item->string);
	item->string = name; /* by hand: cJSON's own functions lose the key when memory is out */
	if (old)
		return cJSON_ReplaceItemViaPointer(tree_to_change(object), old, item);
	return cJSON_AddItemToArray(tree_to_change(object), item);
}

bool json_set_copy(struct json *object, const char *key, const struct json *value)
{
	return set(object, key, cJSON_Duplicate(tree(value), 1));
}

bool json_set_string(struct json *object, const char *key, struct span value)
{
	AUTO_MEM char *text = mem_zeroed(value.len + 1);

	if (!text)
		return false;
	if (value.len)
		memcpy(text, value.ptr, value.len);
	return set(object, key, cJSON_CreateString(text));
}

bool json_replace_string(const struct json *node, const char *value)
{
	return cJSON_SetValuestring((cJSON *)(uintptr_t)node, value) != NULL;
}

void json_remove(struct json *object, const char *key)
{
	cJSON_DeleteItemFromObjectCaseSensitive(tree_to_change(object), key);
}
