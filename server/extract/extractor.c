#include "extract/line/ansi.h"
#include "extract/line/line_hint.h"
#include "extract/line/unwrap.h"
#include "extract/state.h"
#include "base/text/line_time.h"
#include "model/metrics/batch.h"

enum { PLAIN_MAX_BYTES = 16 << 20, UNWRAPPED_MAX_BYTES = 4 * PLAIN_MAX_BYTES, ESCAPE = 0x1b };

void extracted_list_done(struct extracted_list *list)
{
	mem_free(list->items);
	*list = (struct extracted_list){0};
}

struct extractor *extractor_new(void)
{
	AUTO(extractor) extractor = mem_zeroed(sizeof *extractor);

	if (!extractor || !attempts_init(&extractor->attempts))
		return NULL;
	choice_init(&extractor->choice);
	choice_init(&extractor->guide);
	extractor->is_guided = true;
	extractor->step_ts_ms = NO_TIME;
	extractor->bare_rank = RANK_NONE;
	extractor->plain = BUF_INIT(PLAIN_MAX_BYTES);
	extractor->unwrapped = BUF_INIT(UNWRAPPED_MAX_BYTES);
	extractor->name = BUF_INIT(METRIC_NAME_MAX_BYTES);
	extractor->recent = BUF_INIT(RECENT_MAX * (RECENT_LINE_BYTES + 1));
	extractor->header = BUF_INIT(METRIC_NAME_MAX_BYTES * DEFINITIONS_MAX);
	return TAKE(extractor);
}

void extractor_free(struct extractor *extractor)
{
	if (!extractor)
		return;
	attempts_done(&extractor->attempts);
	slots_done(&extractor->slots);
	choice_done(&extractor->choice);
	choice_done(&extractor->guide);
	buf_done(&extractor->plain);
	buf_done(&extractor->unwrapped);
	buf_done(&extractor->name);
	buf_done(&extractor->header);
	buf_done(&extractor->recent);
	mem_free(extractor->held);
	mem_free(extractor->found);
	mem_free(extractor);
}

static void settle(struct definition_health *health, const struct track *track, uint64_t segments)
{
	if (track->is_left_out)
		health->limited += segments;
	else
		health->tried += segments;
}

void extractor_settle_tried(struct extractor *extractor)
{
	for (size_t i = 0; extractor->pending_tried && i < extractor->definition_count; i++) {
		struct track *track = &extractor->attempts.tracks[extractor->first_slot + i];
		settle(&track->health, track, extractor->pending_tried);
	}
	extractor->pending_tried = 0;
}

/* The slots of a list stand together; those of the list before stay, so that a number means one series for ever. */
static bool adopt_list(struct run *run)
{
	struct extractor *extractor = run->extractor;
	size_t first = extractor->slots.count, count = run->list->count;

	extractor_settle_tried(extractor);
	if (!slots_add_definitions(&extractor->slots, extractor->choice.preset, count + run->is_guided) ||
		!attempts_add_tracks(&extractor->attempts, extractor->slots.count))
		return false; /* as it was: numbers without a slot would lie outside of everything */
	extractor->first_slot = (uint32_t)first;
	extractor->definition_count = count;
	extractor->held_count = 0;
	buf_reset(&extractor->name);
	buf_reset(&extractor->header);
	if (extractor->first_slot)
		extractor->attempts.trial.is_open = false; /* what could decide it is gone */
	return true;
}

static enum status ensure_list(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;

	run->list = definition_set_list(run->set, extractor->choice.preset);
	if (extractor->definition_count == run->list->count || adopt_list(run))
		return OK;
	return error_no_memory(err);
}

/* "Epoch 3/30" comes before the first line that tells who speaks. */
void extractor_remember(struct extractor *extractor, struct span segment)
{
	struct buf *recent = &extractor->recent;

	if (segment.len > RECENT_LINE_BYTES)
		return;
	if (extractor->recent_count == RECENT_MAX) {
		struct span rest = buf_span(recent), first;
		(void)!span_next(&rest, '\n', &first);
		memmove(recent->ptr, rest.ptr, rest.len);
		recent->len = rest.len;
		extractor->recent_count--;
	}
	buf_append_span(recent, segment);
	buf_append_char(recent, '\n');
	extractor->recent_count++;
}

