#include "extract/generic/counters.h"

#include "extract/generic/words.h"
#include "extract/line/number.h"

enum { MARKS_MAX = 4, HEAD_TOKENS = 16, ABBREVIATION_MAX_BYTES = 3 };

static bool is_open(const struct tokens *tokens, size_t at)
{
	return token_is_mark(tokens, at, '[') || token_is_mark(tokens, at, '(');
}

static bool is_closed(const struct tokens *tokens, size_t at)
{
	return token_is_mark(tokens, at, ']') || token_is_mark(tokens, at, ')');
}

static bool is_time_word(const struct tokens *tokens, size_t at)
{
	return token_is(tokens, at, TOKEN_WORD) && tokens->items[at].gap < 2 &&
	       unit_of(token_text(tokens, at)).kind == UNIT_TIME;
}

/* "12/500", "12 of 500", "12 out of 500": where the total is; SIZE_MAX: there is none. */
static size_t total_at(const struct tokens *tokens, size_t number)
{
	size_t at = number + 1;

	if (token_is_mark(tokens, at, '/'))
		at++;
	else if (token_is(tokens, at, TOKEN_WORD) && span_equal(token_text(tokens, at), SPAN("of")))
		at++;
	else if (token_is(tokens, at, TOKEN_WORD) && span_equal(token_text(tokens, at), SPAN("out")))
		at += 2;
	else
		return SIZE_MAX;
	bool is_date = token_is_mark(tokens, at + 1, '/') || (number && token_is_mark(tokens, number - 1, '/'));
	return token_is(tokens, at, TOKEN_NUMBER) && !is_date ? at : SIZE_MAX;
}

static bool has_fraction(const struct tokens *tokens, size_t number, int64_t *count, int64_t *total)
{
	size_t at = token_is(tokens, number, TOKEN_NUMBER) && token_is_mark(tokens, number + 1, '/')
			    ? total_at(tokens, number)
			    : SIZE_MAX;

	return at != SIZE_MAX && token_count(tokens, number, count) && token_count(tokens, at, total) && *total > 0;
}

/* Used, with its total. */
static void use(struct tokens *tokens, size_t number)
{
	size_t total = total_at(tokens, number);

	tokens->items[number].is_used = true;
	if (total != SIZE_MAX)
		tokens->items[total].is_used = true;
}

/* False: another counter is the step. */
static bool set_count(struct counting *out, struct span where, int64_t count, int rank)
{
	if (rank <= out->rank)
		return false;
	out->rank = rank;
	out->found.has_step = true;
	out->found.step = count;
	out->found.where = where;
	out->found.total = 0;
	return true;
}

static void set_step(struct tokens *tokens, struct counting *out, size_t number, int rank)
{
	size_t total = total_at(tokens, number);
	int64_t count;

	use(tokens, number);
	if (token_count(tokens, number, &count) && set_count(out, token_text(tokens, number), count, rank) &&
		total != SIZE_MAX)
		(void)!token_count(tokens, total, &out->found.total);
}

static bool is_of_epoch(const struct tokens *tokens, size_t number)
{
	return tokens->items[number].unit_len == sizeof "epoch" - 1 &&
	       span_equal(token_unit(tokens, number), SPAN("epoch"));
}

/* "3", "3epoch" */
static bool epoch_count(const struct tokens *tokens, size_t number, int64_t *count)
{
	return is_of_epoch(tokens, number) ? number_parse_step(token_digits(tokens, number), count) && *count >= 0
					   : token_count(tokens, number, count);
}

/* "Epoch: [3][120/5005]", "Epoch 1 [640/60000 (1%)]": what follows the epoch in brackets is the batch. */
static void take_batch_behind(struct tokens *tokens, struct counting *out, size_t number)
{
	size_t total = total_at(tokens, number), at = (total == SIZE_MAX ? number : total) + 1;
	int64_t count, of;

	while (is_closed(tokens, at) || token_is_mark(tokens, at, ',') || token_is_mark(tokens, at, '|') ||
		token_is_mark(tokens, at, ':'))
		at++;
	at += is_open(tokens, at);
	if (has_fraction(tokens, at, &count, &of))
		set_step(tokens, out, at, COUNTER_BATCH);
}

