#include "live/interest.h"
#include "base/map.h"

enum { KIND_COUNT = 6, LINGER_MS = 60000, SWEEP_AT = 256 };

struct listeners {
	unsigned counts[KIND_COUNT];
	int64_t until_ms[KIND_COUNT]; /* though the last one has gone */
};

struct interest {
	struct listeners in_all;
	struct map *by_job;
	size_t sweep_at;
};

struct interest *interest_new(void)
{
	AUTO(interest) interest = mem_zeroed(sizeof *interest);

	if (!interest || !(interest->by_job = map_new()))
		return NULL;
	interest->sweep_at = SWEEP_AT;
	return TAKE(interest);
}

static void free_map(struct map *map)
{
	void *listeners;

	for (size_t at = 0; map && map_next(map, &at, NULL, &listeners);)
		mem_free(listeners);
	map_free(map);
}

void interest_free(struct interest *interest)
{
	if (!interest)
		return;
	free_map(interest->by_job);
	mem_free(interest);
}

static struct listeners *find_or_add(struct interest *interest, struct span job)
{
	struct listeners *listeners = map_get(interest->by_job, job);

	if (listeners)
		return listeners;
	listeners = mem_zeroed(sizeof *listeners);
	if (listeners && map_put(interest->by_job, job, listeners))
		return listeners;
	mem_free(listeners);
	return NULL;
}

bool interest_add(struct interest *interest, struct span job, unsigned kinds)
{
	struct listeners *listeners = job.ptr ? find_or_add(interest, job) : &interest->in_all;

	for (unsigned kind = 0; listeners && kind < KIND_COUNT; kind++)
		listeners->counts[kind] += kinds >> kind & 1;
	return listeners != NULL;
}

void interest_remove(struct interest *interest, struct span job, unsigned kinds, int64_t now_ms)
{
	struct listeners *listeners = job.ptr ? map_get(interest->by_job, job) : &interest->in_all;

	for (unsigned kind = 0; listeners && kind < KIND_COUNT; kind++)
		if (kinds >> kind & 1) {
			listeners->counts[kind]--;
			listeners->until_ms[kind] = now_ms + LINGER_MS;
		}
}

static bool listens(const struct listeners *listeners, unsigned kinds, int64_t now_ms)
{
	for (unsigned kind = 0; listeners && kind < KIND_COUNT; kind++)
		if ((kinds >> kind & 1) && (listeners->counts[kind] || listeners->until_ms[kind] > now_ms))
			return true;
	return false;
}

bool interest_has(const struct interest *interest, struct span job, unsigned kinds, int64_t now_ms)
{
	return listens(&interest->in_all, kinds, now_ms) || listens(map_get(interest->by_job, job), kinds, now_ms);
}

void interest_sweep(struct interest *interest, int64_t now_ms)
{
	struct span job;
	void *listeners;

	if (map_count(interest->by_job) < interest->sweep_at)
		return;
	struct map *kept = map_new();
	if (!kept)
		return;
	for (size_t at = 0; map_next(interest->by_job, &at, &job, &listeners);)
		if (listens(listeners, ~0u, now_ms) && !map_put(kept, job, listeners)) {
			map_free(kept); /* out of memory: the next sweep tries again */
			return;
		}
	for (size_t at = 0; map_next(interest->by_job, &at, &job, &listeners);)
		if (!listens(listeners, ~0u, now_ms))
			mem_free(listeners);
	map_free(interest->by_job);
	interest->by_job = kept;
	interest->sweep_at = SWEEP_AT + map_count(kept) * 2;
}
