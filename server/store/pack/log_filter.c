#include "store/pack/log_filter.h"

#include "base/arena.h"
#include "base/codec/pack.h"
#include "base/text/regex_literals.h"
#include "model/jobs/aggregate.h"

enum {
	FORMAT = 1,
	TRIGRAM_BITS = 16, /* log2 of the bitmap before it is folded: 8 KiB stay in the L1 cache */
	TRIGRAM_BITS_MIN = 6,
	TRIGRAM_SPARSE = 16, /* folded while fewer than 1 / this of its bits are set */
	TOKEN_BITS = 20, /* fingerprints, to tell distinct ones by a bitmap */
	TOKEN_KEY_BITS = 6,
	TOKEN_HASHES = 4,
	FRACTION_KEY_BITS = 3,
	FRACTION_HASHES = 2,
};

enum { IS_WORD = 1, IS_BARRED = 2 }; /* barred: no trigram holds it */

static unsigned char fold(unsigned char c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static unsigned char class_of(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return IS_WORD | IS_BARRED;
	if (c == '\n')
		return IS_BARRED;
	return (fold(c) >= 'a' && fold(c) <= 'z') || c == '_' ? IS_WORD : 0;
}

static uint32_t trigram_hash(uint32_t trigram)
{
	return trigram * 0x9e3779b1u >> (32 - TRIGRAM_BITS);
}

enum { TOKEN_SEED = 0x1505 };

static uint32_t token_step(uint32_t hash, unsigned char folded)
{
	return (hash ^ folded) * 0x01000193u;
}

static uint32_t token_end(uint32_t hash)
{
	hash ^= hash >> 15;
	return hash * 0x85ebca6bu >> (32 - TOKEN_BITS);
}

/* ---- Bloom filters over fingerprints ---- */

static size_t bloom_bit(uint32_t fingerprint, unsigned i, size_t bits)
{
	uint64_t mixed = (fingerprint + 1) * 0x9e3779b97f4a7c15u;
	uint32_t low = (uint32_t)mixed | 1, high = (uint32_t)(mixed >> 32);

	return (size_t)((uint64_t)(uint32_t)(high + i * low) * bits >> 32);
}

static bool bloom_has(struct span bloom, unsigned hashes, uint32_t fingerprint)
{
	for (unsigned i = 0; i < hashes && bloom.len; i++) {
		size_t bit = bloom_bit(fingerprint, i, bloom.len * 8);
		if (!((unsigned char)bloom.ptr[bit / 8] >> bit % 8 & 1))
			return false;
	}
	return bloom.len > 0;
}

/* ---- building ---- */

enum { CLASS_SHIFT = 8, SEEN_BITS = 11, STEP = sizeof(uint64_t), DIGIT = IS_WORD | IS_BARRED };

struct builder {
	uint16_t characters[256]; /* folded, and above that its class */
	uint32_t
		seen[1 << SEEN_BITS]; /* by a hash of the 8 bytes there: where a text began that was read; 0: nowhere */
	uint64_t trigrams[(1 << TRIGRAM_BITS) / 64];
	uint64_t tokens[(1 << TOKEN_BITS) / 64];
	uint64_t fractions[(1 << TOKEN_BITS) / 64];
};

/* What was read last. */
struct reading {
	uint32_t bytes; /* folded */
	unsigned since_barred; /* how many of them are behind the last digit or newline */
};

static void set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / 64] |= 1ull << at % 64;
}

static inline void add_trigram(struct builder *b, struct reading *reading, uint16_t character)
{
	reading->bytes = reading->bytes << 8 | (unsigned char)character;
	if (++reading->since_barred >= 3)
		set_bit(b->trigrams, trigram_hash(reading->bytes & 0xffffff));
}

static inline uint16_t character_at(const struct builder *b, const char *at, const char *end)
{
	return at < end ? b->characters[(unsigned char)*at] : 0;
}

static inline bool is_of(const struct builder *b, char c, unsigned class)
{
	return b->characters[(unsigned char)c] >> CLASS_SHIFT & class;
}

static inline uint64_t load(const char *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof bytes);
	return bytes;
}

