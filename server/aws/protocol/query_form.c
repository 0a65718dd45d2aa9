/*
 * The pairs are sorted by their names, part by part, and written in one pass: whatever order and numbers a form has, it costs no
 * more than sorting it.
 */
#include "aws/protocol/query_form.h"

#include "base/arena.h"
#include "base/json/json_write.h"

#include <stdlib.h>

struct part {
	struct span name;
	uint64_t number; /* of an item of a list; 0: it is a member of a structure */
};

struct pair {
	struct span key; /* whole, decoded */
	struct span value;
	const struct part *parts;
	unsigned count;
};

static enum status bad_escape(struct span text, struct error *err)
{
	return error_set(err, ERR_INVALID, "the form has '%%' without two hexadecimal digits in '%.*s'",
		(int)(text.len < 100 ? text.len : 100), text.ptr);
}

static enum status decode(struct arena *arena, struct span raw, struct span *out, struct error *err)
{
	char *text = arena_alloc(arena, raw.len + 1);
	size_t len = 0;

	if (!text)
		return error_no_memory(err);
	for (size_t i = 0; i < raw.len; i++) {
		char c = raw.ptr[i];
		if (c == '%') {
			int high = raw.len - i > 2 ? span_hex_digit(raw.ptr[i + 1]) : -1;
			int low = high < 0 ? -1 : span_hex_digit(raw.ptr[i + 2]);
			if (low < 0)
				return bad_escape(raw, err);
			c = (char)(high << 4 | low);
			i += 2;
		}
		text[len++] = raw.ptr[i] == '+' ? ' ' : c;
	}
	*out = span_of(text, len);
	if (!span_is_utf8(*out))
		return error_set(err, ERR_INVALID, "the form is not UTF-8 when decoded");
	if (len && memchr(text, 0, len))
		return error_set(err, ERR_INVALID, "the form has a NUL (%%00)");
	return OK;
}

static bool parse_number(struct span text, uint64_t *number)
{
	enum { NUMBER_DIGITS = 9 };

	return text.len && text.len <= NUMBER_DIGITS && text.ptr[0] >= '1' && text.ptr[0] <= '9' &&
	       span_parse_u64(text, number);
}

/* "member.7" is one part. */
static enum status split_key(struct arena *arena, struct pair *pair, struct error *err)
{
	struct part parts[QUERY_FORM_MAX_DEPTH];
	struct span rest = pair->key, name;
	bool is_item = false;

	while (span_next(&rest, '.', &name)) {
		struct part part = {.name = name};
		if (is_item && !parse_number(name, &part.number))
			return error_set(err, ERR_INVALID, "'%.*s' in '%.*s' is no number of an item from 1 on",
				SPAN_ARGS(name), (int)(pair->key.len < 200 ? pair->key.len : 200), pair->key.ptr);
		if (!name.len || pair->count == QUERY_FORM_MAX_DEPTH)
			return error_set(err, ERR_INVALID, "the parameter '%.*s' has %s",
				(int)(pair->key.len < 200 ? pair->key.len : 200), pair->key.ptr,
				name.len ? "more than 16 parts" : "an empty part");
		if (!is_item && pair->count && span_equal(name, SPAN("member"))) {
			is_item = true;
			continue;
		}
		is_item = false;
		parts[pair->count++] = part;
	}
	if (is_item || !pair->count)
		return error_set(err, ERR_INVALID, "the parameter '%.*s' stops in the middle",
			(int)(pair->key.len < 200 ? pair->key.len : 200), pair->key.ptr);
	struct part *copy = arena_alloc(arena, pair->count * sizeof *copy);
	if (!copy)
		return error_no_memory(err);
	memcpy(copy, parts, pair->count * sizeof *copy);
	pair->parts = copy;
	return OK;
}

static int compare_parts(const struct part *a, const struct part *b)
{
	if (a->number || b->number)
		return (a->number > b->number) - (a->number < b->number);
	return span_compare(a->name, b->name);
}

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	for (unsigned i = 0; i < a->count && i < b->count; i++) {
		int order = compare_parts(&a->parts[i], &b->parts[i]);
		if (order)
			return order;
	}
	return (a->count > b->count) - (a->count < b->count);
}

