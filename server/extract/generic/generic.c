#include "extract/generic/generic.h"

#include "extract/generic/values.h"

enum { HEADER_MAX_BYTES = 160 };

/* A digit behind a letter, a mark or a blank: as nearly every value stands. What has none is worth no tokens. */
bool generic_may_have(struct span text)
{
	bool has_letter = false;

	for (size_t i = 0; i < text.len && i < TOKENS_TEXT_MAX_BYTES; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (has_letter && (unsigned char)(c - '0') < 10)
			return true;
		has_letter |= (unsigned char)((c | 0x20) - 'a') < 26;
		if (has_letter && (c == 'n' || c == 'i') && i + 2 < text.len && (c == 'n' ? text.ptr[i + 2] == 'n' : text.ptr[i + 2] == 'f'))
			return true; /* nan, inf */
	}
	return false;
}

/* "=== [global] Step 1/300 ===": nothing but the step is said. */
static bool is_header(const struct tokens *tokens)
{
	bool is_inside = false;

	if (tokens->text.len > HEADER_MAX_BYTES)
		return false;
	for (size_t i = 0; i < tokens->count; i++) {
		is_inside = (is_inside || token_is_mark(tokens, i, '[')) && !token_is_mark(tokens, i, ']');
		bool is_odd = tokens->items[i].kind == TOKEN_WORD ? !word_is_of_header(token_text(tokens, i))
			      : tokens->items[i].kind == TOKEN_NUMBER ? !tokens->items[i].is_used
								      : false;
		if (is_odd && !is_inside)
			return false;
	}
	return true;
}

/* Of a bar: what is in front of it has no word of a training. */
static bool is_foreign(const struct tokens *tokens, size_t bar)
{
	bool has_word = false;

	for (size_t i = 0; i < bar; i++) {
		if (tokens->items[i].kind != TOKEN_WORD)
			continue;
		if (word_is_of_header(token_text(tokens, i)))
			return split_of(token_text(tokens, i)) > SPLIT_TRAIN;
		has_word = true;
	}
	return has_word;
}

/* The rate of a bar alone does not say what the bar is of. */
static bool has_other_than_rate(const struct generic_line *line)
{
	for (size_t i = 0; i < line->count; i++)
		if (line->values[i].series != GENERIC_STEPS_RATE && line->values[i].series != GENERIC_STEP_SECONDS)
			return true;
	return false;
}

/* "loss" and "total_loss" on one line are two: the loss is what is called so, else the first. */
static void settle_aliases(struct generic_line *line, enum generic_series series)
{
	const struct generic_value *best = NULL;

	for (size_t i = 0; i < line->count; i++) {
		const struct generic_value *value = &line->values[i];
		if (value->series == series && (!best || (best->alias && !value->alias)))
			best = value;
	}
	for (size_t i = 0; i < line->count && best; i++) {
		struct generic_value *value = &line->values[i];
		if (value->series == series && value->alias != best->alias)
			value->series = GENERIC_OTHER;
	}
}

bool generic_read(struct tokens *tokens, struct generic_line *out)
{
	struct counting counting;

	out->count = out->names_len = 0;
	out->is_known = out->is_step_alone = out->is_side = false;
	out->is_cut = tokens->is_cut;
	counters_find(tokens, &counting);
	out->counters = counting.found;
	values_find(tokens, out);
	settle_aliases(out, GENERIC_LOSS);
	settle_aliases(out, GENERIC_VAL_LOSS);
	if (out->counters.is_bar && is_foreign(tokens, counting.bar) && !(has_other_than_rate(out) && out->is_known)) {
		out->is_side = true;
		out->count = 0;
		return false;
	}
	out->is_step_alone = out->counters.has_step && out->count == 0 && !counting.is_head &&
			     (out->counters.is_bar || is_header(tokens));
	return out->count > 0 || out->is_step_alone;
}

void generic_find_step(struct span text, struct generic_counters *out)
{
	struct tokens tokens;
	struct counting counting;

	*out = (struct generic_counters){0};
	if (!generic_may_have(text))
		return;
	tokens_find(text, &tokens);
	counters_find(&tokens, &counting);
	if (!counting.is_head)
		*out = counting.found;
}
