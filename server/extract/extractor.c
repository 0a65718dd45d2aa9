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
	formats_init(&extractor->formats);
	formats_init(&extractor->guide);
	extractor->is_guided = true;
	extractor->bare_rank = RANK_NONE;
	extractor->plain = BUF_INIT(PLAIN_MAX_BYTES);
	extractor->unwrapped = BUF_INIT(UNWRAPPED_MAX_BYTES);
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
	formats_done(&extractor->formats);
	formats_done(&extractor->guide);
	buf_done(&extractor->plain);
	buf_done(&extractor->unwrapped);
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

void format_settle_tried(struct format *format, struct track *tracks)
{
	for (size_t i = 0; format->pending_tried && i < format->definition_count; i++)
		settle(&tracks[i].health, &tracks[i], format->pending_tried);
	format->pending_tried = 0;
}

void run_use(struct run *run, struct format *format)
{
	run->format = format;
	run->list = definition_set_list(run->set, format->preset);
	run->tracks = run->extractor->attempts.tracks + format->first_slot;
}

/* Of a list that has changed under the format: what waits for it waits in vain. */
static void forget_list(struct extractor *extractor, struct format *format)
{
	format_settle_tried(format, &extractor->attempts.tracks[format->first_slot]);
	extractor->held_count = 0;
	buf_reset(&format->name);
	buf_reset(&extractor->header);
	extractor->attempts.trial.is_open = false; /* what could decide it is gone */
}

/*
 * The slots of a list stand together; those of lists before stay, so that a number means one series for ever, and a preset
 * that comes back finds its own.
 */
enum status run_give_slots(struct run *run, struct format *format, bool *has_room, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct slots *slots = &extractor->slots;
	size_t count = definition_set_list(run->set, format->preset)->count, needed = count + run->is_guided;
	uint32_t first = format->preset >= 0 ? slots_find_definitions(slots, format->preset, count) : SLOT_NONE;

	if (format->definition_count)
		forget_list(extractor, format);
	*has_room = first != SLOT_NONE || slots->count + needed <= SLOTS_MAX;
	if (!*has_room)
		return OK;
	if (first == SLOT_NONE) {
		first = (uint32_t)slots->count;
		extractor->has_several |= run->set->is_preset_form && slots->count > 0;
		if (!slots_add_definitions(slots, format->preset, needed) ||
			!attempts_add_tracks(&extractor->attempts, slots->count))
			return error_no_memory(err); /* numbers without a slot would lie outside of everything */
	}
	format->first_slot = first;
	format->definition_count = count;
	return OK;
}

static enum status ensure_slots(struct run *run, struct format *format, struct error *err)
{
	bool has_room;

	if (format->definition_count == definition_set_list(run->set, format->preset)->count)
		return OK;
	TRY(run_give_slots(run, format, &has_room, err));
	return has_room ? OK : error_no_memory(err);
}

/* Definitions that are not chosen from: the user's, or those of a preset that was asked for. */
static enum status ensure_fixed(struct run *run, int preset, struct error *err)
{
	struct formats *formats = &run->extractor->formats;

	while (formats->count && formats->items[0]->preset != preset)
		formats_remove(formats, formats->items[0]->preset);
	if (!formats->count && !formats_add(formats, preset, false))
		return error_no_memory(err);
	return ensure_slots(run, formats->items[0], err);
}

/* The lists may be others than when the state was packed. */
static enum status ensure_formats(struct run *run, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	size_t count;
	const struct preset *presets = definition_set_presets(run->set, &count);

	if (!run->set->is_preset_form || run->set->fixed_preset >= 0)
		return ensure_fixed(run, run->set->is_preset_form ? run->set->fixed_preset : -1, err);
	for (size_t i = formats->count; i-- > 0;) {
		struct format *format = formats->items[i];
		if (format->preset < 0 || (size_t)format->preset >= count) {
			formats_remove(formats, format->preset);
			continue;
		}
		format->is_generic = presets[format->preset].is_generic;
		TRY(ensure_slots(run, format, err));
	}
	return OK;
}

