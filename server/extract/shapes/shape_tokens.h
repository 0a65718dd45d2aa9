/*
 * Job: a line as words, numbers and other things (paths, dates, times, identifiers), for who looks for lines of one shape.
 *      Internal to extract/.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

enum {
	SHAPE_TOKENS_MAX = 96, /* of one line; what is behind them is not looked at, */
	SHAPE_TEXT_MAX_BYTES = 2048 /* nor is what is behind these bytes */
};

enum shape_token_kind { SHAPE_WORD, SHAPE_NUMBER, SHAPE_THING };

struct shape_token {
	enum shape_token_kind kind;
	struct span text;
	struct span gap; /* between the token before it, or the beginning, and this one */
	double value; /* of a number */
	bool is_whole; /* its digits have no fraction and no exponent */
	bool has_commas; /* 4,376 */
	bool has_thousands; /* 1.2K: the letter is part of the text */
};

/* What stands between two tokens, as shapes have it: blanks and the blocks of progress bars count as one blank, */
/* and as none beside other marks; marks in a row that are the same count as one. */
size_t shape_gap_squeeze(struct span gap, char *out, size_t cap);
bool shape_is_blank(struct span text, size_t at, size_t *bytes); /* there is a blank, or a block of a bar */

/* 0: nothing is in it, or it is no text (control characters, bytes that are not UTF-8). */
size_t shape_tokens_find(struct span text, struct shape_token tokens[SHAPE_TOKENS_MAX]);
