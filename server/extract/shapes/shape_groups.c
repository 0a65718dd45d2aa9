#include "extract/shapes/shape_groups.h"

#include "extract/line/ansi.h"
#include "extract/line/prefix.h"
#include "extract/shapes/line_shape.h"

#include <stdlib.h>

enum {
	PARTS_MAX = 64, /* of one line: a progress bar writes many */
	VARIANTS_LEAST = 4, /* of a word, for it to be one that varies */
	WORDS_LOOKED_AT = 24,
	LINE_BYTES_MAX = 64 << 10,
	ESCAPE = 0x1b
};

/* ---- lines to pieces ---- */

static enum status strip(struct arena *arena, struct span line, struct span *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(LINE_BYTES_MAX);

	*out = span_cut(line, LINE_BYTES_MAX);
	if (!out->len || !memchr(out->ptr, ESCAPE, out->len))
		return OK;
	ansi_strip(*out, &text);
	TRY(buf_status(&text, err));
	*out = arena_copy(arena, buf_span(&text));
	return out->ptr ? OK : error_no_memory(err);
}

static enum status cut_lines(
	struct shape_groups *on, struct arena *arena, const struct span *lines, size_t count, struct error *err)
{
	on->pieces = arena_alloc(arena, SHAPES_LINES_MAX * sizeof *on->pieces);
	if (!on->pieces)
		return error_no_memory(err);
	for (size_t i = 0; i < count && on->piece_count < SHAPES_LINES_MAX; i++) {
		struct span whole, rest, part;
		struct prefix prefix;
		TRY(strip(arena, lines[i], &whole, err));
		rest = whole;
		for (int parts = 0;
			parts < PARTS_MAX && on->piece_count < SHAPES_LINES_MAX && span_next(&rest, '\r', &part);
			parts++)
			if (part.len)
				on->pieces[on->piece_count++] =
					(struct shape_piece){.text = line_peel(part, NULL, &prefix),
						.whole = whole,
						.line = (uint32_t)i,
						.group = SHAPE_NO_GROUP};
	}
	return OK;
}

/* ---- pieces to groups ---- */