static void set_epoch(struct tokens *tokens, struct counting *out, size_t number)
{
	int64_t count;

	use(tokens, number);
	bool is_share = span_find_char(token_text(tokens, number), '.') >= 0; /* 0.52, and so 1.0 */
	if (out->found.has_epoch || is_share || !epoch_count(tokens, number, &count))
		return;
	out->found.has_epoch = true;
	out->found.epoch = count;
	take_batch_behind(tokens, out, number);
	if (!out->found.has_step)
		out->found.where = token_text(tokens, number);
}

/* "Ep. 1": the dot of an abbreviation behind a word. */
static bool is_dot_of(const struct tokens *tokens, size_t at)
{
	return token_is_mark(tokens, at, '.') && tokens->items[at].gap == 0 && at > 0 &&
	       token_is(tokens, at - 1, TOKEN_WORD) && tokens->items[at - 1].len <= ABBREVIATION_MAX_BYTES;
}

/* The word that names the number, behind some marks; SIZE_MAX: none. */
static size_t word_before(const struct tokens *tokens, size_t number)
{
	for (size_t at = number, marks = 0; at-- > 0 && marks <= MARKS_MAX; marks++) {
		const struct token *token = &tokens->items[at];
		if (token->kind == TOKEN_WORD)
			return at;
		bool is_between = token->kind == TOKEN_MARK && memchr(":=#[(\"'<>", tokens->text.ptr[token->start], 9);
		if (!is_between && !is_dot_of(tokens, at))
			return SIZE_MAX;
	}
	return SIZE_MAX;
}

static bool is_limit(const struct tokens *tokens, size_t word)
{
	return word > 0 && token_is(tokens, word - 1, TOKEN_WORD) && word_limits_counter(token_text(tokens, word - 1));
}

/* "epoch 01/13/2024" */
static bool is_of_date(const struct tokens *tokens, size_t number)
{
	return token_is_mark(tokens, number + 1, '/') && token_is(tokens, number + 2, TOKEN_NUMBER) &&
	       token_is_mark(tokens, number + 3, '/') && token_is(tokens, number + 4, TOKEN_NUMBER);
}

/* A number behind a word that counts; *word: which. */
static enum counter_word counter_at(const struct tokens *tokens, size_t number, size_t *word)
{
	int64_t count;
	bool is_plural;

	*word = word_before(tokens, number);
	if (*word == SIZE_MAX || !token_count(tokens, number, &count) || is_time_word(tokens, number + 1) ||
		is_limit(tokens, *word) || is_of_date(tokens, number))
		return COUNTER_NONE;
	struct span text = token_text(tokens, *word);
	bool is_short = is_dot_of(tokens, *word + 1);
	if (is_short && *word > 0 && token_is(tokens, *word - 1, TOKEN_WORD))
		return COUNTER_NONE; /* "Catching up. 4 workers left" */
	enum counter_word is = counter_word_of(span_of(text.ptr, text.len + is_short), &is_plural);
	bool is_global = *word > 0 && token_is(tokens, *word - 1, TOKEN_WORD) &&
			 span_equal_fold(token_text(tokens, *word - 1), SPAN("global"));
	if (is == COUNTER_STEP && is_global && !is_plural)
		return COUNTER_GLOBAL;
	return is_plural && *word > 0 ? COUNTER_NONE : is;
}

/* "200/1000 batches" */
static bool is_counted_behind(const struct tokens *tokens, size_t number)
{
	size_t total = total_at(tokens, number);
	bool is_plural;
	int64_t count, of;

	return total != SIZE_MAX && has_fraction(tokens, number, &count, &of) &&
	       token_is(tokens, total + 1, TOKEN_WORD) &&
	       counter_word_of(token_text(tokens, total + 1), &is_plural) > COUNTER_EPOCH;
}

/* "After 12 updates the loss is 2.5": in front of all else. */
static enum counter_word counter_behind(const struct tokens *tokens, size_t number)
{
	bool is_plural;
	int64_t count;

