#include "extract/generic/values.h"

#include "extract/generic/guess.h"
#include "extract/generic/words.h"
#include "extract/line/number.h"

enum { NAME_WORDS_MAX = 6, SEPARATORS_MAX = 2, UNIT_TEXT_BYTES = 24, BESIDE_TOKENS = 16 };

struct reading {
	struct tokens *tokens;
	struct generic_line *out;
	size_t split_at; /* tokens before it were looked at for splits */
	enum split split;
};

/* The words before a number. */
struct name {
	size_t first, last; /* tokens */
	bool is_bare; /* nothing but blanks between it and the number */
	struct span unit; /* in brackets: "time (ms): 350" */
};

static bool is_word(const struct tokens *tokens, size_t at)
{
	return token_is(tokens, at, TOKEN_WORD) && !tokens->items[at].is_used;
}

static bool is_quote(const struct tokens *tokens, size_t at)
{
	return token_is_mark(tokens, at, '"') || token_is_mark(tokens, at, '\'') || token_is_mark(tokens, at, '`');
}

static bool is_any(const struct tokens *tokens, size_t at, const char *marks)
{
	return token_is(tokens, at, TOKEN_MARK) && tokens->items[at].len == 1 &&
	       strchr(marks, tokens->text.ptr[tokens->items[at].start]);
}

/* ---- what stands between a name and its number ---- */

/* "loss:[9.125/9.5]": a value and its mean; whole numbers would count. */
static bool is_mean_pair(const struct tokens *tokens, size_t number)
{
	return number > 0 && token_is_mark(tokens, number - 1, '[') && token_is_mark(tokens, number + 1, '/') &&
	       token_is(tokens, number + 2, TOKEN_NUMBER) && token_is_mark(tokens, number + 3, ']') &&
	       span_find_char(token_text(tokens, number), '.') >= 0;
}

/* "=(2.5)", ": (2.5)", and "loss (nan)": a number there may count, or be a mean. */
static bool is_in_brackets(const struct tokens *tokens, size_t at, size_t number)
{
	double value;

	if (at < 2 || !token_is_mark(tokens, at - 1, '(') || !token_is_mark(tokens, number + 1, ')'))
		return false;
	return is_any(tokens, at - 2, "=:") ||
	       (is_word(tokens, at - 2) && token_value(tokens, number, &value) && value - value != 0);
}

/* The first token of "[2.5]", "'2.5'", "=(2.5)", "tensor(2.5": the number itself when nothing is around it, or more are in the brackets. */
static size_t before_wraps(const struct tokens *tokens, size_t number)
{
	size_t at = number;

	if (at > 0 && is_quote(tokens, at - 1))
		at--;
	if (at > 0 && token_is_mark(tokens, at - 1, '[') &&
		(token_is_mark(tokens, number + 1, ']') || is_mean_pair(tokens, number)))
		at--;
	if (at > 1 && token_is_mark(tokens, at - 1, '(') && token_is(tokens, at - 2, TOKEN_WORD) &&
		word_wraps(token_text(tokens, at - 2)))
		return at - 2;
	return is_in_brackets(tokens, at, number) ? at - 1 : at;
}

/* "→", "⇒": what is no ASCII is an arrow when it stands alone. */
static bool is_arrow(const struct tokens *tokens, size_t at)
{
	return token_is(tokens, at, TOKEN_MARK) && span_equal(token_text(tokens, at), SPAN("\xe2\x86\x92"));
}

/* Passes over ":", "=", "->" and quotes before token `at`; *has: there is one. */
static size_t before_separator(const struct tokens *tokens, size_t at, bool *has)
{
	*has = false;
	for (int i = 0; i < SEPARATORS_MAX && at > 0; i++) {
		if (is_any(tokens, at - 1, ":=~") || is_arrow(tokens, at - 1))
			at--;
		else if (at > 1 && token_is_mark(tokens, at - 1, '>') && is_any(tokens, at - 2, "-="))
			at -= 2;
		else
			break;
		*has = true;
	}
	return at;
}

/* "(ms)" before token `at`. */
static size_t before_unit(const struct tokens *tokens, size_t at, struct span *unit)
{
	if (at < 4 || !is_any(tokens, at - 1, ")]") || !is_word(tokens, at - 2) || !is_any(tokens, at - 3, "(["))
		return at;
	*unit = token_text(tokens, at - 2);
	return at - 3;
}

