#include "extract/line/ansi.h"
#include "extract/line/line_hint.h"
#include "extract/line/unwrap.h"
#include "extract/line/wide.h"
#include "extract/generic/series.h"
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
	extractor->narrow = BUF_INIT(PLAIN_MAX_BYTES);
	extractor->plain = BUF_INIT(PLAIN_MAX_BYTES);
	extractor->unwrapped = BUF_INIT(UNWRAPPED_MAX_BYTES);
	extractor->names = BUF_INIT(GENERIC_NAMES_BYTES);
	extractor->recent = BUF_INIT(2 * RECENT_BYTES);
	extractor->header = BUF_INIT(METRIC_NAME_MAX_BYTES * DEFINITIONS_MAX);
	partials_init(&extractor->partials);
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
	buf_done(&extractor->narrow);
	buf_done(&extractor->plain);
	buf_done(&extractor->unwrapped);
	buf_done(&extractor->names);
	buf_done(&extractor->header);
	buf_done(&extractor->recent);
	partials_done(&extractor->partials);
	mem_free(extractor->held);
	mem_free(extractor->found);
	mem_free(extractor);
}

void run_use(struct run *run, struct format *format)
{
	run->format = format;
	run->list = definition_set_list(run->set, format->preset);
	run->tracks = extractor_tracks(run->extractor, format);
}

/* Of a list that has changed under the format: what waits for it waits in vain. */
static void forget_list(struct extractor *extractor, struct format *format)
{
	format_settle_tried(format, extractor_tracks(extractor, format));
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
		if (!slots_add_definitions(slots, format->preset, needed))
			return error_no_memory(err); /* numbers without a slot would lie outside of everything */
	}
	if (!attempts_add_tracks(&extractor->attempts, slots->count))
		return error_no_memory(err);
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
	TRY(ensure_slots(run, formats->items[0], err));
	run_use(run, formats->items[0]);
	return OK;
}

/* A user's definitions, as on the line before: most lines need no more than this. */
static bool is_ready(struct run *run)
{
	const struct extractor *extractor = run->extractor;
	struct format *first = extractor->formats.items[0];
	const struct definition_list *list = &run->set->list;

	if (run->set->is_preset_form || !extractor->formats.count || first->definition_count != list->count ||
		first->preset >= 0)
		return false;
	run->format = first;
	run->list = list;
	run->tracks = extractor_tracks(extractor, first);
	return true;
}

/* The lists may be others than when the state was packed. */
static enum status ensure_formats(struct run *run, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	size_t count;

	if (is_ready(run))
		return OK;
	if (!run->set->is_preset_form || run->set->fixed_preset >= 0)
		return ensure_fixed(run, run->set->is_preset_form ? run->set->fixed_preset : -1, err);
	const struct preset *presets = definition_set_presets(run->set, &count);
	for (size_t i = formats->count; i-- > 0;) {
		struct format *format = formats->items[i];
		if (format->preset < 0 || (size_t)format->preset >= count || presets[format->preset].is_renamed) {
			formats_remove(formats, format->preset);
			continue;
		}
		format->is_generic = presets[format->preset].is_generic;
		TRY(ensure_slots(run, format, err));
	}
	return OK;
}

const struct step_seen *run_step(const struct run *run)
{
	const struct step_seen *own = &run->format->step, *of_leader = &run->extractor->step;
	bool is_recent = own->is_there && run->line->number - own->line <= RECORD_LINES;

	if (own->is_there && (is_recent || !of_leader->is_there))
		return own;
	if (own->is_there &&
		(run->extractor->formats.count == 1 || formats_leader(&run->extractor->formats) == run->format))
		return own;
	return of_leader->is_there ? of_leader : NULL;
}

struct span extractor_recent(const struct extractor *extractor)
{
	return span_skip(buf_span(&extractor->recent), extractor->recent_from);
}

void extractor_forget_recent(struct extractor *extractor)
{
	buf_reset(&extractor->recent);
	extractor->recent_from = 0;
	extractor->recent_count = 0;
}