	if (number != 1 || !token_is(tokens, 0, TOKEN_WORD) || !span_equal_fold(token_text(tokens, 0), SPAN("after")) ||
		!token_is(tokens, 2, TOKEN_WORD) || !token_count(tokens, 1, &count))
		return COUNTER_NONE;
	return counter_word_of(token_text(tokens, 2), &is_plural);
}

/* "[3, 120]" or "(3, 120)": epoch and batch. */
static bool is_pair(const struct tokens *tokens, size_t open)
{
	int64_t epoch, batch;

	return is_open(tokens, open) && token_count(tokens, open + 1, &epoch) && token_is_mark(tokens, open + 2, ',') &&
	       token_count(tokens, open + 3, &batch) && is_closed(tokens, open + 4);
}

static void set_pair(struct tokens *tokens, struct counting *out, size_t epoch, int rank)
{
	set_epoch(tokens, out, epoch);
	set_step(tokens, out, epoch + 2, rank);
}

static size_t digits_at(struct span text, size_t at)
{
	size_t start = at;

	while (at < text.len && (unsigned char)(text.ptr[at] - '0') < 10)
		at++;
	return at - start;
}

/* "Batch [0-20]", "501-1000batch": the step is where these batches end. */
static void take_range(struct tokens *tokens, struct counting *out, size_t at)
{
	struct span text = token_text(tokens, at);
	size_t first = digits_at(text, 0), last = digits_at(text, first + 1), end = first + 1 + last;
	bool is_plural;
	int64_t count;

	if (!first || !last || text.ptr[first] != '-' ||
		!number_parse_step(span_of(text.ptr + first + 1, last), &count))
		return;
	struct span name = span_skip(text, end);
	if (!name.len && at > 1 && is_open(tokens, at - 1) && is_closed(tokens, at + 1) &&
		token_is(tokens, at - 2, TOKEN_WORD))
		name = token_text(tokens, at - 2);
	enum counter_word is = counter_word_of(name, &is_plural);
	if (is > COUNTER_EPOCH)
		(void)set_count(out, span_of(text.ptr + first + 1, last), count, (int)is);
}

/* "1.20kit" */
static bool iterations_at(const struct tokens *tokens, size_t at, int64_t *count)
{
	struct span unit = token_is(tokens, at, TOKEN_NUMBER) ? token_unit(tokens, at) : SPAN("");
	struct span text = unit.len >= 2 ? token_text(tokens, at) : SPAN("");

	return unit.len >= 2 && unit.len <= 3 && span_equal(span_skip(unit, unit.len - 2), SPAN("it")) &&
	       number_parse_step(span_of(text.ptr, text.len - 2), count) && *count >= 0;
}

/* "1.20kit/10.0kit": how far a bar is, that draws none. */
static bool take_iterations(struct tokens *tokens, struct counting *out, size_t at)
{
	int64_t count, total;

	if (!iterations_at(tokens, at, &count) || !token_is_mark(tokens, at + 1, '/') ||
		!iterations_at(tokens, at + 2, &total))
		return false;
	use(tokens, at);
	if (set_count(out, token_text(tokens, at), count, COUNTER_BATCH))
		out->found.total = total;
	return true;
}

static void find_named(struct tokens *tokens, struct counting *out)
{
	for (size_t i = 0; i < tokens->count; i++) {
		size_t word;
		if (tokens->items[i].kind == TOKEN_OTHER)
			take_range(tokens, out, i);
		if (tokens->items[i].kind != TOKEN_NUMBER || tokens->items[i].is_used)
			continue;
		if (take_iterations(tokens, out, i))
			continue;
		enum counter_word is = is_of_epoch(tokens, i) ? COUNTER_EPOCH : counter_at(tokens, i, &word);
		if (is == COUNTER_NONE)
			is = counter_behind(tokens, i);
		if (is > COUNTER_EPOCH && is_pair(tokens, i - 1))
			set_pair(tokens, out, i, is);
		else if (is == COUNTER_EPOCH)
			set_epoch(tokens, out, i);
		else if (is != COUNTER_NONE)
			set_step(tokens, out, i, is);
		else if (is_counted_behind(tokens, i))
			set_step(tokens, out, i, COUNTER_BATCH);
	}
}

