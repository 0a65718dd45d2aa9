#include "extract/line/sieve.h"

#include "base/arena.h"
#include "base/text/regex_literals.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	KEY_BYTES = 3,
	STRIDE_MAX = 4,
	LONG_KEY_BYTES = 4, /* where all literals are long enough for the stride above */
	LONG_STRIDE_MAX = 8,
	SLOT_BITS_MIN = 10,
	SLOT_BITS_MAX = 12,
	LONG_SLOT_BITS = 14,
	ENTRIES_MAX = UINT16_MAX - 1
};

#define HASH_FACTOR UINT32_C(0x9e3779b1)

/* A literal, found by the key at `offset` in it. */
struct entry {
	const char *text; /* folded */
	uint16_t len, offset;
	uint16_t next; /* with the same slot; 0: the last */
	uint64_t owners[SIEVE_WORDS];
};

struct table {
	unsigned key_bytes, stride, slot_shift;
	uint32_t factor;
	unsigned char rarity[256];
	uint64_t always[SIEVE_WORDS]; /* patterns that require no text */
	uint16_t *slots; /* by the key's hash; 0: none, else of entries, from 1 */
	struct entry *entries;
	size_t entry_count, entry_cap;
};

struct sieve {
	struct arena *arena; /* of all that follows; grows once more, when the table is made */
	pthread_mutex_t making;
	_Atomic(struct table *) table; /* NULL: not made, or there was no memory */
	size_t count;
	struct span patterns[SIEVE_MAX];
};

/* Letters of one case; what else falls together costs a look only. */
static unsigned char fold(char c)
{
	return (unsigned char)c | 0x20;
}

/* The factor of a short key has no bits for the byte behind it. */
static uint32_t slot_of_key(const struct table *table, uint32_t key)
{
	return (key | 0x20202020) * table->factor >> table->slot_shift;
}

static uint32_t slot_of(const struct table *table, const char *at)
{
	uint32_t key = 0;

	for (unsigned i = 0; i < table->key_bytes; i++)
		key |= (uint32_t)(unsigned char)at[i] << 8 * i;
	return slot_of_key(table, key);
}

/* The same, of text with a byte more than a short key, which costs one load where bytes lie in this order. */
static uint32_t slot_within(const struct table *table, const char *at)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	uint32_t key;

	memcpy(&key, at, sizeof key);
	return slot_of_key(table, key);
#else
	return slot_of(table, at);
#endif
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

static bool is_there(const struct entry *entry, struct span text, size_t at)
{
	if (at < entry->offset || text.len - (at - entry->offset) < entry->len)
		return false;
	const char *start = text.ptr + at - entry->offset;
	for (size_t i = 0; i < entry->len; i++)
		if (fold(start[i]) != (unsigned char)entry->text[i])
			return false;
	return true;
}

/* How telling each byte of a key is: what is everywhere in logs says little. */
static void fill_rarity(unsigned char rarity[256])
{
	static const char *const common[] = {" :.,=_-/0123456789eaionrts", "ldcumpg", "fhbywvk()[]"};
	enum { CLASSES = sizeof common / sizeof common[0] };

	memset(rarity, CLASSES, 256);
	for (size_t class = 0; class < CLASSES; class ++)
		for (const char *c = common[class]; *c; c++)
			rarity[(unsigned char)*c] = (unsigned char)class;
}

static unsigned rarity_of(const struct table *table, const char *key)
{
	unsigned sum = 0;

	for (size_t i = 0; i < table->key_bytes; i++)
		sum += table->rarity[(unsigned char)key[i]];
	return sum;
}

/* Where the neighbouring keys start that tell most. */
static size_t offset_of(const struct table *table, struct span text)
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

static void add_entry(struct table *table, struct span text, size_t offset, size_t pattern)
{
	uint16_t *slot = &table->slots[slot_of(table, text.ptr + offset)];

	for (uint16_t i = *slot; i; i = table->entries[i - 1].next) {
		struct entry *entry = &table->entries[i - 1];
		if (entry->offset == offset && span_equal(span_of(entry->text, entry->len), text)) {
			own(entry->owners, pattern);
			return;
		}
	}
	struct entry *entry = &table->entries[table->entry_count++];
	*entry = (struct entry){text.ptr, (uint16_t)text.len, (uint16_t)offset, *slot, {0}};
	own(entry->owners, pattern);
	*slot = (uint16_t)table->entry_count;
}

static bool add_literal(struct table *table, struct arena *arena, struct span literal, size_t pattern)
{
	char *folded = arena_alloc(arena, literal.len);

	if (!folded)
		return false;
	for (size_t i = 0; i < literal.len; i++)
		folded[i] = (char)fold(literal.ptr[i]);
	struct span text = span_of(folded, literal.len);
	size_t offset = offset_of(table, text);
	for (size_t i = 0; i < table->stride; i++)
		add_entry(table, text, offset + i, pattern);
	return true;
}

