/*
 * Job: a segment of a line as words, numbers and marks, in one pass: what the readers of lines that no preset knows look at.
 *      Internal to extract/.
 * Ownership: spans into the text, which outlives the tokens. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

#include <stdint.h>

enum {
	TOKENS_MAX = 2048, /* of one text; what is behind them is not looked at, */
	TOKENS_TEXT_MAX_BYTES = 32768 /* nor is what is behind these bytes */
};

enum token_kind {
	TOKEN_WORD, /* loss, train/loss, Acc@1, samples/sec */
	TOKEN_NUMBER, /* 12 -0.5 1e-4 12,345 nan 1.#QNAN; with what stands right behind it: 350ms 1.2k 50% 3.2it/s 1h02m */
	TOKEN_MARK, /* one character, or some that are no ASCII */
	TOKEN_OTHER /* times, dates, versions, addresses, identifiers: nothing to look at */
};

struct token {
	uint16_t start, len; /* in the text */
	uint8_t kind;
	uint8_t gap; /* blanks in front, 2 stands for more */
	uint8_t unit_len; /* of a number: the bytes at its end that are its unit */
	bool is_used; /* it is a counter, part of a bar, or a value that was taken */
};

struct tokens {
	struct span text;
	size_t count;
	bool is_cut; /* there was more than is read */
	struct token items[TOKENS_MAX];
};

/* Writes what is there, not all of *out. */
void tokens_find(struct span text, struct tokens *out);

static inline struct span token_text(const struct tokens *tokens, size_t at)
{
	return span_of(tokens->text.ptr + tokens->items[at].start, tokens->items[at].len);
}

/* Of any kind; behind the last it is no token. */
static inline bool token_is(const struct tokens *tokens, size_t at, enum token_kind kind)
{
	return at < tokens->count && tokens->items[at].kind == kind;
}

static inline bool token_is_mark(const struct tokens *tokens, size_t at, char c)
{
	return token_is(tokens, at, TOKEN_MARK) && tokens->text.ptr[tokens->items[at].start] == c;
}

/* Of a number, without its unit and with it. */
struct span token_digits(const struct tokens *tokens, size_t at);
struct span token_unit(const struct tokens *tokens, size_t at);
/* False: it is none (1.234,5). In thousands when it says so (1.2k), seconds when it is a duration (1h02m). */
bool token_value(const struct tokens *tokens, size_t at, double *value);
/* A whole number, or one of thousands (1K), that may count. */
bool token_count(const struct tokens *tokens, size_t at, int64_t *count);
