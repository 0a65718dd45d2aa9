#include "state/kept_groups.h"

#include "base/clock.h"
#include "state/group.h"

void kept_groups_init(struct kept_groups *kept)
{
	*kept = (struct kept_groups){0};
	pthread_mutex_init(&kept->mutex, NULL);
}

void kept_group_unref(struct group *group)
{
	if (!group || atomic_fetch_sub(&group->refs, 1) != 1)
		return;
	buf_done(&group->plain);
	arena_free(group->arena);
	mem_free(group);
}

/* The first `count` of them. */
static void let_go(struct kept_groups *kept, size_t count)
{
	if (!count)
		return;
	for (size_t i = 0; i < count; i++) {
		kept->bytes -= kept->items[i]->bytes;
		kept_group_unref(kept->items[i]);
	}
	kept->count -= count;
	memmove(kept->items, kept->items + count, kept->count * sizeof(struct group *));
}

void kept_groups_done(struct kept_groups *kept)
{
	let_go(kept, kept->count);
	mem_free(kept->items);
	pthread_mutex_destroy(&kept->mutex);
}

/* What the buffer had grown to is not kept. */
static void trim(struct group *group)
{
	struct buf *plain = &group->plain;
	uintptr_t before = (uintptr_t)plain->ptr;
	char *trimmed = plain->cap > plain->len && plain->len ? mem_resize(plain->ptr, plain->len, 1) : NULL;

	if (!trimmed)
		return;
	for (size_t i = 0; i < group->count; i++)
		group->slices[i].body.ptr = trimmed + ((uintptr_t)group->slices[i].body.ptr - before);
	plain->ptr = trimmed;
	plain->cap = plain->len;
}

void kept_groups_put(struct kept_groups *kept, struct group *group, size_t max_bytes)
{
	trim(group);
	group->kept_ms = clock_mono_ms();
	group->bytes = sizeof *group + group->plain.cap + arena_bytes(group->arena);
	pthread_mutex_lock(&kept->mutex);
	if (!mem_grow((void **)&kept->items, kept->count, &kept->cap, sizeof(struct group *))) {
		pthread_mutex_unlock(&kept->mutex);
		kept_group_unref(group);
		return;
	}
	size_t at = kept->count++; /* two extract threads may end with theirs the other way round */
	for (; at && kept->items[at - 1]->seq > group->seq; at--)
		kept->items[at] = kept->items[at - 1];
	kept->items[at] = group;
	kept->bytes += group->bytes;
	size_t over = kept->bytes > max_bytes ? kept->bytes - max_bytes : 0, count = 0;
	for (size_t freed = 0; freed < over; count++)
		freed += kept->items[count]->bytes;
	let_go(kept, count);
	pthread_mutex_unlock(&kept->mutex);
}

/* The place of the first that is not before it. */
static size_t place_of(const struct kept_groups *kept, uint64_t seq)
{
	size_t low = 0, high = kept->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (kept->items[middle]->seq < seq)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct group *kept_groups_find(struct kept_groups *kept, uint64_t seq)
{
	struct group *found = NULL;

	pthread_mutex_lock(&kept->mutex);
	size_t at = place_of(kept, seq);
	if (at < kept->count && kept->items[at]->seq == seq) {
		found = kept->items[at];
		atomic_fetch_add(&found->refs, 1);
	}
	pthread_mutex_unlock(&kept->mutex);
	return found;
}

void kept_groups_drop(struct kept_groups *kept, uint64_t before_seq, int64_t max_age_ms)
{
	int64_t oldest_ms = clock_mono_ms() - max_age_ms;

	pthread_mutex_lock(&kept->mutex);
	size_t count = place_of(kept, before_seq);
	while (count < kept->count && kept->items[count]->kept_ms < oldest_ms)
		count++;
	let_go(kept, count);
	pthread_mutex_unlock(&kept->mutex);
}
