#include "base/text/regex_literals.h"

enum { DEPTH_MAX = 40, LITERAL_MAX = 128, CLAUSES_MAX = 64, BRANCHES_MAX = 64 };

struct clauses {
	struct regex_clause all[CLAUSES_MAX]; /* more are left out */
	size_t count;
};

struct reader {
	struct span pattern;
	size_t at;
	struct arena *arena;
	unsigned depth;
	bool is_first; /* of the first match in a text of bytes */
	bool is_unknown; /* something that this reader does not know: no literals at all */
	bool is_out_of_memory;
};

/* The literal that is being collected, in one branch. */
struct run {
	char text[LITERAL_MAX];
	size_t len;
	bool starts_word; /* a \b stands right before it */
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static char peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->pattern.len ? r->pattern.ptr[r->at + ahead] : 0;
}

static bool is_at_end(const struct reader *r)
{
	return r->at >= r->pattern.len;
}

static void flush(struct reader *r, struct run *run, struct clauses *out, bool ends_word)
{
	if (run->len && out->count < CLAUSES_MAX) {
		struct regex_literal *literal = arena_alloc(r->arena, sizeof *literal);
		struct span text = arena_copy(r->arena, span_of(run->text, run->len));
		r->is_out_of_memory |= !literal || !text.ptr;
		if (!r->is_out_of_memory) {
			*literal = (struct regex_literal){text, run->starts_word, ends_word};
			out->all[out->count++] = (struct regex_clause){literal, 1};
		}
	}
	run->len = 0;
	run->starts_word = false;
}

/* {n}, {n,}, {n,m} and what some version might take for one; 0: none. */
static size_t braces_length(const struct reader *r)
{
	size_t len = 1;

	while (peek(r, len) == ',' || peek(r, len) == ' ' || (peek(r, len) >= '0' && peek(r, len) <= '9'))
		len++;
	return peek(r, len) == '}' ? len + 1 : 0;
}

/* Takes the quantifiers that follow; true: there is one. *is_optional: nothing of the atom is required. */
static bool take_quantifiers(struct reader *r, bool *is_optional)
{
	size_t start = r->at;

	*is_optional = false;
	for (;;) {
		char c = peek(r, 0);
		size_t braces = c == '{' ? braces_length(r) : 0;
		if (c == '*' || c == '?') {
			*is_optional = true;
			r->at++;
		} else if (c == '+') {
			r->at++;
		} else if (braces) {
			*is_optional |= peek(r, 1) < '1' || peek(r, 1) > '9';
			r->at += braces;
		} else {
			return r->at > start;
		}
	}
}

/* An atom that is no literal. */
static void take_break(struct reader *r, struct run *run, struct clauses *out)
{
	bool is_optional;

	take_quantifiers(r, &is_optional);
	flush(r, run, out, false);
}

static void take_char(struct reader *r, char c, struct run *run, struct clauses *out)
{
	bool is_optional, is_repeated = take_quantifiers(r, &is_optional);

	if (is_optional || (unsigned char)c >= 0x80 || c < ' ') {
		flush(r, run, out, false);
		return;
	}
	if (run->len == LITERAL_MAX)
		flush(r, run, out, false);
	run->starts_word &= run->len || is_word(c); /* "\b=" says that a word ends there */
	run->text[run->len++] = c;
	if (is_repeated)
		flush(r, run, out, false);
}

/* \b. */
static void take_boundary(struct reader *r, struct run *run, struct clauses *out)
{
	bool is_optional, is_repeated = take_quantifiers(r, &is_optional);

	flush(r, run, out, !is_repeated && run->len && is_word(run->text[run->len - 1]));
	run->starts_word = !is_repeated;
}

static void take_escape(struct reader *r, struct run *run, struct clauses *out)
{
	char c = peek(r, 1);

	r->at += 2;
	if (!c)
		r->is_unknown = true;
	else if (c == 'b')
		take_boundary(r, run, out);
	else if (strchr("dDwWsShHvVNBAzZnrtfea", c) ||
		 (c >= '1' && c <= '9' && !(peek(r, 0) >= '0' && peek(r, 0) <= '9')))
		take_break(r, run, out);
	else if (is_word(c))
		r->is_unknown = true;
	else
		take_char(r, c, run, out);
}