/* Only the steps: what gives points would have decided the choice itself. */
static enum status replay_recent(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span rest = buf_span(&extractor->recent), segment;

	for (; extractor->recent_count && span_next(&rest, '\n', &segment); extractor->recent_count--) {
		size_t kept = 0;
		TRY(match_segment(run, segment, err));
		for (size_t i = 0; i < extractor->found_count; i++)
			if (run->list->items[extractor->found[i].definition].is_step_only)
				extractor->found[kept++] = extractor->found[i];
		extractor->found_count = kept;
		if (kept)
			TRY(place_found(run, err));
	}
	extractor->recent_count = 0;
	buf_reset(&extractor->recent);
	return OK;
}

static enum status choose_preset(struct run *run, struct span segment, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct prefix prefix;

	size_t start;
	(void)!line_peel(segment, &extractor->prefixes, &prefix).len;
	if (!choice_see(&extractor->choice, run->set, run->scratch, &prefix, &start)) {
		if (extractor->choice.preset < 0)
			extractor_remember(extractor, segment);
		return OK;
	}
	prefix_trust(&extractor->prefixes, &prefix, start);
	run->list = definition_set_list(run->set, extractor->choice.preset);
	if (!adopt_list(run))
		return error_no_memory(err);
	return replay_recent(run, err);
}

static void keep_name(struct run *run)
{
	struct buf *name = &run->extractor->name;

	if (run->name.ptr == buf_span(name).ptr)
		return;
	buf_reset(name);
	buf_append_span(name, run->name);
}

static enum status extract_segment(struct run *run, struct span segment, struct error *err)
{
	if (run->set->is_preset_form)
		TRY(choose_preset(run, segment, err));
	if (run->list->count == 0)
		return OK;
	TRY(match_segment(run, segment, err));
	if (run->is_guided)
		TRY(guide_segment(run, segment, err));
	if (run->extractor->found_count)
		TRY(place_found(run, err));
	keep_name(run);
	return OK;
}

/* Points that this very line had given to an attempt which it then took back. */
static void revise_own(struct run *run, size_t first)
{
	const struct attempts *attempts = &run->extractor->attempts;

	if (!attempts->revision.is_pending)
		return;
	for (size_t i = first; i < run->out->count; i++)
		if (run->out->items[i].point.attempt == attempts->revision.from)
			run->out->items[i].point.attempt = attempts->revision.to;
}

static enum status strip(struct run *run, struct error *err)
{
	struct buf *plain = &run->extractor->plain;

	if (!memchr(run->text.ptr, ESCAPE, run->text.len))
		return OK;
	buf_reset(plain);
	ansi_strip(run->text, plain);
	TRY(buf_status(plain, err));
	run->text = buf_span(plain);
	return OK;
}

static enum status extract_segments(struct run *run, struct error *err)
{
	struct span rest = run->text, segment;

	if (!rest.len || !memchr(rest.ptr, '\r', rest.len))
		return rest.len ? extract_segment(run, rest, err) : OK;
	while (span_next(&rest, '\r', &segment))
		if (segment.len)
			TRY(extract_segment(run, segment, err));
	return OK;
}

/*
 * A record of a collector's is read for its message. A user's definition may have had the record in mind: it looks at the
 * line as it stands first.
 */
static enum status extract_text(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span message = run->text;
	int64_t shown_ms;

	if (!line_may_be_wrapped(message) || !line_unwrap(&message, &extractor->unwrapped)) {
		TRY(buf_status(&extractor->unwrapped, err));
		return extract_segments(run, err);
	}
	if (!run->set->is_preset_form)
		TRY(extract_segments(run, err));
	if (run->has_match)
		return OK;
	if (run->line->ts_ms == NO_TIME && line_time_parse(run->text, run->arrival_ms, &shown_ms)) {
		run->is_time_known = true;
		run->shown_ms = shown_ms;
	}
	run->text = message;
	TRY(strip(run, err));
	return extract_segments(run, err);
}

enum status extract_line(struct extractor *extractor, const struct definition_set *set, struct regex_scratch *scratch,
	const struct extract_line *line, int64_t arrival_ms, struct extracted_list *out, struct error *err)
{
	struct run run = {extractor, set, .scratch = scratch, .line = line, .text = line->text,
		.arrival_ms = arrival_ms, .is_guided = extractor->is_guided && set->is_guided, .out = out};
	struct attempts *attempts = &extractor->attempts;
	size_t first = out->count;

	TRY(ensure_list(&run, err));
	extractor->segment = SPAN("");
	run.may_be_start = run.list->count == 0; /* no sieve has looked */
	if (run.text.len)
		TRY(strip(&run, err));
	TRY(extract_text(&run, err));
	bool may_be_start = run.may_be_start && !run.has_match && attempts->has_step && !attempts->has_hint;
	if (may_be_start && line_is_start(run.text)) {
		attempts->has_hint = true;
		attempts->hint_line = line->number;
		extractor->largest_total = 0; /* another run, with bars of its own */
	}
	revise_own(&run, first);
	return OK;
}

