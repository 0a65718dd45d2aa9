#include "extract/line/bars.h"

static void believe(struct bars *bars, int64_t step, int64_t total)
{
	*bars = (struct bars){.largest = total, .is_full = step >= total};
}

/* A line may be asked about several times: it is one for each step. */
static void count_other(struct bars *bars, int64_t step, int64_t total)
{
	if (bars->other != total) {
		bars->other = total;
		bars->other_lines = 0;
	} else if (bars->other_step == step) {
		return;
	}
	bars->other_step = step;
	bars->other_lines++;
}

bool bars_is_side(struct bars *bars, int64_t step, int64_t total)
{
	if (total == bars->largest || bars->largest == 0) {
		believe(bars, step, total);
		return false;
	}
	if (total < bars->largest || step >= total)
		return true;
	if (!bars->is_full)
		count_other(bars, step, total);
	if (!bars->is_full && bars->other_lines < BARS_SURE)
		return true;
	believe(bars, step, total);
	return false;
}

void bars_pack(const struct bars *bars, struct buf *out)
{
	pack_u64(out, bars->is_full);
	pack_i64(out, bars->other);
	pack_i64(out, bars->other_step);
	pack_u64(out, bars->other_lines);
}

void bars_unpack(struct bars *bars, struct unpacker *in)
{
	uint64_t is_full = unpack_u64(in);

	bars->is_full = is_full == 1;
	bars->other = unpack_i64(in);
	bars->other_step = unpack_i64(in);
	uint64_t lines = unpack_u64(in);
	bars->other_lines = (uint32_t)lines;
	in->has_failed |= is_full > 1 || lines >= BARS_SURE;
}
