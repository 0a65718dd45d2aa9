#include "detect/pace_watch.h"

#include "detect/blocks.h"

#include <string.h>

enum {
	LANE_MAX = 256, /* figures of one that wait for the others */
	TICK_MAX = 512,
	RUN = 2, /* comparisons in a row that it is slow in */
	SETTLED = 3 /* figures of a machine that took a stream over: before, they are of the one before it as much */
};

/* Steps of a later attempt come behind those of the one before, whatever their numbers. */
struct place {
	uint32_t attempt;
	int64_t step;
};

struct lane {
	struct pace *waiting; /* oldest first, from `first` */
	size_t first, count, cap; /* count: with those before `first` */
	struct pace last; /* as it was compared */
	int64_t before[2]; /* steps of the figures before it in its attempt, the newest first */
	uint32_t before_count;
	bool is_heard; /* has been compared, or waits to be */
	bool is_silent;
	uint32_t slow_run;
	int64_t slow_step; /* where that began */
	uint32_t of_sender; /* figures in a row, the last one is among them */
	int64_t left_step; /* the last of the machine before */
	struct place slow_to; /* the newest figure whose last block was slow; attempt 0: there was none */
	bool is_open; /* an incident */
	bool is_over; /* it ended with the job */
	uint32_t open_sender; /* whose that is */
	struct place
		opened; /* what a replay repeats of the time before ends nothing; attempt 0: it is not known, the first that is heard */
};

/* What was usual at a step. */
struct tick {
	struct place at;
	double usual, spread;
};

struct pace_watch {
	struct lane *lanes;
	size_t lane_count, lane_cap;
	struct tick *ticks; /* a ring; NULL until the first */
	size_t tick_count; /* ever; the newest is at tick_count - 1 */
	double *rates, *scratch; /* room for a figure of each lane */
	size_t *numbers;
	uint32_t attempt; /* the newest */
	int64_t attempt_ms; /* its first figure's time */
};

struct pace_watch *pace_watch_new(void)
{
	return mem_zeroed(sizeof(struct pace_watch));
}

void pace_watch_free(struct pace_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->lane_count; i++)
		mem_free(watch->lanes[i].waiting);
	mem_free(watch->lanes);
	mem_free(watch->ticks);
	mem_free(watch->rates);
	mem_free(watch->scratch);
	mem_free(watch->numbers);
	mem_free(watch);
}

/* The arrays grow with the lanes, so that a look needs no memory. */
static bool grow_lanes(struct pace_watch *watch, size_t lane)
{
	for (; watch->lane_count <= lane; watch->lane_count++) {
		size_t caps[] = {watch->lane_cap, watch->lane_cap, watch->lane_cap, watch->lane_cap};
		if (!mem_grow((void **)&watch->rates, watch->lane_count, &caps[0], sizeof *watch->rates) ||
			!mem_grow((void **)&watch->scratch, watch->lane_count, &caps[1], sizeof *watch->scratch) ||
			!mem_grow((void **)&watch->numbers, watch->lane_count, &caps[2], sizeof *watch->numbers) ||
			!mem_grow((void **)&watch->lanes, watch->lane_count, &caps[3], sizeof *watch->lanes))
			return false;
		watch->lane_cap = caps[3];
		watch->lanes[watch->lane_count] = (struct lane){0};
	}
	return true;
}

static void drop_old(struct lane *lane)
{
	lane->count -= lane->first;
	memmove(lane->waiting, lane->waiting + lane->first, lane->count * sizeof *lane->waiting);
	lane->first = 0;
}

/* A stream that came later counts attempts of its own: they are none of the time before. */
static bool is_of_another_count(const struct pace_watch *watch, const struct pace *pace)
{
	return pace->attempt < watch->attempt && pace->ts_ms >= watch->attempt_ms;
}

static void note_attempt(struct pace_watch *watch, const struct pace *pace)
{
	bool is_new = pace->attempt > watch->attempt;

	if (is_new)
		watch->attempt = pace->attempt;
	if (is_new || (pace->attempt == watch->attempt && pace->ts_ms < watch->attempt_ms))
		watch->attempt_ms = pace->ts_ms;
}

