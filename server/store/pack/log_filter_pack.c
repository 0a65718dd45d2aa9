/* Building a search filter: docs/decisions/0043 says what was tried. tests/support/log_filter_definition.h says the same slowly and plainly. */
#include "base/codec/pack.h"
#include "store/pack/log_filter.h"
#include "store/pack/log_filter_format.h"

enum {
	TRIGRAM_SPARSE = 16, /* the bitmap is folded while fewer than 1 / this of its bits are set */
	TOKEN_KEY_BITS = 6,
	FRACTION_KEY_BITS = 3,
	FRACTION = 1 << TOKEN_BITS, /* fingerprints of tokens behind a '.' are from here on */
	KNOWN_BITS = 11,
	STEP = sizeof(uint64_t),
	DIGIT = IS_WORD | IS_BARRED,
	NUMBERS = 64,
	GROUP_BITS = 10,
	GROUP_WORDS = (1 << GROUP_BITS) / 64,
	GROUPS = 1 << (TOKEN_BITS - GROUP_BITS),
};

/* Tokens of fewer than 8 digits, which are hashed together. */
struct numbers {
	uint32_t low[NUMBERS], high[NUMBERS]; /* the first four digits, and the rest; zeros behind them */
	uint32_t undo[NUMBERS];
	uint32_t sets[NUMBERS]; /* 0 or FRACTION */
	size_t count;
};

struct builder {
	unsigned char classes[256], folded[256];
	uint32_t known
		[1 << KNOWN_BITS]; /* by a hash of the 8 bytes there: where a text began that was read; 0: nowhere */
	struct numbers numbers;
	uint64_t trigrams[(1 << TRIGRAM_BITS) / 64];
	uint64_t tokens[2 * (1 << TOKEN_BITS) / 64];
	bool has_tokens[2 * GROUPS]; /* of a short text most groups have none, and are not looked through */
};

/* What was read last. */
struct reading {
	uint32_t bytes; /* folded */
	unsigned since_barred; /* how many of them are behind the last digit or newline */
};

static inline void set_bit(uint64_t *bits, uint32_t at)
{
	bits[at / 64] |= 1ull << at % 64;
}

static inline void add_trigram(struct builder *b, struct reading *reading, unsigned char folded)
{
	reading->bytes = reading->bytes << 8 | folded;
	if (++reading->since_barred >= 3)
		set_bit(b->trigrams, trigram_hash(reading->bytes & 0xffffff));
}

static inline void add_fingerprint(struct builder *b, uint32_t at)
{
	set_bit(b->tokens, at);
	b->has_tokens[at >> GROUP_BITS] = true;
}

static inline unsigned char class_at(const struct builder *b, const char *at)
{
	return b->classes[(unsigned char)*at];
}

static inline unsigned char folded_at(const struct builder *b, const char *at)
{
	return b->folded[(unsigned char)*at];
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

/* ---- numbers ---- */

typedef uint32_t lanes __attribute__((vector_size(32)));
enum { LANES = sizeof(lanes) / sizeof(uint32_t) };

static inline __attribute__((always_inline)) void load_lanes(lanes *to, const uint32_t *from)
{
	memcpy(to, from, sizeof *to);
}

/* token_step seven times and token_end, of eight numbers at once. */
static inline __attribute__((always_inline)) void hash_lanes(const struct numbers *numbers, uint32_t *hashes)
{
	for (size_t i = 0; i < NUMBERS; i += LANES) {
		lanes low, high, undo, sets;
		load_lanes(&low, numbers->low + i);
		load_lanes(&high, numbers->high + i);
		load_lanes(&undo, numbers->undo + i);
		load_lanes(&sets, numbers->sets + i);
		lanes hash = (TOKEN_SEED ^ (low & 0xff)) * TOKEN_PRIME;
		hash = (hash ^ (low >> 8 & 0xff)) * TOKEN_PRIME;
		hash = (hash ^ (low >> 16 & 0xff)) * TOKEN_PRIME;
		hash = (hash ^ low >> 24) * TOKEN_PRIME;
		hash = (hash ^ (high & 0xff)) * TOKEN_PRIME;
		hash = (hash ^ (high >> 8 & 0xff)) * TOKEN_PRIME;
		hash = (hash ^ high >> 16) * TOKEN_PRIME * undo;
		hash ^= hash >> 15;
		hash = (hash * TOKEN_MIXER >> (32 - TOKEN_BITS)) | sets;
		memcpy(hashes + i, &hash, sizeof hash);
	}
}

#ifdef __x86_64__
static __attribute__((target("avx2"))) void hash_lanes_avx2(const struct numbers *numbers, uint32_t *hashes)
{
	hash_lanes(numbers, hashes);
}
#endif

static void choose_hash(const struct numbers *numbers, uint32_t *hashes)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) { /* an eighth of the whole filter's time */
		hash_lanes_avx2(numbers, hashes);
		return;
	}
#endif
	hash_lanes(numbers, hashes);
}

