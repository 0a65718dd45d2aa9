/*
 * [ip, ..., status = 4* || status = 50*, bytes > 1000, ]: a name a field of the line, in order; "..." is any number of fields. A
 * condition may stand with a name, and several joined by && and || as long as they are of that field.
 */
#include "aws/logs/filter_program.h"

#include <ctype.h>

enum { FIELDS_MAX = 128, LINE_FIELDS_MAX = 4096 };

enum check_kind { CHECK_AND, CHECK_OR, CHECK_COMPARE };

struct check {
	enum check_kind kind;
	struct check *left, *right;
	enum filter_op op;
	struct filter_value value;
};

struct filter_fields {
	struct check *checks[FIELDS_MAX]; /* NULL: any text */
	size_t count;
	bool has_gap;
	size_t gap; /* "..." stands before this field */
};

/* ---- reading ---- */

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.' || c == '@' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

static struct span read_name(struct filter_reader *r)
{
	filter_skip_blanks(r);
	size_t begin = r->at;
	while (is_name_char(filter_peek(r)))
		r->at++;
	return span_of(r->text.ptr + begin, r->at - begin);
}

struct field {
	struct span name; /* the first one that is said: the others must be the same */
};

static enum status new_check(struct filter_reader *r, enum check_kind kind, struct check **out, struct error *err)
{
	*out = arena_alloc(r->pattern->arena, sizeof **out);
	if (!*out)
		return error_no_memory(err);
	**out = (struct check){.kind = kind};
	return OK;
}

static enum status read_compare(struct filter_reader *r, struct field *field, struct check **out, struct error *err)
{
	size_t begin = r->at;
	struct span name = read_name(r);

	if (!name.len)
		return filter_wrong(r, r->at, "no name of a field", err);
	if (!field->name.len)
		field->name = name;
	if (!span_equal(field->name, name))
		return filter_wrong(r, begin, "a condition on a second field (put ',' between fields)", err);
	TRY(new_check(r, CHECK_COMPARE, out, err));
	TRY(filter_read_op(r, &(*out)->op, err));
	return filter_read_value(r, ",])", (*out)->op, &(*out)->value, err);
}

static enum status read_or(struct filter_reader *r, struct field *field, struct check **out, struct error *err);

static enum status read_unit(struct filter_reader *r, struct field *field, struct check **out, struct error *err)
{
	filter_skip_blanks(r);
	if (!filter_take(r, "("))
		return read_compare(r, field, out, err);
	if (++r->depth > FILTER_DEPTH)
		return filter_wrong(r, r->at, "more than 32 parentheses in each other", err);
	TRY(read_or(r, field, out, err));
	r->depth--;
	filter_skip_blanks(r);
	return filter_take(r, ")") ? OK : filter_wrong(r, r->at, "no ) for a (", err);
}

static enum status join(
	struct filter_reader *r, enum check_kind kind, struct check **left, struct check *right, struct error *err)
{
	struct check *check;

	TRY(new_check(r, kind, &check, err));
	check->left = *left;
	check->right = right;
	*left = check;
	return OK;
}

static enum status read_and(struct filter_reader *r, struct field *field, struct check **out, struct error *err)
{
	struct check *right;

	TRY(read_unit(r, field, out, err));
	for (;;) {
		filter_skip_blanks(r);
		if (!filter_take(r, "&&"))
			return OK;
		TRY(read_unit(r, field, &right, err));
		TRY(join(r, CHECK_AND, out, right, err));
	}
}

static enum status read_or(struct filter_reader *r, struct field *field, struct check **out, struct error *err)
{
	struct check *right;

	TRY(read_and(r, field, out, err));
	for (;;) {
		filter_skip_blanks(r);
		if (!filter_take(r, "||"))
			return OK;
		TRY(read_and(r, field, &right, err));
		TRY(join(r, CHECK_OR, out, right, err));
	}
}

static bool is_end_of_field(struct filter_reader *r)
{
	filter_skip_blanks(r);
	return r->at == r->text.len || filter_peek(r) == ',' || filter_peek(r) == ']';
}

static enum status read_field(struct filter_reader *r, struct filter_fields *fields, struct error *err)
{
	struct field field = {.name = SPAN("")};
	struct check *check = NULL;
	size_t begin;

