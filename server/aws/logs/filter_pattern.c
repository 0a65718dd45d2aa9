/* Terms, and what the three forms of patterns have in common from outside. */
#include "aws/logs/filter_pattern.h"

#include "aws/logs/filter_program.h"

#include <ctype.h>

enum { TERMS_MAX = 512, SEARCH_MAX_BYTES = 16 << 10 };

enum term_kind { TERM_ALL, TERM_ANY, TERM_NOT };

struct term {
	enum term_kind kind;
	struct span text;
	const struct regex *regex; /* NULL: the text */
	struct span regex_text;
};

struct filter_terms {
	size_t count;
	bool has_any_only; /* ?terms count when they are alone */
	struct term items[TERMS_MAX];
};

/* ---- reading ---- */

static enum status read_word(struct filter_reader *r, struct span *out, struct error *err)
{
	size_t begin = r->at;

	for (; r->at < r->text.len && !isspace((unsigned char)r->text.ptr[r->at]); r->at++) {
		unsigned char c = (unsigned char)r->text.ptr[r->at];
		if (!isalnum(c) && c != '_' && c < 0x80)
			return filter_wrong(r, r->at,
				"Invalid character(s) in term: a term with other than letters and digits stands in \" \"",
				err);
	}
	*out = span_of(r->text.ptr + begin, r->at - begin);
	return out->len ? OK : filter_wrong(r, begin, "no term", err);
}

static enum status read_term(struct filter_reader *r, struct term *term, struct error *err)
{
	size_t begin;

	*term = (struct term){.kind = filter_take(r, "?") ? TERM_ANY : filter_take(r, "-") ? TERM_NOT : TERM_ALL};
	begin = r->at;
	if (filter_peek(r) == '"')
		TRY(filter_quoted(r, &term->text, err));
	else if (filter_peek(r) == '%')
		TRY(filter_regex(r, &term->regex, err));
	else
		TRY(read_word(r, &term->text, err));
	if (term->regex)
		term->regex_text = span_of(r->text.ptr + begin + 1, r->at - begin - 2);
	if (r->at < r->text.len && !isspace((unsigned char)r->text.ptr[r->at]))
		return filter_wrong(r, r->at, "no blank between two terms", err);
	return OK;
}

static void note_needle(struct filter_pattern *pattern)
{
	const struct filter_terms *terms = pattern->terms;
	bool is_first = true;

	for (size_t i = 0; i < terms->count; i++) {
		struct filter_needle one = filter_needle_text(terms->items[i].text);
		if (terms->items[i].kind == TERM_ALL)
			pattern->needle = filter_needle_and(&pattern->needle, &one);
		if (terms->items[i].kind == TERM_ANY && terms->has_any_only)
			pattern->needle = is_first ? one : filter_needle_or(&pattern->needle, &one);
		is_first = false;
	}
}

static enum status read_terms(struct filter_reader *r, struct error *err)
{
	struct filter_terms *terms = arena_alloc(r->pattern->arena, sizeof *terms);

	if (!terms)
		return error_no_memory(err);
	terms->count = 0;
	terms->has_any_only = true;
	for (;;) {
		filter_skip_blanks(r);
		if (r->at == r->text.len)
			break;
		TRY(read_term(r, &terms->items[terms->count], err)); /* fewer than half as many as bytes */
		terms->has_any_only = terms->has_any_only && terms->items[terms->count].kind == TERM_ANY;
		terms->count++;
	}
	r->pattern->terms = terms;
	note_needle(r->pattern);
	return OK;
}

static enum status read_pattern(struct filter_reader *r, struct error *err)
{
	filter_skip_blanks(r);
	if (r->at == r->text.len)
		return OK;
	if (filter_peek(r) == '{')
		TRY(filter_json_read(r, err));
	else if (filter_peek(r) == '[')
		TRY(filter_fields_read(r, err));
	else
		return read_terms(r, err);
	filter_skip_blanks(r);
	return r->at == r->text.len ? OK : filter_wrong(r, r->at, "something behind the closing bracket", err);
}