/* Every line without a value comes here: what is forgotten stays where it is until it is as much as may be kept. */
static void forget_oldest(struct extractor *extractor)
{
	struct buf *recent = &extractor->recent;
	struct span rest = extractor_recent(extractor), oldest;

	(void)!span_next(&rest, '\n', &oldest);
	extractor->recent_from += oldest.len + 1;
	extractor->recent_count--;
	if (extractor->recent_from < RECENT_BYTES)
		return;
	memmove(recent->ptr, rest.ptr, rest.len);
	recent->len = rest.len;
	extractor->recent_from = 0;
}

/* "Epoch 3/30" comes before the first line that tells who speaks. */
void extractor_remember(struct extractor *extractor, struct span segment)
{
	struct buf *recent = &extractor->recent;

	if (segment.len > RECENT_LINE_BYTES || memchr(segment.ptr, '\n', segment.len))
		return;
	if (extractor->recent_count == RECENT_MAX)
		forget_oldest(extractor);
	buf_append_span(recent, segment);
	buf_append_char(recent, '\n');
	extractor->recent_count++;
	if (recent->failure) /* for want of memory it remembers none */
		extractor_forget_recent(extractor);
}

/*
 * Numbers in front of lines before any says a step. Those that only rise count lines, unless several say the same behind them, as processes do that
 * begin. What was so up to the last line counts: this one may be the first of a counter's.
 */
static void note_start(struct extractor *extractor, int32_t rank, struct span text)
{
	if (extractor->attempts.has_step)
		return;
	extractor->is_surely_srun |= extractor->is_srun || extractor->has_fallen || extractor->has_echo;
	const char *colon = memchr(text.ptr, ':', text.len);
	uint64_t said = colon ? span_hash(span_skip(text, (size_t)(colon - text.ptr))) : 0;
	extractor->has_echo |=
		extractor->bare_rank != RANK_NONE && rank != extractor->bare_rank && said == extractor->bare_said;
	extractor->bare_said = said;
}

/* srun's bare "3: " is a rank once the same number came twice in a row, or by what stands behind it (place.c). */
static void read_rank(struct extractor *extractor, struct span text)
{
	struct segment *segment = &extractor->segment;
	bool is_bare = false;
	int32_t rank = line_may_have_rank(text) ? line_peel_rank(text, &is_bare) : RANK_NONE;

	segment->rank = rank;
	segment->bare_rank = RANK_NONE;
	if (!is_bare)
		return;
	note_start(extractor, rank, text);
	extractor->is_srun |= rank == extractor->bare_rank;
	extractor->has_fallen |= rank < extractor->bare_rank;
	extractor->bare_rank = rank;
	segment->rank = extractor->is_srun ? rank : RANK_NONE;
	segment->bare_rank = rank;
}

static void begin_segment(struct run *run, struct span text)
{
	struct extractor *extractor = run->extractor;

	line_view_set(&extractor->segment.view, text, &extractor->prefixes);
	read_rank(extractor, text);
	extractor->segments++;
}

void run_keep_name(struct run *run)
{
	struct buf *name = &run->format->name;

	if (run->extractor->segment.name.ptr == buf_span(name).ptr)
		return;
	buf_reset(name);
	buf_append_span(name, run->extractor->segment.name);
}

static enum status extract_segment(struct run *run, struct span segment, struct error *err)
{
	begin_segment(run, segment);
	if (run->set->is_preset_form)
		return run->set->presets ? ask_formats(run, err) : OK;
	run->tracks = extractor_tracks(run->extractor, run->format); /* a segment before may have moved them */
	TRY(match_segment(run, err));
	if (run->is_guided)
		TRY(guide_segment(run, err));
	if (run->extractor->found_count)
		TRY(place_found(run, err));
	run_keep_name(run);
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

static enum status narrow(struct run *run, struct error *err)
{
	struct buf *out = &run->extractor->narrow;