bool pace_watch_add(struct pace_watch *watch, size_t number, const struct pace *pace)
{
	if (!grow_lanes(watch, number))
		return false;
	struct lane *lane = &watch->lanes[number];
	uint32_t newest = lane->first < lane->count ? lane->waiting[lane->count - 1].attempt : lane->last.attempt;
	if (pace->attempt < newest || is_of_another_count(watch, pace))
		return true;
	if (lane->first > LANE_MAX)
		drop_old(lane);
	if (!mem_grow((void **)&lane->waiting, lane->count, &lane->cap, sizeof *lane->waiting))
		return false;
	note_attempt(watch, pace);
	lane->waiting[lane->count++] = *pace;
	lane->is_heard = true;
	lane->is_silent = false;
	return true;
}

static const struct pace *head_of(const struct lane *lane)
{
	return lane->first < lane->count ? &lane->waiting[lane->first] : NULL;
}

static struct place place_of(const struct pace *pace)
{
	return (struct place){pace->attempt, pace->step};
}

static bool is_behind(struct place a, struct place b)
{
	return a.attempt != b.attempt ? a.attempt < b.attempt : a.step < b.step;
}

static void pop_waiting(struct lane *lane)
{
	const struct pace *next = &lane->waiting[lane->first++];

	if (next->sender != lane->last.sender) {
		lane->left_step = lane->last.step;
		lane->of_sender = 0;
	}
	lane->of_sender += lane->of_sender < SETTLED;
	if (next->attempt != lane->last.attempt) {
		lane->before_count = lane->slow_run = 0;
		lane->is_open = lane->is_open && !lane->is_over;
		lane->is_over = false;
	} else {
		lane->before[1] = lane->before[0];
		lane->before[0] = lane->last.step;
		lane->before_count += lane->before_count < 2;
	}
	lane->last = *next;
	if (lane->first == lane->count)
		lane->first = lane->count = 0;
}

static const struct tick *tick_at(const struct pace_watch *watch, size_t number)
{
	return &watch->ticks[number % TICK_MAX];
}

/* The newest one at or before a place that was compared already; NULL: none of its attempt, or too old to tell. */
static const struct tick *tick_before(const struct pace_watch *watch, struct place place)
{
	size_t low = watch->tick_count > TICK_MAX ? watch->tick_count - TICK_MAX : 0, high = watch->tick_count;

	if (low == high || is_behind(place, tick_at(watch, low)->at))
		return NULL;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (is_behind(place, tick_at(watch, middle)->at))
			high = middle;
		else
			low = middle;
	}
	const struct tick *tick = tick_at(watch, low);
	return tick->at.attempt == place.attempt ? tick : NULL;
}

/* A figure is the median of four, each of a block: it is slow once two of them are, the last two of those before. */
static int64_t slow_since(const struct lane *lane)
{
	const int64_t *before = lane->before;

	if (lane->before_count == 2)
		return before[1] + (before[0] - before[1] + BLOCK_POINTS - 1) / BLOCK_POINTS;
	if (lane->before_count == 1)
		return before[0] - (lane->last.step - before[0]) * (BLOCK_POINTS - 1) / BLOCK_POINTS;
	return lane->last.step;
}

/* Machines that send in turns, shortly after each other, are not told apart. */
static bool has_left(const struct lane *lane)
{
	return lane->is_open && lane->opened.attempt && lane->last.sender != lane->open_sender &&
	       lane->of_sender == SETTLED;
}

/* Another machine sends it: that one was slow until then, and whether this one is, is told of its own. */
static void leave(struct lane *lane, struct pace_finding *finding, pace_report *report, void *context)
{
	finding->is_slow = false;
	finding->last_step = lane->left_step;
	lane->is_open = lane->is_over = false;
	lane->slow_run = finding->found.is_slow;
	lane->slow_step = lane->left_step + 1;
	report(context, finding);
}