/* "('loss', 2.5)", "(loss, 2.5)" */
static bool is_pair(const struct tokens *tokens, size_t at, size_t *last)
{
	if (at < 3 || !token_is_mark(tokens, at - 1, ','))
		return false;
	bool is_quoted = is_quote(tokens, at - 2);
	size_t word = at - 2 - is_quoted;
	*last = word;
	return is_word(tokens, word) && word > is_quoted && is_any(tokens, word - 1 - is_quoted, "(");
}

/* ---- names ---- */

static bool is_joined(const struct tokens *tokens, size_t at)
{
	return tokens->items[at].gap == 1;
}

/* "Grad. Norm": the dot of an abbreviation between two words. */
static bool has_dot(const struct tokens *tokens, size_t at)
{
	return at > 1 && token_is_mark(tokens, at - 1, '.') && tokens->items[at - 1].gap == 0 &&
	       is_word(tokens, at - 2);
}

/* "L.r. 3e-5": a dot ends no sentence where there was one in the word. */
static bool has_dot_of_letters(const struct tokens *tokens, size_t at)
{
	return has_dot(tokens, at) && span_find_char(token_text(tokens, at - 2), '.') >= 0;
}

static size_t first_word(const struct tokens *tokens, size_t last)
{
	size_t at = last;

	for (int words = 1; words < NAME_WORDS_MAX && at > 0 && is_joined(tokens, at); words++) {
		size_t before = has_dot(tokens, at) ? at - 2 : at - 1;
		if (!is_word(tokens, before) || word_joins(token_text(tokens, before)))
			break;
		at = before;
	}
	return at;
}

static bool is_time_in(const struct tokens *tokens, size_t unit)
{
	return is_word(tokens, unit - 1) && span_equal(token_text(tokens, unit - 1), SPAN("in")) &&
	       is_word(tokens, unit - 2) && unit_of(token_text(tokens, unit)).kind == UNIT_TIME;
}

/* "train loss <loss>=2.5": the words before the bracket, else the one in it. */
static bool find_bracketed(const struct tokens *tokens, size_t at, struct name *out)
{
	if (at < 3 || !token_is_mark(tokens, at - 1, '>') || !is_word(tokens, at - 2) ||
		!token_is_mark(tokens, at - 3, '<'))
		return false;
	bool has_name = at > 3 && is_word(tokens, at - 4) && split_of(token_text(tokens, at - 4)) == SPLIT_NONE;
	out->last = has_name ? at - 4 : at - 2;
	out->first = first_word(tokens, out->last);
	return true;
}

static struct span name_text(const struct tokens *tokens, const struct name *name)
{
	const struct token *first = &tokens->items[name->first], *last = &tokens->items[name->last];

	return span_of(tokens->text.ptr + first->start, (size_t)(last->start + last->len - first->start));
}

/* "test loss at step 100: 3.9": the first token of the counters between a name and its number; `at` where there are none. */
static size_t before_counters(const struct tokens *tokens, size_t at)
{
	size_t first = at;
	bool is_plural;

	while (first > 2) {
		size_t word = first - 1;
		while (word > 0 && ((token_is(tokens, word, TOKEN_NUMBER) && tokens->items[word].is_used) ||
					   token_is_mark(tokens, word, '/')))
			word--;
		if (word == first - 1 || !is_word(tokens, word) ||
			counter_word_of(token_text(tokens, word), &is_plural) == COUNTER_NONE)
			break;
		first = word;
	}
	bool is_joined_on = first < at && is_word(tokens, first - 1) && word_joins(token_text(tokens, first - 1));
	return is_joined_on ? first : at;
}