	buf_reset(out);
	bool is_wide = wide_narrow(run->text, out);
	TRY(buf_status(out, err));
	run->is_narrowed = is_wide;
	if (is_wide)
		run->text = buf_span(out);
	return OK;
}

static enum status strip(struct run *run, struct error *err)
{
	struct buf *plain = &run->extractor->plain;

	buf_reset(plain);
	ansi_strip(run->text, plain);
	TRY(buf_status(plain, err));
	run->text = buf_span(plain);
	return OK;
}

static enum status extract_segments(struct run *run, struct error *err)
{
	struct span rest = run->text, segment;

	while (span_next(&rest, '\r', &segment))
		if (segment.len)
			TRY(extract_segment(run, segment, err));
	return OK;
}

/*
 * A record of a collector's is read for its message. A user's definition may have had the record in mind: it looks at the
 * line as it stands first.
 */
static enum status extract_record(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span message = run->text;
	int64_t shown_ms;

	if (!line_unwrap(&message, &extractor->unwrapped, extractor->wants_marks ? &extractor->trace : NULL)) {
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
	run->text = run->message = message;
	if (span_find_char(run->text, ESCAPE) >= 0)
		TRY(strip(run, err));
	return extract_segments(run, err);
}

/* Nearly every line is one segment, and no record: it goes by no more calls than it needs. */
static inline enum status extract_text(struct run *run, struct error *err)
{
	if (!run->text.len)
		return OK;
	if (wide_may_be(run->text))
		TRY(narrow(run, err));
	if (memchr(run->text.ptr, ESCAPE, run->text.len))
		TRY(strip(run, err));
	if (line_may_be_wrapped(run->text))
		return extract_record(run, err);
	if (run->text.len && memchr(run->text.ptr, '\r', run->text.len))
		return extract_segments(run, err);
	return run->text.len ? extract_segment(run, run->text, err) : OK;
}

static enum status extract_whole(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct attempts *attempts = &extractor->attempts;
	size_t first = run->out->count;

	TRY(ensure_formats(run, err));
	line_view_set(&extractor->segment.view, SPAN(""), &extractor->prefixes);
	TRY(extract_text(run, err));
	bool may_be_start =
		(run->may_be_start || !run->has_looked) && !run->has_match && attempts->has_step && !attempts->has_hint;
	if (may_be_start && line_is_start(run->text)) {
		attempts->has_hint = true;
		attempts->hint_line = run->line->number;
		extractor->bars = (struct bars){0}; /* another run, with bars of its own */
	}
	revise_own(run, first);
	return OK;
}

/* *waits: the line is a part, and not the last one. */
static enum status join_parts(struct extractor *extractor, struct extract_line *line, bool *waits, struct error *err)
{
	enum partial_kind kind = partials_take(&extractor->partials, &line->text, &line->is_cut);

	if (kind == PARTIAL_NO_MEMORY)
		return error_no_memory(err);
	*waits = kind == PARTIAL_WAITS;
	if (*waits)
		line_view_set(&extractor->segment.view, SPAN(""), &extractor->prefixes);
	return OK;
}

enum status extract_line(struct extractor *extractor, const struct definition_set *set, struct regex_scratch *scratch,
	const struct extract_line *line, int64_t arrival_ms, struct extracted_list *out, struct error *err)
{
	struct extract_line whole = *line;
	struct record_state records; /* written when it is needed */
	struct run run = {extractor, set, .scratch = scratch, .line = &whole, .given = line->text,
		.arrival_ms = arrival_ms, .is_guided = extractor->is_guided && set->is_guided, .records = &records,
		.out = out};

	bool waits = false;
	if (partial_may_be(line->text) || extractor->partials.has_joined)
		TRY(join_parts(extractor, &whole, &waits, err));
	if (waits)
		return OK;
	run.text = whole.text;
	return extract_whole(&run, err);
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
	extractor->generic = (struct generic_memory){0};
	extractor->records = (struct record_state){0};
	extractor->held_count = 0;
	extractor_forget_recent(extractor);
}
