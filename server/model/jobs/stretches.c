#include "model/jobs/stretches.h"

#include <string.h>

/* Times beyond this are cut: what is taken from each other stays in range. */
#define LIMIT_MS (INT64_C(1) << 60)

enum { PACKED_MIN_BYTES = 4 };

static int64_t within(int64_t ms)
{
	return ms > LIMIT_MS ? LIMIT_MS : ms < -LIMIT_MS ? -LIMIT_MS : ms;
}

static unsigned at_most(unsigned distinct)
{
	return distinct < STRETCH_COUNTS_FROM ? distinct : STRETCH_COUNTS_FROM;
}

/* Of two with less than three times all are known: they are the ends. */
static unsigned count_distinct(const struct time_cluster *a, const struct time_cluster *b)
{
	int64_t times[4] = {a->first_ms, a->last_ms, b->first_ms, b->last_ms};
	unsigned distinct = 0;

	for (size_t i = 0; i < 4; i++) {
		bool is_new = true;
		for (size_t j = 0; j < i; j++)
			is_new = is_new && times[j] != times[i];
		distinct += is_new;
	}
	distinct = distinct > a->distinct ? distinct : a->distinct;
	return at_most(distinct > b->distinct ? distinct : b->distinct);
}

static void join(struct time_cluster *into, const struct time_cluster *more)
{
	into->distinct = count_distinct(into, more);
	into->first_ms = more->first_ms < into->first_ms ? more->first_ms : into->first_ms;
	into->last_ms = more->last_ms > into->last_ms ? more->last_ms : into->last_ms;
	into->count += more->count;
}

static bool is_near(const struct time_cluster *a, const struct time_cluster *b)
{
	return a->first_ms - b->last_ms <= STRETCH_GAP_MS && b->first_ms - a->last_ms <= STRETCH_GAP_MS;
}

static void take_out(struct stretches *all, unsigned index)
{
	all->count--;
	memmove(&all->items[index], &all->items[index + 1], (all->count - index) * sizeof *all->items);
}

/* The smallest one that does not count, of equal ones the oldest: what comes next may still make the newest count. */
static unsigned find_least(const struct stretches *all)
{
	unsigned least = all->count;

	for (unsigned i = 0; i < all->count; i++)
		if (all->items[i].distinct < STRETCH_COUNTS_FROM &&
			(least == all->count || all->items[i].count < all->items[least].count))
			least = i;
	return least;
}

static void join_nearest(struct stretches *all)
{
	unsigned best = 0;

	for (unsigned i = 1; i + 1 < all->count; i++)
		if (all->items[i + 1].first_ms - all->items[i].last_ms <
			all->items[best + 1].first_ms - all->items[best].last_ms)
			best = i;
	join(&all->items[best], &all->items[best + 1]);
	take_out(all, best + 1);
}

static void make_room(struct stretches *all)
{
	unsigned least = find_least(all);

	if (least == all->count) {
		join_nearest(all);
		return;
	}
	all->forgotten += all->items[least].count;
	take_out(all, least);
}

static void insert(struct stretches *all, const struct time_cluster *more)
{
	unsigned at = 0;

	if (all->count == STRETCHES_MAX)
		make_room(all);
	while (at < all->count && all->items[at].first_ms < more->first_ms)
		at++;
	memmove(&all->items[at + 1], &all->items[at], (all->count - at) * sizeof *all->items);
	all->items[at] = *more;
	all->count++;
	all->recent = at;
}

void stretches_add_stretch(struct stretches *all, const struct time_cluster *more)
{
	struct time_cluster own = *more;
	unsigned at = 0;

	own.first_ms = within(own.first_ms);
	own.last_ms = within(own.last_ms);
	while (at < all->count && !is_near(&all->items[at], &own))
		at++;
	if (at == all->count) {
		insert(all, &own);
		return;
	}
	join(&all->items[at], &own);
	while (at + 1 < all->count && is_near(&all->items[at], &all->items[at + 1])) { /* it closed a gap */
		join(&all->items[at], &all->items[at + 1]);
		take_out(all, at + 1);
	}
	all->recent = at;
}

