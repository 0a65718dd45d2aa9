#include "extract/line/sieve.h"

#include "base/arena.h"
#include "base/text/regex_literals.h"
#include "extract/line/sieve_wide.h"

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
	KEY_BYTES = 3,
	STRIDE_MAX = 4,
	LONG_KEY_BYTES =
		6, /* at most, where all literals are long enough for the stride above: seldom is such a key another's */
	READ_BYTES = 8, /* for a key */
	LITERAL_ENOUGH = 2 * LONG_KEY_BYTES - 1,
	SLOT_BITS_MIN = 10,
	SLOT_BITS_MAX = 14,
	MARK_BITS = 16,
	ENTRIES_MAX = UINT16_MAX - 1
};

#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
#define FOLD_EIGHT UINT64_C(0x2020202020202020)

struct sieve {
	struct arena *arena; /* of all that follows; grows once more, when the table is made */
	pthread_mutex_t making;
	_Atomic(struct sieve_table *) table; /* NULL: not made, or there was no memory */
	size_t count;
	struct span patterns[SIEVE_MAX];
};

/* Of its first bits the slot and the mark. The factor has no bits for what stands behind the key. */
static inline uint32_t hash_of_key(uint64_t factor, uint64_t key)
{
	return (uint32_t)((key | FOLD_EIGHT) * factor >> 32);
}

static uint32_t hash_of(const struct sieve_table *table, const char *at)
{
	uint64_t key = 0;

	for (unsigned i = 0; i < table->key_bytes; i++)
		key |= (uint64_t)(unsigned char)at[i] << 8 * i;
	return hash_of_key(table->factor, key);
}

/* The same, of text with READ_BYTES, which costs one load where bytes lie in this order. */
static inline uint32_t hash_within(uint64_t factor, const char *at)
{
	uint64_t key;

	memcpy(&key, at, sizeof key);
	return hash_of_key(factor, le64toh(key));
}

static size_t shortest_of(const struct regex_clause *clause)
{
	size_t shortest = SIZE_MAX;

	for (size_t i = 0; i < clause->count; i++)
		shortest = clause->any[i].text.len < shortest ? clause->any[i].text.len : shortest;
	return clause->count ? shortest : 0;
}

/* The clause whose shortest literal is longest; any one is enough. Empty: there is none of use. */
static enum status find_clause(struct regex_clause *out, struct arena *arena, struct span pattern, struct error *err)
{
	struct regex_clause *clauses;
	size_t count, best_bytes = KEY_BYTES - 1;

	*out = (struct regex_clause){0};
	TRY(regex_literals_of_first(pattern, arena, &clauses, &count, err));
	for (size_t i = 0; i < count; i++)
		if (shortest_of(&clauses[i]) > best_bytes) {
			*out = clauses[i];
			best_bytes = shortest_of(&clauses[i]);
		}
	return OK;
}

static void own(uint64_t words[SIEVE_WORDS], size_t pattern)
{
	words[pattern / 64] |= UINT64_C(1) << pattern % 64;
}

/* How telling each byte of a key is, folded: in logs each class is about half as frequent as the one before. */
static void fill_rarity(unsigned char rarity[256])
{
	static const char *const common[] = {
		" ", "0123aest", "\",.456789:cilmnopr", "*-/=dghu{}", ");bfvy", "'k", ">wx|", "!(+<qz"};
	enum { CLASSES = sizeof common / sizeof common[0] };

	memset(rarity, CLASSES, 256);
	for (size_t class = 0; class < CLASSES; class ++)
		for (const char *c = common[class]; *c; c++)
			rarity[(unsigned char)*c] = (unsigned char)class;
}

static unsigned rarity_of(const struct sieve_table *table, const char *key)
{
	unsigned sum = 0;

	for (size_t i = 0; i < table->key_bytes; i++)
		sum += table->rarity[(unsigned char)key[i]];
	return sum;
}

/* Where the neighbouring keys start that tell most. */
static size_t offset_of(const struct sieve_table *table, struct span text)
{
	size_t best = 0;
	unsigned best_sum = 0;

	for (size_t first = 0; first + table->stride + table->key_bytes - 1 <= text.len; first++) {
		unsigned sum = 0;
		for (size_t i = 0; i < table->stride; i++)
			sum += rarity_of(table, text.ptr + first + i);
		if (sum > best_sum) {
			best_sum = sum;
			best = first;
		}
	}
	return best;
}

static void mark(struct sieve_table *table, uint32_t hash)
{
	uint32_t bit = hash >> (32 - MARK_BITS);

	table->marks[bit / 64] |= UINT64_C(1) << bit % 64;
}

static void put_entry(struct sieve_table *table, struct span text, size_t offset, size_t pattern, uint16_t next)
{
	struct sieve_entry *entry = &table->entries[table->entry_count++];

	*entry = (struct sieve_entry){text.ptr, (uint16_t)text.len, (uint16_t)offset, next, {0}};
	own(entry->owners, pattern);
}