/* [:alpha:] inside a class, and the < and > of [[:<:]]; what only looks like one is characters of the class. */
static void skip_posix_class(struct reader *r, char kind)
{
	size_t end = r->at + 2;

	while (end + 1 < r->pattern.len && (r->pattern.ptr[end] != kind || r->pattern.ptr[end + 1] != ']'))
		end++;
	if (end + 1 >= r->pattern.len)
		return;
	for (size_t i = r->at + 2; i < end; i++)
		if (!is_word(r->pattern.ptr[i]) && !memchr("^<>", r->pattern.ptr[i], 3))
			return;
	r->at = end + 1;
}

static void take_class(struct reader *r, struct run *run, struct clauses *out)
{
	size_t first = r->at + 1 + (peek(r, 1) == '^');

	for (r->at = first;; r->at++) {
		char c = peek(r, 0), next = peek(r, 1);
		if (is_at_end(r) || (c == '\\' && (next == 'Q' || next == 'E'))) {
			r->is_unknown = true;
			return;
		}
		if (c == ']' && r->at > first)
			break;
		if (c == '\\') {
			r->at++;
		} else if (c == '[' && (next == ':' || next == '.' || next == '=')) {
			skip_posix_class(r, next);
		}
	}
	r->at++;
	take_break(r, run, out);
}

static void read_alternatives(struct reader *r, struct clauses *out);

/* Behind "(": what kind it is. *is_looking: its text is not part of the match. False: unknown. */
static bool take_group_head(struct reader *r, bool *is_looking, bool *is_setting)
{
	*is_looking = *is_setting = false;
	if (peek(r, 0) == '*')
		return false;
	if (peek(r, 0) != '?')
		return true;
	struct span rest = span_skip(r->pattern, r->at);
	struct span looking[] = {SPAN("?="), SPAN("?!"), SPAN("?<="), SPAN("?<!")};
	for (size_t i = 0; i < sizeof looking / sizeof *looking; i++)
		if (span_starts_with(rest, looking[i])) {
			r->at += looking[i].len;
			return *is_looking = true;
		}
	if (span_starts_with(rest, SPAN("?:")) || span_starts_with(rest, SPAN("?>"))) {
		r->at += 2;
		return true;
	}
	if (span_starts_with(rest, SPAN("?i:"))) {
		r->at += 3;
		return true;
	}
	if (span_starts_with(rest, SPAN("?i)"))) {
		r->at += 3;
		return *is_setting = true;
	}
	r->at += span_starts_with(rest, SPAN("?P<")) ? 3 : span_starts_with(rest, SPAN("?<")) ? 2 : 0;
	size_t name = r->at;
	while (is_word(peek(r, 0)))
		r->at++;
	return r->at > name && name > 0 && r->pattern.ptr[name - 1] == '<' && peek(r, 0) == '>' && ++r->at;
}

static void take_group(struct reader *r, struct run *run, struct clauses *out)
{
	struct clauses inner = {.count = 0};
	bool is_looking, is_setting, is_optional;

	r->at++;
	if (r->depth >= DEPTH_MAX || !take_group_head(r, &is_looking, &is_setting)) {
		r->is_unknown = true;
		return;
	}
	flush(r, run, out, false);
	if (is_setting) {
		r->is_unknown |= take_quantifiers(r, &is_optional);
		return;
	}
	r->depth++;
	read_alternatives(r, &inner);
	r->depth--;
	if (peek(r, 0) != ')') {
		r->is_unknown = true;
		return;
	}
	r->at++;
	take_quantifiers(r, &is_optional);
	for (size_t i = 0; i < inner.count && !is_looking && !is_optional && out->count < CLAUSES_MAX; i++)
		out->all[out->count++] = inner.all[i];
}

