#include "api/jobs/workspace_check.h"

#include "api/core/request.h"
#include "query/query.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum value_kind {
	VALUE_END,
	VALUE_TEXT,
	VALUE_QUERY,
	VALUE_WORD,
	VALUE_WHOLE,
	VALUE_NUMBER,
	VALUE_TEXTS,
	VALUE_RANGES,
	VALUE_HUES
};

/* most: of texts bytes, of VALUE_TEXTS and VALUE_HUES entries */
struct member {
	const char *name;
	enum value_kind kind;
	double least, most;
	const char *words; /* of VALUE_WORD and VALUE_HUES: parted by ", " */
	bool is_needed;
};

struct checking {
	int64_t now_ms;
	struct error *err;
};

enum { PANELS_MAX = 100, EXPRESSION_BYTES = 1000, TITLE_BYTES = 200, TEXT_BYTES = 20000, PLACE_BYTES = 120 };

#define SCALES "linear, log"
#define HUES "blue, orange, green, pink, violet, amber, olive, grey"
#define AXES "step, time, relative, rstep, tokens, flops"

static const struct member workspace_members[] = {{"version", VALUE_WHOLE, 1, 1, NULL, true},
	{"title", VALUE_TEXT, 0, TITLE_BYTES, NULL, false}, {"query", VALUE_QUERY, 0, QUERY_MAX_BYTES, NULL, false},
	{"x", VALUE_WORD, 0, 0, AXES, false}, {"ranges", VALUE_RANGES, 0, 0, AXES, false},
	{"last_hours", VALUE_NUMBER, 0.01, 8760, NULL, false}, {"smooth", VALUE_NUMBER, 0, 0.999, NULL, false}, {0}};
static const struct member common_members[] = {{"kind", VALUE_WORD, 0, 0, "line, scatter, table, number, text", true},
	{"title", VALUE_TEXT, 0, TITLE_BYTES, NULL, false}, {"query", VALUE_QUERY, 0, QUERY_MAX_BYTES, NULL, false},
	{"width", VALUE_WHOLE, 2, 12, NULL, true}, {"height", VALUE_WHOLE, 1, 6, NULL, true}, {0}};

static const struct panel_kind {
	const char *name;
	struct member members[7];
} panel_kinds[] = {
	{"line", {{"expressions", VALUE_TEXTS, 0, 12, NULL, true}, {"scale", VALUE_WORD, 0, 0, SCALES, false},
			 {"each", VALUE_WORD, 0, 0, "job, stream", false},
			 {"smooth", VALUE_NUMBER, 0, 0.999, NULL, false}, {"most", VALUE_WHOLE, 1, 100, NULL, false},
			 {"colors", VALUE_HUES, 0, 100, HUES, false}}},
	{"scatter",
		{{"x", VALUE_TEXT, 0, EXPRESSION_BYTES, NULL, true}, {"y", VALUE_TEXT, 0, EXPRESSION_BYTES, NULL, true},
			{"color", VALUE_TEXT, 0, EXPRESSION_BYTES, NULL, false},
			{"scale", VALUE_WORD, 0, 0, SCALES, false}, {"xscale", VALUE_WORD, 0, 0, SCALES, false}}},
	{"table", {{"columns", VALUE_TEXTS, 0, 40, NULL, true}, {"sort", VALUE_TEXT, 0, 300, NULL, false}}},
	{"number", {{"expression", VALUE_TEXT, 0, EXPRESSION_BYTES, NULL, true},
			   {"fold", VALUE_WORD, 0, 0, "min, max, mean, median, sum, count", false}}},
	{"text", {{"text", VALUE_TEXT, 0, TEXT_BYTES, NULL, true}}},
};

static enum status refuse(const struct checking *c, const char *place, const char *what)
{
	return error_set_field(c->err, ERR_SEMANTIC, place, "%s %s", place, what);
}

/* "panels[2]" and "width" to "panels[2].width" */
static void join(char out[PLACE_BYTES], const char *place, struct span name)
{
	snprintf(out, PLACE_BYTES, "%.58s%s%.*s", place, place[0] ? "." : "", (int)(name.len < 60 ? name.len : 60),
		name.ptr);
}

