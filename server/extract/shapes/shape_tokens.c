#include "extract/shapes/shape_tokens.h"

#include "extract/line/number.h"

enum { WORD_DIGITS_MAX = 24 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

/* U+2500 to U+25FF: lines of tables, blocks of bars. */
bool shape_is_blank(struct span text, size_t at, size_t *bytes)
{
	*bytes = 1;
	if (text.ptr[at] == ' ' || text.ptr[at] == '\t')
		return true;
	*bytes = 3;
	return at + 2 < text.len && text.ptr[at] == '\xe2' && text.ptr[at + 1] >= '\x94' && text.ptr[at + 1] <= '\x97';
}

/*
 * Bytes of a mark beyond ASCII, which is in no word: U+00A0 to U+00BF (middle dot, guillemets), times and divided, U+2000 to
 * U+206F (dashes, dots), arrows, technical signs and dingbats, U+3000 to U+301F, full-width punctuation, what is drawn
 * (U+1F000 on) and its variants. 0: none.
 */
static size_t mark_bytes(struct span text, size_t at)
{
	unsigned char c[4] = {0};

	memcpy(c, text.ptr + at, text.len - at < sizeof c ? text.len - at : sizeof c);
	if ((c[0] == 0xc2 && c[1] >= 0xa0 && c[1] <= 0xbf && c[1] != 0xaa && c[1] != 0xb5 && c[1] != 0xba) ||
		(c[0] == 0xc3 && (c[1] == 0x97 || c[1] == 0xb7)))
		return 2;
	bool is_sign = c[1] <= 0x81 || (c[1] >= 0x86 && c[1] <= 0x87) || c[1] >= 0x8c;
	if ((c[0] == 0xe2 && is_sign && c[1] >= 0x80) || (c[0] == 0xe3 && c[1] == 0x80 && c[2] < 0xa0) ||
		(c[0] == 0xef && c[1] == 0xbc && (c[2] < 0x90 || (c[2] >= 0x9a && c[2] <= 0xa0))) ||
		(c[0] == 0xef && c[1] == 0xb8 && c[2] <= 0x8f))
		return 3;
	return c[0] == 0xf0 && c[1] == 0x9f ? 4 : 0;
}

size_t shape_gap_squeeze(struct span gap, char *out, size_t cap)
{
	size_t len = 0, bytes;
	bool has_blank = false;

	for (size_t i = 0; i < gap.len && len < cap; i += bytes) {
		if (shape_is_blank(gap, i, &bytes)) {
			has_blank = true;
			continue;
		}
		bytes = 1;
		if (!len || out[len - 1] != gap.ptr[i])
			out[len++] = gap.ptr[i];
	}
	if (!len && has_blank && cap)
		out[len++] = ' ';
	return len;
}

struct scan {
	struct span text;
	size_t at;
	size_t gap_at;
	struct shape_token *tokens;
	size_t count;
};

static char peek(const struct scan *scan, size_t at)
{
	return at < scan->text.len ? scan->text.ptr[at] : 0;
}

static struct shape_token *add(struct scan *scan, enum shape_token_kind kind, size_t end)
{
	struct shape_token *token = &scan->tokens[scan->count++];