static bool find_name(const struct tokens *tokens, size_t number, struct name *out)
{
	bool has_separator, has_counters = false;
	size_t at = before_wraps(tokens, number), start = at;

	out->unit = SPAN("");
	at = before_separator(tokens, at, &has_separator);
	out->is_bare = !has_separator;
	if (has_separator && find_bracketed(tokens, at, out))
		return true;
	if (has_separator) {
		if (at > 0 && (is_quote(tokens, at - 1) || has_dot(tokens, at)))
			at--;
		size_t counters = before_counters(tokens, at);
		has_counters = counters < at;
		at = counters;
		at = before_unit(tokens, at, &out->unit);
		if (at > 0 && is_any(tokens, at - 1, ".") && is_word(tokens, at - 2))
			at--;
	} else if (token_is_mark(tokens, number + 1, ')') && is_pair(tokens, at, &out->last)) {
		out->is_bare = false;
		out->first = out->last;
		return true;
	} else if (start == number && tokens->items[number].gap == 0) {
		return false;
	} else if (has_dot_of_letters(tokens, at)) {
		at--;
	}
	while (at > 1 && is_word(tokens, at - 1) && word_joins(token_text(tokens, at - 1)))
		at--; /* "the loss is: 2.5" */
	if (at == 0 || !is_word(tokens, at - 1) || word_joins(token_text(tokens, at - 1)))
		return false;
	out->last = at - 1;
	if (at > 2 && is_time_in(tokens, at - 1)) { /* "train_step_timing in s: 1.25" */
		out->unit = token_text(tokens, at - 1);
		out->last = at - 3;
	}
	out->first = first_word(tokens, out->last);
	return !has_counters || series_is_known(name_text(tokens, out));
}

/* ---- splits ---- */

/* At the beginning, behind marks alone ("*** eval *** step"), before a mark, between two, or before "...". */
static bool says_split(const struct tokens *tokens, size_t at)
{
	size_t first = at;

	while (first > 0 && token_is(tokens, first - 1, TOKEN_MARK))
		first--;
	bool is_framed = at > 0 && is_any(tokens, at - 1, "*=#~") && is_any(tokens, at + 1, "*=#~") &&
			 span_equal(token_text(tokens, at - 1), token_text(tokens, at + 1));
	bool has_dots =
		(token_is_mark(tokens, at + 1, '.') && token_is_mark(tokens, at + 2, '.')) ||
		(token_is(tokens, at + 1, TOKEN_MARK) && span_equal(token_text(tokens, at + 1), SPAN("\xe2\x80\xa6")));
	return first == 0 || is_framed || has_dots || is_any(tokens, at + 1 + is_quote(tokens, at + 1), ":])|,");
}

/* "validation: loss=", "[val] loss", "Test loss 2.5, acc 0.5": until another one says otherwise. */
static void see_splits(struct reading *on, size_t end)
{
	const struct tokens *tokens = on->tokens;

	for (; on->split_at < end; on->split_at++) {
		size_t at = on->split_at;
		if (!token_is(tokens, at, TOKEN_WORD))
			continue;
		enum split split = split_of(token_text(tokens, at));
		if (at == 1 && token_is_mark(tokens, 0, '*') && split == SPLIT_NONE)
			on->split = SPLIT_VAL; /* " * Acc@1 76.1 Acc@5 92.9" */
		if (split != SPLIT_NONE && says_split(tokens, at))
			on->split = split;
	}
}

/* ---- units ---- */

/* "15234 tokens per second" */
static bool find_spoken_unit(const struct tokens *tokens, size_t number, struct unit *out)
{
	char text[UNIT_TEXT_BYTES];

	if (!is_word(tokens, number + 2) || !is_word(tokens, number + 3) ||
		!span_equal(token_text(tokens, number + 2), SPAN("per")))
		return false;
	struct span what = token_text(tokens, number + 1), per = token_text(tokens, number + 3);
	if (what.len + 1 + per.len > sizeof text)
		return false;
	memcpy(text, what.ptr, what.len);
	text[what.len] = '/';
	memcpy(text + what.len + 1, per.ptr, per.len);
	*out = unit_of(span_of(text, what.len + 1 + per.len));
	return out->kind > UNIT_OTHER;
}

/* Behind the number, or in brackets behind the name; the last token of it in *last. */
static struct unit find_unit(
	const struct tokens *tokens, size_t number, struct span bracketed, size_t *last, double *value)
{
	struct span text = token_unit(tokens, number);
	double thousands = unit_thousands(text);
	struct unit unit = thousands > 0 ? (struct unit){UNIT_NONE, 0} : unit_of(text);

	*last = number;
	*value = thousands > 0 ? number_scale(*value, thousands, 1) : *value;
	if (unit.kind == UNIT_NONE && bracketed.len)
		return span_equal(bracketed, SPAN("t")) ? (struct unit){UNIT_TIME, 1} : unit_of(bracketed);
	if (unit.kind != UNIT_NONE || !token_is(tokens, number + 1, TOKEN_WORD) || tokens->items[number + 1].gap > 1)
		return unit;
	if (find_spoken_unit(tokens, number, &unit)) {
		*last = number + 3;
		return unit;
	}
	struct unit behind = unit_of(token_text(tokens, number + 1));
	bool is_rate = behind.kind >= UNIT_TOKENS_RATE; /* "12.5 words/s : norm 1.25" */
	bool is_name = (is_any(tokens, number + 2, ":=") && !(is_rate && token_is(tokens, number + 3, TOKEN_WORD))) ||
		       (token_is(tokens, number + 2, TOKEN_NUMBER) && !is_rate);
	if (is_name)
		return unit;
	*last = number + (behind.kind > UNIT_OTHER);
	return behind.kind > UNIT_OTHER ? behind : unit;
}