static __attribute__((noinline)) void hash_numbers(struct builder *b)
{
	uint32_t hashes[NUMBERS];

	choose_hash(&b->numbers, hashes);
	for (size_t i = 0; i < b->numbers.count; i++)
		add_fingerprint(b, hashes[i]);
	b->numbers.count = 0;
}

/* Without a branch that depends on how many digits: no processor foresees that. The zeros behind them only multiply. */
static inline void add_number(struct builder *b, uint64_t little, unsigned count, uint32_t set)
{
	/* The inverse of what the zeros multiply by. */
	static const uint32_t undo[STEP] = {
		0x9dde4e33u, 0xb7f51a49u, 0xdfd860ebu, 0x4ca091f1u, 0x91c5be63u, 0xdd4ab5d9u, 0x359c449bu, 1};
	struct numbers *numbers = &b->numbers;
	size_t at = numbers->count++;

	little &= (1ull << count * 8) - 1;
	numbers->low[at] = (uint32_t)little;
	numbers->high[at] = (uint32_t)(little >> 32);
	numbers->undo[at] = undo[count];
	numbers->sets[at] = set;
	if (numbers->count == NUMBERS)
		hash_numbers(b);
}

/* ---- tokens ---- */

static inline uint32_t set_at(const char *token, const char *begin)
{
	return token > begin && token[-1] == '.' ? FRACTION : 0;
}

/* One that begins here, to its end. Digits and letters each have their loop: what is next of the same kind is what a processor foresees. */
static inline const char *add_token(
	struct builder *b, struct reading *reading, const char *at, const char *end, uint32_t set)
{
	uint32_t hash = TOKEN_SEED;

	if (class_at(b, at) == DIGIT && end - at > STEP) {
		uint64_t little = load_little(at);
		unsigned count = count_digits(little);
		if (count < STEP && !(class_at(b, at + count) & IS_WORD)) {
			reading->since_barred = 0;
			add_number(b, little, count, set);
			return at + count;
		}
	}
	while (at < end && class_at(b, at) & IS_WORD) {
		for (; at < end && class_at(b, at) == IS_WORD; at++) {
			hash = token_step(hash, folded_at(b, at));
			add_trigram(b, reading, folded_at(b, at));
		}
		for (; at < end && class_at(b, at) == DIGIT; at++) {
			hash = token_step(hash, (unsigned char)*at);
			reading->since_barred = 0;
		}
	}
	add_fingerprint(b, token_end(hash) | set);
	return at;
}

/* The one around here, wherever it begins, without its trigrams. */
static void add_token_around(struct builder *b, const char *at, struct span text)
{
	const char *end = text.ptr + text.len;
	uint32_t hash = TOKEN_SEED;

	while (at > text.ptr && class_at(b, at - 1) & IS_WORD)
		at--;
	uint32_t set = set_at(at, text.ptr);
	for (; at < end && class_at(b, at) & IS_WORD; at++)
		hash = token_step(hash, folded_at(b, at));
	add_fingerprint(b, token_end(hash) | set);
}

/* ---- what was read before ---- */

/* How many bytes are the same in both; SIZE_MAX: all of the next 16. */
static inline size_t count_same(const char *old, const char *at)
{
	uint64_t first = load_little(old) ^ load_little(at);
	uint64_t second = load_little(old + STEP) ^ load_little(at + STEP);

	if (first)
		return (size_t)__builtin_ctzll(first) / 8;
	return second ? STEP + (size_t)__builtin_ctzll(second) / 8 : SIZE_MAX;
}

/* Two texts differ here. Whether it is in digits alone: then the token with those of the new one is added, and both go on behind them. */
static inline bool pass_digits(struct builder *b, struct span text, const char **old, const char **at)
{
	unsigned before = count_digits(__builtin_bswap64(load_little(*at - STEP)));
	unsigned behind = count_digits(load_little(*at)), old_behind = count_digits(load_little(*old));
	unsigned count = before + behind;
	const char *number = *at - before;

	if (before == STEP || behind == STEP || old_behind == STEP)
		return false;
	if (!count || !(before + old_behind) || !(behind + old_behind) || *old + old_behind >= *at)
		return false;
	*at += behind;
	*old += old_behind;
	if (count < STEP && !(class_at(b, number - 1) & IS_WORD) && !(class_at(b, *at) & IS_WORD))
		add_number(b, load_little(number), count, set_at(number, text.ptr));
	else
		add_token_around(b, number, text);
	return true;
}

/* Along what was read before, as long as nothing but digits differs. Where it ends: behind a byte that is of no token. */
static inline const char *follow(struct builder *b, struct span text, const char *old, const char *at)
{
	const char *end = text.ptr + text.len;

	while (end - at >= 2 * STEP) {
		size_t same = count_same(old, at);
		if (same == SIZE_MAX) {
			at += 2 * STEP;
			old += 2 * STEP;
			continue;
		}
		at += same;
		old += same;
		if (end - at <= STEP || !pass_digits(b, text, &old, &at))
			break;
	}
	while (class_at(b, --at) & IS_WORD)
		;
	return at + 1;
}