	*token = (struct shape_token){.kind = kind,
		.text = span_of(scan->text.ptr + scan->at, end - scan->at),
		.gap = span_of(scan->text.ptr + scan->gap_at, scan->at - scan->gap_at)};
	scan->at = scan->gap_at = end;
	return token;
}

static size_t digits_end(const struct scan *scan, size_t at)
{
	while (is_digit(peek(scan, at)))
		at++;
	return at;
}

/* A letter, or a byte of one. */
static bool begins_letter(const struct scan *scan, size_t at)
{
	size_t bytes;

	return at < scan->text.len && is_letter(scan->text.ptr[at]) && !shape_is_blank(scan->text, at, &bytes) &&
	       !mark_bytes(scan->text, at);
}

static size_t run_end(const struct scan *scan, size_t at)
{
	while (at < scan->text.len && (is_digit(scan->text.ptr[at]) || begins_letter(scan, at)))
		at++;
	return at;
}

static bool is_mark_of_end(char c)
{
	return c == ',' || c == ';' || c == ':' || c == ')' || c == ']' || c == '}' || c == '"' || c == '\'' ||
	       c == '.';
}

/* A path or an address from here to the next blank: the end of it; 0: none. */
static size_t path_end(const struct scan *scan)
{
	size_t end = scan->at, slashes = 0, bytes;
	char before = scan->at ? scan->text.ptr[scan->at - 1] : ' ';
	bool is_path, has_letter = false;

	if (before != ' ' && before != '\t' && before != '"' && before != '\'' && before != '(' && before != '=')
		return 0;
	for (; end < scan->text.len && !shape_is_blank(scan->text, end, &bytes); end++) {
		slashes += scan->text.ptr[end] == '/';
		has_letter |= is_letter(scan->text.ptr[end]);
	}
	struct span chunk = span_of(scan->text.ptr + scan->at, end - scan->at);
	is_path = has_letter && span_find_char(chunk, '<') < 0 && /* <loss>2.5</loss><lr>… */
		  (span_find(chunk, SPAN("://")) > 0 || span_starts_with(chunk, SPAN("./")) ||
			  span_starts_with(chunk, SPAN("~/")) || (chunk.ptr[0] == '/' && slashes > 1) || slashes > 2);
	while (is_path && end > scan->at && is_mark_of_end(scan->text.ptr[end - 1]))
		end--;
	return is_path ? end : 0;
}

/* 12:34:56.789, 2025-01-02, 2025/01/02T12:34, 10.0.0.1, 0x1f: the end of it; 0: it is none of these. */
static size_t thing_end(const struct scan *scan)
{
	size_t first = digits_end(scan, scan->at), at = first, parts = 0;
	char mark = peek(scan, first);
	bool is_hex = first == scan->at + 1 && scan->text.ptr[scan->at] == '0' && (mark == 'x' || mark == 'X');

	if (is_hex)
		return run_end(scan, scan->at);
	while (mark && (mark == ':' || mark == '-' || mark == '/' || mark == '.') && peek(scan, at) == mark &&
		is_digit(peek(scan, at + 1))) {
		at = digits_end(scan, at + 1);
		parts++;
	}
	bool is_date = parts == 2 && first - scan->at == 4 && (mark == '-' || mark == '/');
	bool is_time = parts > 0 && mark == ':' && first - scan->at <= 3 && digits_end(scan, first + 1) == first + 3;
	if (is_time && (peek(scan, at) == '.' || peek(scan, at) == ',') && is_digit(peek(scan, at + 1)))
		at = digits_end(scan, at + 1);
	if (is_date || is_time || (parts > 1 && mark == '.'))
		return run_end(scan, at);
	return 0;
}

/* Behind the digits of a whole number: ",376,000". */
static size_t commas_end(const struct scan *scan, size_t at, bool *has_commas)
{
	*has_commas = false;
	if (at - scan->at > 4)
		return at;
	while (peek(scan, at) == ',' && digits_end(scan, at + 1) == at + 4) {
		at += 4;
		*has_commas = true;
	}
	return at;
}

static size_t exponent_end(const struct scan *scan, size_t at)
{
	char c = peek(scan, at), sign = peek(scan, at + 1);
	size_t from = at + 1 + (sign == '+' || sign == '-');

	return (c == 'e' || c == 'E') && is_digit(peek(scan, from)) ? digits_end(scan, from) : at;
}

static bool is_not_finite(struct span word)
{
	double value;

	return word.len && span_scan_non_finite(word, &value) == word.len;
}

/* Digits, commas, fraction, exponent, from `start` on. */
static size_t digits_of_number_end(const struct scan *scan, size_t start, struct shape_token *found)
{
	size_t whole = commas_end(scan, digits_end(scan, start), &found->has_commas), end = whole;

	if (peek(scan, end) == '.' && peek(scan, end + 1) != '.' && !is_letter(peek(scan, end + 1)))
		end = digits_end(scan, end + 1); /* as {N} has it, also of "7." */
	end = exponent_end(scan, end);
	found->is_whole = end == whole;
	return end;
}

/* Of digits, or of "1.#QNAN". */
static size_t number_end(const struct scan *scan, size_t start, struct shape_token *found)
{
	size_t end = digits_of_number_end(scan, start, found);
	size_t whole = peek(scan, end) == '#' ? span_scan_non_finite(span_skip(scan->text, start), &found->value) : 0;

	found->is_whole &= !whole;
	return whole ? start + whole : end;
}

/* At its sign, its first digit or the point before it. False: 3f2a is an identifier. */
static bool add_number(struct scan *scan)
{
	size_t start = scan->at + (peek(scan, scan->at) == '-' || peek(scan, scan->at) == '+');
	size_t run = run_end(scan, start), end = run;
	struct shape_token found = {0};

	if (!is_not_finite(span_of(scan->text.ptr + start, run - start))) {
		end = number_end(scan, start, &found);
		run = run_end(scan, end);
	}
	for (size_t i = end; i < run; i++)
		if (is_digit(scan->text.ptr[i]))
			return false;
	if (run == end + 1 && memchr("kKMGBTP", scan->text.ptr[end], 7) && peek(scan, run) != '/') {
		found.has_thousands = true;
		end = run;
	}
	if (!number_parse_value(span_of(scan->text.ptr + scan->at, end - scan->at), 0, &found.value))
		return false;
	struct shape_token *token = add(scan, SHAPE_NUMBER, end);
	token->value = found.value;
	token->is_whole = found.is_whole || found.has_thousands;
	token->has_commas = found.has_commas;
	token->has_thousands = found.has_thousands;
	return true;
}

/* "step120", and the like of it */
static bool is_counting(struct span word)
{
	static const struct span words[] = {SPAN("step"), SPAN("iter"), SPAN("it"), SPAN("epoch"), SPAN("ep"),
		SPAN("batch"), SPAN("iteration"), SPAN("round"), SPAN("episode"), SPAN("update")};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_equal_fold(word, words[i]))
			return true;
	return false;
}

