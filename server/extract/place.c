/* What was found in a segment becomes points: series, steps, attempts. */
#include "base/text/line_time.h"
#include "extract/generic/guess.h"
#include "extract/state.h"
#include "model/metrics/batch.h"

#include <math.h>

enum { RECORDS_NEEDED = 2 }; /* one alone may be of settings */

static int64_t shown_time(struct run *run)
{
	if (!run->is_time_known) {
		run->is_time_known = true;
		if (run->line->ts_ms != NO_TIME)
			run->shown_ms = run->line->ts_ms;
		else if (!line_time_parse(run->text, run->arrival_ms, &run->shown_ms))
			run->shown_ms = NO_TIME;
	}
	return run->shown_ms;
}

static const struct definition *definition_of(const struct run *run, const struct found *found)
{
	return &run->list->items[found->definition];
}

/*
 * Its only step is an epoch, which may be one of many batches: srun's number could count these, and begin anew with each epoch. There it is a
 * rank only where srun's are known, or where it has been one.
 */
static bool may_count_batches(const struct run *run, const struct found *found)
{
	const struct slot *first = &run->extractor->slots.items[run->format->first_slot + found->definition];
	bool is_epoch = found->has_step && found->has_epoch && found->step == found->epoch;

	return is_epoch && !run->extractor->is_surely_srun && !first->is_apart;
}

static void see_rank(struct extractor *extractor, const struct found *found, int32_t rank)
{
	bool is_apart = found->slot < SLOTS_MAX && extractor->slots.items[found->slot].rank == rank;

	extractor->is_srun |= found->slot == SLOT_FOLDED || is_apart;
}

/*
 * The rank that tells series apart. Numbers that only rise count lines, be they several at a step (of gradients that are summed up): ranks
 * begin anew with the next step.
 */
static int32_t rank_at(struct run *run, const struct found *found, const struct said *said, bool is_bare)
{
	struct extractor *extractor = run->extractor;
	uint32_t first = run->format->first_slot + found->definition;

	if (!is_bare || extractor->has_fallen || extractor->is_surely_srun || !found->has_step ||
		!slots_is_new_rank(&extractor->slots, first, found->name, said))
		return said->rank;
	extractor->is_srun = false;
	return RANK_NONE;
}

/* Who says it, as far as is known. */
struct speaker {
	int32_t rank;
	bool is_guess; /* by srun's number, of a line that says its step: where the metric was said at that very step behind another, these are ranks */
	bool counts; /* the number may count: it is kept, as it may yet show that it does not */
	bool is_sure; /* see slots_find */
};

static struct speaker find_speaker(struct run *run, const struct found *found, struct said said)
{
	struct extractor *extractor = run->extractor;
	int32_t bare_rank = extractor->segment.bare_rank;
	struct speaker by = {.is_guess = bare_rank != RANK_NONE && found->rank == RANK_NONE && found->has_step};

	said.rank = by.is_guess ? bare_rank : said.rank;
	bool is_bare = bare_rank != RANK_NONE && said.rank == bare_rank;
	if (is_bare && may_count_batches(run, found)) {
		by.counts = extractor->attempts.has_hint ||
			    !slots_falls(
				    &extractor->slots, run->format->first_slot + found->definition, found->name, &said);
		extractor->is_surely_srun |= !by.counts;
	}
	by.rank = by.counts ? RANK_NONE : rank_at(run, found, &said, is_bare);
	by.is_guess &= by.rank != RANK_NONE;
	by.is_sure = found->has_step && (!is_bare || extractor->is_surely_srun) && !extractor->attempts.has_hint;
	return by;
}

