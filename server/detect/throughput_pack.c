#include "detect/throughput.h"

enum { FORMAT_WITH_STAYS = 4, FORMAT_WITH_COUNTS = 7, FORMAT_WITH_FAR = 8 };

static void pack_run(const struct slow_run *run, struct buf *out)
{
	pack_u64(out, run->length);
	pack_i64(out, run->step);
	pack_i64(out, run->ms);
	pack_u64(out, run->known);
	pack_double(out, run->sum);
	pack_double(out, run->total);
}

static void unpack_run(struct slow_run *run, struct unpacker *in)
{
	run->length = (uint32_t)unpack_u64(in);
	run->step = unpack_i64(in);
	run->ms = unpack_i64(in);
	run->known = (uint32_t)unpack_u64(in);
	run->sum = unpack_double(in);
	run->total = unpack_double(in);
}

void throughput_pack(const void *of, struct buf *out)
{
	const struct throughput *state = of;

	blocks_pack(&state->blocks, out);
	blocks_pack(&state->far, out);
	pack_u64(out, state->seen);
	pack_u64(out, state->known);
	for (size_t i = 0; i < THROUGHPUT_RECENT; i++)
		pack_double(out, (double)state->recent[i]);
	pack_u64(out, state->attempt);
	pack_run(&state->low, out);
	pack_run(&state->far_low, out);
	pack_u64(out, state->high_run);
	pack_i64(out, state->high_step);
	pack_i64(out, state->high_ms);
	pack_double(out, state->before);
	stays_pack(&state->stays, out);
	pack_u64(out, (uint64_t)state->is_open | (uint64_t)state->is_said << 1);
	if (!state->is_open)
		return;
	pack_u64(out, state->calm_run);
	pack_u64(out, state->open_blocks);
	pack_u64(out, state->steady_run);
	pack_i64(out, state->steady_ms);
	pack_double(out, state->lowest);
	pack_double(out, state->usual);
	pack_double(out, state->gap);
	pack_double(out, state->spread);
	pack_double(out, state->calm_sum);
	pack_double(out, state->reported);
	incident_pack(&state->incident, out);
}

/* Before stretches were summed up, each that was open had been said. */
static void take_over(struct throughput *state)
{
	state->known = state->low.known = state->seen < THROUGHPUT_KNOWN ? state->seen : THROUGHPUT_KNOWN;
	state->low.length = state->high_run = 0;
	if (!state->is_open)
		return;
	state->is_said = true;
	state->spread = state->incident.spread;
	state->low.length = state->open_blocks + THROUGHPUT_RUN;
	state->low.total = state->low.length * state->incident.value;
	state->low.ms = state->incident.opened_ms;
}

static void unpack_open(struct throughput *state, unsigned format, struct unpacker *in)
{
	state->calm_run = (uint32_t)unpack_u64(in);
	state->open_blocks = (uint32_t)unpack_u64(in);
	if (format >= FORMAT_WITH_FAR) {
		state->steady_run = (uint32_t)unpack_u64(in);
		state->steady_ms = unpack_i64(in);
		state->lowest = unpack_double(in);
	}
	state->usual = unpack_double(in);
	state->gap = unpack_double(in);
	if (format >= FORMAT_WITH_STAYS) {
		state->spread = unpack_double(in);
		state->calm_sum = unpack_double(in);
	}
	state->reported = unpack_double(in);
	incident_unpack(&state->incident, in);
	in->has_failed |= state->open_blocks >= THROUGHPUT_GIVE_UP;
}

/* One run was kept, of low medians or of high ones. */
static void unpack_one_run(struct throughput *state, unsigned format, struct unpacker *in)
{
	bool has_stays = format >= FORMAT_WITH_STAYS;

	state->low.length = (uint32_t)unpack_u64(in);
	state->high_run = (uint32_t)unpack_u64(in);
	state->low.step = state->high_step = unpack_i64(in);
	state->low.ms = state->high_ms = format > 1 ? unpack_i64(in) : 0;
	state->low.known = has_stays ? (uint32_t)unpack_u64(in) : 0;
	state->low.sum = has_stays ? unpack_double(in) : 0;
	state->low.total = has_stays ? unpack_double(in) : 0;
}

static void unpack_runs(struct throughput *state, struct unpacker *in)
{
	unpack_run(&state->low, in);
	unpack_run(&state->far_low, in);
	state->high_run = (uint32_t)unpack_u64(in);
	state->high_step = unpack_i64(in);
	state->high_ms = unpack_i64(in);
}

void throughput_unpack(void *of, unsigned format, struct unpacker *in)
{
	struct throughput *state = of;
	bool has_stays = format >= FORMAT_WITH_STAYS, has_far = format >= FORMAT_WITH_FAR;

	blocks_unpack(&state->blocks, in);
	if (has_far)
		blocks_unpack(&state->far, in);
	state->seen = (uint32_t)unpack_u64(in);
	state->known = has_stays ? (uint32_t)unpack_u64(in) : 0;
	for (size_t i = 0; i < THROUGHPUT_RECENT; i++)
		state->recent[i] = (float)unpack_double(in);
	state->attempt = (uint32_t)unpack_u64(in);
	if (has_far)
		unpack_runs(state, in);
	else
		unpack_one_run(state, format, in);
	state->before = format > 1 ? unpack_double(in) : 0;
	if (has_stays)
		stays_unpack(&state->stays, format >= FORMAT_WITH_COUNTS, in);
	uint64_t flags = unpack_u64(in);
	in->has_failed |= flags > 3 || state->known > THROUGHPUT_KNOWN;
	state->is_open = flags & 1;
	state->is_said = flags >> 1;
	if (!in->has_failed && state->is_open)
		unpack_open(state, format, in);
	if (!has_stays)
		take_over(state);
	if (!has_far && state->is_open) {
		state->steady_run = state->low.length;
		state->steady_ms = state->low.ms;
		state->lowest = INFINITY;
	}
}