/* The token behind the second '|' of "45%|####    | 12/500 ["; SIZE_MAX: it is no bar. */
static size_t behind_bar(const struct tokens *tokens, size_t percent)
{
	int64_t count, total;

	if (!token_is_mark(tokens, percent + 1, '|') || !span_equal(token_unit(tokens, percent), SPAN("%")))
		return SIZE_MAX;
	for (size_t i = percent + 2; i < tokens->count; i++)
		if (token_is_mark(tokens, i, '|'))
			return has_fraction(tokens, i + 1, &count, &total) && token_is_mark(tokens, i + 4, '[')
				       ? i + 1
				       : SIZE_MAX;
	return SIZE_MAX;
}

/*
 * "2|25|Loss: 1.5:  50%|#####     | 25/50 [": the step of the bar once more, and the epoch before it. A step that is another
 * goes on where the bar begins anew.
 */
static void take_epoch_before(struct tokens *tokens, struct counting *out)
{
	int64_t epoch, step;

	if (!token_count(tokens, 0, &epoch) || !token_is_mark(tokens, 1, '|') || !token_count(tokens, 2, &step) ||
		!token_is_mark(tokens, 3, '|'))
		return;
	if (step == out->found.bar_step)
		set_epoch(tokens, out, 0);
	else
		set_step(tokens, out, 2, COUNTER_GLOBAL);
	use(tokens, 0);
	use(tokens, 2);
}

static void find_bar(struct tokens *tokens, struct counting *out)
{
	for (size_t i = 0; i + 4 < tokens->count; i++) {
		size_t behind = tokens->items[i].kind == TOKEN_NUMBER ? behind_bar(tokens, i) : SIZE_MAX;
		if (behind == SIZE_MAX)
			continue;
		out->bar = i;
		for (size_t j = i; j < behind; j++)
			tokens->items[j].is_used = true;
		set_step(tokens, out, behind, COUNTER_BATCH);
		out->found.is_bar = true;
		out->found.bar_step = out->found.step;
		out->found.bar_total = out->found.total;
		take_epoch_before(tokens, out);
		return;
	}
}

/* "[0/300][10/1251]", "[1][ 50/7330]": where the batch is; SIZE_MAX: there is none behind the first bracket. */
static size_t batch_behind(const struct tokens *tokens, size_t open)
{
	size_t close = open + 2;
	int64_t count, total;

	if (has_fraction(tokens, open + 1, &count, &total))
		close += 2;
	else if (!token_count(tokens, open + 1, &count))
		return SIZE_MAX;
	return is_closed(tokens, close) && is_open(tokens, close + 1) && has_fraction(tokens, close + 2, &count, &total)
		       ? close + 2
		       : SIZE_MAX;
}

/* "[ 10/ 3000]" at the head of a line, or "3 [ 10/3000 (1%)]" behind an epoch. */
static bool take_fraction(struct tokens *tokens, struct counting *out, size_t open)
{
	int64_t count, total;

	if (!is_open(tokens, open) || !has_fraction(tokens, open + 1, &count, &total) ||
		!(is_closed(tokens, open + 4) || is_open(tokens, open + 4)))
		return false;
	if (open > 1 && token_is_mark(tokens, open - 2, ':') && token_count(tokens, open - 1, &count))
		set_epoch(tokens, out, open - 1);
	set_step(tokens, out, open + 1, COUNTER_BATCH);
	return true;
}

/* A pair that is the value of a name is none of counters. */
static bool is_apart(const struct tokens *tokens, size_t open)
{
	return open == 0 || is_closed(tokens, open - 1) || token_is_mark(tokens, open - 1, '-') ||
	       token_is(tokens, open - 1, TOKEN_OTHER);
}

/* "Test: [10/48] loss 2.5": how far an evaluation is, which is no step. */
static bool is_of_evaluation(const struct tokens *tokens, size_t open)
{
	size_t at = open && token_is_mark(tokens, open - 1, ':') ? open - 1 : open;

	return at && token_is(tokens, at - 1, TOKEN_WORD) && split_of(token_text(tokens, at - 1)) > SPLIT_TRAIN;
}