/* ---- one number ---- */

/* It is a part of a fraction, a list or a range. */
static bool is_part(const struct tokens *tokens, size_t number)
{
	if (is_mean_pair(tokens, number))
		return false;
	return token_is_mark(tokens, number + 1, '/') || (number > 0 && token_is_mark(tokens, number - 1, '/'));
}

/* "0.41 (0.52)", "0.35s, 512/s" */
static bool has_mean(const struct tokens *tokens, size_t number)
{
	if (token_is_mark(tokens, number + 1, ','))
		return token_is(tokens, number + 2, TOKEN_NUMBER) &&
		       unit_of(token_unit(tokens, number + 2)).kind == UNIT_PLAIN_RATE;
	return token_is_mark(tokens, number + 1, '(') && token_is(tokens, number + 2, TOKEN_NUMBER) &&
	       !tokens->items[number + 2].unit_len && is_any(tokens, number + 3, "),") && !is_part(tokens, number + 2);
}

/* "time: 0.41  data: 0.01": the next word behind the number is that of the other time. */
static bool is_beside_data(const struct tokens *tokens, const struct name *name)
{
	for (size_t i = name->last + 1; i < tokens->count && i < name->last + 6; i++)
		if (tokens->items[i].kind == TOKEN_WORD)
			return span_equal_fold(token_text(tokens, i), SPAN("data")) ||
			       span_equal_fold(token_text(tokens, i), SPAN("data_time"));
	return false;
}

/* "Latency: 0.14s, Samples/sec: 14.1": it is the time of these samples. */
static bool is_beside_rate(const struct tokens *tokens, const struct name *name)
{
	for (size_t i = name->last + 1; i < tokens->count && i < name->last + BESIDE_TOKENS; i++) {
		enum unit_kind kind = token_is(tokens, i, TOKEN_WORD) ? unit_of(token_text(tokens, i)).kind : UNIT_NONE;
		if (kind == UNIT_TOKENS_RATE || kind == UNIT_SAMPLES_RATE)
			return true;
	}
	return false;
}

/* "tps 11800 (1475/gpu)" */
static bool is_per_device(const struct tokens *tokens, size_t number)
{
	return token_is_mark(tokens, number + 1, '(') && token_is(tokens, number + 2, TOKEN_NUMBER) &&
	       span_equal(token_unit(tokens, number + 2), SPAN("/gpu"));
}

/* "loss: 2.1 (2.3)": the running mean is another series; so is a device's share. */
static void add_mean(struct reading *on, size_t at, const struct generic_value *value, struct span name)
{
	struct tokens *tokens = on->tokens;
	struct generic_line *out = on->out;
	struct generic_value mean = *value;
	char *room = out->names + out->names_len;

	bool is_share = is_per_device(tokens, at);
	if (!token_is_mark(tokens, at + 1, '(') || (!is_share && !has_mean(tokens, at)))
		return;
	tokens->items[at + 2].is_used = true;
	if (name.len + 4 > GENERIC_NAMES_BYTES - out->names_len || out->count == GENERIC_VALUES_MAX ||
		!token_value(tokens, at + 2, &mean.value))
		return;
	memcpy(room, name.ptr, name.len);
	memcpy(room + name.len, is_share ? "/gpu" : "_avg", 4);
	mean.name = span_of(room, name.len + 4);
	mean.text = token_digits(tokens, at + 2);
	mean.series = is_share ? GENERIC_OTHER : GENERIC_MEAN;
	mean.alias = 0;
	out->names_len += mean.name.len;
	if (guess_points_needed(mean.name, true) != GUESS_NEVER)
		out->values[out->count++] = mean;
}