	filter_skip_blanks(r);
	begin = r->at;
	if (filter_take(r, "...")) {
		if (fields->has_gap)
			return filter_wrong(r, begin, "a second ...", err);
		fields->has_gap = true;
		fields->gap = fields->count;
		return OK;
	}
	read_name(r);
	if (!is_end_of_field(r)) {
		r->at = begin;
		TRY(read_or(r, &field, &check, err));
	}
	if (fields->count == FIELDS_MAX)
		return filter_wrong(r, begin, "more than 128 fields", err);
	fields->checks[fields->count++] = check;
	return OK;
}

static struct filter_needle needle_of(const struct check *check)
{
	struct filter_needle left, right;

	if (check->kind == CHECK_COMPARE)
		return check->op == FILTER_EQUAL ? filter_needle_of(&check->value) : (struct filter_needle){.count = 0};
	left = needle_of(check->left);
	right = needle_of(check->right);
	return check->kind == CHECK_AND ? filter_needle_and(&left, &right) : filter_needle_or(&left, &right);
}

enum status filter_fields_read(struct filter_reader *r, struct error *err)
{
	struct filter_fields *fields = arena_alloc(r->pattern->arena, sizeof *fields);

	if (!fields)
		return error_no_memory(err);
	*fields = (struct filter_fields){.count = 0};
	r->at++;
	do {
		TRY(read_field(r, fields, err));
		filter_skip_blanks(r);
	} while (filter_take(r, ","));
	if (!filter_take(r, "]"))
		return filter_wrong(r, r->at, "no , or ] behind a field", err);
	for (size_t i = 0; i < fields->count; i++)
		if (fields->checks[i]) {
			struct filter_needle needle = needle_of(fields->checks[i]);
			r->pattern->needle = filter_needle_and(&r->pattern->needle, &needle);
		}
	r->pattern->fields = fields;
	return OK;
}

/* ---- matching ---- */

/* What is between two quotes, or between [ and ], is one field with its blanks. */
static bool next_field(struct span *rest, struct span *field)
{
	while (rest->len && rest->ptr[0] == ' ')
		*rest = span_skip(*rest, 1);
	if (!rest->len)
		return false;
	char closing = rest->ptr[0] == '"' ? '"' : rest->ptr[0] == '[' ? ']' : 0;
	ptrdiff_t end = closing ? span_find_char(span_skip(*rest, 1), closing) : -1;
	if (end >= 0) {
		*field = span_of(rest->ptr + 1, (size_t)end);
		*rest = span_skip(*rest, (size_t)end + 2);
		return true;
	}
	end = span_find_char(*rest, ' ');
	*field = end < 0 ? *rest : span_of(rest->ptr, (size_t)end);
	*rest = span_skip(*rest, field->len);
	return true;
}

static bool holds(const struct check *check, struct span text, struct regex_scratch *scratch)
{
	double number = 0;

	if (!check)
		return true;
	if (check->kind == CHECK_AND)
		return holds(check->left, text, scratch) && holds(check->right, text, scratch);
	if (check->kind == CHECK_OR)
		return holds(check->left, text, scratch) || holds(check->right, text, scratch);
	bool is_number = check->value.is_number && span_parse_double(text, &number);
	return filter_compare(check->op, &check->value, text, is_number, number, scratch);
}

/* The fields behind the gap are the line's last ones: as many as they are kept in a ring, so that the line is read once. */
bool filter_fields_match(const struct filter_fields *fields, struct regex_scratch *scratch, struct span line)
{
	struct span rest = line, field, last[FIELDS_MAX];
	size_t count = 0, behind = fields->has_gap ? fields->count - fields->gap : 0;
	size_t before = fields->count - behind;

	while (next_field(&rest, &field)) {
		if (count < before && !holds(fields->checks[count], field, scratch))
			return false;
		if (count >= before && !fields->has_gap)
			return false;
		if (count >= before && behind)
			last[(count - before) % behind] = field;
		count++;
	}
	if (count < fields->count)
		return false;
	for (size_t i = 0; i < behind; i++)
		if (!holds(fields->checks[before + i], last[(count - before - behind + i) % behind], scratch))
			return false;
	return true;
}