/* Where the attempt before ended, its blocks had not told yet that it had caught up. */
static int64_t last_slow_step(const struct lane *lane)
{
	if (lane->slow_to.attempt && lane->slow_to.attempt != lane->last.attempt)
		return lane->slow_to.step;
	return lane->before_count == 2 ? lane->before[1] : lane->last.step;
}

/* One lane against what is usual: opens, or ends, an incident. */
static void judge(
	struct pace_watch *watch, size_t number, const struct straggler *found, pace_report *report, void *context)
{
	struct lane *lane = &watch->lanes[number];
	struct pace_finding finding = {.lane = number, .pace = lane->last, .found = *found};
	struct straggler *own = &finding.found;

	own->rate = lane->last.rate;
	own->score = (own->rate - own->usual) / own->spread;
	own->is_slow = straggler_is_slow(own);
	if (has_left(lane)) {
		leave(lane, &finding, report, context);
		return;
	}
	if (own->is_slow && !lane->slow_run)
		lane->slow_step = slow_since(lane);
	lane->slow_run = own->is_slow ? lane->slow_run + 1 : 0;
	if (!lane->opened.attempt) {
		lane->opened.attempt = lane->last.attempt;
		lane->open_sender = lane->last.sender;
	}
	finding.is_slow = !lane->is_open;
	finding.first_step = lane->slow_step;
	if (!straggler_has_caught_up(lane->last.newest, own->usual))
		lane->slow_to = place_of(&lane->last);
	finding.last_step = last_slow_step(lane);
	bool opens = !lane->is_open && lane->slow_run >= RUN;
	bool ends = lane->is_open && is_behind(lane->opened, place_of(&lane->last)) &&
		    straggler_has_caught_up(own->rate, own->usual);
	if (!opens && !ends)
		return;
	lane->is_open = opens;
	lane->is_over = false;
	lane->open_sender = lane->last.sender;
	lane->opened = place_of(&lane->last);
	report(context, &finding);
}

/* What comes of steps that were compared without it. */
static void judge_late(struct pace_watch *watch, pace_report *report, void *context)
{
	for (size_t i = 0; i < watch->lane_count && watch->tick_count; i++) {
		struct lane *lane = &watch->lanes[i];
		const struct pace *head;
		while ((head = head_of(lane)) &&
			!is_behind(tick_at(watch, watch->tick_count - 1)->at, place_of(head))) {
			const struct tick *tick = tick_before(watch, place_of(head));
			pop_waiting(lane);
			struct straggler found = {.usual = tick ? tick->usual : 0, .spread = tick ? tick->spread : 0};
			if (tick && tick->spread > 0)
				judge(watch, i, &found, report, context);
		}
	}
}

/* Of an attempt: who has a figure that waits, and who has none and may still say one. */
struct roll {
	struct place place; /* the step up to which all with a figure have said something */
	size_t with, without, longest;
};

static bool is_waited_for(const struct pace_watch *watch, const struct lane *lane, uint32_t attempt)
{
	return lane->is_heard && !lane->is_silent && !head_of(lane) && lane->last.attempt == attempt &&
	       watch->attempt == attempt; /* where others are beyond it, it is judged late */
}

/* Of the oldest attempt of which anything waits. False: nothing does. */
static bool call_roll(const struct pace_watch *watch, struct roll *out)
{
	*out = (struct roll){.place = {UINT32_MAX, INT64_MIN}};
	for (size_t i = 0; i < watch->lane_count; i++) {
		const struct pace *head = head_of(&watch->lanes[i]);
		if (head && head->attempt < out->place.attempt)
			out->place.attempt = head->attempt;
	}
	for (size_t i = 0; i < watch->lane_count; i++) {
		const struct lane *lane = &watch->lanes[i];
		const struct pace *head = head_of(lane);
		out->without += is_waited_for(watch, lane, out->place.attempt);
		if (!head || head->attempt != out->place.attempt)
			continue;
		out->with++;
		out->longest = lane->count - lane->first > out->longest ? lane->count - lane->first : out->longest;
		out->place.step = head->step > out->place.step ? head->step : out->place.step;
	}
	return out->with > 0;
}