/* The first of these bytes in memory is the lowest of the word. */
static inline uint64_t load_little(const char *at)
{
	uint64_t bytes = load(at);

	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? bytes : __builtin_bswap64(bytes);
}

/* How many digits lead, at most 8. */
static inline unsigned count_digits(uint64_t little)
{
	const uint64_t ones = 0x0101010101010101u;
	uint64_t values = little ^ ones * '0';
	uint64_t others = (((values & ones * 0x7f) + ones * (0x80 - 10)) | values) & ones * 0x80;

	return others ? (unsigned)__builtin_ctzll(others) / 8 : STEP;
}

/*
 * Of fewer than 8 digits, without a branch that depends on how many: no processor foresees that. The zeros behind them only multiply, and
 * the inverse of what they multiply by undoes it.
 */
static inline uint32_t digits_hash(uint64_t little, unsigned count)
{
	static const uint32_t undo[STEP] = {
		0xd872e4e1u, 0x9dde4e33u, 0xb7f51a49u, 0xdfd860ebu, 0x4ca091f1u, 0x91c5be63u, 0xdd4ab5d9u, 0x359c449bu};
	uint32_t hash = TOKEN_SEED;

	little &= (1ull << count * 8) - 1;
#pragma GCC unroll 8
	for (unsigned i = 0; i < STEP; i++, little >>= 8)
		hash = token_step(hash, (unsigned char)little);
	return hash * undo[count];
}

/* One that begins here, to its end. Digits and letters each have their loop: what is next of the same kind is what a processor foresees. */
static inline const char *add_token(
	struct builder *b, struct reading *reading, const char *at, const char *end, uint64_t *set)
{
	uint32_t hash = TOKEN_SEED;
	unsigned count = 0;

	if (is_of(b, *at, IS_BARRED) && end - at > STEP && (count = count_digits(load_little(at))) < STEP) {
		hash = digits_hash(load_little(at), count);
		reading->since_barred = 0;
		at += count;
	}
	for (uint16_t character = character_at(b, at, end); character >> CLASS_SHIFT & IS_WORD;) {
		for (; character >> CLASS_SHIFT == IS_WORD; character = character_at(b, ++at, end)) {
			hash = token_step(hash, (unsigned char)character);
			add_trigram(b, reading, character);
		}
		if (character >> CLASS_SHIFT == DIGIT)
			reading->since_barred = 0;
		for (; character >> CLASS_SHIFT == DIGIT; character = character_at(b, ++at, end))
			hash = token_step(hash, (unsigned char)character);
	}
	set_bit(set, token_end(hash));
	return at;
}

static inline const char *end_of_same(const char *old, const char *at, const char *end)
{
	for (; end - at >= STEP; at += STEP, old += STEP) {
		uint64_t others = load_little(old) ^ load_little(at);
		if (others)
			return at + __builtin_ctzll(others) / 8;
	}
	return at;
}

/*
 * Logs repeat themselves. What stands here, at a byte that is of no token, with the two bytes before it, and stood earlier in the text has
 * nothing new in it, up to the last byte that is of no token: trigrams and tokens before that lie in it whole. NULL: nothing is known.
 */
static inline const char *skip_known(
	struct builder *b, struct reading *reading, struct span text, const char *at, const char *end)
{
	if (at - text.ptr < 2 || end - at <= STEP || is_of(b, at[1], IS_BARRED)) /* numbers mostly are new */
		return NULL;
	uint32_t *slot = &b->seen[load(at) * 0x9e3779b97f4a7c15u >> (64 - SEEN_BITS)];
	const char *old = text.ptr + *slot;
	*slot = (uint32_t)(at - text.ptr);
	if (old - text.ptr < 2 || load(old) != load(at) || memcmp(old - 2, at - 2, 2) != 0)
		return NULL;
	const char *stop = end_of_same(old + STEP, at + STEP, end);
	while (is_of(b, *--stop, IS_WORD))
		;
	if (stop - at < 2)
		return NULL;
	reading->bytes = (uint32_t)(unsigned char)b->characters[(unsigned char)stop[-2]] << 8 |
			 (unsigned char)b->characters[(unsigned char)stop[-1]];
	reading->since_barred = is_of(b, stop[-1], IS_BARRED) ? 0 : is_of(b, stop[-2], IS_BARRED) ? 1 : 2;
	return stop;
}

