#include "extract/attempt.h"
#include "extract/line/slot.h"

#define LEFT_OUT UINT32_MAX /* for what has overrun */

static void pack_bool(struct buf *out, bool value)
{
	pack_u64(out, value);
}

static void pack_position(struct buf *out, const struct position *p)
{
	pack_u64(out, p->attempt);
	pack_u64(out, (uint64_t)p->is_per_epoch | (uint64_t)p->has_epoch << 1);
	pack_i64(out, p->first);
	pack_i64(out, p->last);
	pack_i64(out, p->stride);
	pack_i64(out, p->epoch);
	pack_i64(out, p->epoch_length);
	pack_i64(out, p->base);
	pack_i64(out, p->max_step);
	pack_i64(out, p->max_ts_ms);
	pack_i64(out, p->max_since_ms);
	pack_i64(out, p->gap_ms);
	pack_u64(out, p->last_line);
}

static void pack_track(struct buf *out, const struct track *track)
{
	pack_u64(out, track->health.tried);
	pack_u64(out, track->health.matched);
	pack_u64(out, track->health.not_numeric);
	pack_u64(out, track->health.limited);
	pack_u64(out, track->health.without_step);
	pack_u64(out, track->health.missing);
	pack_u64(out, track->is_left_out ? LEFT_OUT : track->overrun);
	pack_u64(out, track->progress);
	pack_u64(out, track->count);
	pack_bool(out, track->is_on_trial);
	pack_position(out, &track->now);
	if (track->is_on_trial)
		pack_position(out, &track->before);
}

void attempts_pack(const struct attempts *attempts, struct buf *out)
{
	pack_u64(out, attempts->start_count);
	for (size_t i = 0; i < attempts->start_count; i++)
		pack_i64(out, attempts->starts[i]);
	pack_bool(out, attempts->has_step);
	pack_bool(out, attempts->has_hint);
	pack_u64(out, attempts->hint_line);
	pack_bool(out, attempts->trial.is_open);
	pack_bool(out, attempts->trial.waits_for_epoch);
	pack_bool(out, attempts->trial.is_behind_pause);
	pack_u64(out, attempts->trial.line);
	pack_u64(out, attempts->trial.points);
	pack_bool(out, attempts->revision.is_pending);
	pack_u64(out, attempts->revision.line);
	pack_u64(out, attempts->revision.from);
	pack_u64(out, attempts->revision.to);
	pack_u64(out, attempts->track_count);
	for (size_t i = 0; i < attempts->track_count; i++)
		pack_track(out, &attempts->tracks[i]);
}

static uint32_t unpack_u32(struct unpacker *in)
{
	uint64_t value = unpack_u64(in);

	in->has_failed |= value > UINT32_MAX;
	return (uint32_t)value;
}

static bool unpack_bool(struct unpacker *in)
{
	uint64_t value = unpack_u64(in);

	in->has_failed |= value > 1;
	return value == 1;
}

/* Raw steps and the axis stay within what attempt.c can add up without overflow. */
static int64_t unpack_step(struct unpacker *in)
{
	const int64_t limit = (int64_t)1 << 55;
	int64_t value = unpack_i64(in);

	in->has_failed |= value > limit || value < -limit;
	return in->has_failed ? 0 : value;
}

static void unpack_position(struct unpacker *in, enum attempts_form form, struct position *p)
{
	p->attempt = unpack_u32(in);
	uint64_t flags = unpack_u64(in);
	in->has_failed |= flags > 3;
	p->is_per_epoch = flags & 1;
	p->has_epoch = flags >> 1 & 1;
	p->first = unpack_step(in);
	p->last = unpack_step(in);
	p->stride = unpack_step(in);
	p->epoch = unpack_step(in);
	p->epoch_length = unpack_step(in);
	p->base = unpack_step(in);
	p->max_step = unpack_step(in);
	p->max_ts_ms = p->max_since_ms = unpack_i64(in);
	if (form >= ATTEMPTS_WITH_GAPS) {
		p->max_since_ms = unpack_i64(in);
		p->gap_ms = unpack_i64(in);
		in->has_failed |= p->gap_ms < 0;
	}
	p->last_line = unpack_u64(in);
}

