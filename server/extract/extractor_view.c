/* What others may know of a stream's extraction: attempts and steps, who speaks, health, and the names of its series. */
#include "extract/state.h"

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

bool extractor_take_move(struct extractor *extractor)
{
	bool has_moved = extractor->attempts.has_moved;

	extractor->attempts.has_moved = false;
	return has_moved;
}

bool extractor_is_undecided(const struct extractor *extractor)
{
	return extractor->attempts.trial.is_open || extractor->sent.fallen.is_there || extractor->sent.back.is_there;
}

bool extractor_is_on_trial(const struct extractor *extractor)
{
	return extractor->attempts.trial.is_open;
}

uint32_t extractor_attempt(const struct extractor *extractor)
{
	return (uint32_t)extractor->attempts.start_count;
}

uint32_t extractor_attempt_of_line(const struct extractor *extractor, int64_t ts_ms)
{
	return attempts_among(&extractor->attempts, ts_ms);
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

struct span extractor_untagged(const struct extractor *extractor)
{
	const struct line_view *view = &extractor->segment.view;
	struct prefix prefix;

	if (view->is_peeled)
		return view->prefix.starts[0];
	(void)!line_peel(view->whole, &extractor->prefixes, &prefix).len;
	return prefix.starts[0];
}

struct span extractor_peeled(const struct extractor *extractor)
{
	const struct line_view *view = &extractor->segment.view;
	struct prefix prefix;

	return view->is_peeled ? view->prefix.starts[view->prefix.certain]
			       : line_peel(view->whole, &extractor->prefixes, &prefix);
}

int64_t extractor_total(const struct extractor *extractor)
{
	const struct format *leader = formats_leader(&extractor->formats);

	return leader ? leader->said_total : 0;
}

int extractor_preset(const struct extractor *extractor)
{
	const struct format *leader = formats_leader(&extractor->formats);

	return leader ? leader->preset : -1;
}

void extractor_want_marks(struct extractor *extractor)
{
	extractor->wants_marks = true;
}

void extractor_leave_place(struct extractor *extractor)
{
	for (size_t i = 0; i < extractor->formats.count; i++)
		buf_reset(&extractor->formats.items[i]->name);
	for (size_t i = 0; i < extractor->slots.count; i++)
		if (!extractor->slots.items[i].is_shown)
			extractor->slots.items[i].guessed = 0; /* lines that are read again are no more reason */
	partials_done(&extractor->partials);
	extractor->records.block = (struct record_block){0};
}

static const struct formats *known_of(const struct extractor *extractor)
{
	return extractor_preset(extractor) >= 0 ? &extractor->formats : &extractor->guide;
}

size_t extractor_known_count(const struct extractor *extractor)
{
	return known_of(extractor)->count;
}

int extractor_known_at(const struct extractor *extractor, size_t index)
{
	return known_of(extractor)->items[index]->preset;
}

void extractor_preset_reason(const struct extractor *extractor, struct buf *out)
{
	const struct format *leader = formats_leader(&extractor->formats);

	if (leader && leader->preset >= 0)
		formats_reason(&extractor->formats, leader, out);
}

size_t extractor_format_count(const struct extractor *extractor)
{
	const struct formats *formats = &extractor->formats;
	size_t count = 0;

	for (size_t i = 0; i < formats->count; i++)
		count += formats->items[i]->preset >= 0 && formats_speaks(formats, formats->items[i]);
	return count;
}

static const struct format *format_at(const struct extractor *extractor, size_t index)
{
	const struct formats *formats = &extractor->formats;
	const struct format *leader = formats_leader(formats);

	if (index == 0 || !leader)
		return leader;
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i] != leader && formats_speaks(formats, formats->items[i]) && --index == 0)
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

size_t extractor_definition_count(const struct extractor *extractor, const struct definition_set *set)
{
	size_t formats = extractor_format_count(extractor), count = 0;

	for (size_t i = 0; i < (formats ? formats : 1); i++)
		count += definition_set_count(set, extractor_format_at(extractor, i).preset);
	return count;
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

static struct span bare_name(const struct definition_set *set, const struct slot *slot)
{
	return slot->name ? span_from(slot->name) : definition_set_get(set, slot->preset, slot->definition).name;
}

bool extractor_is_alone(const struct extractor *extractor, const struct definition_set *set, uint32_t series)
{
	const struct slot *slot = &extractor->slots.items[series];
	struct span name = bare_name(set, slot);

	for (size_t i = 0; i < extractor->slots.count; i++) {
		const struct slot *other = &extractor->slots.items[i];
		if (i != series && extractor->attempts.tracks[i].count && other->rank == slot->rank &&
			span_equal(bare_name(set, other), name))
			return false;
	}
	return true;
}

void extractor_count_on(struct extractor *extractor, uint32_t series, uint64_t count)
{
	extractor->attempts.tracks[series].count += count;
}
