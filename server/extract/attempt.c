#include "extract/attempt.h"
#include "extract/line/number.h"

enum { GAP_FADES = 64, LATE_MS = 2000, NEAR_SHARE = 8 };

bool attempts_init(struct attempts *attempts)
{
	*attempts = (struct attempts){0};
	return attempts_add_start(attempts, 0, INT64_MIN);
}

bool attempts_add_start(struct attempts *attempts, int64_t step, int64_t ms)
{
	size_t at = attempts->start_count;

	if (!mem_grow((void **)&attempts->starts, at, &attempts->start_cap, sizeof *attempts->starts) ||
		!mem_grow((void **)&attempts->opened_ms, at, &attempts->opened_cap, sizeof *attempts->opened_ms) ||
		!mem_grow((void **)&attempts->sent_ms, at, &attempts->sent_cap, sizeof *attempts->sent_ms))
		return false;
	attempts->starts[at] = step;
	attempts->opened_ms[at] = ms;
	attempts->sent_ms[at] = INT64_MIN;
	attempts->start_count++;
	return true;
}

void attempts_done(struct attempts *attempts)
{
	mem_free(attempts->tracks);
	mem_free(attempts->starts);
	mem_free(attempts->opened_ms);
	mem_free(attempts->sent_ms);
	mem_free(attempts->breaks);
	*attempts = (struct attempts){0};
}

bool attempts_add_tracks(struct attempts *attempts, size_t count)
{
	while (attempts->track_count < count) {
		if (!mem_grow((void **)&attempts->tracks, attempts->track_count, &attempts->track_cap,
			    sizeof *attempts->tracks))
			return false;
		attempts->tracks[attempts->track_count++] = (struct track){0};
	}
	return true;
}

bool attempts_set_breaks(struct attempts *attempts, const int64_t *at_ms, size_t count, unsigned changes)
{
	int64_t *breaks = count ? mem_alloc(count * sizeof *breaks) : NULL;

	if (count && !breaks)
		return false;
	if (breaks)
		memcpy(breaks, at_ms, count * sizeof *breaks);
	mem_free(attempts->breaks);
	attempts->breaks = breaks;
	attempts->break_count = count;
	attempts->break_changes = changes;
	return true;
}

/* The first step behind a break that was told, on a line that stands for it. */
static void look_for_break(struct attempts *attempts, const struct position *now, const struct raw_step *raw)
{
	size_t low = 0, high = attempts->break_count;

	if (!high || !now->attempt)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (attempts->breaks[middle] <= now->max_ts_ms)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < attempts->break_count && attempts->breaks[low] <= raw->ts_ms) {
		attempts->has_hint = true;
		attempts->hint_line = raw->line;
	}
}

static uint32_t current(const struct attempts *attempts)
{
	return (uint32_t)attempts->start_count;
}

/* A start-up line stands behind what the position saw. */
static bool has_hint(const struct attempts *attempts, const struct position *now)
{
	return attempts->has_hint && attempts->hint_line > now->last_line;
}

/* base + by, unless that leaves the axis. */
static void shift_base(struct position *p, int64_t epochs)
{
	int64_t by, base;

	if (!__builtin_mul_overflow(p->epoch_length, epochs, &by) && !__builtin_add_overflow(p->base, by, &base) &&
		base >= -STEP_MAX && base <= STEP_MAX)
		p->base = base;
}

static int64_t length_of_epoch(const struct position *p)
{
	int64_t length = p->last - p->first + (p->stride ? p->stride : 1);

	return length > 0 && length <= STEP_MAX ? length : 1;
}

/* That the line says, unless the counter went further. */
static int64_t length_with_total(const struct position *p, const struct raw_step *raw)
{
	return raw->total >= p->last && raw->total > 0 && raw->total <= STEP_MAX ? raw->total : length_of_epoch(p);
}

static void follow_epoch(struct position *p, const struct raw_step *raw)
{
	/* An epoch of one point says the same step again and again; a global step that is printed twice does not. */
	bool fell = raw->value < p->last || (raw->value == p->last && p->stride == 0);

	if (raw->epoch > p->epoch && fell)
		p->epoch_length = length_with_total(p, raw);
	if (raw->epoch > p->epoch ? fell : p->epoch_length > 0)
		shift_base(p, raw->epoch - p->epoch);
	p->first = raw->value;
	p->stride = 0;
}

static void next_epoch(struct position *p, const struct raw_step *raw)
{
	p->is_per_epoch = true;
	p->epoch_length = length_with_total(p, raw);
	shift_base(p, 1);
	p->first = raw->value;
	p->stride = 0;
}