static void leave_silent_out(struct pace_watch *watch, uint32_t attempt)
{
	for (size_t i = 0; i < watch->lane_count; i++)
		watch->lanes[i].is_silent |= is_waited_for(watch, &watch->lanes[i], attempt);
}

/* Too few are left in it to be compared. */
static void skip_attempt(struct pace_watch *watch, uint32_t attempt)
{
	for (size_t i = 0; i < watch->lane_count; i++) {
		const struct pace *head;
		while ((head = head_of(&watch->lanes[i])) && head->attempt == attempt)
			pop_waiting(&watch->lanes[i]);
	}
}

/* The place up to which all have said something. False: one must be waited for. */
static bool find_place(struct pace_watch *watch, struct place *place)
{
	struct roll roll;

	while (call_roll(watch, &roll)) {
		uint32_t attempt = roll.place.attempt;
		if (roll.without && roll.longest > LANE_MAX) {
			leave_silent_out(watch, attempt);
		} else if (!roll.without && roll.with >= STRAGGLER_STREAMS_MIN) {
			*place = roll.place;
			return true;
		} else if (roll.without || attempt == watch->attempt ||
			   pace_watch_count(watch) < STRAGGLER_STREAMS_MIN) {
			return false;
		} else {
			skip_attempt(watch, attempt);
		}
	}
	return false;
}

static void note_tick(struct pace_watch *watch, struct place place, const struct straggler *found)
{
	if (!watch->ticks && !(watch->ticks = mem_zeroed(TICK_MAX * sizeof *watch->ticks)))
		return; /* late ones go unjudged */
	watch->ticks[watch->tick_count++ % TICK_MAX] = (struct tick){place, found->usual, found->spread};
}

static void compare_all(struct pace_watch *watch, struct place place, pace_report *report, void *context)
{
	size_t count = 0;

	for (size_t i = 0; i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		const struct pace *head = head_of(lane);
		if (!head || head->attempt != place.attempt)
			continue;
		for (; head && !is_behind(place, place_of(head)); head = head_of(lane))
			pop_waiting(lane);
		watch->numbers[count] = i;
		watch->rates[count++] = lane->last.rate;
	}
	struct straggler found = straggler_find(watch->rates, watch->scratch, count);
	note_tick(watch, place, &found);
	for (size_t i = 0; i < count; i++)
		judge(watch, watch->numbers[i], &found, report, context);
}

/* Few streams may become more: of what waits for them only so much is kept. */
static void drop_surplus(struct pace_watch *watch)
{
	for (size_t i = 0; i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		if (lane->count - lane->first <= LANE_MAX)
			continue;
		lane->first = lane->count - LANE_MAX;
		drop_old(lane);
	}
}

void pace_watch_look(struct pace_watch *watch, pace_report *report, void *context)
{
	struct place place;

	judge_late(watch, report, context);
	while (find_place(watch, &place)) {
		compare_all(watch, place, report, context);
		judge_late(watch, report, context);
	}
	drop_surplus(watch);
}

bool pace_watch_resume(struct pace_watch *watch, size_t number, int64_t step)
{
	if (!grow_lanes(watch, number))
		return false;
	watch->lanes[number].is_open = true;
	watch->lanes[number].opened = (struct place){0, step};
	return true;
}

bool pace_watch_slow_to(const struct pace_watch *watch, size_t number, int64_t *step)
{
	const struct lane *lane = number < watch->lane_count ? &watch->lanes[number] : NULL;

	if (!lane || !lane->is_open || !lane->slow_to.attempt)
		return false;
	*step = lane->slow_to.step;
	return true;
}

void pace_watch_end(struct pace_watch *watch, size_t number)
{
	if (number < watch->lane_count)
		watch->lanes[number].is_over = watch->lanes[number].is_open;
}

size_t pace_watch_count(const struct pace_watch *watch)
{
	size_t count = 0;

	for (size_t i = 0; i < watch->lane_count; i++)
		count += watch->lanes[i].is_heard;
	return count;
}
