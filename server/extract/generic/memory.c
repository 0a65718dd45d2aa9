#include "extract/generic/memory.h"

#include "extract/line/number.h"

enum { RISES_SURE = 2 };

static bool has_fraction(const struct generic_counters *counters)
{
	return counters->has_step && !counters->has_epoch && counters->total > 0;
}

/* A total that grows once may be that of another program. */
static void see_fraction(struct generic_memory *memory, const struct generic_counters *counters)
{
	int64_t first = counters->step, second = counters->total;
	bool stands = first == memory->first;
	bool goes_on = memory->rises == RISES_SURE && (stands ? second == memory->second : first > memory->first);

	if (memory->second && stands && second > memory->second)
		memory->rises += memory->rises < RISES_SURE;
	else if (!goes_on)
		memory->rises = 0;
	memory->ended = stands ? memory->ended : memory->second;
	memory->first = first;
	memory->second = second;
}

void generic_memory_see(struct generic_memory *memory, struct generic_counters *counters)
{
	bool has_epoch = counters->has_step && counters->has_epoch && !counters->is_epoch;

	if (has_epoch && counters->total > memory->epoch_total)
		memory->epoch_total = counters->total;
	if (!has_fraction(counters) || counters->is_bar)
		return;
	see_fraction(memory, counters);
	if (memory->rises < RISES_SURE)
		return;
	counters->has_epoch = true;
	counters->epoch = counters->step;
	counters->step = counters->total;
	counters->total = memory->ended;
}

bool generic_memory_is_beside(const struct generic_memory *memory, const struct generic_counters *counters)
{
	return has_fraction(counters) && !counters->is_bar && counters->total < memory->epoch_total;
}

void generic_memory_pack(const struct generic_memory *memory, struct buf *out)
{
	pack_u64(out, memory->header);
	pack_u64(out, memory->has_fine);
	pack_u64(out, memory->has_loss);
	pack_u64(out, memory->loss_alias);
	pack_i64(out, memory->epoch_total);
	pack_i64(out, memory->first);
	pack_i64(out, memory->second);
	pack_u64(out, memory->rises);
	pack_i64(out, memory->ended);
}

static bool is_count(int64_t count)
{
	return count >= 0 && count <= STEP_MAX;
}

static void unpack_counters(struct generic_memory *memory, struct unpacker *in)
{
	memory->epoch_total = unpack_i64(in);
	memory->first = unpack_i64(in);
	memory->second = unpack_i64(in);
	uint64_t rises = unpack_u64(in);
	memory->ended = unpack_i64(in);

	memory->rises = (uint32_t)rises;
	in->has_failed |= !is_count(memory->epoch_total) || !is_count(memory->first) || !is_count(memory->second) ||
			  !is_count(memory->ended) || rises > RISES_SURE;
}

void generic_memory_unpack(struct generic_memory *memory, bool has_counters, struct unpacker *in)
{
	memory->header = unpack_u64(in);
	uint64_t has_fine = unpack_u64(in), has_loss = unpack_u64(in), alias = unpack_u64(in);

	memory->has_fine = has_fine == 1;
	memory->has_loss = has_loss == 1;
	memory->loss_alias = (uint32_t)alias;
	in->has_failed |= has_fine > 1 || has_loss > 1 || alias > UINT32_MAX;
	if (has_counters)
		unpack_counters(memory, in);
}