/* It had come to its end, and is near its beginning: ranks that are late are not so late. */
static bool is_full_before(const struct position *p, const struct raw_step *raw)
{
	int64_t near = raw->total / NEAR_SHARE;

	return !p->has_epoch && !raw->has_epoch && raw->total > 0 && p->last == raw->total && raw->value < p->last &&
	       raw->value <= (p->stride > near ? p->stride : near);
}

/* The second step of the first epoch that was told apart: one behind all of the epoch before says that a stray line fell back. */
static void go_on(struct position *p, const struct raw_step *raw)
{
	bool is_second = p->last == p->first && p->base == p->epoch_length;
	bool is_behind = p->epoch_length == 0 || (is_second && raw->value - p->first >= p->epoch_length);

	if (!is_behind)
		return;
	p->is_per_epoch = false;
	p->base = 0;
}

/* Moves p on to the raw step and returns it unrolled. has_begun: what ran up to here may run again. */
static int64_t unroll(struct position *p, const struct raw_step *raw, bool has_begun)
{
	if (p->has_epoch && raw->has_epoch && raw->epoch != p->epoch)
		follow_epoch(p, raw);
	else if (!has_begun && is_full_before(p, raw))
		next_epoch(p, raw);
	else if (p->is_per_epoch && raw->value <= p->first && raw->value < p->last)
		next_epoch(p, raw);
	else if (p->is_per_epoch && raw->value > p->last)
		go_on(p, raw);
	if (p->stride == 0 && raw->value > p->first)
		p->stride = raw->value - p->first;
	p->has_epoch = raw->has_epoch;
	p->epoch = raw->has_epoch ? raw->epoch : 0;
	p->last = raw->value;
	int64_t step = p->base + raw->value;
	return step >= -STEP_MAX && step <= STEP_MAX ? step : raw->value;
}

/* The longest of late counts: an evaluation between two steps is forgotten, some dozens of steps later. */
static void reach(struct position *p, int64_t step, int64_t ts_ms)
{
	int64_t gap_ms;

	if (!__builtin_sub_overflow(ts_ms, p->max_since_ms, &gap_ms) && gap_ms > 0) {
		int64_t faded_ms = p->gap_ms - p->gap_ms / GAP_FADES;
		p->gap_ms = gap_ms > faded_ms ? gap_ms : faded_ms;
	}
	p->max_step = step;
	p->max_since_ms = ts_ms;
}

/* The position after the first point of an attempt. */
static void settle(struct position *p, const struct attempts *attempts, const struct raw_step *raw, int64_t step)
{
	if (!p->has_epoch || p->attempt == 0) {
		p->first = raw->value;
		p->stride = 0;
	}
	p->last = raw->value;
	p->has_epoch = raw->has_epoch;
	p->epoch = raw->has_epoch ? raw->epoch : 0;
	p->attempt = current(attempts);
	p->max_step = step;
	p->max_ts_ms = raw->ts_ms;
	p->max_since_ms = raw->ts_ms;
	p->last_line = raw->line;
}

static void confirm(struct attempts *attempts)
{
	attempts->trial.is_open = false;
	for (size_t i = 0; i < attempts->track_count; i++)
		attempts->tracks[i].is_on_trial = false;
}

static bool started_over(const struct track *track)
{
	return track->is_on_trial && !track->now.has_epoch && track->now.first == track->before.first;
}

/* The attempt on trial never was: its points go to the one before. */
static void take_back(struct attempts *attempts)
{
	uint32_t from = current(attempts);

	attempts->start_count--;
	attempts->is_reached_known = false;
	attempts->trial.is_open = false;
	attempts->revision.is_pending = true;
	attempts->revision.line = attempts->trial.line;
	attempts->revision.from = from;
	attempts->revision.to = from - 1;
	for (size_t i = 0; i < attempts->track_count; i++) {
		struct track *track = &attempts->tracks[i];
		if (track->is_on_trial)
			track->now = track->before;
		else if (track->now.attempt == from)
			track->now.attempt = from - 1;
		track->is_on_trial = false;
	}
}

/*
 * The attempt on trial is another epoch: of a counter that has just started over again (is_again), or of one that fell
 * back while the step of another definition went on.
 */
