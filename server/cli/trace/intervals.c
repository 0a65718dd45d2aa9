/* What comes is sorted and merged by the batch: profilers write nearly in order, so that a merge touches the end of the set alone. */
#include "cli/trace/intervals.h"

#include <stdlib.h>
#include <string.h>

enum { FRESH_MOST = 4096 };

void intervals_done(struct intervals *set)
{
	mem_free(set->items);
	*set = (struct intervals){0};
}

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* In order from items[first] on; those that touch become one. */
static void join(struct intervals *set, size_t first)
{
	size_t end = first, total = set->count + set->fresh;
	struct interval *items = set->items;

	for (size_t i = first; items && i < total; i++) {
		struct interval *last = end > 0 ? &items[end - 1] : NULL;
		if (!last || items[i].from > last->to)
			items[end++] = items[i];
		else if (items[i].to > last->to)
			last->to = items[i].to;
	}
	set->count = end;
	set->fresh = 0;
}

/* Both parts are sorted; the fresh one is moved aside, and the greater of both ends goes to the end. Returns where order began to change. */
static size_t merge(struct intervals *set)
{
	struct interval fresh[FRESH_MOST];
	size_t left = set->count, right = set->fresh, at = left + right;

	memcpy(fresh, set->items + set->count, right * sizeof *fresh);
	while (right) {
		bool is_old = left && set->items[left - 1].from > fresh[right - 1].from;
		set->items[--at] = is_old ? set->items[--left] : fresh[--right];
	}
	return left;
}

void intervals_settle(struct intervals *set)
{
	if (!set->fresh)
		return;
	qsort(set->items + set->count, set->fresh, sizeof *set->items, by_start);
	join(set, merge(set));
}

static enum status grow(struct intervals *set, size_t most, struct error *err)
{
	size_t cap = set->cap ? set->cap + set->cap / 2 : FRESH_MOST;

	if (cap > most + FRESH_MOST)
		cap = most + FRESH_MOST;
	struct interval *items = mem_resize(set->items, cap, sizeof *items);
	if (!items)
		return error_no_memory(err);
	set->items = items;
	set->cap = cap;
	return OK;
}

enum status intervals_add(struct intervals *set, int64_t from, int64_t to, size_t most, struct error *err)
{
	if (to <= from)
		return OK;
	if (set->fresh == FRESH_MOST)
		intervals_settle(set);
	if (set->count > most)
		return error_set(err, ERR_TOO_LARGE, "more than %zu intervals lie apart", most);
	if (set->count + set->fresh == set->cap)
		TRY(grow(set, most, err));
	set->items[set->count + set->fresh++] = (struct interval){from, to};
	return OK;
}

int64_t intervals_length(const struct intervals *set)
{
	int64_t sum = 0;

	for (size_t i = 0; i < set->count; i++)
		sum += set->items[i].to - set->items[i].from;
	return sum;
}

int64_t intervals_common_length(const struct intervals *a, const struct intervals *b)
{
	int64_t sum = 0;

	for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
		const struct interval *x = &a->items[i], *y = &b->items[j];
		int64_t from = x->from > y->from ? x->from : y->from, to = x->to < y->to ? x->to : y->to;
		sum += to > from ? to - from : 0;
		if (x->to < y->to)
			i++;
		else
			j++;
	}
	return sum;
}

int64_t intervals_union_length(const struct intervals *sets, size_t count)
{
	size_t at[INTERVALS_SETS_MOST] = {0};
	int64_t sum = 0, end = INT64_MIN;

	for (;;) {
		const struct interval *first = NULL;
		size_t which = 0;
		for (size_t i = 0; i < count; i++) {
			const struct interval *next = at[i] < sets[i].count ? &sets[i].items[at[i]] : NULL;
			if (next && (!first || next->from < first->from)) {
				first = next;
				which = i;
			}
		}
		if (!first)
			return sum;
		int64_t from = first->from > end ? first->from : end;
		sum += first->to > from ? first->to - from : 0;
		end = first->to > end ? first->to : end;
		at[which]++;
	}
}

bool intervals_have(const struct intervals *set, int64_t number)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (set->items[middle].to <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->count && set->items[low].from <= number;
}
