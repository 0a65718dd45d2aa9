/* Any text: tokens lie in it in their order, values are of numbers in it with names of text, and the same comes of it again. */
#include "extract/generic/generic.h"

#include <stdlib.h>

static void check_tokens(const struct tokens *tokens)
{
	size_t end = 0;

	if (tokens->count > TOKENS_MAX)
		abort();
	for (size_t i = 0; i < tokens->count; i++) {
		const struct token *token = &tokens->items[i];
		if (token->start < end || !token->len || (size_t)token->start + token->len > tokens->text.len ||
			token->unit_len > token->len)
			abort();
		end = (size_t)token->start + token->len;
	}
}

static bool is_within(struct span part, struct span whole)
{
	return part.ptr >= whole.ptr && part.ptr + part.len <= whole.ptr + whole.len;
}

static void check_line(const struct generic_line *line, struct span text)
{
	if (line->count > GENERIC_VALUES_MAX || line->names_len > GENERIC_NAMES_BYTES)
		abort();
	for (size_t i = 0; i < line->count; i++) {
		const struct generic_value *value = &line->values[i];
		if (value->series >= GENERIC_SERIES_COUNT || !is_within(value->text, text) || !value->text.len ||
			value->name.len > METRIC_NAME_MAX_BYTES / 2 || !span_is_utf8(value->name))
			abort();
	}
	if (line->counters.has_step && (line->counters.step < 0 || !is_within(line->counters.where, text)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_of((const char *)data, size);
	struct tokens tokens;
	struct generic_line first, second;

	if (!generic_may_have(text))
		return 0;
	tokens_find(text, &tokens);
	check_tokens(&tokens);
	bool is_read = generic_read(&tokens, &first);
	check_line(&first, text);
	tokens_find(text, &tokens);
	if (generic_read(&tokens, &second) != is_read || first.count != second.count)
		abort();
	return 0;
}
