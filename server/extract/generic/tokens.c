#include "extract/generic/tokens.h"

#include "extract/line/number.h"

enum { UNIT_MAX_BYTES = 24, COUNT_UNIT_BYTES = 1 };

/* Classes of bytes. */
enum { BLANK = 1, DIGIT = 2, LETTER = 4, JOINT = 8, HIGH = 16 };

static const unsigned char classes[256] = {
	[' '] = BLANK,
	['\t'] = BLANK,
	['\v'] = BLANK,
	['\f'] = BLANK,
	['\n'] = BLANK,
	['\r'] = BLANK,
	['0' ... '9'] = DIGIT,
	['a' ... 'z'] = LETTER,
	['A' ... 'Z'] = LETTER,
	['_'] = LETTER,
	['.'] = JOINT,
	['/'] = JOINT,
	['-'] = JOINT,
	['@'] = JOINT,
	[0x80 ... 0xff] = HIGH,
};

/* The text and how far it is read. */
struct scan {
	const char *text;
	size_t len;
	size_t at;
};

static unsigned class_at(const struct scan *scan, size_t at)
{
	return at < scan->len ? classes[(unsigned char)scan->text[at]] : 0;
}

static char char_at(const struct scan *scan, size_t at)
{
	return at < scan->len ? scan->text[at] : '\0';
}

static size_t skip_class(const struct scan *scan, size_t at, unsigned wanted)
{
	while (at < scan->len && classes[(unsigned char)scan->text[at]] & wanted)
		at++;
	return at;
}

/* Groups of three behind "12,", and none behind "0,": where they end; `at` when these are none. */
static size_t skip_groups(const struct scan *scan, size_t start, size_t at)
{
	if (at - start > 3 || at == start || scan->text[start] == '0')
		return at;
	while (char_at(scan, at) == ',' && skip_class(scan, at + 1, DIGIT) == at + 4)
		at += 4;
	return at;
}

/* Digits, a fraction, an exponent; `start` when there is none of it. */
static size_t skip_number(const struct scan *scan, size_t start)
{
	size_t at = start + (char_at(scan, start) == '-' || char_at(scan, start) == '+');
	size_t first = at;

	at = skip_groups(scan, first, skip_class(scan, at, DIGIT));
	if (char_at(scan, at) == '.')
		at = skip_class(scan, at + 1, DIGIT);
	if (at == first || (at == first + 1 && scan->text[first] == '.'))
		return start;
	size_t power = at + 1 + (char_at(scan, at + 1) == '-' || char_at(scan, at + 1) == '+');
	if ((char_at(scan, at) | 0x20) == 'e' && class_at(scan, power) & DIGIT)
		at = skip_class(scan, power, DIGIT);
	return at;
}

/* To the end of what is no number, name or mark, and without what closes a sentence. */
static size_t skip_other(const struct scan *scan, size_t at)
{
	while (at < scan->len && (class_at(scan, at) & (DIGIT | LETTER | JOINT) || memchr(":,+", scan->text[at], 3)))
		at++;
	while (at > scan->at + 1 && memchr(":,.", scan->text[at - 1], 3))
		at--;
	return at;
}

/* Behind the sign of "µs", which is no ASCII; `at` when there is none. */
static size_t skip_micro(const struct scan *scan, size_t at)
{
	size_t micro = class_at(scan, at) & HIGH ? number_micro_length(span_of(scan->text + at, scan->len - at)) : 0;

	return micro && char_at(scan, at + micro) == 's' ? at + micro : at;
}

/* "ms" "µs" "it/s" "GiB" "%" "/s" right behind the number; where it ends. */
static size_t skip_unit(const struct scan *scan, size_t at)
{
	if (char_at(scan, at) == '%')
		return at + 1;
	at = skip_micro(scan, at);
	for (;;) {
		bool is_part = class_at(scan, at) & LETTER && scan->text[at] != '_';
		bool is_per = char_at(scan, at) == '/' && class_at(scan, at + 1) & LETTER && scan->text[at + 1] != '_';
		if (!is_part && !is_per)
			return at;
		at++;
	}
}

