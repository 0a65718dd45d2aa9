#include "prometheus/matcher_parse.h"

static enum status take_matcher(struct tokens *tokens, struct matcher *out, struct error *err)
{
	static const char *const ops[] = {
		[MATCHER_IS] = "=", [MATCHER_IS_NOT] = "!=", [MATCHER_LIKE] = "=~", [MATCHER_NOT_LIKE] = "!~"};
	size_t op = 0;

	*out = (struct matcher){.name = tokens->token.text};
	if (tokens->token.kind != TOKEN_NAME || span_find_char(out->name, ':') >= 0)
		return tokens_fail(tokens, "expected a label's name", err);
	TRY(tokens_next(tokens, err));
	while (op < 4 && !tokens_is(tokens, ops[op]))
		op++;
	if (op == 4)
		return tokens_fail(tokens, "expected one of = != =~ !~", err);
	out->op = (enum matcher_op)op;
	TRY(tokens_next(tokens, err));
	if (tokens->token.kind != TOKEN_TEXT)
		return tokens_fail(tokens, "expected a text in quotes", err);
	out->value = tokens->token.text;
	return tokens_next(tokens, err);
}

enum status matchers_add(const struct tokens *tokens, struct matcher *matchers, size_t *count,
	const struct matcher *matcher, struct error *err)
{
	if (*count == MATCHERS_MAX)
		return tokens_fail(tokens, "a selector has at most 32 matchers", err);
	matchers[(*count)++] = *matcher;
	return OK;
}

enum status matchers_take(struct tokens *tokens, struct matcher **matchers, size_t *count, struct error *err)
{
	struct matcher matcher;
	bool goes_on = true;

	if (!*matchers && !(*matchers = arena_alloc(tokens->arena, MATCHERS_MAX * sizeof **matchers)))
		return error_no_memory(err);
	TRY(tokens_want(tokens, "{", err));
	while (goes_on && !tokens_is(tokens, "}")) {
		TRY(take_matcher(tokens, &matcher, err));
		TRY(matchers_add(tokens, *matchers, count, &matcher, err));
		TRY(tokens_take(tokens, ",", &goes_on, err));
	}
	return tokens_want(tokens, "}", err);
}