bool extractor_take_revision(struct extractor *extractor, uint64_t *line, uint32_t *from, uint32_t *to)
{
	struct attempts *attempts = &extractor->attempts;

	if (!attempts->revision.is_pending)
		return false;
	attempts->revision.is_pending = false;
	*line = attempts->revision.line;
	*from = attempts->revision.from;
	*to = attempts->revision.to;
	return true;
}

bool extractor_is_undecided(const struct extractor *extractor)
{
	return extractor->attempts.trial.is_open;
}

uint32_t extractor_attempt(const struct extractor *extractor)
{
	return (uint32_t)extractor->attempts.start_count;
}

size_t extractor_attempt_starts(const struct extractor *extractor, const int64_t **starts)
{
	*starts = extractor->attempts.starts;
	return extractor->attempts.start_count;
}

int64_t extractor_last_step(const struct extractor *extractor)
{
	return extractor->attempts.has_step ? extractor->last_step : -1;
}

bool extractor_has_steps(const struct extractor *extractor)
{
	return extractor->attempts.has_step;
}

struct span extractor_peeled(const struct extractor *extractor)
{
	struct prefix prefix;

	return line_peel(extractor->segment, &extractor->prefixes, &prefix);
}

int64_t extractor_total(const struct extractor *extractor)
{
	return extractor->said_total;
}

int extractor_preset(const struct extractor *extractor)
{
	return extractor->choice.preset;
}

int extractor_format(const struct extractor *extractor)
{
	return extractor->choice.preset >= 0 ? extractor->choice.preset : extractor->guide.preset;
}

void extractor_preset_reason(const struct extractor *extractor, struct buf *out)
{
	choice_reason(&extractor->choice, out);
}

struct definition_health extractor_health(const struct extractor *extractor, size_t definition)
{
	if (definition >= extractor->definition_count)
		return (struct definition_health){0};
	const struct track *track = &extractor->attempts.tracks[extractor->first_slot + definition];
	struct definition_health health = track->health;
	settle(&health, track, extractor->pending_tried);
	return health;
}

struct extracted_series extractor_series(const struct extractor *extractor, uint32_t series)
{
	const struct slot *slot = series < extractor->slots.count ? &extractor->slots.items[series] : NULL;

	if (!slot)
		return (struct extracted_series){.preset = -1, .rank = RANK_NONE};
	return (struct extracted_series){
		slot->preset, slot->definition, span_from(slot->name ? slot->name : ""), slot->rank};
}

void extractor_series_name(
	const struct extractor *extractor, const struct definition_set *set, uint32_t series, struct buf *out)
{
	struct extracted_series of = extractor_series(extractor, series);
	struct span shown = definition_set_get(set, of.preset, of.definition).name;
	ptrdiff_t star = of.name.len ? span_find_char(shown, '*') : -1;

	if (of.name.len == 0) {
		buf_append_span(out, shown);
	} else if (star < 0) {
		buf_append_span(out, of.name);
	} else {
		buf_append(out, shown.ptr, (size_t)star);
		buf_append_span(out, of.name);
		buf_append_span(out, span_skip(shown, (size_t)star + 1));
	}
	if (of.rank != RANK_NONE)
		buf_printf(out, "{rank=\"%d\"}", (int)of.rank);
}

void extractor_reset_definitions(struct extractor *extractor)
{
	choice_done(&extractor->choice);
	choice_init(&extractor->choice);
	choice_done(&extractor->guide);
	choice_init(&extractor->guide);
	extractor->is_guided = true;
	slots_done(&extractor->slots);
	extractor->attempts.trial.is_open = false;
	extractor->attempts.track_count = 0;
	extractor->first_slot = 0;
	extractor->definition_count = 0;
	extractor->pending_tried = 0;
	extractor->held_count = 0;
	extractor->recent_count = 0;
	buf_reset(&extractor->recent);
}