static enum status read_pairs(
	struct arena *arena, struct span form, struct pair *pairs, size_t *count, struct error *err)
{
	struct span rest = form, text;

	while (span_next(&rest, '&', &text)) {
		struct pair *pair = &pairs[*count];
		ptrdiff_t equals = span_find_char(text, '=');
		if (!text.len)
			continue;
		*pair = (struct pair){0};
		TRY(decode(arena, equals < 0 ? text : span_of(text.ptr, (size_t)equals), &pair->key, err));
		TRY(decode(arena, equals < 0 ? SPAN("") : span_skip(text, (size_t)equals + 1), &pair->value, err));
		TRY(split_key(arena, pair, err));
		++*count;
	}
	return OK;
}

static enum status refuse_pair(const struct pair *pair, const char *why, struct error *err)
{
	return error_set(err, ERR_INVALID, "the parameter '%.*s' %s", (int)(pair->key.len < 200 ? pair->key.len : 200),
		pair->key.ptr, why);
}

static void open_part(struct json_writer *w, const struct part *part)
{
	if (!part->number)
		json_key_span(w, part->name);
}

static void close_level(struct json_writer *w, const struct part *inside)
{
	if (inside->number)
		json_array_end(w);
	else
		json_object_end(w);
}

/* Closes what ends with `before` and opens what begins with `pair`; they have `shared` parts in common. */
static enum status move_to(
	struct json_writer *w, const struct pair *before, const struct pair *pair, unsigned shared, struct error *err)
{
	if (before->count) {
		if (shared == before->count || shared == pair->count)
			return refuse_pair(
				pair, shared == pair->count ? "comes twice" : "has a value and members", err);
		if (!before->parts[shared].number != !pair->parts[shared].number)
			return refuse_pair(pair, "is a member of what else is a list", err);
		for (unsigned i = before->count - 1; i > shared; i--)
			close_level(w, &before->parts[i]);
	}
	for (unsigned i = shared; i < pair->count; i++) {
		if (i > shared) {
			if (pair->parts[i].number)
				json_array(w);
			else
				json_object(w);
		}
		open_part(w, &pair->parts[i]);
	}
	return OK;
}

static unsigned count_shared(const struct pair *a, const struct pair *b)
{
	unsigned shared = 0;

	while (shared < a->count && shared < b->count && compare_parts(&a->parts[shared], &b->parts[shared]) == 0)
		shared++;
	return shared;
}

static enum status write_pairs(const struct pair *pairs, size_t count, struct buf *json, struct error *err)
{
	struct json_writer w = json_writer_on(json);
	struct pair none = {0};
	const struct pair *before = &none;

	json_object(&w);
	for (size_t i = 0; i < count; i++) {
		TRY(move_to(&w, before, &pairs[i], count_shared(before, &pairs[i]), err));
		json_span(&w, pairs[i].value);
		before = &pairs[i];
	}
	for (unsigned i = before->count; i-- > 1;)
		close_level(&w, &before->parts[i]);
	json_object_end(&w);
	return buf_status(json, err);
}

bool query_form_find(struct span form, const char *name, struct span *value)
{
	struct span rest = form, text, key;

	while (span_next(&rest, '&', &text)) {
		*value = text;
		if (span_next(value, '=', &key) && span_equal(key, span_from(name)))
			return true;
	}
	return false;
}

enum status query_form_to_json(struct span form, struct buf *json, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_MEM struct pair *pairs = NULL;
	size_t most = 1, count = 0;

	for (size_t i = 0; i < form.len; i++)
		most += form.ptr[i] == '&';
	if (most > QUERY_FORM_MAX_PAIRS)
		return error_set(err, ERR_TOO_LARGE, "the form has more than %d parameters", QUERY_FORM_MAX_PAIRS);
	pairs = mem_resize(NULL, most, sizeof *pairs);
	if (!arena || !pairs)
		return error_no_memory(err);
	TRY(read_pairs(arena, form, pairs, &count, err));
	if (count)
		qsort(pairs, count, sizeof *pairs, compare_pairs);
	return write_pairs(pairs, count, json, err);
}