static bool is_among(const char *words, struct span text)
{
	for (const char *at = words; at && *at;) {
		size_t len = strcspn(at, ",");
		if (span_equal(span_of(at, len), text))
			return true;
		at += len;
		at += strspn(at, ", ");
	}
	return false;
}

static enum status check_text(const struct checking *c, const struct json *value, const char *place, size_t most)
{
	char what[64];

	if (json_kind(value) != JSON_STRING)
		return refuse(c, place, "is not a text");
	snprintf(what, sizeof what, "is longer than %zu bytes", most);
	return json_string_of(value).len > most ? refuse(c, place, what) : OK;
}

static enum status check_query(const struct checking *c, const struct json *value, const char *place, size_t most)
{
	AUTO(arena) arena = NULL;
	struct query_node *tree;

	TRY(check_text(c, value, place, most));
	TRY(api_arena(&arena, c->err));
	enum status status = query_parse(&tree, json_string_of(value), c->now_ms, arena, c->err);
	if (status != OK && c->err)
		snprintf(c->err->field, sizeof c->err->field, "%s", place);
	return status;
}

static enum status check_word(const struct checking *c, const struct json *value, const char *place, const char *words)
{
	char what[128];

	if (json_kind(value) == JSON_STRING && is_among(words, json_string_of(value)))
		return OK;
	snprintf(what, sizeof what, "is not one of %s", words);
	return refuse(c, place, what);
}

static enum status check_number(
	const struct checking *c, const struct json *value, const char *place, const struct member *as)
{
	bool is_whole = as->kind == VALUE_WHOLE;
	double number = NAN;
	char what[96];

	if (json_kind(value) == JSON_NUMBER)
		(void)json_number_of(value, &number);
	if (number >= as->least && number <= as->most && (!is_whole || number == floor(number)))
		return OK;
	if (as->least == as->most)
		snprintf(what, sizeof what, "is not %g, the only one there is", as->least);
	else
		snprintf(what, sizeof what, "is not a %snumber from %g to %g", is_whole ? "whole " : "", as->least,
			as->most);
	return refuse(c, place, what);
}

static enum status check_texts(const struct checking *c, const struct json *value, const char *place, size_t most)
{
	char what[64], inside[PLACE_BYTES];
	size_t i = 0;

	if (json_kind(value) != JSON_ARRAY)
		return refuse(c, place, "is not a list");
	snprintf(what, sizeof what, "has more than %zu entries", most);
	if (json_count(value) > most)
		return refuse(c, place, what);
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		snprintf(inside, sizeof inside, "%.100s[%zu]", place, i++);
		TRY(check_text(c, at, inside, EXPRESSION_BYTES));
	}
	return OK;
}

static bool is_range(const struct json *value)
{
	const struct json *first = json_kind(value) == JSON_ARRAY ? json_first(value) : NULL;
	const struct json *second = first ? json_next(first) : NULL;
	double from = NAN, to = NAN;

	if (!second || json_next(second) || json_kind(first) != JSON_NUMBER || json_kind(second) != JSON_NUMBER)
		return false;
	(void)json_number_of(first, &from);
	(void)json_number_of(second, &to);
	return from < to;
}

static enum status check_ranges(
	const struct checking *c, const struct json *value, const char *place, const char *words)
{
	char inside[PLACE_BYTES];

	if (json_kind(value) != JSON_OBJECT)
		return refuse(c, place, "is not an object");
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		join(inside, place, json_key_of(at));
		if (!is_among(words, json_key_of(at)))
			return refuse(c, inside, "is not known");
	}
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		join(inside, place, json_key_of(at));
		if (!is_range(at))
			return refuse(c, inside, "is not two numbers, the lower one first");
	}
	return OK;
}

/* By what has the hue: a job, or an expression. */
static enum status check_hues(
	const struct checking *c, const struct json *value, const char *place, const struct member *as)
{
	char inside[PLACE_BYTES], what[64];

	if (json_kind(value) != JSON_OBJECT)
		return refuse(c, place, "is not an object");
	snprintf(what, sizeof what, "has more than %g entries", as->most);
	if ((double)json_count(value) > as->most)
		return refuse(c, place, what);
	for (const struct json *at = json_first(value); at; at = json_next(at)) {
		join(inside, place, json_key_of(at));
		TRY(check_word(c, at, inside, as->words));
	}
	return OK;
}