/* "Epoch 3/30" comes before the first line that tells who speaks. */
void extractor_remember(struct extractor *extractor, struct span segment)
{
	struct buf *recent = &extractor->recent;

	if (segment.len > RECENT_LINE_BYTES || memchr(segment.ptr, '\n', segment.len))
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

/* srun's bare "3: " is a rank once the same number came twice in a row. */
static int32_t rank_of(struct extractor *extractor, struct span segment)
{
	bool is_bare = false;
	int32_t rank = line_may_have_rank(segment) ? line_peel_rank(segment, &is_bare) : RANK_NONE;

	if (!is_bare)
		return rank;
	extractor->is_srun |= rank == extractor->bare_rank;
	extractor->bare_rank = rank;
	return extractor->is_srun ? rank : RANK_NONE;
}

static void begin_segment(struct run *run, struct span segment)
{
	line_view_set(run->view, segment, &run->extractor->prefixes);
	run->extractor->segment = segment;
	run->rank = rank_of(run->extractor, segment);
	run->extractor->segments++;
}

static void keep_name(struct run *run)
{
	struct buf *name = &run->format->name;

	if (run->name.ptr == buf_span(name).ptr)
		return;
	buf_reset(name);
	buf_append_span(name, run->name);
}

static enum status extract_segment(struct run *run, struct span segment, struct error *err)
{
	begin_segment(run, segment);
	if (run->set->is_preset_form)
		return run->set->presets ? ask_formats(run, err) : OK;
	run_use(run, run->extractor->formats.items[0]);
	TRY(match_segment(run, err));
	if (run->is_guided)
		TRY(guide_segment(run, err));
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
	struct line_view view;
	struct run run = {extractor, set, .scratch = scratch, .line = line, .text = line->text,
		.arrival_ms = arrival_ms, .view = &view, .is_guided = extractor->is_guided && set->is_guided,
		.out = out};
	struct attempts *attempts = &extractor->attempts;
	size_t first = out->count;

	TRY(ensure_formats(&run, err));
	extractor->segment = SPAN("");
	if (run.text.len)
		TRY(strip(&run, err));
	TRY(extract_text(&run, err));
	bool may_be_start =
		(run.may_be_start || !run.has_looked) && !run.has_match && attempts->has_step && !attempts->has_hint;
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
	return extractor->step.is_there ? extractor->step.step : -1;
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
	const struct format *leader = formats_leader(&extractor->formats);

	return leader ? leader->said_total : 0;
}

const struct step_seen *run_step(const struct run *run)
{
	const struct step_seen *own = &run->format->step, *of_leader = &run->extractor->step;
	bool is_recent = own->is_there && run->line->number - own->line <= RECORD_LINES;

	if (own->is_there && (is_recent || !of_leader->is_there))
		return own;
	if (own->is_there && formats_leader(&run->extractor->formats) == run->format)
		return own;
	return of_leader->is_there ? of_leader : NULL;
}

int extractor_preset(const struct extractor *extractor)
{
	const struct format *leader = formats_leader(&extractor->formats);

	return leader ? leader->preset : -1;
}

int extractor_format(const struct extractor *extractor)
{
	const struct format *leader = formats_leader(&extractor->guide);

	return extractor_preset(extractor) >= 0 ? extractor_preset(extractor) : leader ? leader->preset : -1;
}

void extractor_preset_reason(const struct extractor *extractor, struct buf *out)
{
	const struct format *leader = formats_leader(&extractor->formats);

	if (leader && leader->preset >= 0)
		formats_reason(&extractor->formats, leader, out);
}

size_t extractor_format_count(const struct extractor *extractor)
{
	return extractor_preset(extractor) < 0 ? 0 : extractor->formats.count;
}

static const struct format *format_at(const struct extractor *extractor, size_t index)
{
	const struct formats *formats = &extractor->formats;
	const struct format *leader = formats_leader(formats);

	if (index == 0 || !leader)
		return leader;
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i] != leader && --index == 0)
			return formats->items[i];
	return NULL;
}

struct extracted_format extractor_format_at(const struct extractor *extractor, size_t index)
{
	const struct format *format = format_at(extractor, index);

	if (!format)
		return (struct extracted_format){.preset = -1};
	return (struct extracted_format){format->preset, format->taken, format->last_line};
}

void extractor_format_reason(const struct extractor *extractor, size_t index, struct buf *out)
{
	const struct format *format = format_at(extractor, index);

	if (format && format->preset >= 0)
		formats_reason(&extractor->formats, format, out);
}

struct definition_health extractor_format_health(const struct extractor *extractor, size_t index, size_t definition)
{
	const struct format *format = format_at(extractor, index);

	if (!format || definition >= format->definition_count)
		return (struct definition_health){0};
	const struct track *track = &extractor->attempts.tracks[format->first_slot + definition];
	struct definition_health health = track->health;
	settle(&health, track, format->pending_tried);
	return health;
}

struct definition_health extractor_health(const struct extractor *extractor, size_t definition)
{
	return extractor_format_health(extractor, 0, definition);
}

struct extracted_series extractor_series(const struct extractor *extractor, uint32_t series)
{
	const struct slot *slot = series < extractor->slots.count ? &extractor->slots.items[series] : NULL;

	if (!slot)
		return (struct extracted_series){.preset = -1, .rank = RANK_NONE};
	const struct format *format = formats_find(&extractor->formats, slot->preset);
	bool is_guess = slot->is_beside && format && format->is_generic;
	return (struct extracted_series){slot->preset, slot->definition, span_from(slot->name ? slot->name : ""),
		slot->rank, slot->is_beside, is_guess};
}

static void append_labels(struct buf *out, const char *preset, const struct extracted_series *of)
{
	bool has_preset = of->is_beside && preset, has_rank = of->rank != RANK_NONE;

	if (!has_preset && !has_rank)
		return;
	buf_append_char(out, '{');
	if (has_preset)
		buf_printf(out, "preset=\"%s\"%s", preset, has_rank ? "," : "");
	if (has_rank)
		buf_printf(out, "rank=\"%d\"", (int)of->rank);
	buf_append_char(out, '}');
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
	append_labels(out, definition_set_preset_name(set, of.preset), &of);
}

void extractor_reset_definitions(struct extractor *extractor)
{
	formats_done(&extractor->formats);
	formats_done(&extractor->guide);
	extractor->is_guided = true;
	slots_done(&extractor->slots);
	extractor->attempts.trial.is_open = false;
	extractor->attempts.track_count = 0;
	extractor->has_several = false;
	extractor->held_count = 0;
	extractor->recent_count = 0;
	buf_reset(&extractor->recent);
}