static void unpack_track(struct unpacker *in, enum attempts_form form, struct track *track)
{
	track->health.tried = unpack_u64(in);
	track->health.matched = unpack_u64(in);
	track->health.not_numeric = unpack_u64(in);
	track->health.limited = unpack_u64(in);
	if (form >= ATTEMPTS_WITH_PLACES) {
		track->health.without_step = unpack_u64(in);
		track->health.missing = unpack_u64(in);
	}
	track->overrun = unpack_u32(in);
	track->is_left_out = track->overrun == LEFT_OUT;
	track->progress = unpack_u32(in);
	track->count = unpack_u64(in);
	track->is_on_trial = unpack_bool(in);
	unpack_position(in, form, &track->now);
	if (track->is_on_trial)
		unpack_position(in, form, &track->before);
}

static void unpack_trial(struct unpacker *in, enum attempts_form form, struct attempts *attempts)
{
	attempts->has_step = unpack_bool(in);
	attempts->has_hint = unpack_bool(in);
	attempts->hint_line = unpack_u64(in);
	attempts->trial.is_open = unpack_bool(in);
	attempts->trial.waits_for_epoch = unpack_bool(in);
	attempts->trial.is_behind_pause = form >= ATTEMPTS_WITH_GAPS && unpack_bool(in);
	attempts->trial.line = unpack_u64(in);
	attempts->trial.points = unpack_u32(in);
	attempts->revision.is_pending = unpack_bool(in);
	attempts->revision.line = unpack_u64(in);
	attempts->revision.from = unpack_u32(in);
	attempts->revision.to = unpack_u32(in);
	/* Taking back needs an attempt to go back to. */
	in->has_failed |= attempts->trial.is_open && attempts->start_count < 2;
}

enum status attempts_unpack(struct attempts *attempts, enum attempts_form form, struct unpacker *in, struct error *err)
{
	size_t count = unpack_count(in, 1);

	if (in->has_failed || count == 0 || count > ATTEMPTS_MAX)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: attempts");
	attempts->start_count = 0; /* one is there from init */
	for (size_t i = 0; i < count; i++)
		if (!attempts_add_start(attempts, unpack_step(in), INT64_MIN))
			return error_no_memory(err);
	unpack_trial(in, form, attempts);
	size_t tracks = unpack_count(in, 1);
	if (in->has_failed || tracks > SLOTS_MAX)
		return error_set(err, ERR_INVALID, "the state of an extractor is damaged: definitions");
	if (!attempts_add_tracks(attempts, tracks))
		return error_no_memory(err);
	for (size_t i = 0; i < tracks; i++)
		unpack_track(in, form, &attempts->tracks[i]);
	return OK;
}

static bool has_before(const struct track *track)
{
	return !track->is_on_trial && track->before.attempt && track->before.attempt < track->now.attempt;
}

void attempts_pack_times(const struct attempts *attempts, struct buf *out)
{
	pack_bool(out, attempts->was_late);
	for (size_t i = 0; i < attempts->start_count; i++)
		pack_i64(out, attempts->opened_ms[i]);
	for (size_t i = 0; i < attempts->track_count; i++) {
		pack_bool(out, has_before(&attempts->tracks[i]));
		if (has_before(&attempts->tracks[i]))
			pack_position(out, &attempts->tracks[i].before);
	}
}

void attempts_unpack_times(struct attempts *attempts, struct unpacker *in)
{
	attempts->was_late = unpack_bool(in);
	for (size_t i = 0; i < attempts->start_count; i++)
		attempts->opened_ms[i] = unpack_i64(in);
	for (size_t i = 0; i < attempts->track_count && !in->has_failed; i++)
		if (unpack_bool(in))
			unpack_position(in, ATTEMPTS_WITH_GAPS, &attempts->tracks[i].before);
}

void attempts_pack_sent(const struct attempts *attempts, struct buf *out)
{
	for (size_t i = 0; i < attempts->start_count; i++)
		pack_i64(out, attempts->sent_ms[i]);
}

void attempts_unpack_sent(struct attempts *attempts, struct unpacker *in)
{
	for (size_t i = 0; i < attempts->start_count; i++)
		attempts->sent_ms[i] = unpack_i64(in);
}