/* "| mem 33.5 GiB |", " : cost 7.1 : ": nothing else stands between the bars. */
static bool is_cell(const struct tokens *tokens, size_t first, size_t last)
{
	size_t behind = last + 1 + token_is(tokens, last + 1, TOKEN_WORD);

	if (first == 0 || !is_any(tokens, first - 1, "|:"))
		return false;
	char bar = tokens->text.ptr[tokens->items[first - 1].start];
	bool is_apart = bar == '|' || tokens->items[first - 1].gap > 0;
	return is_apart && (behind >= tokens->count || (token_is_mark(tokens, behind, bar) &&
							       (bar == '|' || tokens->items[behind].gap > 0)));
}

static void take_named(struct reading *on, size_t number, const struct name *name, double number_value)
{
	struct tokens *tokens = on->tokens;
	struct span text = name_text(tokens, name);
	struct generic_value value = {
		.name = text, .text = token_digits(tokens, number), .value = number_value, .is_bare = name->is_bare};
	size_t last, count = on->out->count;

	struct unit unit = find_unit(tokens, number, name->unit, &last, &value.value);
	bool is_word = name->first == name->last && !name->is_bare; /* more of them may be a sentence */
	on->out->is_cut |= is_word && text.len > GUESS_NAME_MAX_BYTES;
	if (text.len > GENERIC_NAME_MAX_BYTES)
		return;
	value.has_mean = has_mean(tokens, last) || is_beside_data(tokens, name);
	value.has_rate = unit.kind == UNIT_TIME && is_beside_rate(tokens, name);
	value.is_bare = name->is_bare && !is_cell(tokens, name->first, last);
	see_splits(on, name->first);
	if (!generic_add(on->out, &value, on->split, unit))
		return;
	tokens->items[number].is_used = tokens->items[last].is_used = true;
	add_mean(on, last, &value, on->out->values[count].name);
}

/* "12,345 tok/s", "3.2it/s" */
static void take_unnamed(struct reading *on, size_t number, double number_value)
{
	struct generic_value value = {.text = token_digits(on->tokens, number), .value = number_value};
	size_t last;

	struct unit unit = find_unit(on->tokens, number, SPAN(""), &last, &value.value);
	bool is_cell = unit.kind == UNIT_TIME && unit.seconds < 1 && on->out->counters.has_step &&
		       !on->out->counters.is_epoch && on->out->is_known && number > 0 &&
		       is_any(on->tokens, number - 1, "|(,");
	bool is_rate = unit.kind >= UNIT_TOKENS_RATE &&
		       (unit.kind != UNIT_PLAIN_RATE || (number > 0 && is_any(on->tokens, number - 1, ",(|")));
	if (!is_cell && !is_rate)
		return;
	see_splits(on, number);
	if (generic_add(on->out, &value, on->split, unit))
		on->tokens->items[number].is_used = on->tokens->items[last].is_used = true;
}

/* "loss=0x1f", "loss: 1.234,5": said, and not understood. */
static void count_odd(struct reading *on, size_t at)
{
	const struct token *token = &on->tokens->items[at];
	struct name name;

	if (token->is_used || (token->kind != TOKEN_NUMBER && token->kind != TOKEN_OTHER))
		return;
	on->out->not_numeric += find_name(on->tokens, at, &name) && !name.is_bare &&
				guess_points_needed(name_text(on->tokens, &name), true) == 1;
}

/* ---- values in front of their names ---- */

/* Which of the words beside a number is its name, where nothing else stands between them. */
enum order { ORDER_NAME_FIRST, ORDER_VALUE_FIRST, ORDER_UNCLEAR };

/* "@ step 120": what was read is no value's, nor are marks. */
static bool is_beside(const struct tokens *tokens, size_t at)
{
	const struct token *token = &tokens->items[at];
	bool is_counter =
		token->kind == TOKEN_WORD && token_is(tokens, at + 1, TOKEN_NUMBER) && tokens->items[at + 1].is_used;

	return token->is_used || is_counter || (token->kind != TOKEN_WORD && token->kind != TOKEN_NUMBER);
}

static size_t skip_beside(const struct tokens *tokens, size_t at)
{
	while (at < tokens->count && is_beside(tokens, at))
		at++;
	return at;
}

static bool is_value(const struct tokens *tokens, size_t at)
{
	return token_is(tokens, at, TOKEN_NUMBER) && !tokens->items[at].is_used;
}

