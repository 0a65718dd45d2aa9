#include "base/map.h"
#include "base/crypto.h"

#include <pthread.h>

struct entry {
	char *key; /* NULL: free, or a tombstone */
	size_t key_len;
	uint64_t hash;
	void *value;
	bool is_tombstone; /* something was here: a search goes on behind it */
};

struct map {
	struct entry *entries;
	size_t cap; /* a power of two */
	size_t count;
	size_t used; /* count and tombstones */
};

/* One seed for the process, drawn once: maps are compared by nobody, and a seed per map would cost a system call each. */
static struct {
	pthread_once_t once;
	uint64_t seed[2];
} state = {.once = PTHREAD_ONCE_INIT};

static void draw_seed(void)
{
	crypto_random(state.seed, sizeof state.seed);
}

static uint64_t rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void mix(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] = rotate(v[0], 32) + v[3];
	v[2] += v[1];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/*
 * SipHash-1-3 (Aumasson and Bernstein). The seed has to be inside the hash: mixed into the result of an unkeyed one, as
 * FNV, it would leave keys that collide there colliding here, and those are easy to make.
 */
static uint64_t hash_of(struct span key)
{
	pthread_once(&state.once, draw_seed);
	uint64_t v[4] = {state.seed[0] ^ 0x736f6d6570736575u, state.seed[1] ^ 0x646f72616e646f6du,
		state.seed[0] ^ 0x6c7967656e657261u, state.seed[1] ^ 0x7465646279746573u};
	uint64_t last = (uint64_t)key.len << 56;

	for (; key.len >= 8; key = span_skip(key, 8)) {
		uint64_t word;
		memcpy(&word, key.ptr, sizeof word);
		v[3] ^= word;
		mix(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < key.len; i++)
		last |= (uint64_t)(unsigned char)key.ptr[i] << (8 * i);
	v[3] ^= last;
	mix(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct map *map_new(void)
{
	return mem_zeroed(sizeof(struct map));
}

void map_free(struct map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->cap; i++)
		mem_free(map->entries[i].key);
	mem_free(map->entries);
	mem_free(map);
}

static struct entry *find(const struct map *map, struct span key, uint64_t hash)
{
	for (size_t i = hash, left = map->cap; left > 0; i++, left--) {
		struct entry *entry = &map->entries[i & (map->cap - 1)];
		if (!entry->key && !entry->is_tombstone)
			return NULL;
		if (entry->key && entry->hash == hash && span_equal(span_of(entry->key, entry->key_len), key))
			return entry;
	}
	return NULL;
}

void *map_get(const struct map *map, struct span key)
{
	struct entry *entry = find(map, key, hash_of(key));

	return entry ? entry->value : NULL;
}

static void insert(struct entry *entries, size_t cap, struct entry entry)
{
	size_t i = entry.hash & (cap - 1);

	while (entries[i].key)
		i = (i + 1) & (cap - 1);
	entries[i] = entry;
}

static bool make_room(struct map *map)
{
	if (map->cap && map->used < map->cap / 4 * 3)
		return true;
	size_t cap = 8;
	while (cap / 2 <= map->count)
		cap *= 2;
	struct entry *entries = mem_zeroed(cap * sizeof *entries);
	if (!entries)
		return false;
	for (size_t i = 0; i < map->cap; i++)
		if (map->entries[i].key)
			insert(entries, cap, map->entries[i]);
	mem_free(map->entries);
	map->entries = entries;
	map->cap = cap;
	map->used = map->count;
	return true;
}

bool map_put(struct map *map, struct span key, void *value)
{
	uint64_t hash = hash_of(key);
	struct entry *entry = find(map, key, hash);

	if (entry) {
		entry->value = value;
		return true;
	}
	char *copy = mem_alloc(key.len);
	if (!copy || !make_room(map)) {
		mem_free(copy);
		return false;
	}
	if (key.len)
		memcpy(copy, key.ptr, key.len);
	insert(map->entries, map->cap, (struct entry){.key = copy, .key_len = key.len, .hash = hash, .value = value});
	map->count++;
	map->used++;
	return true;
}

void *map_remove(struct map *map, struct span key)
{
	struct entry *entry = find(map, key, hash_of(key));

	if (!entry)
		return NULL;
	mem_free(entry->key);
	entry->key = NULL;
	entry->is_tombstone = true;
	map->count--;
	return entry->value;
}

size_t map_count(const struct map *map)
{
	return map->count;
}

bool map_next(const struct map *map, size_t *at, struct span *key, void **value)
{
	for (; *at < map->cap; ++*at) {
		struct entry *entry = &map->entries[*at];
		if (!entry->key)
			continue;
		if (key)
			*key = span_of(entry->key, entry->key_len);
		*value = entry->value;
		++*at;
		return true;
	}
	return false;
}