/* A track for each slot. */
static bool find_slot(struct run *run, struct found *found, int64_t raw_step)
{
	struct extractor *extractor = run->extractor;
	struct said said = {found->has_step ? found->step : raw_step, found->value, found->rank};
	struct speaker by = find_speaker(run, found, said);

	said.rank = by.rank;
	found->slot = slots_find(
		&extractor->slots, run->format->first_slot + found->definition, found->name, &said, by.is_sure);
	if (by.is_guess)
		see_rank(extractor, found, by.rank);
	said.rank = extractor->segment.bare_rank;
	if (by.counts && found->slot < SLOTS_MAX)
		slot_note(&extractor->slots.items[found->slot], &said);
	if (!extractor->has_several || found->slot >= SLOTS_MAX)
		return attempts_add_tracks(&extractor->attempts, extractor->slots.count);
	if (!attempts_add_tracks(&extractor->attempts, extractor->slots.count))
		return false;
	if (!owner_find_slot(run, &found->slot))
		return false;
	return attempts_add_tracks(&extractor->attempts, extractor->slots.count);
}

/*
 * An evaluation may count from 1 each time. Where the one that leads is silent, another may have begun in its place, unless that
 * reads any line; what reads any line leads nobody who knows its own.
 */
static bool is_aside(const struct run *run)
{
	const struct formats *formats = &run->extractor->formats;
	const struct format *leader = formats->count > 1 ? formats_leader(formats) : run->format;

	if (!leader || leader == run->format || (leader->is_generic && !run->format->is_generic))
		return false;
	return run->format->is_generic != leader->is_generic || !format_has_ended(leader, run->line->number);
}

static bool has_position(const struct attempts *attempts)
{
	for (size_t i = 0; i < attempts->track_count; i++)
		if (attempts->tracks[i].now.attempt)
			return true;
	return false;
}

/*
 * The first step by definitions that have changed, behind a start-up line: it may fall back behind the last one that those before have taken,
 * and is looked at as if it were theirs. Without such a line another counter may be read now.
 */
static void go_on_from_before(struct extractor *extractor, struct track *track, const struct raw_step *raw)
{
	const struct attempts *attempts = &extractor->attempts;
	const struct step_seen *last = &extractor->step;
	bool is_behind_start = attempts->has_hint && last->is_there && attempts->hint_line > last->line;

	if (!is_behind_start || raw->has_epoch || raw->value >= last->step || has_position(attempts))
		return;
	track->now = (struct position){.attempt = (uint32_t)attempts->start_count,
		.first = attempts->starts[attempts->start_count - 1],
		.last = last->step,
		.max_step = last->step,
		.max_ts_ms = last->ts_ms,
		.max_since_ms = last->ts_ms,
		.last_line = last->line};
}

/* The step on the axis, which is then also that of the neighbours. */
static enum status place(struct run *run, struct found *found, struct error *err)
{
	struct extractor *extractor = run->extractor;
	int64_t shown = shown_time(run);
	struct raw_step raw = {.value = found->step,
		.epoch = found->epoch,
		.has_epoch = found->has_epoch,
		.total = found->total,
		.ts_ms = shown != NO_TIME ? shown : run->arrival_ms,
		.line = run->line->number,
		.is_aside = is_aside(run)};
	raw.waits_for_points = sent_may_speak(&extractor->sent, &extractor->attempts, raw.ts_ms);

	struct track *track = &extractor->attempts.tracks[found->slot];
	size_t before = extractor->attempts.start_count;
	if (!track->now.attempt)
		go_on_from_before(extractor, track, &raw);
	TRY(attempts_place(&extractor->attempts, track, &raw, &found->placed, err));
	if (extractor->attempts.start_count > before)
		sent_see_lines(&extractor->sent, &extractor->attempts, raw.ts_ms);
	return OK;
}

/* A size, or the number of a run: where the point lies, but no step of the stream's. */
static bool is_of_benchmark(const struct run *run, const struct found *found)
{
	return definition_of(run, found)->shown.role == ROLE_BENCHMARK;
}

static bool is_kept(const struct found *found)
{
	return found->slot < SLOTS_MAX;
}

/* Values of the definition that the rank gave, or all ranks as one. */
static uint64_t count_of(const struct run *run, uint32_t definition, int32_t rank)
{
	const struct slot *slots = run->extractor->slots.items;
	uint32_t first = run->format->first_slot + definition, found = first;

	for (uint32_t at = slots[first].next; at != SLOT_NONE && found == first; at = slots[at].next)
		if (slots[at].rank == rank && !slots[at].name)
			found = at;
	return run->extractor->attempts.tracks[found].count;
}