/* The last word of the name behind a number; the number itself when there is none. */
static size_t name_behind(const struct tokens *tokens, size_t number)
{
	size_t at = number;

	while (at - number < NAME_WORDS_MAX && is_word(tokens, at + 1) && is_joined(tokens, at + 1) &&
		!is_beside(tokens, at + 1))
		at++;
	return at;
}

/* No name stands before it but one behind, and no unit is a part of it: the first of values that may stand in front of their names. */
static bool may_begin(const struct tokens *tokens, size_t at)
{
	struct name name;

	return is_value(tokens, at) && !tokens->items[at].unit_len && is_word(tokens, at + 1) &&
	       !find_name(tokens, at, &name);
}

/* The next number in a row of numbers with words behind each; `at` itself where the row ends. */
static size_t next_in_row(const struct tokens *tokens, size_t at)
{
	size_t last = is_value(tokens, at) ? name_behind(tokens, at) : at;

	return last == at || is_any(tokens, last + 1, ":=") ? at : skip_beside(tokens, last + 1);
}

/* Where all names are known or units, no word of them needs to be the name of the number behind it; else nobody can tell. */
static enum order order_in(const struct tokens *tokens, size_t first)
{
	bool is_all_known = true, has_name = false, ends_with_unit = false;
	int64_t count;

	for (size_t at = first; at < tokens->count; at = next_in_row(tokens, at)) {
		struct name name = {.first = at + 1, .last = name_behind(tokens, at)};
		bool is_unit = unit_of(token_text(tokens, at + 1)).kind > UNIT_OTHER;
		bool is_name = series_is_known(name_text(tokens, &name));
		is_all_known &= is_unit || is_name;
		ends_with_unit = is_unit;
		has_name |= is_name;
	}
	bool may_count = token_count(tokens, first, &count); /* "120 loss 2.5 lr 3e-05 done" */
	if (!has_name ||
		(ends_with_unit &&
			(may_count || !is_all_known))) /* "120 loss 2.5 speed 3.2 it/s": that of the number before it */
		return ORDER_NAME_FIRST;
	return is_all_known ? ORDER_VALUE_FIRST : may_count ? ORDER_NAME_FIRST : ORDER_UNCLEAR;
}

/* "pass 3 ok | 1.79 loss  3e-05 lr  @ step 120": *from is the first number that stands in front of its name. */
static enum order order_of(const struct tokens *tokens, size_t *from)
{
	for (size_t at = 0; at < tokens->count; at++) {
		size_t end = at, pairs = 0;
		if (!may_begin(tokens, at))
			continue;
		for (size_t next; end < tokens->count && (next = next_in_row(tokens, end)) > end; end = next)
			pairs++;
		*from = at;
		if (end >= tokens->count)
			return pairs < 2 ? ORDER_NAME_FIRST : order_in(tokens, at);
		at = end > at ? end - 1 : at; /* each number before it would end there, too */
	}
	*from = tokens->count;
	return ORDER_NAME_FIRST;
}

static void take_before_name(struct reading *on, size_t number, double value)
{
	struct name name = {.first = number + 1, .last = name_behind(on->tokens, number), .is_bare = true};

	take_unnamed(on, number, value);
	if (!on->tokens->items[number].is_used)
		take_named(on, number, &name, value);
}

void values_find(struct tokens *tokens, struct generic_line *out)
{
	struct reading on = {.tokens = tokens, .out = out};
	size_t from;
	enum order order_behind = order_of(tokens, &from);

	for (size_t i = 0; i < tokens->count; i++) {
		struct name name;
		double value;
		enum order order = i < from ? ORDER_NAME_FIRST : order_behind;
		bool is_number = tokens->items[i].kind == TOKEN_NUMBER && token_value(tokens, i, &value);
		if (!is_number)
			count_odd(&on, i);
		if (!is_number || tokens->items[i].is_used || is_part(tokens, i))
			continue;
		if (order == ORDER_VALUE_FIRST) {
			take_before_name(&on, i, value);
			continue;
		}
		if (find_name(tokens, i, &name) && !tokens->items[name.last].is_used &&
			!(name.is_bare && order == ORDER_UNCLEAR))
			take_named(&on, i, &name, value);
		if (!tokens->items[i].is_used)
			take_unnamed(&on, i, value);
	}
}