static enum status check_value(
	const struct checking *c, const struct json *value, const char *place, const struct member *as)
{
	switch (as->kind) {
	case VALUE_TEXT:
		return check_text(c, value, place, (size_t)as->most);
	case VALUE_QUERY:
		return check_query(c, value, place, (size_t)as->most);
	case VALUE_WORD:
		return check_word(c, value, place, as->words);
	case VALUE_WHOLE:
	case VALUE_NUMBER:
		return check_number(c, value, place, as);
	case VALUE_TEXTS:
		return check_texts(c, value, place, (size_t)as->most);
	case VALUE_RANGES:
		return check_ranges(c, value, place, as->words);
	case VALUE_HUES:
		return check_hues(c, value, place, as);
	case VALUE_END:
		break;
	}
	return OK;
}

static const struct member *find_member(const struct member *members, struct span name)
{
	for (; members && members->name; members++)
		if (span_equal(span_from(members->name), name))
			return members;
	return NULL;
}

static enum status check_known(const struct checking *c, const struct json *object, const char *place,
	const struct member *some, const struct member *others, const char *more)
{
	char inside[PLACE_BYTES];

	for (const struct json *at = json_first(object); at; at = json_next(at)) {
		struct span key = json_key_of(at);
		join(inside, place, key);
		if (!find_member(some, key) && !find_member(others, key) && !is_among(more, key))
			return refuse(c, inside, "is not known");
	}
	return OK;
}

static enum status check_members(
	const struct checking *c, const struct json *object, const char *place, const struct member *members)
{
	char inside[PLACE_BYTES];

	for (; members && members->name; members++) {
		const struct json *value = json_get(object, members->name);
		join(inside, place, span_from(members->name));
		if (value)
			TRY(check_value(c, value, inside, members));
		else if (members->is_needed)
			return refuse(c, inside, "is missing");
	}
	return OK;
}

static enum status check_panel(const struct checking *c, const struct json *panel, const char *place)
{
	const struct member *own = NULL;

	if (json_kind(panel) != JSON_OBJECT)
		return refuse(c, place, "is not an object");
	const struct json *kind = json_get(panel, "kind");
	for (size_t i = 0; i < sizeof panel_kinds / sizeof *panel_kinds; i++)
		if (kind && span_equal(json_string_of(kind), span_from(panel_kinds[i].name)))
			own = panel_kinds[i].members;
	/* Of an unknown kind nobody knows what it may hold. */
	if (kind && !own) {
		char inside[PLACE_BYTES];
		join(inside, place, SPAN("kind"));
		return check_word(c, kind, inside, common_members[0].words);
	}
	TRY(check_known(c, panel, place, common_members, own, NULL));
	TRY(check_members(c, panel, place, common_members));
	return check_members(c, panel, place, own);
}

static enum status check_panels(const struct checking *c, const struct json *panels)
{
	char place[32];
	size_t i = 0;

	if (!panels)
		return refuse(c, "panels", "is missing");
	if (json_kind(panels) != JSON_ARRAY)
		return refuse(c, "panels", "is not a list");
	snprintf(place, sizeof place, "has more than %d entries", PANELS_MAX);
	if (json_count(panels) > PANELS_MAX)
		return refuse(c, "panels", place);
	for (const struct json *at = json_first(panels); at; at = json_next(at)) {
		snprintf(place, sizeof place, "panels[%zu]", i++);
		TRY(check_panel(c, at, place));
	}
	return OK;
}

enum status workspace_check(const struct json *document, int64_t now_ms, struct error *err)
{
	const struct checking c = {.now_ms = now_ms, .err = err};

	if (json_kind(document) != JSON_OBJECT)
		return refuse(&c, "the document", "is not an object");
	TRY(check_known(&c, document, "", workspace_members, NULL, "panels"));
	TRY(check_members(&c, document, "", workspace_members));
	return check_panels(&c, json_get(document, "panels"));
}