static void take_back_as_epoch(struct attempts *attempts, bool is_again)
{
	for (size_t i = 0; i < attempts->track_count; i++) {
		struct track *track = &attempts->tracks[i];
		struct position *p = &track->before;
		int64_t highest = track->now.max_step - track->now.base;
		if (!track->is_on_trial || (is_again && !started_over(track)))
			continue;
		p->is_per_epoch = true;
		if (!started_over(track))
			continue;
		p->epoch_length = length_of_epoch(p);
		shift_base(p, 1);
		p->last = track->now.last;
		p->stride = track->now.stride ? track->now.stride : p->stride;
		p->max_step = p->base + highest;
		p->max_ts_ms = track->now.max_ts_ms;
		p->max_since_ms = track->now.max_since_ms;
		p->gap_ms = track->now.gap_ms;
		p->last_line = track->now.last_line;
	}
	take_back(attempts);
}

static enum status open_attempt(
	struct attempts *attempts, const struct raw_step *raw, int64_t step, bool waits_for_epoch, struct error *err)
{
	if (!attempts_add_start(attempts, step, raw->ts_ms))
		return error_no_memory(err);
	confirm(attempts);
	attempts->is_reached_known = false;
	attempts->trial.is_open = true;
	attempts->trial.waits_for_epoch = waits_for_epoch;
	attempts->trial.line = raw->line;
	attempts->trial.is_behind_pause = false;
	attempts->trial.points = 0;
	return OK;
}

enum status attempts_open_decided(struct attempts *attempts, int64_t step, int64_t sent_ms, struct error *err)
{
	TRY(open_attempt(attempts, &(struct raw_step){.value = step, .ts_ms = INT64_MIN}, step, false, err));
	attempts->trial.is_open = false;
	attempts->sent_ms[attempts->start_count - 1] = sent_ms;
	return OK;
}

uint32_t attempts_of_sent(const struct attempts *attempts, int64_t ts_ms)
{
	size_t at = attempts->start_count - 1;

	while (at && ts_ms < attempts->sent_ms[at])
		at--;
	return (uint32_t)at + 1;
}

/* A track comes into an attempt that is already open. */
static void enter(
	struct attempts *attempts, struct track *track, const struct raw_step *raw, struct position *next, int64_t step)
{
	track->before = track->now;
	track->is_on_trial = attempts->trial.is_open;
	track->progress = 1;
	settle(next, attempts, raw, step);
	track->now = *next;
}

/* A start-up line stands before the trial that the track is on. */
static bool is_hinted(const struct attempts *attempts, const struct track *track)
{
	return track->is_on_trial && attempts->hint_line > track->before.last_line &&
	       attempts->hint_line <= attempts->trial.line;
}

static void advance(
	struct attempts *attempts, struct track *track, const struct raw_step *raw, struct position *next, int64_t step)
{
	bool is_progress = step > track->now.max_step;

	if (is_progress)
		reach(next, step, raw->ts_ms);
	next->max_ts_ms = raw->ts_ms > next->max_ts_ms ? raw->ts_ms : next->max_ts_ms;
	next->last_line = raw->line;
	track->now = *next;
	if (!track->is_on_trial)
		return;
	track->progress += is_progress && track->progress < TRIAL_PROGRESS;
	bool is_restart = track->progress >= TRIAL_PROGRESS && !attempts->trial.waits_for_epoch;
	bool is_waiting = raw->waits_for_points && !is_hinted(attempts, track);
	bool is_decided = (is_restart || step > track->before.max_step) && !is_waiting;
	if (is_decided || ++attempts->trial.points >= TRIAL_POINTS_MAX)
		confirm(attempts);
}

/* Late as docs/goodput.md has it, by the time that a step took at most. */
static bool is_pause(const struct position *p, int64_t ts_ms)
{
	int64_t silent_ms, late_ms;

	if (!p->gap_ms || __builtin_sub_overflow(ts_ms, p->max_ts_ms, &silent_ms))
		return false;
	late_ms = silent_ms - p->gap_ms;
	return late_ms > p->gap_ms && late_ms > LATE_MS;
}

/* Does the trial lead to this step, past the old maximum, through all that lies between? */
static bool leads_on(const struct track *track, int64_t step)
{
	int64_t stride = track->before.stride ? track->before.stride : 1;

	return track->now.max_step >= track->before.max_step || step - track->now.max_step <= stride;
}

/* From a few steps far below the old maximum to the one that comes next behind it: nobody made what lies between again. */
static bool leaps(const struct track *track, int64_t step)
{
	int64_t stride = track->before.stride > 0 ? track->before.stride : 1;
	int64_t old = track->before.max_step, late = track->now.max_step;

	return track->progress < TRIAL_PROGRESS && late < old && step > old && step - old <= 2 * stride &&
	       step - late > 2 * stride;
}