/* What must not stand behind a number: it is a part of something else. */
static bool goes_on(const struct scan *scan, size_t at)
{
	char c = char_at(scan, at);
	unsigned next = class_at(scan, at + 1);

	if (class_at(scan, at) & (LETTER | DIGIT) || c == '@')
		return true;
	if (c == ':' || c == ',')
		return next & DIGIT;
	return (c == '.' || c == '-') && next & (DIGIT | LETTER);
}

/* 1h02m, 8m56s: where it ends; `start` when it is none. */
static size_t skip_duration(const struct scan *scan, size_t start)
{
	size_t at = skip_class(scan, start, DIGIT | LETTER);
	double seconds;

	if (at - start > UNIT_MAX_BYTES || !(class_at(scan, at - 1) & LETTER) || goes_on(scan, at) ||
		!memchr("hms", scan->text[at - 1], 3) ||
		!number_parse_value(span_of(scan->text + start, at - start), 1, &seconds))
		return start;
	return at;
}

static void take(struct scan *scan, struct token *token, enum token_kind kind, size_t end)
{
	token->kind = (uint8_t)kind;
	token->start = (uint16_t)scan->at;
	token->len = (uint16_t)(end - scan->at);
	token->unit_len = 0;
	token->is_used = false;
	scan->at = end;
}

/* "0x1f", of which the first digit is no value. */
static bool is_hexadecimal(const struct scan *scan, size_t start, size_t end)
{
	return end - start <= 2 && scan->text[end - 1] == '0' && (char_at(scan, end) | 0x20) == 'x' &&
	       class_at(scan, end + 1) & (DIGIT | LETTER);
}

static void take_number(struct scan *scan, struct token *token, size_t end)
{
	size_t start = scan->at, unit = skip_unit(scan, end);
	size_t duration = unit > end && class_at(scan, unit) & DIGIT ? skip_duration(scan, start) : start;

	if (duration > start) {
		take(scan, token, TOKEN_NUMBER, duration);
		return;
	}
	if (goes_on(scan, unit) && char_at(scan, end) == '/')
		unit = end; /* "epoch=0/step=20" */
	if (unit - end > UNIT_MAX_BYTES || goes_on(scan, unit) || is_hexadecimal(scan, start, end)) {
		take(scan, token, TOKEN_OTHER, skip_other(scan, end));
		return;
	}
	take(scan, token, TOKEN_NUMBER, unit);
	token->unit_len = (uint8_t)(unit - end);
}

/* Where the NaN or the infinity at `start` ends, whose word or whose digits reach to `end`; `start` when it is none. */
static size_t skip_non_finite(const struct scan *scan, size_t start, size_t end)
{
	double value;
	size_t len = span_scan_non_finite(span_of(scan->text + start, scan->len - start), &value);

	return start + len >= end ? start + len : start;
}

/* "training's l2" */
static bool is_genitive(const struct scan *scan, size_t at)
{
	return char_at(scan, at) == '\'' && char_at(scan, at + 1) == 's' && class_at(scan, at + 2) & BLANK;
}

static size_t skip_word(const struct scan *scan, size_t at)
{
	for (;;) {
		at = skip_class(scan, at, LETTER | DIGIT);
		if (is_genitive(scan, at))
			return at + 2;
		if (!(class_at(scan, at) & JOINT) || !(class_at(scan, at + 1) & (LETTER | DIGIT)))
			return at;
		at++;
	}
}

static void take_word(struct scan *scan, struct token *token)
{
	size_t end = skip_word(scan, scan->at), number = skip_non_finite(scan, scan->at, end);

	if (number > scan->at)
		take(scan, token, TOKEN_NUMBER, number);
	else
		take(scan, token, TOKEN_WORD, end);
}

/* A sign belongs to the number behind it where no name and no number stands before it. */
static bool is_sign(const struct scan *scan)
{
	char c = scan->text[scan->at];
	unsigned before = scan->at ? class_at(scan, scan->at - 1) : 0;

	return (c == '-' || c == '+') && !(before & (DIGIT | LETTER | HIGH)) && char_at(scan, scan->at - 1) != ')';
}

