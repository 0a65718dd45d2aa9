#include "extract/sent.h"

#include "extract/line/number.h"

enum { LARGEST_FADES = 64 };

static uint32_t current(const struct attempts *attempts)
{
	return (uint32_t)attempts->start_count;
}

static int64_t newest_start_ms(const struct attempts *attempts)
{
	return attempts->sent_ms[attempts->start_count - 1];
}

/* The first step of the attempt, as far as this series knows. One that leads from now on has its steps of earlier ones still to tell. */
static void settle(struct sent_steps *sent, const struct attempts *attempts, const struct sent_step *at)
{
	sent->first = !sent->attempt || at->step < sent->first ? at->step : sent->first;
	sent->is_joining = sent->attempt < current(attempts) && at->ts_ms == newest_start_ms(attempts);
	sent->attempt = attempts_of_sent(attempts, at->ts_ms);
	sent->highest = at->step;
	sent->newest_ms = at->ts_ms;
	sent->fallen.is_there = sent->back.is_there = false;
	sent->has_begun = sent->is_over = false;
}

/* Of the last millisecond before the attempt, it has come to the attempt's own first step. */
static bool joins(const struct sent_steps *sent, const struct attempts *attempts, const struct sent_step *at)
{
	return sent->is_joining && sent->newest_ms == newest_start_ms(attempts) && at->ts_ms >= sent->newest_ms &&
	       at->step < sent->highest && at->step >= attempts->starts[attempts->start_count - 1];
}

/* Times may be anything. */
static int64_t span_ms(int64_t from_ms, int64_t to_ms)
{
	int64_t ms;

	return __builtin_sub_overflow(to_ms, from_ms, &ms) ? INT64_MAX : ms;
}

/* The largest of late: one that was larger fades. */
static int64_t largest(int64_t known, int64_t by)
{
	int64_t faded = known - known / LARGEST_FADES;

	return by > faded ? by : faded;
}

/* Steps are within STEP_MAX: their differences fit. */
static bool is_leap(const struct sent_steps *sent, int64_t from, int64_t to)
{
	int64_t stride = sent->stride > 0 ? sent->stride : 1;

	return to - from > stride + stride / 2;
}

static int64_t newest_ms(const struct sent_steps *sent)
{
	return sent->fallen.is_there ? sent->fallen.newest_ms : sent->newest_ms;
}

/* Where a restart began that has come to this step. */
static struct sent_step first_of(const struct sent_steps *sent, const struct sent_step *at)
{
	struct sent_step first = *at;

	if (!sent->back.is_there || at->step < sent->back.highest || is_leap(sent, sent->back.highest, at->step))
		return first;
	first.step = sent->back.step;
	first.ts_ms = newest_ms(sent);
	return first;
}

static enum status open_attempt(
	struct sent_steps *sent, struct attempts *attempts, int64_t step, int64_t ms, struct error *err)
{
	TRY(attempts_open_decided(attempts, step, ms, err));
	sent->attempt = current(attempts);
	sent->has_begun = false;
	sent->calm = 0;
	return OK;
}

/* What has fallen back is a restart: it is where the series stands. */
static enum status open_fallen(struct sent_steps *sent, struct attempts *attempts, bool *is_open, struct error *err)
{
	sent->fallen.is_there = false;
	if (attempts->start_count >= ATTEMPTS_MAX)
		return OK;
	TRY(open_attempt(sent, attempts, sent->fallen.step, sent->fallen.ms, err));
	sent->highest = sent->fallen.highest;
	sent->newest_ms = sent->fallen.newest_ms;
	*is_open = true;
	return OK;
}

static enum status open_at_once(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at,
	bool *is_open, struct error *err)
{
	struct sent_step first = first_of(sent, at);

	TRY(open_attempt(sent, attempts, first.step, first.ts_ms, err));
	settle(sent, attempts, &first);
	sent->highest = at->step;
	sent->newest_ms = at->ts_ms;
	*is_open = true;
	return OK;
}

static void refute(struct sent_steps *sent)
{
	sent->fallen.is_there = false;
	sent->refuted += sent->refuted < SENDERS_SURE;
	sent->calm = 0;
}