/*
 * Logs repeat themselves. What stands here, at a byte that is of no token, with the byte before it, and stood earlier in the text has
 * nothing new in it but the tokens of other numbers, up to the last byte that is of no token: trigrams and the other tokens before that
 * lie in it whole. NULL: nothing is known.
 */
static inline const char *skip_known(struct builder *b, struct span text, const char *at)
{
	uint64_t bytes = load(at);
	uint32_t *known = &b->known[bytes * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];
	const char *old = text.ptr + *known;

	*known = (uint32_t)(at - text.ptr);
	/* No trigram reaches over a digit, whichever it is. */
	if (old == text.ptr || load(old) != bytes || (old[-1] != at[-1] && !(class_at(b, at - 1) & IS_BARRED)))
		return NULL;
	return follow(b, text, old + STEP, at + STEP);
}

static struct reading read_before(const struct builder *b, const char *at)
{
	unsigned since_barred = class_at(b, at - 1) & IS_BARRED ? 0 : class_at(b, at - 2) & IS_BARRED ? 1 : 2;

	return (struct reading){(uint32_t)folded_at(b, at - 2) << 8 | folded_at(b, at - 1), since_barred};
}

static void add_text(struct builder *b, struct span text)
{
	const char *at = text.ptr, *end = text.ptr + text.len, *next;
	struct reading reading = {0};

	while (at < end) {
		if (class_at(b, at) & IS_WORD) {
			at = add_token(b, &reading, at, end, set_at(at, text.ptr));
			continue;
		}
		if (class_at(b, at) & IS_BARRED)
			reading.since_barred = 0;
		else
			add_trigram(b, &reading, folded_at(b, at));
		bool may_be_known = at > text.ptr && end - at > STEP;
		if (may_be_known && !(class_at(b, at + 1) & IS_BARRED) && (next = skip_known(b, text, at))) {
			reading = read_before(b, next);
			at = next;
		} else { /* numbers mostly are new */
			at++;
		}
	}
	hash_numbers(b);
}

/* ---- the three sets ---- */

/* Without the instruction for it, which not every processor has, the compiler's own is a call a word. */
static size_t count_bits(const uint64_t *words, size_t count)
{
	size_t bits = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t sums = words[i] - (words[i] >> 1 & 0x5555555555555555u);
		sums = (sums & 0x3333333333333333u) + (sums >> 2 & 0x3333333333333333u);
		bits += ((sums + (sums >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56;
	}
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

static size_t count_tokens(const uint64_t *words, const bool *has_tokens)
{
	size_t count = 0;

	for (size_t group = 0; group < GROUPS; group++)
		if (has_tokens[group])
			count += count_bits(words + group * GROUP_WORDS, GROUP_WORDS);
	return count;
}

/* Inlined: how many hashes is a constant then. */
static inline __attribute__((always_inline)) void add_keys(
	uint64_t keys, uint32_t first, unsigned hashes, char *bloom, size_t bits)
{
	for (; keys; keys &= keys - 1)
		for (unsigned h = 0; h < hashes; h++) {
			size_t bit = bloom_bit(first + (uint32_t)__builtin_ctzll(keys), h, bits);
			bloom[bit / 8] = (char)(bloom[bit / 8] | 1 << bit % 8);
		}
}

static inline __attribute__((always_inline)) void pack_bloom(
	const struct builder *b, uint32_t set, size_t key_bits, unsigned hashes, struct buf *out)
{
	const uint64_t *words = b->tokens + set / 64;
	const bool *has_tokens = b->has_tokens + (set >> GROUP_BITS);
	size_t bytes = (count_tokens(words, has_tokens) * key_bits + 7) / 8;

	pack_u64(out, bytes);
	char *bloom = buf_reserve(out, bytes);
	if (!bloom)
		return;
	memset(bloom, 0, bytes);
	for (size_t group = 0; group < GROUPS; group++)
		for (size_t i = 0; has_tokens[group] && i < GROUP_WORDS; i++) {
			size_t word = group * GROUP_WORDS + i;
			add_keys(words[word], (uint32_t)(word * 64), hashes, bloom, bytes * 8);
		}
	buf_advance(out, bytes);
}

enum status log_filter_pack(struct span text, struct buf *out, struct error *err)
{
	AUTO_MEM struct builder *b = mem_zeroed(sizeof *b);

	if (!b)
		return error_no_memory(err);
	for (unsigned c = 0; c < 256; c++) {
		b->classes[c] = filter_class_of((unsigned char)c);
		b->folded[c] = filter_fold((unsigned char)c);
	}
	add_text(b, text);
	unsigned bits = fold_trigrams(b->trigrams);
	buf_append_char(out, FILTER_FORMAT);
	buf_append_char(out, (char)bits);
	pack_words(b->trigrams, (1u << bits) / 64, out);
	pack_bloom(b, 0, TOKEN_KEY_BITS, TOKEN_HASHES, out);
	pack_bloom(b, FRACTION, FRACTION_KEY_BITS, FRACTION_HASHES, out);
	return buf_status(out, err);
}