static void add_entry(struct sieve_table *table, struct span text, size_t offset, size_t pattern)
{
	uint32_t hash = hash_of(table, text.ptr + offset);
	uint16_t *slot = &table->slots[hash >> table->slot_shift];

	for (uint16_t i = *slot; i; i = table->entries[i - 1].next) {
		struct sieve_entry *entry = &table->entries[i - 1];
		if (entry->offset == offset && span_equal(span_of(entry->text, entry->len), text)) {
			own(entry->owners, pattern);
			return;
		}
	}
	put_entry(table, text, offset, pattern, *slot);
	*slot = (uint16_t)table->entry_count;
	mark(table, hash);
}

static bool add_literal(struct sieve_table *table, struct arena *arena, struct span literal, size_t pattern)
{
	char *folded = arena_alloc(arena, literal.len + 1); /* a key may be a byte longer than the shortest */

	if (!folded)
		return false;
	folded[literal.len] = 0;
	for (size_t i = 0; i < literal.len; i++)
		folded[i] = (char)sieve_fold(literal.ptr[i]);
	struct span text = span_of(folded, literal.len);
	size_t offset = offset_of(table, text);
	if (table->is_wide)
		put_entry(table, text, offset, pattern, 0);
	for (size_t i = 0; i < table->stride && !table->is_wide; i++)
		add_entry(table, text, offset + i, pattern);
	return true;
}

static bool alloc_hashes(struct sieve_table *table, struct arena *arena, size_t entries)
{
	unsigned bits = SLOT_BITS_MIN;
	size_t mark_bytes = ((size_t)1 << MARK_BITS) / 8;

	while (bits < SLOT_BITS_MAX && (size_t)1 << bits < entries * 64)
		bits++;
	table->slot_shift = 32 - bits;
	size_t slot_bytes = ((size_t)1 << bits) * sizeof *table->slots;
	table->marks = arena_alloc(arena, mark_bytes);
	table->slots = arena_alloc(arena, slot_bytes);
	table->entries = arena_alloc(arena, (entries + 1) * sizeof *table->entries);
	table->entry_count = 0;
	if (!table->marks || !table->slots || !table->entries)
		return false;
	memset(table->marks, 0, mark_bytes);
	memset(table->slots, 0, slot_bytes);
	return true;
}

static bool add_all(struct sieve_table *table, struct arena *arena, const struct regex_clause *clauses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < clauses[i].count; j++)
			if (!add_literal(table, arena, clauses[i].any[j].text, i))
				return false;
	return true;
}

/* Key and stride are what the shortest literal allows. */
static bool fill_hashes(struct sieve_table *table, struct arena *arena, const struct regex_clause *clauses,
	size_t count, size_t literals)
{
	size_t shortest = LITERAL_ENOUGH;

	for (size_t i = 0; i < count; i++) {
		size_t bytes = clauses[i].count ? shortest_of(&clauses[i]) : SIZE_MAX;
		shortest = bytes < shortest ? bytes : shortest;
	}
	table->key_bytes = shortest < KEY_BYTES + STRIDE_MAX ? KEY_BYTES : (unsigned)(shortest + 1) / 2;
	table->factor = HASH_FACTOR << 8 * (READ_BYTES - table->key_bytes);
	table->stride = (unsigned)(shortest - table->key_bytes + 1);
	return alloc_hashes(table, arena, literals * table->stride) && add_all(table, arena, clauses, count);
}

/* Not wide in the end: they are too many. */
static bool fill_wide(struct sieve_table *table, struct arena *arena, const struct regex_clause *clauses, size_t count,
	size_t literals)
{
	table->is_wide = literals <= SIEVE_WIDE_MOST && sieve_can_be_wide();
	if (!table->is_wide)
		return true;
	table->key_bytes = SIEVE_WIDE_KEY;
	table->stride = 1;
	table->entries = arena_alloc(arena, (literals + 1) * sizeof *table->entries);
	if (!table->entries || !add_all(table, arena, clauses, count))
		return false;
	table->is_wide = sieve_wide_fill(table);
	return true;
}

static enum status fill(
	struct sieve_table *table, struct arena *arena, const struct span *patterns, size_t count, struct error *err)
{
	AUTO(arena) scratch = arena_new();
	struct regex_clause clauses[SIEVE_MAX];
	size_t literals = 0;

	if (!scratch)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		TRY(find_clause(&clauses[i], scratch, patterns[i], err));
		if ((literals + clauses[i].count) * LONG_KEY_BYTES > ENTRIES_MAX)
			clauses[i].count = 0;
		literals += clauses[i].count;
		if (patterns[i].len && clauses[i].count == 0)
			own(table->always, i);
	}
	if (!fill_wide(table, arena, clauses, count, literals) ||
		(!table->is_wide && !fill_hashes(table, arena, clauses, count, literals)))
		return error_no_memory(err);
	return OK;
}