/* The trial is over, and was no restart: a step beyond the old maximum comes too early. */
static bool is_refuted(const struct attempts *attempts, const struct track *track, int64_t step)
{
	bool is_early = track->progress < TRIAL_PROGRESS && step > track->before.max_step;

	if (!track->is_on_trial || !is_early)
		return false;
	if (is_hinted(attempts, track))
		return leaps(track, step);
	return !attempts->trial.is_behind_pause || !leads_on(track, step);
}

/* The same by the step of a track that is not on trial. A hint is refuted by a leap alone. */
static bool goes_on_beside(const struct attempts *attempts, const struct track *track, int64_t step)
{
	if (!attempts->trial.is_open || step <= track->now.max_step)
		return false;
	for (size_t i = 0; i < attempts->track_count; i++) {
		const struct track *other = &attempts->tracks[i];
		if (is_hinted(attempts, other) && !leaps(other, step))
			return false;
	}
	return true;
}

bool attempts_refute(struct attempts *attempts)
{
	if (!attempts->trial.is_open || attempts->revision.is_pending)
		return false;
	for (size_t i = 0; i < attempts->track_count; i++)
		if (is_hinted(attempts, &attempts->tracks[i]))
			return false;
	take_back_as_epoch(attempts, false);
	return true;
}

/*
 * From a checkpoint of the step before the last one that was printed only that one is made again. Ranks and late lines say a step twice,
 * too: a start-up line and a silence both have to stand between.
 */
static bool is_last_again(const struct attempts *attempts, const struct position *now, const struct raw_step *raw)
{
	return has_hint(attempts, now) && !raw->is_aside && !now->is_per_epoch && is_pause(now, raw->ts_ms);
}

/*
 * The step is below the maximum, or made again behind a start-up line, and log time is not: a restart, an epoch, or one of the ranks is
 * slow.
 */
static enum status fall_back(struct attempts *attempts, struct track *track, const struct raw_step *raw,
	struct position *next, int64_t *step, struct error *err)
{
	bool is_told = has_hint(attempts, &track->now);
	bool is_first = !raw->has_epoch && raw->value == track->now.first;
	bool is_behind_pause = is_pause(&track->now, raw->ts_ms);

	if (!is_told && attempts->trial.is_open && attempts->trial.waits_for_epoch && is_first && started_over(track) &&
		track->now.max_step == track->before.max_step) {
		take_back_as_epoch(attempts, true);
		return attempts_place(attempts, track, raw, step, err);
	}
	bool is_refused = attempts->revision.is_pending || attempts->start_count >= ATTEMPTS_MAX;
	bool is_undecided = attempts->trial.is_open && !is_hinted(attempts, track);
	bool is_known = is_undecided || track->now.is_per_epoch || raw->is_aside;
	if (is_refused || (is_known && !is_told)) {
		advance(attempts, track, raw, next, *step);
		return OK;
	}
	TRY(open_attempt(attempts, raw, *step, is_first && !is_told, err));
	attempts->trial.is_behind_pause = !is_told && is_behind_pause;
	enter(attempts, track, raw, next, *step);
	return OK;
}

/* ---- what comes late ---- */

/* Of the attempt before; NULL: nobody knows where that stood. */
static struct position *position_before(const struct attempts *attempts, struct track *track)
{
	struct position *old = track->now.attempt == current(attempts) ? &track->before : &track->now;

	return old->attempt && old->attempt < current(attempts) && !old->is_per_epoch ? old : NULL;
}

/* The attempt began with this step already, of the same counter. */
static void move_start(struct attempts *attempts, struct track *track, const struct raw_step *raw, int64_t step)
{
	size_t at = attempts->start_count - 1;

	if (track->now.attempt != current(attempts) || track->now.base + track->now.first != attempts->starts[at] ||
		step >= attempts->starts[at])
		return;
	attempts->starts[at] = step;
	attempts->has_moved = true;
	track->now.first = raw->value;
}

/* The next step of the newest attempt: its clock was set back. A batch that comes late begins with another one, and goes on with any. */
static bool is_next(const struct attempts *attempts, const struct track *track, int64_t step)
{
	const struct position *now = &track->now;
	int64_t stride = now->stride > 0 ? now->stride : 1;

	return !attempts->was_late && now->attempt == current(attempts) && step > now->max_step &&
	       step - now->max_step <= 2 * stride;
}

/* The same of one that has left the attempt before behind, so that what was not said of that does not begin with it. */
static bool is_next_behind(
	const struct attempts *attempts, const struct track *track, const struct position *old, int64_t step)
{
	return track->now.max_step > old->max_step && is_next(attempts, track, step);
}

