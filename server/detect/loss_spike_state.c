#include "detect/loss_spike_state.h"

enum {
	FORMAT_WITH_WANDER = 5,
	FORMAT_WITH_EPOCH = 6,
	FORMAT_WITH_ORIGIN = 7 /* of what comes again; and how often it spikes */
};

static void pack_alarm(const struct spike_alarm *alarm, struct buf *out)
{
	incident_pack(&alarm->incident, out);
	pack_double(out, alarm->level);
	pack_double(out, alarm->spread);
	pack_double(out, alarm->calm);
	pack_double(out, alarm->height);
	pack_double(out, alarm->reported);
	pack_u64(out, alarm->points);
	pack_u64(out, alarm->high_run);
	pack_u64(out, alarm->is_ramp);
}

static void unpack_alarm(struct spike_alarm *alarm, unsigned format, struct unpacker *in)
{
	incident_unpack(&alarm->incident, in);
	alarm->level = unpack_double(in);
	alarm->spread = unpack_double(in);
	alarm->calm = unpack_double(in);
	alarm->height = unpack_double(in);
	alarm->reported = unpack_double(in);
	alarm->points = (uint32_t)unpack_u64(in);
	alarm->high_run = (uint32_t)unpack_u64(in);
	alarm->is_ramp = format >= FORMAT_WITH_WANDER && unpack_u64(in);
	in->has_failed |= !isfinite(alarm->level) || !(alarm->spread > 0) || alarm->points > SPIKE_GIVE_UP;
}

static void pack_wander(const struct loss_spike *state, struct buf *out)
{
	ramp_pack(&state->ramp, out);
	pack_u64(out, (uint64_t)state->was_odd | (uint64_t)state->is_next << 1);
	pack_u64(out, state->again);
	pack_u64(out, state->after);
	pack_u64(out, state->in_epoch);
	pack_double(out, state->down);
	recur_pack(&state->odd, out);
	spells_pack(&state->spells, out);
	beginning_pack(&state->first, out);
	if (state->is_next)
		beginning_pack(&state->next, out);
}

static void unpack_wander(struct loss_spike *state, unsigned format, struct unpacker *in)
{
	ramp_unpack(&state->ramp, in);
	uint64_t flags = unpack_u64(in);
	in->has_failed |= flags > 3;
	state->was_odd = flags & 1;
	state->is_next = flags >> 1;
	state->again = (uint32_t)unpack_u64(in);
	state->after = (uint32_t)unpack_u64(in);
	state->in_epoch = format >= FORMAT_WITH_EPOCH ? (uint32_t)unpack_u64(in) : 0;
	state->down = unpack_double(in);
	recur_unpack(&state->odd, format >= FORMAT_WITH_ORIGIN, in);
	if (format >= FORMAT_WITH_ORIGIN)
		spells_unpack(&state->spells, in);
	beginning_unpack(&state->first, in);
	if (state->is_next)
		beginning_unpack(&state->next, in);
}

/* Of a state of before: nothing is known of how it began, nor how far it goes by itself. */
static void take_over(struct loss_spike *state)
{
	state->first.count = BEGINNING_POINTS;
	ramp_take_over(&state->ramp, state->window);
}

void spike_pack(const void *of, struct buf *out)
{
	const struct loss_spike *state = of;

	pack_u64(out, (uint64_t)(state->window != NULL) | (uint64_t)state->alarm.is_open << 1);
	if (!state->window)
		return;
	pack_u64(out, state->attempt);
	for (size_t i = 0; i < SPIKE_RECENT; i++) {
		pack_double(out, (double)state->z[i]);
		pack_i64(out, state->steps[i]);
	}
	for (size_t i = 0; i < SPIKE_NEWS; i++)
		pack_double(out, (double)state->news[i]);
	pack_i64(out, state->window_step);
	pack_double(out, state->ramp.sum);
	pack_i64(out, state->ramp.sum_step);
	pack_double(out, state->tail);
	pack_double(out, state->before);
	pack_double(out, state->marks);
	pack_u64(out, state->tail_bits);
	pack_u64(out, state->start_count);
	for (size_t i = 0; i < state->start_count; i++)
		pack_double(out, (double)state->start[i]);
	robust_pack(state->window, out);
	pack_wander(state, out);
	if (state->alarm.is_open)
		pack_alarm(&state->alarm, out);
}

static void unpack_start(struct loss_spike *state, struct unpacker *in)
{
	uint64_t count = unpack_u64(in);

	in->has_failed |= count > SPIKE_START;
	if (in->has_failed)
		return;
	state->start_count = (uint32_t)count;
	for (size_t i = 0; i < count; i++)
		state->start[i] = (float)unpack_double(in);
	state->start_level = count ? (double)state->start[count / 2] : 0;
}

void spike_unpack(void *of, unsigned format, struct unpacker *in)
{
	struct loss_spike *state = of;
	uint64_t flags = unpack_u64(in);

	in->has_failed |= flags > 3 || flags == 2;
	if (in->has_failed || flags == 0)
		return;
	state->window = mem_zeroed(sizeof *state->window);
	if (!state->window)
		unpacker_no_memory(in);
	state->attempt = (uint32_t)unpack_u64(in);
	for (size_t i = 0; i < SPIKE_RECENT; i++) {
		state->z[i] = (float)unpack_double(in);
		state->steps[i] = unpack_i64(in);
	}
	for (size_t i = 0; i < SPIKE_NEWS && format > 1; i++)
		state->news[i] = (float)unpack_double(in);
	state->window_step = format > 1 ? unpack_i64(in) : 0;
	state->ramp.sum = unpack_double(in);
	state->ramp.sum_step = unpack_i64(in);
	state->tail = unpack_double(in);
	if (format) {
		state->before = unpack_double(in);
		state->marks = unpack_double(in);
	}
	state->tail_bits = (uint32_t)unpack_u64(in);
	unpack_start(state, in);
	if (in->has_failed)
		return;
	robust_unpack(state->window, format, in);
	if (format >= FORMAT_WITH_WANDER)
		unpack_wander(state, format, in);
	else
		take_over(state);
	state->alarm.is_open = flags >> 1;
	if (state->alarm.is_open)
		unpack_alarm(&state->alarm, format, in);
}