/* Beyond all steps before. */
static void go_on(struct sent_steps *sent, const struct sent_step *at)
{
	if (at->step > sent->highest) {
		sent->stride = largest(sent->stride, at->step - sent->highest);
		sent->gap_ms = largest(sent->gap_ms, span_ms(sent->newest_ms, at->ts_ms));
	}
	sent->is_over = sent->is_over && at->step == sent->highest;
	sent->highest = at->step;
	sent->newest_ms = at->ts_ms > sent->newest_ms ? at->ts_ms : sent->newest_ms;
	sent->back.is_there = sent->has_begun = false;
	if (++sent->calm < CALM_POINTS)
		return;
	sent->calm = 0;
	sent->refuted -= sent->refuted > 0;
}

/* Nobody sent anything for so long that whoever is late would not be so late. */
static bool is_behind_pause(const struct sent_steps *sent)
{
	return sent->gap_ms && span_ms(sent->newest_ms, sent->fallen.ms) / 2 > sent->gap_ms;
}

static bool is_restart(const struct sent_steps *sent, bool is_past)
{
	if (is_past)
		return sent->fallen.points >= FALLEN_SENT || is_behind_pause(sent);
	return sent->fallen.points >= FALLEN_POINTS ||
	       (sent->fallen.points >= FALLEN_LATER && span_ms(sent->fallen.ms, sent->fallen.newest_ms) >= FALLEN_MS);
}

/* A step beyond those that have fallen back. */
static enum status follow_fallen(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at,
	bool *is_open, struct error *err)
{
	bool is_past = at->step > sent->highest, is_early = at->ts_ms < sent->fallen.newest_ms;

	if (!is_past && is_early)
		return OK;
	if (!is_past || !(is_early || is_leap(sent, sent->fallen.highest, at->step))) {
		sent->fallen.highest = at->step;
		sent->fallen.newest_ms = at->ts_ms;
		sent->fallen.heard_ms = at->arrival_ms;
		sent->fallen.points++;
		sent->back.is_there = false;
		if (is_restart(sent, is_past))
			return open_fallen(sent, attempts, is_open, err);
	}
	if (is_past) {
		refute(sent);
		go_on(sent, at);
	}
	return OK;
}

/* May this step, which is below the highest, be one of a restart? */
static bool may_be_again(const struct sent_steps *sent, const struct sent_step *at)
{
	return at->ts_ms != at->arrival_ms && !sent->is_over && sent->refuted < SENDERS_SURE;
}

/* And by its time alone? */
static bool may_fall(const struct sent_steps *sent, const struct sent_step *at)
{
	return may_be_again(sent, at) && at->ts_ms > newest_ms(sent);
}

static void note_back(struct sent_steps *sent, const struct sent_step *at)
{
	if (!may_be_again(sent, at) || at->ts_ms != newest_ms(sent))
		return;
	if (!sent->back.is_there || at->step < sent->back.highest)
		sent->back.step = at->step;
	sent->back.is_there = true;
	sent->back.highest = at->step;
	sent->back.heard_ms = at->arrival_ms;
}

static bool is_first(const struct sent_steps *sent, const struct sent_step *at)
{
	return first_of(sent, at).step <= sent->first + sent->stride;
}

static void begin_fallen(struct sent_steps *sent, const struct sent_step *at)
{
	struct sent_step first = first_of(sent, at);

	sent->back.is_there = false;
	sent->fallen.is_there = true;
	sent->fallen.step = first.step;
	sent->fallen.ms = first.ts_ms;
	sent->fallen.highest = at->step;
	sent->fallen.newest_ms = at->ts_ms;
	sent->fallen.heard_ms = at->arrival_ms;
	sent->fallen.points = 1;
}

static void fall(struct sent_steps *sent, const struct sent_step *at)
{
	sent->calm = 0;
	if (!may_fall(sent, at))
		note_back(sent, at);
	else if (is_first(sent, at))
		sent->is_over = true; /* until it passes the highest: an epoch */
	else
		begin_fallen(sent, at);
}