/* The others wait. */
static const struct sieve_table *make_table(struct sieve *sieve)
{
	pthread_mutex_lock(&sieve->making);
	struct sieve_table *table = atomic_load(&sieve->table);
	if (!table && (table = arena_alloc(sieve->arena, sizeof *table))) {
		*table = (struct sieve_table){0};
		fill_rarity(table->rarity);
		if (fill(table, sieve->arena, sieve->patterns, sieve->count, NULL) == OK)
			atomic_store_explicit(&sieve->table, table, memory_order_release);
		else
			table = NULL;
	}
	pthread_mutex_unlock(&sieve->making);
	return table;
}

static enum status copy_patterns(struct sieve *sieve, const struct span *patterns, struct error *err)
{
	for (size_t i = 0; i < sieve->count; i++) {
		sieve->patterns[i] = arena_copy(sieve->arena, patterns[i]);
		if (sieve->patterns[i].len < patterns[i].len)
			return error_no_memory(err);
	}
	return OK;
}

enum status sieve_new(struct sieve **out, const struct span *patterns, size_t count, struct error *err)
{
	AUTO(sieve) sieve = mem_zeroed(sizeof *sieve);

	if (!sieve)
		return error_no_memory(err);
	pthread_mutex_init(&sieve->making, NULL);
	if (!(sieve->arena = arena_new()))
		return error_no_memory(err);
	sieve->count = count < SIEVE_MAX ? count : SIEVE_MAX;
	TRY(copy_patterns(sieve, patterns, err));
	*out = TAKE(sieve);
	return OK;
}

void sieve_free(struct sieve *sieve)
{
	if (!sieve)
		return;
	pthread_mutex_destroy(&sieve->making);
	arena_free(sieve->arena);
	mem_free(sieve);
}

/* In the lowest bit. */
static inline uint64_t mark_of(const uint64_t *marks, uint32_t hash)
{
	uint32_t bit = hash >> (32 - MARK_BITS);

	return marks[bit / 64] >> bit % 64;
}

static inline void look(
	const struct sieve_table *table, uint32_t hash, struct span text, size_t at, uint64_t found[SIEVE_WORDS])
{
	if (mark_of(table->marks, hash) & 1)
		sieve_look(table, table->slots[hash >> table->slot_shift], text, at, found);
}

/* Where a key is near the end. */
static __attribute__((noinline)) void find_at_end(
	const struct sieve_table *table, struct span text, size_t at, uint64_t found[SIEVE_WORDS])
{
	char end[2 * READ_BYTES] = {0};

	for (; at + READ_BYTES <= text.len; at += table->stride)
		look(table, hash_within(table->factor, text.ptr + at), text, at, found);
	if (at >= text.len)
		return;
	memcpy(end, text.ptr + at, text.len - at);
	for (size_t i = at; i + table->key_bytes <= text.len; i += table->stride)
		look(table, hash_within(table->factor, end + (i - at)), text, i, found);
}

/* Not inlined: the loop that leads here would have no registers left. */
static __attribute__((noinline)) void look_at_four(
	const struct sieve_table *table, struct span text, size_t at, uint64_t found[SIEVE_WORDS])
{
	for (size_t i = 0; i < 4; i++, at += table->stride)
		look(table, hash_within(table->factor, text.ptr + at), text, at, found);
}

/* Four places at a time: nearly always there is nothing at any of them. */
static void find(const struct sieve_table *table, struct span text, uint64_t found[SIEVE_WORDS])
{
	const uint64_t *marks = table->marks;
	uint64_t factor = table->factor;
	size_t stride = table->stride, at = 0;

	for (; at + 3 * stride + READ_BYTES <= text.len; at += 4 * stride) {
		const char *key = text.ptr + at;
		uint32_t a = hash_within(factor, key), b = hash_within(factor, key + stride);
		uint32_t c = hash_within(factor, key + 2 * stride), d = hash_within(factor, key + 3 * stride);
		uint64_t any = mark_of(marks, a) | mark_of(marks, b) | mark_of(marks, c) | mark_of(marks, d);
		if (__builtin_expect((any & 1) == 0, 1))
			continue;
		look_at_four(table, text, at, found);
	}
	find_at_end(table, text, at, found);
}

void sieve_find(const struct sieve *sieve, struct span text, uint64_t found[SIEVE_WORDS])
{
	const struct sieve_table *table = atomic_load_explicit(&sieve->table, memory_order_acquire);

	if (table || (table = make_table((struct sieve *)sieve))) {
		memcpy(found, table->always, sizeof table->always);
		if (table->is_wide)
			sieve_wide_find(table, text, found);
		else
			find(table, text, found);
		return;
	}
	memset(found, 0, SIEVE_WORDS * sizeof *found); /* without memory each is searched for */
	for (size_t i = 0; i < sieve->count; i++)
		if (sieve->patterns[i].len)
			own(found, i);
}
