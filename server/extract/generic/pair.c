#include "extract/generic/pair.h"

/* Names of more than one word, as they stand in tables. */
static enum counter_word counter_of_words(struct span name)
{
	static const struct span finest[] = {SPAN("total_timesteps"), SPAN("total timesteps"), SPAN("timesteps"),
		SPAN("global step"), SPAN("train step"), SPAN("training step"), SPAN("training_step")};
	static const struct span others[] = {SPAN("training_iteration"), SPAN("training iteration"),
		SPAN("learning_iteration"), SPAN("learning iteration"), SPAN("iterations")};

	for (size_t i = 0; i < sizeof finest / sizeof *finest; i++)
		if (span_equal_fold(name, finest[i]))
			return COUNTER_GLOBAL;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (span_equal_fold(name, others[i]))
			return COUNTER_ITERATION;
	return COUNTER_NONE;
}

enum counter_word pair_counter(struct span name)
{
	struct span part, rest = span_trim(name);
	bool is_plural;

	while (span_next(&rest, '/', &part))
		name = part;
	enum counter_word is = counter_word_of(name, &is_plural);
	return is != COUNTER_NONE && !is_plural ? is : counter_of_words(span_trim(name));
}

/* Tokens stand in the order of the text. */
static size_t first_token_at(const struct tokens *tokens, size_t start)
{
	size_t low = 0, high = tokens->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (tokens->items[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t cell_find_number(const struct tokens *tokens, struct span cell)
{
	if (!cell.len)
		return SIZE_MAX;
	size_t start = (size_t)(cell.ptr - tokens->text.ptr), at = first_token_at(tokens, start);
	bool is_all = at < tokens->count && tokens->items[at].start == start && tokens->items[at].len == cell.len;
	return is_all && tokens->items[at].kind == TOKEN_NUMBER ? at : SIZE_MAX;
}

void pair_begin(struct generic_line *out)
{
	out->counters = (struct generic_counters){0};
	out->is_step_alone = out->is_known = out->is_cut = false;
	out->count = out->names_len = out->not_numeric = 0;
}

struct span pair_join(struct generic_line *out, struct span first, struct span second)
{
	size_t len = first.len + 1 + second.len;

	if (!first.len)
		return second;
	if (len > GENERIC_NAME_MAX_BYTES || len > GENERIC_NAMES_BYTES - out->names_len)
		return SPAN("");
	char *name = out->names + out->names_len;
	memcpy(name, first.ptr, first.len);
	name[first.len] = '/';
	memcpy(name + first.len + 1, second.ptr, second.len);
	out->names_len += len;
	return span_of(name, len);
}

bool pair_add(
	struct generic_line *out, enum split split, struct span name, const struct tokens *tokens, struct span cell)
{
	size_t at = cell_find_number(tokens, cell);
	struct generic_value value = {.name = name};

	if (at == SIZE_MAX || !name.len || name.len > GENERIC_NAME_MAX_BYTES || !token_value(tokens, at, &value.value))
		return false;
	struct span unit = token_unit(tokens, at);
	double thousands = unit_thousands(unit);
	value.text = token_digits(tokens, at);
	value.value = thousands > 0 ? number_scale(value.value, thousands, 1) : value.value;
	return generic_add(out, &value, split, thousands > 0 ? (struct unit){UNIT_NONE, 0} : unit_of(unit));
}