/* Below what the restart, if it is one, has come to: it broke off, too, or one of its points comes late. */
static enum status fall_again(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at,
	bool *is_open, struct error *err)
{
	if (at->step == sent->fallen.highest)
		return OK;
	if (!may_fall(sent, at)) {
		note_back(sent, at);
		return OK;
	}
	if (is_first(sent, at))
		return OK;
	if (sent->fallen.points >= FALLEN_SENT)
		TRY(open_fallen(sent, attempts, is_open, err));
	begin_fallen(sent, at);
	return OK;
}

/* Of just before lines opened the attempt: it says nothing of whether it is one. */
static bool is_underway(const struct sent_steps *sent, const struct sent_step *at)
{
	return at->ts_ms < sent->lines_ms && span_ms(at->ts_ms, sent->lines_ms) <= UNDERWAY_MS;
}

/* Its sender has begun anew, and this falls back. A 0 that may be none waits for the step behind it. */
static enum status place_told(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at,
	bool *is_open, struct error *err)
{
	bool is_behind_0 = sent->fallen.is_there && sent->fallen.step == 0 && sent->fallen.points == 1;

	if (at->may_be_none) {
		if (!is_behind_0)
			begin_fallen(sent, at);
		return OK;
	}
	if (!is_behind_0 || at->step <= 0 || at->ts_ms < sent->fallen.newest_ms)
		return open_at_once(sent, attempts, at, is_open, err);
	sent->fallen.highest = at->step;
	sent->fallen.newest_ms = at->ts_ms;
	return open_fallen(sent, attempts, is_open, err);
}

enum status sent_place(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at, bool *is_open,
	struct error *err)
{
	*is_open = false;
	bool goes_on = at->step > sent->highest && at->ts_ms >= sent->newest_ms;
	bool is_behind = sent->attempt && sent->attempt < current(attempts); /* lines have opened it */
	if (is_behind && is_underway(sent, at)) {
		sent->highest = at->step > sent->highest ? at->step : sent->highest;
		return OK;
	}
	bool is_of_before =
		attempts_of_sent(attempts, at->ts_ms) < current(attempts); /* and says nothing of this one */
	if (!sent->attempt || joins(sent, attempts, at) ||
		(is_behind && (is_of_before || !(goes_on && attempts_refute(attempts))))) {
		settle(sent, attempts, at);
		return OK;
	}
	if (is_of_before)
		return OK;
	sent->attempt = current(attempts); /* if lower: lines have taken theirs back */
	bool is_told = sent->has_begun && at->step <= sent->highest && at->ts_ms > sent->newest_ms;
	if (is_told && attempts->start_count < ATTEMPTS_MAX)
		return place_told(sent, attempts, at, is_open, err);
	if (sent->fallen.is_there)
		return at->step <= sent->fallen.highest ? fall_again(sent, attempts, at, is_open, err)
							: follow_fallen(sent, attempts, at, is_open, err);
	if (at->step < sent->highest)
		fall(sent, at);
	else if (at->step > sent->highest || at->ts_ms > sent->newest_ms)
		go_on(sent, at);
	return OK;
}

void sent_see_lines(struct sent_steps *sent, struct attempts *attempts, int64_t ms)
{
	int64_t start = attempts->starts[attempts->start_count - 1];

	sent->lines_ms = ms;
	if (!sent->fallen.is_there || is_leap(sent, sent->fallen.highest, start) ||
		is_leap(sent, start, sent->fallen.step))
		return;
	attempts->sent_ms[attempts->start_count - 1] = sent->fallen.ms;
}

bool sent_may_speak(const struct sent_steps *sent, const struct attempts *attempts, int64_t now_ms)
{
	int64_t silent_ms = span_ms(sent->newest_ms, now_ms);

	return sent->attempt && sent->attempt < current(attempts) &&
	       (silent_ms <= SPEAKS_MS || silent_ms / 2 <= sent->gap_ms);
}

void sent_end_body(struct sent_steps *sent, int64_t arrival_ms)
{
	if (sent->fallen.is_there && span_ms(sent->fallen.heard_ms, arrival_ms) > FALLEN_FORGOTTEN_MS)
		sent->fallen.is_there = false;
	if (sent->back.is_there && span_ms(sent->back.heard_ms, arrival_ms) > FALLEN_FORGOTTEN_MS)
		sent->back.is_there = false;
}

