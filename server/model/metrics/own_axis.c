/* Where attempts begin on a series' own step axis. */
#include "model/metrics/own_axis.h"

#include "base/alloc.h"

void own_axis_done(struct own_axis *axis)
{
	mem_free(axis->starts);
	*axis = (struct own_axis){0};
}

static bool add_start(struct own_axis *axis, int64_t step)
{
	if (!mem_grow((void **)&axis->starts, axis->count, &axis->cap, sizeof *axis->starts))
		return false;
	axis->starts[axis->count++] = step;
	return true;
}

bool own_axis_begin(struct own_axis *axis, struct attempt_starts stream, uint32_t since)
{
	axis->since = axis->unsettled = since;
	axis->awaited = 0;
	axis->is_moved = true;
	for (size_t i = axis->count; i < stream.count; i++)
		if (!add_start(axis, i + 1 < since ? stream.steps[i] : INT64_MAX))
			return false;
	return true;
}

bool own_axis_follow(struct own_axis *axis, size_t attempts, int64_t step)
{
	for (; axis->count > attempts && axis->count > 1;
		axis->count--) { /* it was none: its points are of the one before */
		int64_t start = axis->starts[axis->count - 1], *before = &axis->starts[axis->count - 2];
		if (axis->count > 2 && start < *before)
			*before = start;
		axis->is_moved = true;
	}
	while (axis->count < attempts)
		if (!add_start(axis, step))
			return false;
	return true;
}

void own_axis_touch(struct own_axis *axis, uint32_t attempt)
{
	if (!axis->touched || attempt < axis->touched)
		axis->touched = attempt;
}

void own_axis_see(struct own_axis *axis, const struct point *point, int64_t min_step)
{
	size_t at = (size_t)point->attempt - 1;

	if (point->attempt < 2 || point->attempt < axis->since || at >= axis->count ||
		point->step >= axis->starts[at] || axis->counter == point->attempt)
		return;
	axis->is_moved = true;
	axis->starts[at] = point->step;
	if (point->step <= min_step) {
		axis->counter = point->attempt;
		axis->starts[at] = INT64_MAX;
	}
}

void own_axis_pack(const struct own_axis *axis, struct buf *out)
{
	pack_u64(out, axis->since);
	pack_u64(out, axis->counter);
	pack_u64(out, axis->awaited);
	pack_u64(out, axis->count);
	for (size_t i = 0; i < axis->count; i++)
		pack_i64(out, axis->starts[i]);
}

struct own_axis own_axis_unpack(struct unpacker *in, struct arena *arena)
{
	struct own_axis axis = {0};

	axis.since = axis.unsettled = (uint32_t)unpack_u64(in);
	axis.counter = (uint32_t)unpack_u64(in);
	axis.awaited = (uint32_t)unpack_u64(in);
	axis.count = unpack_count(in, 1);
	if (!(axis.starts = arena_alloc(arena, axis.count * sizeof *axis.starts))) {
		unpacker_no_memory(in);
		return (struct own_axis){0};
	}
	for (size_t i = 0; i < axis.count; i++)
		axis.starts[i] = unpack_i64(in);
	return axis;
}

bool own_axis_copy(struct own_axis *into, const struct own_axis *from)
{
	*into = (struct own_axis){
		.since = from->since, .unsettled = from->since, .counter = from->counter, .awaited = from->awaited};
	for (size_t i = 0; i < from->count; i++)
		if (!add_start(into, from->starts[i]))
			return false;
	return true;
}
