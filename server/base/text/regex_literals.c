#include "base/text/regex_literals.h"

enum { DEPTH_MAX = 40, LITERAL_MAX = 128, RUN_MAX = 256, CLAUSES_MAX = 64, BRANCHES_MAX = 64 };

struct clauses {
	struct regex_clause all[CLAUSES_MAX]; /* more are left out */
	size_t count;
	struct regex_run run; /* the longest */
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

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
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

	while (peek(r, len) == ',' || peek(r, len) == ' ' || is_digit(peek(r, len)))
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

/* At least so many of the atom before: by {n}, {n,} and {n,m} as every version reads them. */
static unsigned count_repeats(const struct reader *r)
{
	unsigned count = 0;
	size_t at = 1;

	if (peek(r, 0) != '{')
		return 1;
	for (; is_digit(peek(r, at)) && count < RUN_MAX; at++)
		count = 10 * count + (unsigned)(peek(r, at) - '0');
	while (is_digit(peek(r, at)))
		at++;
	at += peek(r, at) == ',';
	while (is_digit(peek(r, at)))
		at++;
	return peek(r, at) == '}' ? count : 1;
}

/* An atom that is one of these bytes; NULL: nobody knows which. */
static void take_set(struct reader *r, const bool has[256], struct run *run, struct clauses *out)
{
	unsigned repeats = count_repeats(r);
	bool is_optional;

	take_quantifiers(r, &is_optional);
	flush(r, run, out, false);
	if (!has || is_optional || has['\n'] || repeats < REGEX_RUN_MIN || repeats <= out->run.at_least)
		return;
	out->run.at_least = repeats < RUN_MAX ? repeats : RUN_MAX;
	memcpy(out->run.has, has, sizeof out->run.has);
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

/* Of \d, \w and \S. */
static void add_kind(bool has[256], char kind)
{
	for (int c = 0; c < 256; c++)
		has[c] |= kind == 'S' ? !(c == ' ' || (c >= '\t' && c <= '\r'))
				      : is_digit((char)c) || (kind == 'w' && is_word((char)c));
}

static void take_escape(struct reader *r, struct run *run, struct clauses *out)
{
	char c = peek(r, 1);

	r->at += 2;
	if (!c) {
		r->is_unknown = true;
	} else if (c == 'b') {
		take_boundary(r, run, out);
	} else if (strchr("dwS", c)) {
		bool has[256] = {false};
		add_kind(has, c);
		take_set(r, has, run, out);
	} else if (strchr("DWshHvVNBAzZnrtfea", c) || (c >= '1' && c <= '9' && !is_digit(peek(r, 0)))) {
		take_break(r, run, out);
	} else if (is_word(c)) {
		r->is_unknown = true;
	} else {
		take_char(r, c, run, out);
	}
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

/* What stands between the brackets. False: unknown. */
static bool read_set(struct span text, bool has[256])
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i],
			      next = i + 1 < text.len ? (unsigned char)text.ptr[i + 1] : 0;
		bool is_kind = c == '\\' && next && strchr("dwS", next);
		if (c >= 0x80 || c < ' ' || (c == '[' && next && strchr(":.=", next)) ||
			(c == '\\' && (is_word((char)next) || next < ' ') && !is_kind))
			return false;
		i += c == '\\';
		c = c == '\\' ? next : c;
		if (is_kind) {
			add_kind(has, (char)c);
			continue;
		}
		unsigned char last = c;
		if (i + 2 < text.len && text.ptr[i + 1] == '-') {
			last = (unsigned char)text.ptr[i += 2];
			if (last == '\\' || last == '[' || last >= 0x80 || last < c)
				return false;
		}
		memset(has + c, true, last - c + 1U);
	}
	return true;
}

static void take_class(struct reader *r, struct run *run, struct clauses *out)
{
	bool is_inverse = peek(r, 1) == '^', has[256] = {false};
	size_t first = r->at + 1 + is_inverse;

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
	bool is_known = read_set(span_of(r->pattern.ptr + first, r->at - first), has);
	for (size_t c = 0; c < 256; c++)
		has[c] ^= is_inverse;
	r->at++;
	take_set(r, is_known ? has : NULL, run, out);
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
	if (!is_looking && !is_optional && inner.run.at_least > out->run.at_least)
		out->run = inner.run;
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
		out->run.at_least = 0;
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

static bool is_ascii(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] & 0x80)
			return false;
	return true;
}

enum status regex_literals(
	struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count, struct error *err)
{
	struct reader r = {.pattern = pattern, .arena = arena};

	if (is_ascii(pattern)) /* U+212A is a "k" where case is ignored */
		return read_pattern(&r, out, count, err);
	*out = NULL;
	*count = 0;
	return OK;
}

enum status regex_literals_of_first(
	struct span pattern, struct arena *arena, struct regex_clause **out, size_t *count, struct error *err)
{
	struct reader r = {.pattern = pattern, .arena = arena, .is_first = true};

	return read_pattern(&r, out, count, err);
}

enum status regex_run_of(struct span pattern, struct regex_run *out, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct reader r = {.pattern = pattern, .arena = arena};
	struct clauses found = {.count = 0};

	*out = (struct regex_run){.at_least = 0};
	if (!arena)
		return error_no_memory(err);
	read_alternatives(&r, &found);
	if (r.is_out_of_memory)
		return error_no_memory(err);
	if (!r.is_unknown && is_at_end(&r) && is_ascii(pattern))
		*out = found.run;
	return OK;
}
