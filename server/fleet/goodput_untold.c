#include "fleet/goodput.h"

static bool has_told_between(const struct goodput_point *told, size_t count, int64_t from_ms, int64_t to_ms)
{
	for (size_t i = 0; i < count; i++)
		if (told[i].ts_ms >= from_ms && told[i].ts_ms <= to_ms)
			return true;
	return false;
}

/* How far an attempt was told; NULL: nothing of it was. */
static const struct goodput_point *find_last(const struct goodput_point *told, size_t count, uint32_t attempt)
{
	const struct goodput_point *last = NULL;

	for (size_t i = 0; i < count; i++)
		if (told[i].attempt == attempt && (!last || told[i].step >= last->step))
			last = &told[i];
	return last;
}

/* Lines may count otherwise than the tracker does, tenths of a step or epochs: what was printed by then may be one print ahead, no more. */
static bool count_alike(const struct goodput_point *first, const struct goodput_point *end,
	const struct goodput_point *last, int64_t stride)
{
	for (const struct goodput_point *at = first; at < end && at->ts_ms <= last->ts_ms; at++)
		if (at->step - last->step > stride)
			return false;
	return first->ts_ms <= last->ts_ms;
}

size_t goodput_find_untold(const struct goodput_point *told, size_t told_count, struct goodput_point *printed,
	size_t printed_count, int64_t stride)
{
	uint32_t attempt = 0;
	size_t kept = 0;

	for (size_t i = 0, end; i < printed_count; i = end) {
		for (end = i + 1; end < printed_count && printed[end].attempt == printed[i].attempt; end++)
			;
		if (printed[i].attempt <= attempt)
			continue;
		attempt = printed[i].attempt;
		const struct goodput_point *last = find_last(told, told_count, attempt);
		if (last ? !count_alike(&printed[i], &printed[end], last, stride)
			 : has_told_between(told, told_count, printed[i].ts_ms, printed[end - 1].ts_ms))
			continue;
		for (size_t j = i; j < end; j++)
			if (!last || (printed[j].ts_ms > last->ts_ms && printed[j].step > last->step))
				printed[kept++] = printed[j];
	}
	return kept;
}
