#include "live/skips.h"

#include "base/map.h"

enum { KEY_MAX_BYTES = 512 };

struct generation {
	struct map *names; /* kind and job -> 1 + the newest sequence; NULL: there was no memory */
	uint64_t newest[SKIPS_KINDS]; /* by kind, also of jobs before it */
};

struct skips {
	struct generation young, old;
	uint64_t floor[SKIPS_KINDS]; /* who is behind it missed something, whatever the job */
	int64_t since_ms; /* the young ones are noted */
};

struct skips *skips_new(void)
{
	AUTO(skips) skips = mem_zeroed(sizeof *skips);

	if (!skips || !(skips->young.names = map_new()) || !(skips->old.names = map_new()))
		return NULL;
	return TAKE(skips);
}

void skips_free(struct skips *skips)
{
	if (!skips)
		return;
	map_free(skips->young.names);
	map_free(skips->old.names);
	mem_free(skips);
}

static size_t count_names(const struct generation *generation)
{
	return generation->names ? map_count(generation->names) : 0;
}

size_t skips_count(const struct skips *skips)
{
	return count_names(&skips->young) + count_names(&skips->old);
}

/* False: no such key can have been remembered. */
static bool make_key(struct span job, unsigned kind, char key[KEY_MAX_BYTES], struct span *out)
{
	if (job.len >= KEY_MAX_BYTES)
		return false;
	key[0] = (char)kind;
	if (job.len)
		memcpy(key + 1, job.ptr, job.len);
	*out = span_of(key, job.len + 1);
	return true;
}

/* What the old ones say of single jobs is said of all. */
static void turn(struct skips *skips)
{
	memcpy(skips->floor, skips->old.newest, sizeof skips->floor);
	map_free(skips->old.names);
	skips->old = skips->young;
	skips->young.names = map_new();
}

void skips_note(struct skips *skips, struct span job, unsigned kind, uint64_t seq)
{
	char key[KEY_MAX_BYTES];
	struct span text;

	if (seq > skips->young.newest[kind])
		skips->young.newest[kind] = seq;
	bool is_kept = skips->young.names && make_key(job, kind, key, &text) && skips_count(skips) < SKIPS_MAX &&
		       map_put(skips->young.names, text, (void *)(uintptr_t)(seq + 1));
	for (int i = 0; !is_kept && i < 2; i++) /* too many, or no memory for one more: coarser and as right */
		turn(skips);
}

static uint64_t find(const struct generation *generation, struct span key)
{
	uintptr_t known = generation->names ? (uintptr_t)map_get(generation->names, key) : 0;

	return known ? known - 1 : 0;
}

uint64_t skips_of_job(const struct skips *skips, struct span job, unsigned kind)
{
	char key[KEY_MAX_BYTES];
	struct span text;
	uint64_t newest = skips->floor[kind];

	if (!make_key(job, kind, key, &text))
		return newest;
	uint64_t young = find(&skips->young, text), old = find(&skips->old, text);
	newest = young > newest ? young : newest;
	return old > newest ? old : newest;
}

uint64_t skips_of_all(const struct skips *skips, unsigned kind)
{
	return skips->young.newest[kind];
}

void skips_age(struct skips *skips, int64_t now_ms, int64_t age_ms)
{
	if (now_ms - skips->since_ms < age_ms)
		return;
	if (skips_count(skips))
		turn(skips);
	skips->since_ms = now_ms;
}