static uint64_t mix(uint64_t place, uint64_t value)
{
	uint64_t x = value + (place + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t gap_hash(struct span gap)
{
	char marks[256];

	return span_hash(span_of(marks, shape_gap_squeeze(gap, marks, sizeof marks)));
}

static uint64_t word_hash(size_t at, const struct shape_token *token, bool is_hidden)
{
	uint64_t kind = token->kind == SHAPE_NUMBER ? 1 : 2;

	return mix(2 * at + 1, token->kind == SHAPE_WORD && !is_hidden ? span_hash(token->text) : kind);
}

/* A sum, so that one word can be taken out of it. */
static uint64_t hash_of(const struct shape_token *tokens, size_t count, uint32_t *numbers)
{
	uint64_t hash = mix(SIZE_MAX, count);

	*numbers = 0;
	for (size_t i = 0; i < count; i++) {
		*numbers += tokens[i].kind == SHAPE_NUMBER;
		hash += mix(2 * i, gap_hash(tokens[i].gap)) + word_hash(i, &tokens[i], false);
	}
	return hash;
}

struct index {
	uint32_t *slots; /* number of a group and one; 0: none */
	size_t mask;
};

static uint32_t find_or_add(
	struct shape_groups *on, struct index *index, uint64_t hash, uint32_t piece, uint32_t tokens, uint32_t numbers)
{
	size_t at = (size_t)hash & index->mask;

	while (index->slots[at] && on->items[index->slots[at] - 1].hash != hash)
		at = (at + 1) & index->mask;
	if (!index->slots[at]) {
		on->items[on->count] = (struct shape_group){.hash = hash,
			.leader = (uint32_t)on->count,
			.first_piece = piece,
			.token_count = tokens,
			.number_count = numbers < SHAPE_NUMBERS_MAX ? numbers : SHAPE_NUMBERS_MAX};
		index->slots[at] = (uint32_t)++on->count;
	}
	return index->slots[at] - 1;
}

static enum status group_pieces(struct shape_groups *on, struct arena *arena, struct error *err)
{
	struct shape_token tokens[SHAPE_TOKENS_MAX];
	struct index index = {.mask = 2 * SHAPES_LINES_MAX - 1};
	AUTO_MEM uint32_t *slots = mem_zeroed(2 * SHAPES_LINES_MAX * sizeof *slots);

	_Static_assert((SHAPES_LINES_MAX & (SHAPES_LINES_MAX - 1)) == 0, "the mask wants it");
	on->items = arena_alloc(arena, (on->piece_count + 1) * sizeof *on->items);
	index.slots = slots;
	if (!slots || !on->items)
		return error_no_memory(err);
	for (size_t i = 0; i < on->piece_count; i++) {
		uint32_t numbers;
		size_t count = shape_tokens_find(on->pieces[i].text, tokens);
		uint64_t hash = hash_of(tokens, count, &numbers);
		if (numbers)
			on->pieces[i].group = find_or_add(on, &index, hash, (uint32_t)i, (uint32_t)count, numbers);
	}
	return OK;
}

/* ---- groups that differ in one word ---- */

struct variant {
	uint64_t hash; /* of the group without the word */
	uint32_t group;
	uint32_t word;
};

static int compare_variants(const void *a, const void *b)
{
	const struct variant *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

/* The word right before a number is its name, and what says train or eval tells curves apart. */
static bool may_vary(const struct shape_token *tokens, size_t count, size_t at)
{
	char folded[METRIC_WORDS_MAX_BYTES];

	if (tokens[at].kind != SHAPE_WORD || (at + 1 < count && tokens[at + 1].kind == SHAPE_NUMBER))
		return false;
	return tokens[at].text.len <= METRIC_NAME_MAX_BYTES && !metric_is_evaluation(tokens[at].text) &&
	       !metric_words_have(metric_words(tokens[at].text, folded), "_train_ _training_ loss_");
}

static size_t note_variants(const struct shape_groups *on, uint32_t group, struct variant *out)
{
	struct shape_token tokens[SHAPE_TOKENS_MAX];
	const struct shape_group *item = &on->items[group];
	size_t count = shape_tokens_find(on->pieces[item->first_piece].text, tokens), found = 0;

	for (size_t i = 0; i < count && found < WORDS_LOOKED_AT; i++)
		if (may_vary(tokens, count, i))
			out[found++] = (struct variant){
				item->hash - word_hash(i, &tokens[i], false) + word_hash(i, &tokens[i], true), group,
				(uint32_t)i};
	return found;
}

static enum status join_run(
	struct shape_groups *on, struct arena *arena, const struct variant *run, size_t count, struct error *err)
{
	size_t free_count = 0;
	uint32_t leader = SHAPE_NO_GROUP;

	for (size_t i = 0; i < count; i++)
		free_count += on->items[run[i].group].leader == run[i].group && !on->items[run[i].group].hides;
	if (free_count < VARIANTS_LEAST)
		return OK;
	for (size_t i = 0; i < count; i++) {
		struct shape_group *item = &on->items[run[i].group];
		if (item->leader != run[i].group || item->hides)
			continue;
		if (leader == SHAPE_NO_GROUP) {
			leader = run[i].group;
			item->hides = arena_alloc(arena, SHAPE_TOKENS_MAX * sizeof *item->hides);
			if (!item->hides)
				return error_no_memory(err);
			memset(item->hides, 0, SHAPE_TOKENS_MAX * sizeof *item->hides);
			item->hides[run[i].word] = true;
		}
		item->leader = leader;
	}
	return OK;
}

static enum status join_groups(struct shape_groups *on, struct arena *arena, struct error *err)
{
	AUTO_MEM struct variant *variants = mem_alloc((on->count * WORDS_LOOKED_AT + 1) * sizeof *variants);
	size_t count = 0;

	if (!variants)
		return error_no_memory(err);
	for (uint32_t i = 0; i < on->count; i++)
		count += note_variants(on, i, variants + count);
	qsort(variants, count, sizeof *variants, compare_variants);
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1; to < count && variants[to].hash == variants[from].hash;)
			to++;
		if (to - from >= VARIANTS_LEAST)
			TRY(join_run(on, arena, variants + from, to - from, err));
	}
	return OK;
}

/* ---- what the numbers do ---- */

static void see_number(struct shape_number *number, const struct shape_token *token, bool is_first)
{
	double value = token->value;

	if (is_first)
		*number = (struct shape_number){.first = value, .last = value, .is_whole = true};
	else if (value > number->last)
		number->rises++;
	else if (value < number->last)
		number->falls++;
	else
		number->stays++;
	number->varies |= value != number->first && !(value != value && number->first != number->first);
	number->is_whole &= token->is_whole;
	number->is_negative |= value < 0;
	number->has_commas |= token->has_commas;
	number->has_thousands |= token->has_thousands;
	number->last = value;
}

static enum status see_pieces(struct shape_groups *on, struct arena *arena, struct error *err)
{
	struct shape_token tokens[SHAPE_TOKENS_MAX];

	for (size_t i = 0; i < on->piece_count; i++) {
		struct shape_piece *piece = &on->pieces[i];
		if (piece->group == SHAPE_NO_GROUP)
			continue;
		struct shape_group *group = &on->items[piece->group = on->items[piece->group].leader];
		size_t count = shape_tokens_find(piece->text, tokens), number = 0;
		if (!group->numbers)
			group->numbers = arena_alloc(arena, group->number_count * sizeof *group->numbers);
		if (!group->numbers)
			return error_no_memory(err);
		for (size_t j = 0; j < count && number < group->number_count; j++)
			if (tokens[j].kind == SHAPE_NUMBER)
				see_number(&group->numbers[number++], &tokens[j], group->count == 0);
		group->count++;
		group->last_piece = (uint32_t)i;
	}
	return OK;
}

enum status shape_groups_find(
	struct shape_groups *out, struct arena *arena, const struct span *lines, size_t count, struct error *err)
{
	struct shape_groups on = {0};

	TRY(cut_lines(&on, arena, lines, count, err));
	TRY(group_pieces(&on, arena, err));
	TRY(join_groups(&on, arena, err));
	TRY(see_pieces(&on, arena, err));
	*out = on;
	return OK;
}
