#include "detect/pace_watch.h"

#include <string.h>

enum {
	LANE_MAX = 256, /* figures of one that wait for the others */
	TICK_MAX = 512,
	RUN = 2 /* comparisons in a row that it is slow in */
};

struct lane {
	struct pace *waiting; /* oldest first, from `first` */
	size_t first, count, cap; /* count: with those before `first` */
	struct pace last; /* as it was compared */
	bool is_heard; /* has been compared, or waits to be */
	bool is_silent;
	uint32_t slow_run;
};

/* What was usual at a step. */
struct tick {
	int64_t step;
	double usual, spread;
};

struct pace_watch {
	struct lane *lanes;
	size_t lane_count, lane_cap;
	struct tick *ticks; /* a ring; NULL until the first */
	size_t tick_count; /* ever; the newest is at tick_count - 1 */
	double *rates, *scratch; /* room for a figure of each lane */
	size_t *numbers;
	uint32_t attempt;
	bool is_open;
	size_t slow_lane; /* while open */
	int64_t open_step; /* what a replay repeats of the time before ends nothing */
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

/* All that is known is of another attempt. An incident stays open until its lane is compared again. */
static void begin_attempt(struct pace_watch *watch, uint32_t attempt)
{
	for (size_t i = 0; i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		lane->first = lane->count = 0;
		lane->is_heard = lane->is_silent = false;
		lane->slow_run = 0;
	}
	watch->tick_count = 0;
	if (watch->attempt)
		watch->open_step = INT64_MIN;
	watch->attempt = attempt;
}

static void drop_old(struct lane *lane)
{
	lane->count -= lane->first;
	memmove(lane->waiting, lane->waiting + lane->first, lane->count * sizeof *lane->waiting);
	lane->first = 0;
}

bool pace_watch_add(struct pace_watch *watch, size_t number, const struct pace *pace)
{
	if (!grow_lanes(watch, number))
		return false;
	if (pace->attempt < watch->attempt)
		return true;
	if (pace->attempt > watch->attempt)
		begin_attempt(watch, pace->attempt);
	struct lane *lane = &watch->lanes[number];
	if (lane->first > LANE_MAX)
		drop_old(lane);
	if (!mem_grow((void **)&lane->waiting, lane->count, &lane->cap, sizeof *lane->waiting))
		return false;
	lane->waiting[lane->count++] = *pace;
	lane->is_heard = true;
	lane->is_silent = false;
	return true;
}

static const struct pace *head_of(const struct lane *lane)
{
	return lane->first < lane->count ? &lane->waiting[lane->first] : NULL;
}

static void pop_waiting(struct lane *lane)
{
	lane->last = lane->waiting[lane->first++];
	if (lane->first == lane->count)
		lane->first = lane->count = 0;
}

static const struct tick *tick_at(const struct pace_watch *watch, size_t number)
{
	return &watch->ticks[number % TICK_MAX];
}

/* The newest one at or before a step that was compared already; NULL: too old to tell. */
static const struct tick *tick_before(const struct pace_watch *watch, int64_t step)
{
	size_t low = watch->tick_count > TICK_MAX ? watch->tick_count - TICK_MAX : 0, high = watch->tick_count;

	if (low == high || tick_at(watch, low)->step > step)
		return NULL;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (tick_at(watch, middle)->step <= step)
			low = middle;
		else
			high = middle;
	}
	return tick_at(watch, low);
}

/* One lane against what is usual: opens, or ends, an incident. */
static void judge(
	struct pace_watch *watch, size_t number, const struct straggler *found, pace_report *report, void *context)
{
	struct lane *lane = &watch->lanes[number];
	struct straggler own = *found;

	own.rate = lane->last.rate;
	own.score = (own.rate - own.usual) / own.spread;
	own.is_slow = straggler_is_slow(&own);
	lane->slow_run = own.is_slow ? lane->slow_run + 1 : 0;
	if (!watch->is_open && lane->slow_run >= RUN) {
		watch->is_open = true;
		watch->slow_lane = number;
		watch->open_step = lane->last.step;
		report(context, true, number, &lane->last, &own);
	} else if (watch->is_open && watch->slow_lane == number && lane->last.step > watch->open_step &&
		   straggler_has_caught_up(own.rate, own.usual)) {
		watch->is_open = false;
		report(context, false, number, &lane->last, &own);
	}
}

/* What comes of steps that were compared without it. */
static void judge_late(struct pace_watch *watch, pace_report *report, void *context)
{
	for (size_t i = 0; i < watch->lane_count && watch->tick_count; i++) {
		struct lane *lane = &watch->lanes[i];
		const struct pace *head;
		while ((head = head_of(lane)) && head->step <= tick_at(watch, watch->tick_count - 1)->step) {
			const struct tick *tick = tick_before(watch, head->step);
			pop_waiting(lane);
			struct straggler found = {.usual = tick ? tick->usual : 0, .spread = tick ? tick->spread : 0};
			if (tick && tick->spread > 0)
				judge(watch, i, &found, report, context);
		}
	}
}

/* The step up to which all have said something. False: one must be waited for. */
static bool find_step(struct pace_watch *watch, int64_t *step)
{
	size_t live = 0, longest = 0, without = 0;

	*step = INT64_MIN;
	for (size_t i = 0; i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		const struct pace *head = head_of(lane);
		if (!lane->is_heard || lane->is_silent)
			continue;
		live++;
		without += !head;
		longest = lane->count - lane->first > longest ? lane->count - lane->first : longest;
		*step = head && head->step > *step ? head->step : *step;
	}
	for (size_t i = 0; without && longest > LANE_MAX && i < watch->lane_count; i++)
		if (!head_of(&watch->lanes[i]))
			watch->lanes[i].is_silent = true;
	if (without && longest > LANE_MAX)
		return find_step(watch, step); /* at most once: none is without now */
	return live >= STRAGGLER_STREAMS_MIN && !without;
}

static void note_tick(struct pace_watch *watch, int64_t step, const struct straggler *found)
{
	if (!watch->ticks && !(watch->ticks = mem_zeroed(TICK_MAX * sizeof *watch->ticks)))
		return; /* late ones go unjudged */
	watch->ticks[watch->tick_count++ % TICK_MAX] = (struct tick){step, found->usual, found->spread};
}

static void compare_all(struct pace_watch *watch, int64_t step, pace_report *report, void *context)
{
	size_t count = 0;

	for (size_t i = 0; i < watch->lane_count; i++) {
		struct lane *lane = &watch->lanes[i];
		const struct pace *head;
		if (!lane->is_heard || lane->is_silent)
			continue;
		while ((head = head_of(lane)) && head->step <= step)
			pop_waiting(lane);
		watch->numbers[count] = i;
		watch->rates[count++] = lane->last.rate;
	}
	struct straggler found = straggler_find(watch->rates, watch->scratch, count);
	note_tick(watch, step, &found);
	judge(watch, watch->numbers[found.slowest], &found, report, context);
	for (size_t i = 0; i < count; i++)
		if (i != found.slowest)
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
	int64_t step;

	judge_late(watch, report, context);
	while (find_step(watch, &step)) {
		compare_all(watch, step, report, context);
		judge_late(watch, report, context);
	}
	drop_surplus(watch);
}

void pace_watch_resume(struct pace_watch *watch, size_t lane, int64_t step)
{
	watch->is_open = true;
	watch->open_step = step;
	watch->slow_lane = lane;
}

size_t pace_watch_count(const struct pace_watch *watch)
{
	size_t count = 0;

	for (size_t i = 0; i < watch->lane_count; i++)
		count += watch->lanes[i].is_heard;
	return count;
}