/* Where an infinity with a sign ends; `at` when there is none. */
static size_t skip_signed_word(const struct scan *scan)
{
	return skip_non_finite(scan, scan->at, skip_word(scan, scan->at + 1));
}

/* A path: "/data/run-12" */
static bool is_path(const struct scan *scan)
{
	char c = scan->text[scan->at];

	return (c == '/' || c == '\\' || c == '~' || c == '$') &&
	       class_at(scan, scan->at + 1) & (LETTER | DIGIT | JOINT) &&
	       !(scan->at && class_at(scan, scan->at - 1) & DIGIT) && !(class_at(scan, scan->at + 1) & DIGIT);
}

static void take_mark(struct scan *scan, struct token *token)
{
	size_t end = scan->at + 1, micro = skip_micro(scan, scan->at);

	if (micro > scan->at) {
		take(scan, token, TOKEN_WORD, skip_word(scan, micro));
		return;
	}
	if (class_at(scan, scan->at) & HIGH)
		end = skip_class(scan, end, HIGH);
	else if (is_path(scan))
		end = skip_other(scan, end);
	take(scan, token, end > scan->at + 1 && !(class_at(scan, scan->at) & HIGH) ? TOKEN_OTHER : TOKEN_MARK, end);
}

static void take_next(struct scan *scan, struct token *token)
{
	unsigned class = class_at(scan, scan->at);
	size_t end = scan->at;

	if (class & LETTER) {
		take_word(scan, token);
		return;
	}
	if (class & DIGIT || char_at(scan, scan->at) == '.' || is_sign(scan))
		end = skip_number(scan, scan->at);
	size_t whole = end > scan->at && char_at(scan, end) == '#' ? skip_non_finite(scan, scan->at, end) : scan->at;
	if (end > scan->at && whole == scan->at) {
		take_number(scan, token, end);
		return;
	}
	if (whole > scan->at)
		end = whole;
	else
		end = is_sign(scan) && class_at(scan, scan->at + 1) & LETTER ? skip_signed_word(scan) : scan->at;
	if (end > scan->at)
		take(scan, token, TOKEN_NUMBER, end);
	else
		take_mark(scan, token);
}

/* Blanks, and a tab as rsyslog writes it: "#011". */
static size_t skip_blanks(const struct scan *scan, size_t at)
{
	at = skip_class(scan, at, BLANK);
	while (scan->len - at > 4 && memcmp(scan->text + at, "#011", 4) == 0)
		at = skip_class(scan, at + 4, BLANK);
	return at;
}

void tokens_find(struct span text, struct tokens *out)
{
	bool is_long = text.len > TOKENS_TEXT_MAX_BYTES;
	struct scan scan = {text.ptr, is_long ? TOKENS_TEXT_MAX_BYTES : text.len, 0};

	out->text = text;
	out->count = 0;
	for (;;) {
		size_t start = scan.at;
		scan.at = skip_blanks(&scan, start);
		if (scan.at >= scan.len || out->count == TOKENS_MAX)
			break;
		struct token *token = &out->items[out->count++];
		size_t gap = scan.at - start;
		take_next(&scan, token);
		token->gap = (uint8_t)(gap < 2 ? gap : 2);
	}
	out->is_cut = is_long || scan.at < scan.len;
}

struct span token_digits(const struct tokens *tokens, size_t at)
{
	struct span text = token_text(tokens, at);

	return span_of(text.ptr, text.len - tokens->items[at].unit_len);
}

struct span token_unit(const struct tokens *tokens, size_t at)
{
	struct span text = token_text(tokens, at);

	return span_skip(text, text.len - tokens->items[at].unit_len);
}

bool token_value(const struct tokens *tokens, size_t at, double *value)
{
	return number_parse_value(token_digits(tokens, at), 1, value);
}

bool token_count(const struct tokens *tokens, size_t at, int64_t *count)
{
	return token_is(tokens, at, TOKEN_NUMBER) && tokens->items[at].unit_len <= COUNT_UNIT_BYTES &&
	       number_parse_step(token_text(tokens, at), count) && *count >= 0;
}