/*
 * Nobody says a step: the prints are counted. What a trainer prints more seldom than its loss (an evaluation, the summary at the
 * end) stands where the loss is.
 */
static uint64_t counted_step(const struct run *run, const struct found *found)
{
	const struct slot *slot = &run->extractor->slots.items[found->slot];
	uint64_t step = run->extractor->attempts.tracks[found->slot].count;
	enum role role = definition_of(run, found)->shown.role;

	if (run->format->preset < 0 || run->list->is_reader || role == ROLE_LOSS || role == ROLE_BENCHMARK)
		return step;
	for (uint32_t i = 0; i < run->format->definition_count; i++) {
		uint64_t losses = run->list->items[i].shown.role == ROLE_LOSS ? count_of(run, i, slot->rank) : 0;
		if (losses > step)
			step = losses - 1;
	}
	return step;
}

/* Without a step of its own: the one seen last (on this line, or further up, as in a record), else the count. */
static void inherit(struct run *run, const struct step_seen *seen, const struct found *found, struct point *point)
{
	if (!seen) {
		point->step = (int64_t)counted_step(run, found);
		return;
	}
	point->step = seen->step;
	if (shown_time(run) == NO_TIME && seen->ts_ms != NO_TIME && run->line->number - seen->line <= RECORD_LINES)
		point->ts_ms = seen->ts_ms;
}

/* What another trainer's line said in between is no step of an evaluation. */
static const struct step_seen *step_before(const struct run *run, const struct found *found)
{
	const struct step_seen *leading = &run->extractor->step;

	return found->is_evaluation && leading->is_there ? leading : run_step(run);
}

/* x of the steps since the mean was printed last: (n A_n - m A_m) / (n - m). */
static double without_mean(struct slot *slot, const struct definition *definition, const struct found *found)
{
	int64_t count = found->step - definition->mean_first + 1;
	int64_t before = found->epoch == slot->last_at ? slot->last_count : 0;
	double value = found->value;

	if (before > 0 && count > before)
		value = ((double)count * found->value - (double)before * slot->last_value) / (double)(count - before);
	slot->last_at = found->epoch;
	slot->last_count = count;
	slot->last_value = found->value;
	return value;
}

static bool emit(struct run *run, const struct held *held)
{
	struct extracted_list *out = run->out;

	if (!mem_grow((void **)&out->items, out->count, &out->cap, sizeof *out->items))
		return false;
	out->items[out->count++] = (struct extracted){.definition = run->extractor->slots.items[held->slot].definition,
		.series = held->slot,
		.point = held->point,
		.unit = held->unit,
		.mark = held->mark,
		.lacks_step = held->lacks_step,
		.is_counted = held->is_counted};
	return true;
}

/* When too many wait, the oldest is dropped: its record has no end, or its metric no reason. */
static bool hold(struct extractor *extractor, const struct held *held)
{
	if (extractor->held_count >= HELD_MAX) {
		memmove(extractor->held, extractor->held + 1, (HELD_MAX - 1) * sizeof *extractor->held);
		extractor->held_count--;
	}
	if (!mem_grow((void **)&extractor->held, extractor->held_count, &extractor->held_cap, sizeof *extractor->held))
		return false;
	extractor->held[extractor->held_count] = *held;
	extractor->held[extractor->held_count++].unit = SPAN("");
	return true;
}

/* A step is that of who says it. */
static bool is_own(const struct run *run, uint32_t slot)
{
	return run->extractor->slots.items[slot].preset == run->format->preset;
}

/* It waits for a reason, whether it waits for its step as well or not. */
static bool lacks_reason(const struct run *run, const struct held *held)
{
	const struct slot *slot = &run->extractor->slots.items[held->slot];

	return slot->guessed && !slot->is_shown;
}