/* Letters stay: what filters of blocks are asked is read out of the expression. */
static void quote(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (c && c < 0x80 && !isalnum(c) && !isspace(c))
			buf_append_char(out, '\\');
		if (c)
			buf_append_char(out, (char)c);
		else
			buf_append_text(out, "\\x00");
	}
}

/* A pattern that is one regular expression is its own search. */
static enum status make_search(struct filter_pattern *pattern, struct error *err)
{
	const struct filter_needle *needle = &pattern->needle;
	const struct filter_terms *terms = pattern->terms;

	if (terms && terms->count == 1 && terms->items[0].kind != TERM_NOT && terms->items[0].regex) {
		buf_append_span(&pattern->search, terms->items[0].regex_text);
		pattern->is_search_regex = true;
	} else if (needle->count == 1) {
		buf_append_span(&pattern->search, needle->texts[0]);
	} else {
		for (size_t i = 0; i < needle->count; i++) {
			if (i)
				buf_append_char(&pattern->search, '|');
			quote(needle->texts[i], &pattern->search);
		}
		pattern->is_search_regex = needle->count > 1;
	}
	return buf_status(&pattern->search, err);
}

enum status filter_pattern_new(struct filter_pattern **out, struct span text, struct error *err)
{
	AUTO(filter_pattern) pattern = mem_zeroed(sizeof *pattern);
	struct filter_reader reader = {.pattern = pattern};

	if (!pattern || !(pattern->arena = arena_new()))
		return error_no_memory(err);
	if (text.len > FILTER_PATTERN_MAX_BYTES)
		return error_set_field(err, ERR_INVALID, "filterPattern",
			"Invalid filter pattern: %zu bytes, more than %d", text.len, FILTER_PATTERN_MAX_BYTES);
	pattern->search = BUF_INIT(SEARCH_MAX_BYTES);
	reader.text = arena_copy(pattern->arena, text);
	if (!reader.text.ptr)
		return error_no_memory(err);
	TRY(read_pattern(&reader, err));
	TRY(make_search(pattern, err));
	*out = TAKE(pattern);
	return OK;
}

void filter_pattern_free(struct filter_pattern *pattern)
{
	if (!pattern)
		return;
	for (size_t i = 0; i < pattern->regex_count; i++)
		regex_free(pattern->regexes[i]);
	buf_done(&pattern->search);
	arena_free(pattern->arena);
	mem_free(pattern);
}

bool filter_pattern_is_all(const struct filter_pattern *pattern)
{
	return !pattern->terms && !pattern->json && !pattern->fields;
}

struct span filter_pattern_needle(const struct filter_pattern *pattern, bool *is_regex)
{
	*is_regex = pattern->is_search_regex;
	return pattern->search.len ? buf_span(&pattern->search) : SPAN("");
}

/* ---- matching ---- */

static bool is_there(const struct term *term, struct regex_scratch *scratch, struct span line)
{
	return term->regex ? filter_regex_finds(term->regex, scratch, line) : span_find(line, term->text) >= 0;
}

static bool terms_match(const struct filter_terms *terms, struct regex_scratch *scratch, struct span line)
{
	for (size_t i = 0; i < terms->count; i++) {
		const struct term *term = &terms->items[i];
		if (term->kind == TERM_ANY && !terms->has_any_only)
			continue;
		bool is_found = is_there(term, scratch, line);
		if (terms->has_any_only && is_found)
			return true;
		if (!terms->has_any_only && is_found == (term->kind == TERM_NOT))
			return false;
	}
	return !terms->has_any_only;
}

bool filter_pattern_matches(const struct filter_pattern *pattern, struct regex_scratch *scratch, struct span line)
{
	if (pattern->terms)
		return terms_match(pattern->terms, scratch, line);
	if (pattern->json)
		return filter_json_matches(pattern->json, scratch, line);
	return pattern->fields ? filter_fields_match(pattern->fields, scratch, line) : true;
}
