#include "store/pack/log_filter.h"

#include "base/arena.h"
#include "base/codec/pack.h"
#include "base/text/regex_literals.h"
#include "store/pack/log_filter_format.h"

static bool bloom_has(struct span bloom, unsigned hashes, uint32_t fingerprint)
{
	for (unsigned i = 0; i < hashes && bloom.len; i++) {
		size_t bit = bloom_bit(fingerprint, i, bloom.len * 8);
		if (!((unsigned char)bloom.ptr[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return bloom.len > 0;
}

/* ---- needles ---- */

enum token_place { TOKEN_PLAIN = 1, TOKEN_FRACTION = 2 }; /* which sets may have it */
struct needle_token {
	uint32_t fingerprint;
	unsigned places;
};
struct needle {
	uint32_t *trigrams;
	size_t trigram_count;
	struct needle_token *tokens;
	size_t token_count;
};
struct needle_clause {
	struct needle *any;
	size_t count;
};
struct log_needles {
	struct arena *arena;
	struct needle_clause *clauses;
	size_t count;
};

void log_needles_free(struct log_needles *needles)
{
	if (!needles)
		return;
	arena_free(needles->arena);
	mem_free(needles);
}

static void add_trigrams(struct needle *needle, struct span text)
{
	uint32_t trigram = 0;
	unsigned since_barred = 0;

	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		trigram = (trigram << 8 | filter_fold(c)) & 0xffffff;
		since_barred = filter_class_of(c) & IS_BARRED ? 0 : since_barred + 1;
		if (since_barred >= 3)
			needle->trigrams[needle->trigram_count++] = trigram_hash(trigram);
	}
}

/* Tokens whose two ends are known. */
static void add_tokens(struct needle *needle, const struct regex_literal *literal)
{
	struct span text = literal->text;

	for (size_t i = 0, end; i < text.len; i = end + 1) {
		uint32_t hash = TOKEN_SEED;
		for (end = i; end < text.len && filter_class_of((unsigned char)text.ptr[end]) & IS_WORD; end++)
			hash = token_step(hash, filter_fold((unsigned char)text.ptr[end]));
		bool has_start = i || literal->starts_word, has_end = end < text.len || literal->ends_word;
		if (end == i || !has_start || !has_end)
			continue;
		unsigned places = !i                       ? TOKEN_PLAIN | TOKEN_FRACTION
				  : text.ptr[i - 1] == '.' ? TOKEN_FRACTION
							   : TOKEN_PLAIN;
		needle->tokens[needle->token_count++] = (struct needle_token){token_end(hash), places};
	}
}

static bool make_needle(struct arena *arena, const struct regex_literal *literal, struct needle *needle)
{
	*needle = (struct needle){.trigrams = arena_alloc(arena, (literal->text.len + 1) * sizeof *needle->trigrams),
		.tokens = arena_alloc(arena, (literal->text.len + 1) * sizeof *needle->tokens)};
	if (!needle->trigrams || !needle->tokens)
		return false;
	add_trigrams(needle, literal->text);
	add_tokens(needle, literal);
	return true;
}

/* A clause with a literal that says nothing can deny nothing. */
static enum status add_clause(struct log_needles *needles, const struct regex_clause *clause, struct error *err)
{
	struct needle *any = arena_alloc(needles->arena, clause->count * sizeof *any);

	if (!any)
		return error_no_memory(err);
	for (size_t i = 0; i < clause->count; i++) {
		if (!make_needle(needles->arena, &clause->any[i], &any[i]))
			return error_no_memory(err);
		if (!any[i].trigram_count && !any[i].token_count)
			return OK;
	}
	needles->clauses[needles->count++] = (struct needle_clause){any, clause->count};
	return OK;
}

enum status log_needles_new(
	struct log_needles **out, struct span text, bool is_regex, bool ignore_case, struct error *err)
{
	AUTO(log_needles) needles = mem_zeroed(sizeof *needles);
	struct regex_literal literal = {.text = text};
	struct regex_clause whole = {&literal, 1}, *clauses = &whole;
	size_t count = 1;

	*out = NULL;
	if (!needles || !(needles->arena = arena_new()))
		return error_no_memory(err);
	if (is_regex)
		TRY(regex_literals(text, needles->arena, &clauses, &count, err));
	else if (ignore_case && !span_is_ascii(text))
		return OK;
	needles->clauses = arena_alloc(needles->arena, (count + 1) * sizeof *needles->clauses);
	if (!needles->clauses)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		TRY(add_clause(needles, &clauses[i], err));
	if (needles->count) {
		*out = TAKE(needles);
	}
	return OK;
}

/* ---- asking ---- */

struct sets {
	struct span trigrams, tokens, fractions;
};

static bool has_needle(const struct sets *sets, const struct needle *needle)
{
	for (size_t i = 0; i < needle->trigram_count; i++) {
		size_t bit = needle->trigrams[i] & (sets->trigrams.len * 8 - 1);
		if (!((unsigned char)sets->trigrams.ptr[bit / 8] >> bit % 8 & 1))
			return false;
	}
	for (size_t i = 0; i < needle->token_count; i++) {
		const struct needle_token *token = &needle->tokens[i];
		if (!(token->places & TOKEN_PLAIN && bloom_has(sets->tokens, TOKEN_HASHES, token->fingerprint)) &&
			!(token->places & TOKEN_FRACTION &&
				bloom_has(sets->fractions, FRACTION_HASHES, token->fingerprint)))
			return false;
	}
	return true;
}

static bool unpack_sets(struct span filter, struct sets *sets)
{
	if (filter.len < 2 || filter.ptr[0] != FILTER_FORMAT || filter.ptr[1] < TRIGRAM_BITS_MIN ||
		filter.ptr[1] > TRIGRAM_BITS)
		return false;
	size_t bytes = (size_t)1 << (filter.ptr[1] - 3);
	if (filter.len - 2 < bytes)
		return false;
	sets->trigrams = span_of(filter.ptr + 2, bytes);
	struct unpacker in = unpacker_on(span_skip(filter, 2 + bytes));
	sets->tokens = unpack_span(&in);
	sets->fractions = unpack_span(&in);
	return !in.has_failed && !in.rest.len;
}

bool log_filter_may_hold(struct span filter, const struct log_needles *needles)
{
	struct sets sets;

	if (!unpack_sets(filter, &sets))
		return true;
	for (size_t i = 0; i < needles->count; i++) {
		bool has_any = false;
		for (size_t j = 0; j < needles->clauses[i].count && !has_any; j++)
			has_any = has_needle(&sets, &needles->clauses[i].any[j]);
		if (!has_any)
			return false;
	}
	return true;
}