/* Gives those of the slot that wait for nothing else. */
static bool release(struct run *run, uint32_t slot)
{
	struct extractor *extractor = run->extractor;
	size_t kept = 0;

	for (size_t i = 0; i < extractor->held_count; i++) {
		struct held held = extractor->held[i];
		if (held.slot != slot || held.waits_for_step)
			extractor->held[kept++] = held;
		else if (!emit(run, &held))
			return false;
	}
	extractor->held_count = kept;
	return true;
}

/* What becomes of points that wait for the step at the end of their record. */
enum ending { ENDING_WITH_STEP, ENDING_AS_IS, ENDING_DROPPED };

/* Of a record without a step: a name that tells nothing is one of settings, however many of them are printed. */
static bool forget_setting(struct run *run, const struct held *held)
{
	struct slot *slot = &run->extractor->slots.items[held->slot];
	struct span name = slot->name ? span_from(slot->name) : SPAN("");

	if (!name.len || !lacks_reason(run, held) || guess_points_needed(name, false) != GUESS_NEVER)
		return false;
	slot->guessed--; /* what it was called elsewhere counts on */
	return true;
}

static bool release_waiting(struct run *run, enum ending ending)
{
	struct extractor *extractor = run->extractor;
	size_t kept = 0;

	for (size_t i = 0; i < extractor->held_count; i++) {
		struct held held = extractor->held[i];
		bool goes = held.waits_for_step && is_own(run, held.slot);
		if (goes && (ending == ENDING_DROPPED || (ending == ENDING_AS_IS && forget_setting(run, &held))))
			continue;
		if (goes && ending == ENDING_WITH_STEP) {
			held.point.step = run->format->step.step;
			held.point.attempt = attempts_of_line(&extractor->attempts, run->line->number);
			held.lacks_step = held.is_counted = false;
			held.mark.has_step = true;
			held.mark.step = run->format->step.raw;
		}
		held.waits_for_step &= !goes;
		if (held.waits_for_step || lacks_reason(run, &held))
			extractor->held[kept++] = held;
		else if (!emit(run, &held))
			return false;
	}
	extractor->held_count = kept;
	return true;
}

/* What the value is, is no guess where its line is one of a training. */
static bool is_known(const struct definition *definition)
{
	return definition->shown.role != ROLE_OTHER;
}

/* A record with a loss is one of a training: it needs no second one to show what is known. */
static void trust_record(struct run *run)
{
	struct extractor *extractor = run->extractor;

	for (size_t i = 0; i < extractor->held_count; i++) {
		const struct held *held = &extractor->held[i];
		struct slot *slot = &extractor->slots.items[held->slot];
		bool is_of_record = held->waits_for_step && is_own(run, held->slot);
		slot->is_shown |= is_of_record && is_known(&run->list->items[slot->definition]);
	}
}

/* A loss that another format of the log says, and that is no number now: whoever prints that prints it once. */
static bool is_news(const struct slot *slot, const struct definition *definition, const struct found *found)
{
	bool is_loss = definition->shown.role == ROLE_LOSS || definition->shown.role == ROLE_EVAL_LOSS;

	return slot->is_beside && is_loss && !isfinite(found->value);
}

/* True when the guessed metric has reason enough with this point. */
static bool has_reason(struct slot *slot, const struct definition *definition, const struct found *found)
{
	bool is_sure = found->has_loss && is_known(definition);
	struct span key = is_sure ? SPAN("loss") : found->name.len ? found->name : definition->shown.name;
	unsigned needed = guess_points_needed(key, found->has_step || found->step_follows || found->is_in_record);

	if (found->step_follows && needed < RECORDS_NEEDED)
		needed = RECORDS_NEEDED;
	if (slot->guessed++ == 0)
		slot->guessed_first = found->value;
	slot->has_changed |= found->value != slot->guessed_first;
	return is_news(slot, definition, found) || (slot->guessed >= needed && (needed <= 1 || slot->has_changed));
}