/* True: it begins with what cannot stand at the start of a text, where the first match is looked for. */
static bool take_going_on(struct reader *r)
{
	static const struct span going_on = SPAN("(?!^)\\G");
	bool is = r->is_first && span_starts_with(span_skip(r->pattern, r->at), going_on);

	r->at += is ? going_on.len : 0;
	return is;
}

/* False: a match has no part of it. */
static bool read_branch(struct reader *r, struct clauses *out)
{
	struct run run = {.len = 0};
	bool is_part = !take_going_on(r);

	while (!is_at_end(r) && !r->is_unknown && !r->is_out_of_memory) {
		char c = peek(r, 0);
		if (c == '|' || c == ')')
			break;
		if (c == '\\') {
			take_escape(r, &run, out);
		} else if (c == '[') {
			take_class(r, &run, out);
		} else if (c == '(') {
			take_group(r, &run, out);
		} else {
			r->at++;
			if (c == '.' || c == '^' || c == '$')
				take_break(r, &run, out);
			else
				take_char(r, c, &run, out);
		}
	}
	flush(r, &run, out, false);
	return is_part;
}

/* The clause of a branch that tells most: whose shortest literal is longest. */
static const struct regex_clause *best_clause(const struct clauses *branch)
{
	const struct regex_clause *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < branch->count; i++) {
		size_t shortest = SIZE_MAX;
		for (size_t j = 0; j < branch->all[i].count; j++)
			if (branch->all[i].any[j].text.len < shortest)
				shortest = branch->all[i].any[j].text.len;
		if (shortest > best_len) {
			best_len = shortest;
			best = &branch->all[i];
		}
	}
	return best;
}

/* One branch: all its clauses. Several: one clause of a literal of each that has a part, if each of these has one. */
static void read_alternatives(struct reader *r, struct clauses *out)
{
	struct regex_literal any[BRANCHES_MAX];
	size_t count = 0;
	bool has_all = true, is_part = read_branch(r, out);

	if (peek(r, 0) != '|' || is_at_end(r))
		return;
	for (;;) {
		const struct regex_clause *best = best_clause(out);
		has_all = has_all && (!is_part || (best && count + best->count <= BRANCHES_MAX));
		for (size_t i = 0; has_all && is_part && i < best->count; i++)
			any[count++] = best->any[i];
		out->count = 0;
		if (r->is_unknown || r->is_out_of_memory || peek(r, 0) != '|' || is_at_end(r))
			break;
		r->at++;
		is_part = read_branch(r, out);
	}
	if (!has_all || !count || r->is_unknown)
		return;
	struct regex_literal *copy = arena_alloc(r->arena, count * sizeof *copy);
	r->is_out_of_memory |= !copy;
	if (!copy)
		return;
	memcpy(copy, any, count * sizeof *copy);
	out->all[out->count++] = (struct regex_clause){copy, count};
}

static enum status read_pattern(struct reader *r, struct regex_clause **out, size_t *count, struct error *err)
{
	struct clauses found = {.count = 0};

	*out = NULL;
	*count = 0;
	read_alternatives(r, &found);
	struct regex_clause *copy = arena_alloc(r->arena, (found.count + 1) * sizeof *copy);
	if (r->is_out_of_memory || !copy)
		return error_no_memory(err);
	if (r->is_unknown || !is_at_end(r) || !found.count)
		return OK;
	memcpy(copy, found.all, found.count * sizeof *copy);
	*out = copy;
	*count = found.count;
	return OK;
}

enum status regex_literals(
	struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count, struct error *err)
{
	struct reader r = {.pattern = pattern, .arena = arena};

	for (size_t i = 0; i < pattern.len; i++) /* U+212A is a "k" where case is ignored */
		if (pattern.ptr[i] & 0x80) {
			*out = NULL;
			*count = 0;
			return OK;
		}
	return read_pattern(&r, out, count, err);
}

enum status regex_literals_of_first(
	struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count, struct error *err)
{
	struct reader r = {.pattern = pattern, .arena = arena, .is_first = true};

	return read_pattern(&r, out, count, err);
}
