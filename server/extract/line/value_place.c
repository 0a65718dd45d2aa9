#include "extract/line/value_place.h"

#include "extract/line/number.h"

#include <math.h>
#include <string.h>

enum { DEPTH_MAX = 16, LITERALS_LEAST = 2, NOT_SOUGHT = -1 };

/* Where in the expression it is, and from where on what was read stands before the group. */
struct walk {
	struct span text;
	size_t at;
	int groups;
	unsigned depth;
	size_t starts[DEPTH_MAX + 1];
	bool is_value[DEPTH_MAX + 1]; /* a capture of another value: what it holds may be no number either */
};

static char peek(const struct walk *walk, size_t ahead)
{
	return walk->at + ahead < walk->text.len ? walk->text.ptr[walk->at + ahead] : 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Behind "[^]a-z]". */
static void skip_class(struct walk *walk)
{
	walk->at += peek(walk, 1) == '^' ? 2 : 1;
	walk->at += peek(walk, 0) == ']';
	for (; walk->at < walk->text.len && peek(walk, 0) != ']'; walk->at++) {
		if (peek(walk, 0) == '\\')
			walk->at++;
		else if (peek(walk, 0) == '[' && peek(walk, 1) == ':')
			while (walk->at < walk->text.len && !(peek(walk, 0) == ':' && peek(walk, 1) == ']'))
				walk->at++;
	}
	walk->at++;
}

static bool is_counter(struct span name)
{
	static const char *const names[] = {"step", "epoch", "total", "rank", "unit"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (span_equal(name, span_from(names[i])))
			return true;
	return false;
}

/* Behind "(", "(?:", "(?<step>"; *captures, *is_value. False: of a kind that is not followed. */
static bool read_opening(struct walk *walk, bool *captures, bool *is_value)
{
	bool is_named = peek(walk, 2) == 'P' || peek(walk, 2) == '\'' ||
			(peek(walk, 2) == '<' && peek(walk, 3) != '=' && peek(walk, 3) != '!');

	*captures = *is_value = peek(walk, 1) != '?';
	if (peek(walk, 1) == '*')
		return false;
	if (*captures) {
		walk->at++;
		return true;
	}
	if (is_named) {
		size_t from = walk->at + (peek(walk, 2) == 'P' ? 4 : 3);
		for (walk->at = from; peek(walk, 0) && !strchr(">')", peek(walk, 0));)
			walk->at++;
		*captures = true;
		*is_value = !is_counter(span_of(walk->text.ptr + from, walk->at - from));
		walk->at++;
		return true;
	}
	if (!strchr(":=!<>", peek(walk, 2)))
		return false;
	walk->at += peek(walk, 2) == '<' ? 4 : 3;
	return true;
}

static bool close_group(struct walk *walk)
{
	if (!walk->depth)
		return false;
	bool is_value = walk->is_value[walk->depth--];
	walk->at++;
	if (!is_value)
		return true;
	if (peek(walk, 0) == '{')
		while (peek(walk, 0) && peek(walk, 0) != '}')
			walk->at++;
	while (peek(walk, 0) && strchr("?*+}", peek(walk, 0)))
		walk->at++;
	walk->starts[walk->depth] = walk->at;
	return true;
}

/* One element on; *is_there: the value's group opens here. False: an expression of a kind that is not followed. */
static bool step(struct walk *walk, int value_group, bool *is_there)
{
	size_t opening = walk->at;
	bool captures, is_value;

	switch (peek(walk, 0)) {
	case '\\':
		walk->at += 2;
		return !strchr("123456789gkKGQE", walk->text.ptr[opening + 1]);
	case '[':
		skip_class(walk);
		return true;
	case '|':
		walk->starts[walk->depth] = ++walk->at;
		return true;
	case ')':
		return close_group(walk);
	case '(':
		break;
	default:
		walk->at++;
		return true;
	}
	if (!read_opening(walk, &captures, &is_value) || walk->depth == DEPTH_MAX)
		return false;
	walk->groups += captures;
	*is_there = captures && walk->groups == value_group;
	if (*is_there) {
		walk->at = opening;
		return true;
	}
	walk->starts[++walk->depth] = walk->at;
	walk->is_value[walk->depth] = is_value;
	return true;
}

/* Enough of it is plain text for it to be the name of the value. */
static bool has_literals(struct span text)
{
	struct walk walk = {.text = text};
	bool captures, is_value, has_letter = false;
	size_t literals = 0;

	while (walk.at < text.len) {
		char c = peek(&walk, 0);
		if (c == '[') {
			skip_class(&walk);
		} else if (c == '(') {
			if (!read_opening(&walk, &captures, &is_value))
				return false;
		} else if (c == '\\') {
			walk.at += 2;
		} else {
			has_letter |= is_letter(c);
			literals += !strchr("^$.|?*+{})", c);
			walk.at++;
		}
	}
	return has_letter && literals >= LITERALS_LEAST;
}

/* "(?i)", "(?i-s)" and "(?-x)" in front hold for all of it. */
static size_t flags_len(struct span regex)
{
	size_t len = 2;

	if (!span_starts_with(regex, SPAN("(?")))
		return 0;
	while (len < regex.len && (is_letter(regex.ptr[len]) || regex.ptr[len] == '-'))
		len++;
	return len > 2 && len < regex.len && regex.ptr[len] == ')' ? len + 1 : 0;
}

bool value_place_pattern(struct span regex, int value_group, struct buf *out)
{
	size_t flags = flags_len(regex);
	struct walk walk = {.text = regex, .at = flags, .starts = {flags}};
	bool is_there = false;

	while (walk.at < regex.len && !is_there)
		if (!step(&walk, value_group, &is_there))
			return false;
	size_t from = walk.starts[walk.depth];
	if (!is_there || from > walk.at)
		return false;
	struct span before = span_of(regex.ptr + from, walk.at - from);
	if (!has_literals(before))
		return false;
	buf_append(out, regex.ptr, flags);
	buf_append_span(out, before);
	buf_append_span(out, SPAN("\\s*[\"']?(?<" PLACE_GROUP ">(?i:[-+]?nan\\(\\w+\\))|[^\\s,;|)\\]}\"']+)"));
	return true;
}

uint32_t value_place_others(struct span regex, int value_group)
{
	struct walk walk = {.text = regex, .at = flags_len(regex)};
	bool is_behind = false, is_other = false, is_there = false;
	unsigned low = 0; /* the least depth since the value's group opened */
	uint32_t others = 0;

	while (walk.at < regex.len) {
		bool is_bar = peek(&walk, 0) == '|', is_bare = peek(&walk, 0) == '(' && peek(&walk, 1) != '?';
		unsigned depth = walk.depth;
		if (!step(&walk, NOT_SOUGHT, &is_there))
			return 0;
		if (is_bare && walk.groups == value_group) {
			is_behind = true;
			low = depth;
		} else if (is_bare && is_other) {
			others |= 1u << walk.groups;
		} else if (is_behind && walk.depth < low) {
			low = walk.depth;
			is_other = false;
		} else if (is_behind && is_bar && walk.depth == low) {
			is_other = true;
		}
	}
	return others;
}

enum place_kind value_place_read(struct span text, double *value)
{
	static const char *const missing[] = {"-", "--", "none", "null", "nil", "n/a", "na"};

	for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
		if (span_equal_fold(text, span_from(missing[i])))
			return PLACE_MISSING;
	return number_parse_value(text, 0, value) && !isfinite(*value) ? PLACE_NON_FINITE : PLACE_OTHER;
}