void stretches_add(struct stretches *all, int64_t ts_ms)
{
	struct time_cluster *recent = &all->items[all->recent];

	if (all->count && ts_ms >= recent->first_ms && ts_ms <= recent->last_ms &&
		recent->distinct == STRETCH_COUNTS_FROM) {
		recent->count++;
		return;
	}
	stretches_add_stretch(all, &(struct time_cluster){ts_ms, ts_ms, 1, 1});
}

void stretches_merge(struct stretches *into, const struct stretches *from)
{
	for (unsigned i = 0; i < from->count; i++)
		stretches_add_stretch(into, &from->items[i]);
	into->forgotten += from->forgotten;
	into->is_rough |= from->is_rough;
}

bool stretches_counts(const struct stretches *all, unsigned index)
{
	unsigned best = 0;

	for (unsigned i = 1; i < all->count; i++)
		best = all->items[i].distinct >= all->items[best].distinct ? i : best;
	if (all->items[best].distinct == STRETCH_COUNTS_FROM)
		return all->items[index].distinct == STRETCH_COUNTS_FROM;
	return index == best || all->count >= STRETCH_COUNTS_FROM;
}

bool stretches_pause(const struct stretches *all, unsigned *index, int64_t *from_ms, int64_t *to_ms)
{
	unsigned i = *index;

	while (i < all->count && all->items[i].distinct < STRETCH_COUNTS_FROM)
		i++;
	unsigned next = i + 1;
	while (next < all->count && all->items[next].distinct < STRETCH_COUNTS_FROM)
		next++;
	if (next >= all->count)
		return false;
	*from_ms = all->items[i].last_ms;
	*to_ms = all->items[next].first_ms;
	*index = next;
	return true;
}

int64_t stretches_first_ms(const struct stretches *all)
{
	for (unsigned i = 0; i < all->count; i++)
		if (stretches_counts(all, i))
			return all->items[i].first_ms;
	return 0;
}

int64_t stretches_last_ms(const struct stretches *all)
{
	for (unsigned i = all->count; i-- > 0;)
		if (stretches_counts(all, i))
			return all->items[i].last_ms;
	return 0;
}

bool stretches_hold(const struct stretches *all, int64_t ts_ms)
{
	for (unsigned i = 0; i < all->count; i++)
		if (ts_ms >= all->items[i].first_ms && ts_ms <= all->items[i].last_ms)
			return stretches_counts(all, i);
	return false;
}

static bool is_believed(const struct stretches *all, const struct time_cluster *part)
{
	for (unsigned i = 0; i < all->count; i++)
		if (part->first_ms >= all->items[i].first_ms && part->last_ms <= all->items[i].last_ms)
			return stretches_counts(all, i);
	return false; /* it was forgotten */
}

uint64_t stretches_odd(const struct stretches *all, const struct stretches *part)
{
	uint64_t odd = part->forgotten;

	for (unsigned i = 0; i < part->count; i++)
		odd += is_believed(all, &part->items[i]) ? 0 : part->items[i].count;
	return odd;
}

void stretches_pack(const struct stretches *all, struct buf *out)
{
	pack_u64(out, all->forgotten);
	pack_u64(out, all->is_rough);
	pack_u64(out, all->count);
	for (unsigned i = 0; i < all->count; i++) {
		pack_i64(out, all->items[i].first_ms);
		pack_u64(out, (uint64_t)(all->items[i].last_ms - all->items[i].first_ms));
		pack_u64(out, all->items[i].count);
		pack_u64(out, all->items[i].distinct);
	}
}

void stretches_unpack(struct stretches *out, struct unpacker *in)
{
	*out = (struct stretches){.forgotten = unpack_u64(in)};
	out->is_rough = unpack_u64(in) != 0;
	size_t count = unpack_count(in, PACKED_MIN_BYTES);
	if (count > STRETCHES_MAX)
		in->has_failed = true;
	for (size_t i = 0; i < count && !in->has_failed; i++) {
		struct time_cluster item = {.first_ms = within(unpack_i64(in))};
		uint64_t length_ms = unpack_u64(in);
		item.last_ms = item.first_ms + (int64_t)(length_ms < 2 * (uint64_t)LIMIT_MS ? length_ms : 0);
		item.count = unpack_u64(in);
		item.distinct = at_most((unsigned)unpack_u64(in));
		out->items[out->count++] = item;
	}
}