/* The stride is what the shortest literal allows; room for each literal's keys. */
static bool alloc_tables(struct table *table, struct arena *arena, const struct regex_clause *clauses, size_t count)
{
	size_t shortest = LONG_KEY_BYTES + LONG_STRIDE_MAX - 1, literals = 0;

	for (size_t i = 0; i < count; i++) {
		size_t bytes = clauses[i].count ? shortest_of(&clauses[i]) : SIZE_MAX;
		shortest = bytes < shortest ? bytes : shortest;
		literals += clauses[i].count;
	}
	bool is_long = shortest > KEY_BYTES + STRIDE_MAX - 1;
	unsigned bits = SLOT_BITS_MIN, most = is_long ? LONG_SLOT_BITS : SLOT_BITS_MAX;
	table->key_bytes = is_long ? LONG_KEY_BYTES : KEY_BYTES;
	table->factor = is_long ? HASH_FACTOR : HASH_FACTOR << 8;
	table->stride = (unsigned)(shortest - table->key_bytes + 1);
	table->entry_cap = literals * table->stride;
	while (bits < most && (size_t)1 << bits < table->entry_cap * 64)
		bits++;
	table->slot_shift = 32 - bits;
	size_t slot_bytes = ((size_t)1 << bits) * sizeof *table->slots;
	table->slots = arena_alloc(arena, slot_bytes);
	table->entries = arena_alloc(arena, (table->entry_cap + 1) * sizeof *table->entries);
	if (table->slots)
		memset(table->slots, 0, slot_bytes);
	return table->slots && table->entries;
}

static enum status fill(
	struct table *table, struct arena *arena, const struct span *patterns, size_t count, struct error *err)
{
	AUTO(arena) scratch = arena_new();
	struct regex_clause clauses[SIEVE_MAX];
	size_t literals = 0;

	if (!scratch)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		TRY(find_clause(&clauses[i], scratch, patterns[i], err));
		if ((literals + clauses[i].count) * LONG_STRIDE_MAX > ENTRIES_MAX)
			clauses[i].count = 0;
		literals += clauses[i].count;
		if (patterns[i].len && clauses[i].count == 0)
			own(table->always, i);
	}
	if (!alloc_tables(table, arena, clauses, count))
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < clauses[i].count; j++)
			if (!add_literal(table, arena, clauses[i].any[j].text, i))
				return error_no_memory(err);
	return OK;
}

/* The others wait. */
static const struct table *make_table(struct sieve *sieve)
{
	pthread_mutex_lock(&sieve->making);
	struct table *table = atomic_load(&sieve->table);
	if (!table && (table = arena_alloc(sieve->arena, sizeof *table))) {
		*table = (struct table){0};
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

static inline void look(
	const struct table *table, uint16_t first, struct span text, size_t at, uint64_t found[SIEVE_WORDS])
{
	for (uint16_t i = first; i; i = table->entries[i - 1].next) {
		const struct entry *entry = &table->entries[i - 1];
		if (!is_there(entry, text, at))
			continue;
		for (size_t word = 0; word < SIEVE_WORDS; word++)
			found[word] |= entry->owners[word];
	}
}

/* Four places at a time: nearly always there is nothing at any of them. */
static void find(const struct table *table, struct span text, uint64_t found[SIEVE_WORDS])
{
	const struct table by = *table;
	size_t stride = by.stride, at = 0;

	memcpy(found, by.always, sizeof by.always);
	for (; at + KEY_BYTES + 3 * stride < text.len; at += 4 * stride) {
		const char *key = text.ptr + at;
		uint16_t a = by.slots[slot_within(&by, key)], b = by.slots[slot_within(&by, key + stride)];
		uint16_t c = by.slots[slot_within(&by, key + 2 * stride)];
		uint16_t d = by.slots[slot_within(&by, key + 3 * stride)];
		if (__builtin_expect((a | b | c | d) == 0, 1))
			continue;
		look(table, a, text, at, found);
		look(table, b, text, at + stride, found);
		look(table, c, text, at + 2 * stride, found);
		look(table, d, text, at + 3 * stride, found);
	}
	for (; at + KEY_BYTES < text.len; at += stride)
		look(table, by.slots[slot_within(&by, text.ptr + at)], text, at, found);
	if (by.key_bytes == KEY_BYTES && at + KEY_BYTES == text.len)
		look(table, by.slots[slot_of(&by, text.ptr + at)], text, at, found);
}

void sieve_find(const struct sieve *sieve, struct span text, uint64_t found[SIEVE_WORDS])
{
	const struct table *table = atomic_load_explicit(&sieve->table, memory_order_acquire);

	if (table || (table = make_table((struct sieve *)sieve))) {
		find(table, text, found);
		return;
	}
	memset(found, 0, SIEVE_WORDS * sizeof *found); /* without memory each is searched for */
	for (size_t i = 0; i < sieve->count; i++)
		if (sieve->patterns[i].len)
			own(found, i);
}