/* How far anybody was in the attempt before. Looked up once an attempt: a line may have thousands of values, each with its definition. */
static int64_t reached_before(struct attempts *attempts)
{
	if (attempts->is_reached_known)
		return attempts->reached;
	attempts->reached = INT64_MIN;
	for (size_t i = 0; i < attempts->track_count; i++) {
		const struct position *old = position_before(attempts, &attempts->tracks[i]);
		if (old && old->max_step > attempts->reached)
			attempts->reached = old->max_step;
	}
	attempts->is_reached_known = true;
	return attempts->reached;
}

/* Further than all that the attempt before made, in which others led: it was printed since, by another clock. */
static bool is_beyond(struct attempts *attempts, const struct position *old, int64_t step)
{
	int64_t reached = reached_before(attempts);

	return old->max_step < reached && step > reached;
}

/* By its time. */
static uint32_t attempts_at(const struct attempts *attempts, int64_t ts_ms)
{
	size_t at = attempts->start_count - 1;

	while (at && attempts->opened_ms[at] > ts_ms)
		at--;
	return (uint32_t)at + 1;
}

uint32_t attempts_among(const struct attempts *attempts, int64_t ts_ms)
{
	return attempts->was_late ? attempts_at(attempts, ts_ms) : current(attempts);
}

static void note_late(struct attempts *attempts, struct position *old, const struct raw_step *raw, int64_t step)
{
	old->max_step = step > old->max_step ? step : old->max_step;
	attempts->reached = step > attempts->reached ? step : attempts->reached;
	old->max_ts_ms = raw->ts_ms > old->max_ts_ms ? raw->ts_ms : old->max_ts_ms;
	attempts->late_attempt = attempts_at(attempts, raw->ts_ms);
	attempts->late_line = raw->line + 1;
}

/* A step from before the newest attempt began, by its time: a batch that was sent again, another file of the stream. */
static bool is_of_before(struct attempts *attempts, struct track *track, const struct raw_step *raw, int64_t *step)
{
	struct position *old = position_before(attempts, track);

	if (raw->ts_ms >= attempts->opened_ms[attempts->start_count - 1] || !old) {
		attempts->was_late = false;
		return false;
	}
	struct position then = *old;
	int64_t placed = unroll(&then, raw, true);
	bool is_behind_all = raw->ts_ms > old->max_ts_ms;
	if (is_behind_all && placed <= old->max_step)
		move_start(attempts, track, raw, placed);
	if (is_behind_all)
		attempts->was_late = placed > old->max_step && !is_next_behind(attempts, track, old, placed) &&
				     !is_beyond(attempts, old, placed);
	else
		attempts->was_late = !is_next(attempts, track, placed);
	if (!attempts->was_late) { /* the newest attempt has lines of then, and more of them may come */
		attempts->opened_ms[attempts->start_count - 1] = raw->ts_ms;
		return false;
	}
	note_late(attempts, old, raw, placed);
	*step = placed;
	return true;
}

uint32_t attempts_of_line(const struct attempts *attempts, uint64_t line)
{
	return attempts->late_line == line + 1 ? attempts->late_attempt : current(attempts);
}

enum status attempts_place(
	struct attempts *attempts, struct track *track, const struct raw_step *raw, int64_t *step, struct error *err)
{
	struct position next = track->now;
	struct position *now = &track->now;

	if (is_of_before(attempts, track, raw, step))
		return OK;
	look_for_break(attempts, now, raw);
	*step = unroll(&next, raw, now->attempt < current(attempts) || has_hint(attempts, now));
	if (!attempts->has_step)
		attempts->starts[0] = *step;
	attempts->has_step = true;
	if (now->attempt == 0) {
		settle(&next, attempts, raw, *step);
		*now = next;
	} else if (now->attempt < current(attempts)) {
		if (goes_on_beside(attempts, track, *step)) {
			take_back_as_epoch(attempts, false);
			return attempts_place(attempts, track, raw, step, err);
		}
		enter(attempts, track, raw, &next, *step);
	} else if ((*step < now->max_step || (*step == now->max_step && is_last_again(attempts, now, raw))) &&
		   raw->ts_ms >= now->max_ts_ms) {
		return fall_back(attempts, track, raw, &next, step, err);
	} else if (*step >= now->max_step) {
		if (attempts->trial.is_open && is_refuted(attempts, track, *step)) { /* a late chunk, a stray line */
			take_back(attempts);
			return attempts_place(attempts, track, raw, step, err);
		}
		advance(attempts, track, raw, &next, *step);
	}
	return OK;
}