static bool give(struct run *run, const struct found *found, const struct point *point, bool is_counted)
{
	const struct definition *definition = definition_of(run, found);
	struct slot *slot = &run->extractor->slots.items[found->slot];
	struct held held = {.slot = found->slot,
		.waits_for_step = (definition->step_follows || found->step_follows) && !found->has_step,
		.point = *point,
		.unit = found->unit,
		.lacks_step = !found->has_step && !found->is_in_record,
		.is_counted = is_counted};

	if (run->extractor->wants_marks && run->marks < EXTRACT_MARKS_MAX) {
		run->marks++;
		held.mark = mark_found(run, found);
	}

	if (definition->is_mean && found->has_step)
		held.point.value = without_mean(slot, definition, found);
	if (definition->is_guess && !slot->is_shown) {
		if (!has_reason(slot, definition, found))
			return hold(run->extractor, &held);
		slot->is_shown = true;
		if (!release(run, found->slot))
			return false;
	}
	return held.waits_for_step ? hold(run->extractor, &held) : emit(run, &held);
}

/* A bar that is drawn where it stood, with what it said there: on each redraw of a line above it, or of a rank that went on. */
static bool is_drawn_again(const struct run *run, const struct found *found)
{
	struct slot *slot = &run->extractor->slots.items[found->slot];
	int64_t attempt = extractor_attempt(run->extractor);

	if (!found->is_of_bar || !found->has_step || definition_of(run, found)->is_mean)
		return false;
	bool is_same = slot->last_count == attempt && slot->last_at == found->placed &&
		       memcmp(&slot->last_value, &found->value, sizeof found->value) == 0;
	slot->last_count = attempt;
	slot->last_at = found->placed;
	slot->last_value = found->value;
	return is_same;
}

static bool give_point(struct run *run, const struct found *found)
{
	if (is_drawn_again(run, found))
		return true;
	struct extractor *extractor = run->extractor;
	struct track *track = &extractor->attempts.tracks[found->slot];
	int64_t shown = shown_time(run);
	struct point point = {.value = found->value,
		.line = run->line->number,
		.step = found->placed,
		.ts_ms = shown != NO_TIME ? shown : run->arrival_ms};

	const struct step_seen *seen = found->has_step || is_of_benchmark(run, found) ? NULL : step_before(run, found);
	if (!found->has_step)
		inherit(run, seen, found, &point);
	else if (found->step >= 0 && found->step < UINT32_MAX - 1)
		point.in_epoch = (uint32_t)found->step + 1;
	track->count++;
	point.attempt = attempts_of_line(&extractor->attempts, run->line->number);
	return definition_of(run, found)->is_step_only || give(run, found, &point, !found->has_step && !seen);
}

/* The first step on the segment, raw; else the last of the stream. */
static int64_t raw_step_of(const struct run *run)
{
	const struct extractor *extractor = run->extractor;

	for (size_t i = 0; i < extractor->found_count; i++)
		if (extractor->found[i].has_step)
			return extractor->found[i].step;
	const struct step_seen *seen = run_step(run);
	return seen ? seen->raw : 0;
}

static void note_step(struct run *run, int64_t step, int64_t raw)
{
	struct extractor *extractor = run->extractor;

	run->format->step = (struct step_seen){true, step, raw, run->line->number, shown_time(run)};
	if (extractor->formats.count == 1 || formats_leader(&extractor->formats) == run->format)
		extractor->step = run->format->step;
	extractor->attempts.has_hint = false;
}

/*
 * An object that is a whole curve is printed again as it grows, or behind a log that has said each step: of steps that are known it says
 * nothing new, and nothing began again. Unless a start-up line stands before it.
 */
static bool is_said_again(const struct attempts *attempts, const struct found *found)
{
	const struct position *now = &attempts->tracks[found->slot].now;
	bool has_begun_again = attempts->has_hint && attempts->hint_line > now->last_line;

	return found->is_of_curve && now->attempt && found->step <= now->max_step && !has_begun_again;
}

/* The stream's step is that of the first value that has one. */
static enum status place_steps(struct run *run, bool *has_seen, struct error *err)
{
	struct extractor *extractor = run->extractor;
	int64_t raw = raw_step_of(run), seen = 0;
	uint32_t refused = UINT32_MAX;