/* ---- as bytes ---- */

void sent_pack(const struct sent_steps *sent, struct buf *out)
{
	pack_u64(out, sent->leader);
	pack_u64(out, (uint64_t)sent->is_loss | (uint64_t)sent->has_begun << 1 | (uint64_t)sent->fallen.is_there << 2 |
			      (uint64_t)sent->is_over << 3 | (uint64_t)(sent->lines_ms != 0) << 4 |
			      (uint64_t)sent->is_joining << 5 | (uint64_t)sent->back.is_there << 6);
	pack_u64(out, sent->attempt);
	pack_i64(out, sent->first);
	pack_i64(out, sent->highest);
	pack_i64(out, sent->newest_ms);
	pack_i64(out, sent->stride);
	pack_i64(out, sent->gap_ms);
	pack_u64(out, sent->refuted);
	pack_u64(out, sent->calm);
	if (sent->lines_ms)
		pack_i64(out, sent->lines_ms);
	if (sent->back.is_there) {
		pack_i64(out, sent->back.step);
		pack_i64(out, sent->back.highest);
		pack_i64(out, sent->back.heard_ms);
	}
	if (!sent->fallen.is_there)
		return;
	pack_i64(out, sent->fallen.step);
	pack_i64(out, sent->fallen.ms);
	pack_i64(out, sent->fallen.highest);
	pack_i64(out, sent->fallen.newest_ms);
	pack_i64(out, sent->fallen.heard_ms);
	pack_u64(out, sent->fallen.points);
}

static int64_t unpack_step(struct unpacker *in)
{
	int64_t step = unpack_i64(in);

	in->has_failed |= step > STEP_MAX || step < -STEP_MAX;
	return in->has_failed ? 0 : step;
}

static uint32_t unpack_count_to(struct unpacker *in, uint32_t most)
{
	uint64_t count = unpack_u64(in);

	in->has_failed |= count > most;
	return in->has_failed ? 0 : (uint32_t)count;
}

static void unpack_opened(struct attempts *attempts, struct unpacker *in)
{
	uint32_t opened = unpack_count_to(in, ATTEMPTS_MAX);
	int64_t ms = unpack_i64(in);

	if (opened && opened <= attempts->start_count)
		attempts->sent_ms[opened - 1] = ms;
}

void sent_unpack(struct sent_steps *sent, struct attempts *only, struct unpacker *in)
{
	*sent = (struct sent_steps){.leader = unpack_u64(in)};
	uint32_t flags = unpack_count_to(in, 127);
	sent->is_loss = flags & 1;
	sent->has_begun = flags >> 1 & 1;
	sent->is_over = flags >> 3 & 1;
	sent->is_joining = flags >> 5 & 1;
	sent->back.is_there = flags >> 6 & 1;
	sent->attempt = unpack_count_to(in, ATTEMPTS_MAX);
	sent->first = unpack_step(in);
	sent->highest = unpack_step(in);
	sent->newest_ms = unpack_i64(in);
	sent->stride = unpack_i64(in);
	sent->gap_ms = unpack_i64(in);
	in->has_failed |= sent->stride < 0 || sent->stride > 2 * STEP_MAX || sent->gap_ms < 0;
	sent->refuted = unpack_count_to(in, SENDERS_SURE);
	sent->calm = unpack_count_to(in, CALM_POINTS);
	if (only)
		unpack_opened(only, in);
	if (flags >> 4 & 1)
		sent->lines_ms = unpack_i64(in);
	if (sent->back.is_there) {
		sent->back.step = unpack_step(in);
		sent->back.highest = unpack_step(in);
		sent->back.heard_ms = unpack_i64(in);
	}
	if (!(flags >> 2 & 1))
		return;
	sent->fallen.is_there = true;
	sent->fallen.step = unpack_step(in);
	sent->fallen.ms = unpack_i64(in);
	sent->fallen.highest = unpack_step(in);
	sent->fallen.newest_ms = unpack_i64(in);
	sent->fallen.heard_ms = unpack_i64(in);
	sent->fallen.points = unpack_count_to(in, FALLEN_POINTS);
}