/* A name is what a colon or an equals sign follows, even when it has digits in it: "top5: 93.1". */
static bool is_name(const struct scan *scan, size_t end)
{
	if (peek(scan, end) == '"' || peek(scan, end) == '\'')
		end++;
	while (peek(scan, end) == ' ')
		end++;
	return peek(scan, end) == ':' || peek(scan, end) == '=';
}

static void add_word(struct scan *scan)
{
	size_t end = run_end(scan, scan->at), letters = scan->at, digits = 0;

	while (letters < end && begins_letter(scan, letters))
		letters++;
	for (size_t i = scan->at; i < end; i++)
		digits += is_digit(scan->text.ptr[i]);
	struct span first = span_of(scan->text.ptr + scan->at, letters - scan->at);
	if (peek(scan, end) == '@' && is_digit(peek(scan, end + 1))) { /* mAP@0.5 */
		for (end++; is_digit(peek(scan, end)) || (peek(scan, end) == '.' && is_digit(peek(scan, end + 1)));)
			end++;
		add(scan, SHAPE_WORD, end);
		return;
	}
	if (!span_is_utf8(span_of(scan->text.ptr + scan->at, end - scan->at)) || digits > WORD_DIGITS_MAX)
		add(scan, SHAPE_THING, end);
	else if (is_not_finite(first) && letters == end)
		add_number(scan);
	else if (!digits || (is_name(scan, end) && digits <= 3 && !is_counting(first)))
		add(scan, SHAPE_WORD, end);
	else if (digits_end(scan, letters) == end && first.ptr[first.len - 1] != '_')
		add(scan, SHAPE_WORD, letters); /* the number is next, and nothing is between */
	else
		add(scan, SHAPE_THING, end);
}

/* Of a number, where nothing before it is a word that it hangs on: "ckpt-120" is no negative number. */
static bool begins_number(const struct scan *scan)
{
	char c = peek(scan, scan->at), next = peek(scan, scan->at + 1),
	     before = scan->at ? scan->text.ptr[scan->at - 1] : ' ';
	bool is_free = !is_letter(before) && !is_digit(before) && before != ')' && before != ']';

	if (is_digit(c))
		return true;
	if (c == '.')
		return is_free && is_digit(next);
	if ((c != '-' && c != '+') || !is_free || before == c)
		return false;
	if (next == 'i' || next == 'I' || next == 'n' || next == 'N')
		return is_not_finite(
			span_of(scan->text.ptr + scan->at + 1, run_end(scan, scan->at + 1) - scan->at - 1));
	return is_digit(next) || (next == '.' && is_digit(peek(scan, scan->at + 2)));
}

static void step_on(struct scan *scan)
{
	char c = scan->text.ptr[scan->at];
	size_t bytes, end;

	if (shape_is_blank(scan->text, scan->at, &bytes)) {
		scan->at += bytes;
		return;
	}
	if ((end = path_end(scan)) != 0) {
		add(scan, SHAPE_THING, end);
	} else if (begins_number(scan)) {
		if (is_digit(c) && (end = thing_end(scan)) != 0)
			add(scan, SHAPE_THING, end);
		else if (!add_number(scan))
			add(scan, SHAPE_THING, run_end(scan, scan->at + !is_digit(c)));
	} else if (begins_letter(scan, scan->at)) {
		add_word(scan);
	} else {
		bytes = mark_bytes(scan->text, scan->at);
		scan->at += bytes ? bytes : 1;
	}
}

static bool is_text(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (((unsigned char)text.ptr[i] < 0x20 && text.ptr[i] != '\t') || text.ptr[i] == 0x7f)
			return false;
	return true;
}

size_t shape_tokens_find(struct span text, struct shape_token tokens[SHAPE_TOKENS_MAX])
{
	struct scan scan = {.text = span_cut(text, SHAPE_TEXT_MAX_BYTES), .tokens = tokens};

	if (!is_text(scan.text))
		return 0;
	while (scan.at < scan.text.len && scan.count < SHAPE_TOKENS_MAX)
		step_on(&scan);
	return scan.count;
}
