/*
 * Job: the words that PromQL and LogQL are made of.
 * Ownership: texts are in the query, those with escapes in the arena. Threads: values. Pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_NUMBER, TOKEN_DURATION, TOKEN_TEXT, TOKEN_SIGN };

struct token {
	enum token_kind kind;
	struct span text; /* of TEXT without quotes and escapes; of SIGN "{", "!=", … */
	size_t at;
	double number;
	int64_t ms;
};

struct tokens {
	struct span query;
	size_t at;
	struct arena *arena;
	const char *signs; /* those of several bytes, separated by spaces, longest first */
	struct token token; /* at hand */
};

/* The first token is at hand then. */
enum status tokens_open(
	struct tokens *tokens, struct span query, const char *signs, struct arena *arena, struct error *err) MUST_CHECK;
enum status tokens_next(struct tokens *tokens, struct error *err) MUST_CHECK;
bool tokens_is(const struct tokens *tokens, const char *sign_or_name);
/* Goes on when it is. */
enum status tokens_take(struct tokens *tokens, const char *sign_or_name, bool *is_taken, struct error *err) MUST_CHECK;
enum status tokens_want(struct tokens *tokens, const char *sign, struct error *err) MUST_CHECK;
/* ERR_INVALID at the token at hand: "byte 12: …". */
enum status tokens_fail(const struct tokens *tokens, const char *what, struct error *err);
bool tokens_duration(struct span text, int64_t *ms);