	for (size_t i = 0; i < extractor->found_count; i++) {
		struct found *found = &extractor->found[i];
		if (!find_slot(run, found, raw))
			return error_no_memory(err);
		if (found->slot == SLOT_NONE && found->definition != refused) {
			refused = found->definition;
			extractor->attempts.tracks[run->format->first_slot + refused].health.limited++;
		}
		if (!found->has_step || !is_kept(found))
			continue;
		if (is_said_again(&extractor->attempts, found)) {
			found->slot = SLOT_NONE;
			continue;
		}
		if (is_of_benchmark(run, found)) {
			found->placed = found->step;
			continue;
		}
		TRY(place(run, found, err));
		raw = found->is_of_curve && !*has_seen ? found->step : raw;
		seen = *has_seen ? seen : found->placed;
		*has_seen = true;
	}
	if (*has_seen)
		note_step(run, seen, raw);
	return OK;
}

enum status place_step(struct run *run, const struct guided *guided, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct found found = {.has_step = true,
		.has_epoch = guided->has_epoch,
		.step = guided->step,
		.epoch = guided->epoch,
		.total = guided->total,
		.slot = run->format->first_slot + (uint32_t)run->format->definition_count};

	if (found.slot >= extractor->attempts.track_count)
		return OK; /* of a damaged state */
	run->has_match = true;
	TRY(place(run, &found, err));
	note_step(run, found.placed, found.step);
	if (guided->run_total)
		run->format->said_total = guided->run_total;
	return release_waiting(run, ENDING_WITH_STEP) ? OK : error_no_memory(err);
}

/* A match whose step is not known, but for what was seen last. */
static void count_without_step(struct run *run)
{
	struct extractor *extractor = run->extractor;
	const struct step_seen *seen = run_step(run);
	bool is_of_record = seen && run->line->number - seen->line <= RECORD_LINES;

	for (size_t i = 0; i < extractor->found_count && !is_of_record; i++) {
		const struct found *found = &extractor->found[i];
		bool waits = found->step_follows || found->is_of_curve || definition_of(run, found)->step_follows;
		bool is_first = i == 0 || found->definition != found[-1].definition;
		if (!waits && is_first)
			extractor->attempts.tracks[run->format->first_slot + found->definition].health.without_step++;
	}
}

/* The step of a record is a value of its own, as on a line that says nothing else. */
static enum status place_record_step(struct run *run, const struct block_end *end, struct error *err)
{
	struct found found = {.definition = GENERIC_STEP,
		.rank = RANK_NONE,
		.has_step = true,
		.has_epoch = end->is_epoch,
		.step = end->step,
		.epoch = end->is_epoch ? end->step : 0};

	if (!find_slot(run, &found, found.step))
		return error_no_memory(err);
	if (!is_kept(&found))
		return OK;
	TRY(place(run, &found, err));
	note_step(run, found.placed, found.step);
	run_use(run, run->format); /* slots may have moved */
	if (end->has_loss)
		trust_record(run);
	return release_waiting(run, ENDING_WITH_STEP) ? OK : error_no_memory(err);
}

enum status place_record_end(struct run *run, struct error *err)
{
	const struct block_end *end = &run->record.end;

	if (!end->is_there || !run->extractor->held_count)
		return OK;
	if (end->has_step)
		return place_record_step(run, end, err);
	return release_waiting(run, end->is_dropped ? ENDING_DROPPED : ENDING_AS_IS) ? OK : error_no_memory(err);
}

/* All points of a segment carry the attempt that its steps led to. */
enum status place_found(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	bool has_seen = false, is_ok = true;

	TRY(place_steps(run, &has_seen, err));
	if (!has_seen)
		count_without_step(run);
	if (has_seen && extractor->held_count)
		is_ok = release_waiting(run, ENDING_WITH_STEP);
	for (size_t i = 0; i < extractor->found_count && is_ok; i++)
		if (is_kept(&extractor->found[i]))
			is_ok = give_point(run, &extractor->found[i]);
	return is_ok ? OK : error_no_memory(err);
}