static void add_text(struct builder *b, struct span text)
{
	const char *at = text.ptr, *end = text.ptr + text.len;
	struct reading reading = {0};

	while (at < end) {
		if (is_of(b, *at, IS_WORD)) {
			bool is_fraction = at > text.ptr && at[-1] == '.';
			at = add_token(b, &reading, at, end, is_fraction ? b->fractions : b->tokens);
			continue;
		}
		if (is_of(b, *at, IS_BARRED))
			reading.since_barred = 0;
		else
			add_trigram(b, &reading, character_at(b, at, end));
		const char *next = skip_known(b, &reading, text, at, end);
		at = next ? next : at + 1;
	}
}

static size_t count_bits(const uint64_t *words, size_t count)
{
	size_t bits = 0;

	for (size_t i = 0; i < count; i++)
		bits += (size_t)__builtin_popcountll(words[i]);
	return bits;
}

/* Halves it while it is sparse: a hash then counts modulo the size. */
static unsigned fold_trigrams(uint64_t *words)
{
	unsigned bits = TRIGRAM_BITS;

	while (bits > TRIGRAM_BITS_MIN && count_bits(words, (1u << bits) / 64) * TRIGRAM_SPARSE < 1u << bits) {
		bits--;
		for (size_t i = 0; i < (1u << bits) / 64; i++)
			words[i] |= words[i + (1u << bits) / 64];
	}
	return bits;
}

static void pack_words(const uint64_t *words, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		for (unsigned byte = 0; byte < 8; byte++)
			buf_append_char(out, (char)(words[i] >> byte * 8));
}

static void pack_bloom(const uint64_t *words, size_t key_bits, unsigned hashes, struct buf *out)
{
	size_t count = (1u << TOKEN_BITS) / 64, keys = count_bits(words, count), bytes = (keys * key_bits + 7) / 8;

	pack_u64(out, bytes);
	char *bloom = buf_reserve(out, bytes);
	if (!bloom)
		return;
	memset(bloom, 0, bytes);
	for (size_t i = 0; i < count; i++)
		for (uint64_t rest = words[i]; rest; rest &= rest - 1)
			for (unsigned h = 0; h < hashes; h++) {
				uint32_t key = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(rest);
				size_t bit = bloom_bit(key, h, bytes * 8);
				bloom[bit / 8] = (char)(bloom[bit / 8] | 1 << bit % 8);
			}
	buf_advance(out, bytes);
}

enum status log_filter_pack(struct span text, struct buf *out, struct error *err)
{
	AUTO_MEM struct builder *b = mem_zeroed(sizeof *b);

	if (!b)
		return error_no_memory(err);
	for (unsigned c = 0; c < 256; c++)
		b->characters[c] = (uint16_t)(class_of((unsigned char)c) << CLASS_SHIFT | fold((unsigned char)c));
	add_text(b, text);
	unsigned bits = fold_trigrams(b->trigrams);
	buf_append_char(out, FORMAT);
	buf_append_char(out, (char)bits);
	pack_words(b->trigrams, (1u << bits) / 64, out);
	pack_bloom(b->tokens, TOKEN_KEY_BITS, TOKEN_HASHES, out);
	pack_bloom(b->fractions, FRACTION_KEY_BITS, FRACTION_HASHES, out);
	return buf_status(out, err);
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
		trigram = (trigram << 8 | fold(c)) & 0xffffff;
		since_barred = class_of(c) & IS_BARRED ? 0 : since_barred + 1;
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
		for (end = i; end < text.len && class_of((unsigned char)text.ptr[end]) & IS_WORD; end++)
			hash = token_step(hash, fold((unsigned char)text.ptr[end]));
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

static bool is_ascii(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] & 0x80)
			return false;
	return true;
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
	else if (ignore_case && !is_ascii(text))
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
	if (filter.len < 2 || filter.ptr[0] != FORMAT || filter.ptr[1] < TRIGRAM_BITS_MIN ||
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