/* What stands at the head of a line in brackets. */
static void find_in_brackets(struct tokens *tokens, struct counting *out)
{
	for (size_t i = 0; i < HEAD_TOKENS && i < tokens->count; i++) {
		if (!is_open(tokens, i))
			continue;
		size_t batch = batch_behind(tokens, i);
		if (batch != SIZE_MAX) {
			set_epoch(tokens, out, i + 1);
			set_step(tokens, out, batch, COUNTER_BATCH);
		} else if (is_pair(tokens, i) && is_apart(tokens, i)) {
			set_pair(tokens, out, i + 1, COUNTER_BATCH);
		} else {
			(void)take_fraction(tokens, out, i);
		}
		if (!out->found.has_step)
			continue;
		if (is_of_evaluation(tokens, i))
			out->found = (struct generic_counters){.is_evaluation = true};
		return;
	}
}

/* "100 | loss 2.5", "1/2000 (epoch 0), loss = 2.5", "[10] acc=0.5": a number in front of values. */
static void find_head(struct tokens *tokens, struct counting *out)
{
	bool is_bracketed = is_open(tokens, 0) && is_closed(tokens, 2);
	size_t at = is_bracketed ? 1 : 0;
	int64_t count, total;

	out->is_head = is_bracketed || token_is_mark(tokens, 1, '|') || token_is_mark(tokens, 1, ':') ||
		       (has_fraction(tokens, 0, &count, &total) && count < total); /* a full bar says no step */
	out->is_head = out->is_head && token_count(tokens, at, &count);
	if (out->is_head)
		set_step(tokens, out, at, COUNTER_BATCH);
}

/* "perf 3: {'loss': 2.5}", "s:3 loss:2.5": a number that its own word or letter says in front of all values. */
static void find_lead(struct tokens *tokens, struct counting *out)
{
	int64_t count;

	if (token_is(tokens, 0, TOKEN_WORD) && span_equal(token_text(tokens, 0), SPAN("s")) &&
		token_is_mark(tokens, 1, ':') && token_count(tokens, 2, &count)) {
		set_step(tokens, out, 2, COUNTER_BATCH);
		out->is_head = true;
		return;
	}
	for (size_t i = 1; i < HEAD_TOKENS && i + 2 < tokens->count && !out->found.has_step; i++) {
		if (!token_is_mark(tokens, i + 1, ':') || !token_is_mark(tokens, i + 2, '{') ||
			!token_count(tokens, i, &count) || !token_is(tokens, i - 1, TOKEN_WORD) ||
			!word_leads_record(token_text(tokens, i - 1)))
			continue;
		set_step(tokens, out, i, COUNTER_BATCH);
		out->is_head = true;
	}
}

/* "Validation batch 10/50 loss 2.5", "CV | Batch 0/100": how far an evaluation is. */
static bool leads_evaluation(const struct tokens *tokens)
{
	size_t at = token_is(tokens, 0, TOKEN_MARK);
	bool is_apart = token_is(tokens, at + 1, TOKEN_MARK) || token_is(tokens, at + 1, TOKEN_WORD);

	return token_is(tokens, at, TOKEN_WORD) && is_apart && split_of(token_text(tokens, at)) > SPLIT_TRAIN;
}

void counters_find(struct tokens *tokens, struct counting *out)
{
	*out = (struct counting){.bar = SIZE_MAX};
	find_bar(tokens, out);
	find_named(tokens, out);
	if (out->rank == COUNTER_BATCH && out->bar == SIZE_MAX && leads_evaluation(tokens)) {
		*out = (struct counting){.bar = SIZE_MAX, .found.is_evaluation = true};
		return;
	}
	if (!out->found.has_step)
		find_in_brackets(tokens, out);
	if (!out->found.has_step)
		find_head(tokens, out);
	if (!out->found.has_step)
		find_lead(tokens, out);
	if (out->found.has_epoch && !out->found.has_step) {
		out->found.has_step = out->found.is_epoch = true;
		out->found.step = out->found.epoch;
	}
}
