#include "extract/generic/generic.h"

#include "extract/generic/values.h"

enum { HEADER_MAX_BYTES = 160 };

static bool is_letter(char c)
{
	return (unsigned char)((c | 0x20) - 'a') < 26;
}

/* "nan", "inf": no part of a word. */
static bool is_non_finite(struct span text, size_t at)
{
	double value;
	size_t end = at + span_scan_non_finite(span_skip(text, at), &value);

	return end > at && !(at > 0 && is_letter(text.ptr[at - 1])) && !(end < text.len && is_letter(text.ptr[end]));
}

/* "ValueError: loss 9.9 is not finite at step 12": what it speaks of was said before. "TestError: 0.05" is a value. */
static bool is_exception(struct span text)
{
	size_t at = 0;

	while (at < text.len && (is_letter(text.ptr[at]) || text.ptr[at] == '.' || text.ptr[at] == '_'))
		at++;
	struct span name = span_of(text.ptr, at);
	bool is_one = span_ends_with(name, SPAN("Error")) || span_ends_with(name, SPAN("Exception"));
	return is_one && at + 2 < text.len && text.ptr[at] == ':' && text.ptr[at + 1] == ' ' &&
	       is_letter(text.ptr[at + 2]);
}

/* A letter and a number: what lacks one of them is worth no tokens. */
bool generic_may_have(struct span text)
{
	bool has_letter = false, has_digit = false;

	if (is_exception(text))
		return false;

	for (size_t i = 0; i < text.len && i < TOKENS_TEXT_MAX_BYTES && !(has_letter && has_digit); i++) {
		char c = text.ptr[i];
		has_digit |= (unsigned char)(c - '0') < 10 ||
			     (((c | 0x20) == 'n' || (c | 0x20) == 'i') && is_non_finite(text, i));
		has_letter |= is_letter(c);
	}
	return has_letter && has_digit;
}

/* "INFO host:0 [step=10/1000,epoch=0]": where the bracket that ends the line opens; 0: none does so, or it has no counter. */
static size_t last_bracket(const struct tokens *tokens)
{
	size_t at = tokens->count;

	while (at > 0 && token_is_mark(tokens, at - 1, ':'))
		at--;
	if (at == 0 || !token_is_mark(tokens, at - 1, ']'))
		return 0;
	for (bool has_counter = false; at-- > 0; has_counter |= tokens->items[at].is_used)
		if (token_is_mark(tokens, at, '['))
			return has_counter ? at + 1 : 0;
	return 0;
}

/* "=== [global] Step 1/300 ===": nothing but the step is said. */
static bool is_header(const struct tokens *tokens)
{
	bool is_inside = false;

	if (tokens->text.len > HEADER_MAX_BYTES)
		return false;
	for (size_t i = last_bracket(tokens); i < tokens->count; i++) {
		is_inside = (is_inside || token_is_mark(tokens, i, '[')) && !token_is_mark(tokens, i, ']');
		bool is_odd = tokens->items[i].kind == TOKEN_WORD     ? !word_is_of_header(token_text(tokens, i))
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

	out->count = out->names_len = out->not_numeric = 0;
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

static bool has_own_name(struct span text)
{
	struct tokens tokens;
	struct generic_line line;

	tokens_find(text, &tokens);
	(void)generic_read(&tokens, &line);
	for (size_t i = 0; i < line.count && line.is_known; i++)
		if (span_find_char(generic_definitions[line.values[i].series].name, '*') < 0)
			return true;
	return false;
}

size_t generic_start(const struct prefix *prefix)
{
	size_t at = prefix->certain;

	while (prefix->count > prefix->certain + 1 && at < prefix->count && !has_own_name(prefix->starts[at]))
		at++;
	return at < prefix->count ? at : prefix->certain;
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
