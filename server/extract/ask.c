/*
 * Who reads a line: the formats of the stream in their order, then presets that know it and were none of them yet. A preset
 * joins by what it captures, not by what its `detect` knows; what nobody takes goes to the generic ones, for the whole life
 * of the stream. A near relative that captures more values on the lines of another takes these over, and the other keeps the rest.
 */
#include "extract/line/tracker_line.h"
#include "extract/state.h"

enum { WATCH_LINES = 256, LEAD_MIN = 8, LEAD_FACTOR = 4, SETTLED_LINES = 64 };

static size_t count_values(const struct run *run)
{
	const struct extractor *extractor = run->extractor;
	size_t count = 0;

	for (size_t i = 0; i < extractor->found_count; i++)
		count += !run->list->items[extractor->found[i].definition].is_step_only;
	return count;
}

static bool has_included(const struct preset *preset, int number)
{
	for (size_t i = 0; i < preset->include_count; i++)
		if (preset->includes[i] == number)
			return true;
	return false;
}

static const struct preset *preset_of(const struct run *run, int number)
{
	size_t count;

	return &definition_set_presets(run->set, &count)[number];
}

/* How many values a preset captures on the segment; nothing else comes of it. */
static enum status try_preset(struct run *run, int preset, size_t *values, struct error *err)
{
	struct format candidate = {.preset = preset}, *format = run->format;
	const struct definition_list *list = run->list;
	struct track *own = run->tracks;
	struct bars bars = run->extractor->bars;
	struct generic_memory generic = run->extractor->generic;
	bool has_match = run->has_match;

	const struct definition_list *tried = definition_set_list(run->set, preset);
	AUTO_MEM struct track *tracks = mem_zeroed(tried->count * sizeof *tracks);
	if (!tracks)
		return error_no_memory(err);
	/* cppcheck-suppress autoVariables; until the end of this function */
	run->format = &candidate;
	run->list = tried;
	run->tracks = tracks;
	enum status status = match_segment(run, err);
	*values = status == OK ? count_values(run) : 0;
	run->format = format;
	run->list = list;
	run->tracks = own;
	run->has_match = has_match;
	run->extractor->bars = bars;
	run->extractor->generic = generic;
	return status;
}

/* Of the lines before its first value only the steps: what gives points would have been taken. */
static enum status replay_recent(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct span rest = extractor_recent(extractor), whole = run->extractor->segment.view.whole, segment;

	while (rest.len && span_next(&rest, '\n', &segment)) {
		size_t kept = 0;
		line_view_set(&run->extractor->segment.view, segment, &extractor->prefixes);
		TRY(match_segment(run, err));
		for (size_t i = 0; i < extractor->found_count; i++)
			if (run->list->items[extractor->found[i].definition].is_step_only)
				extractor->found[kept++] = extractor->found[i];
		extractor->found_count = kept;
		if (kept)
			TRY(place_found(run, err));
		run_use(run, run->format); /* slots may have moved */
	}
	line_view_set(&run->extractor->segment.view, whole, &extractor->prefixes);
	return match_segment(run, err);
}

/* What a format counted stays with its definitions. */
static void drop(struct run *run, struct format *format)
{
	struct extractor *extractor = run->extractor;

	format_settle_tried(format, extractor_tracks(extractor, format));
	formats_remove(&extractor->formats, format->preset);
}

/* Those that have waited for a value for too long. */
static void drop_waiting(struct run *run)
{
	struct formats *formats = &run->extractor->formats;

	for (size_t i = formats->count; i-- > 0;)
		if (formats->items[i]->taken == 0 && formats->lines - formats->items[i]->since > SILENT_LINES)
			drop(run, formats->items[i]);
}

static void drop_included(struct run *run)
{
	struct extractor *extractor = run->extractor;
	const struct preset *preset = preset_of(run, run->format->preset);

	for (size_t i = 0; i < preset->include_count; i++) {
		struct format *format = formats_find(&extractor->formats, preset->includes[i]);
		if (!format)
			continue;
		if (!run->format->step.is_there)
			run->format->step = format->step; /* the bar above its values */
		run->format->said_total = format->said_total;
		drop(run, format);
		extractor->attempts.trial.is_open = false; /* what could decide it is gone */
	}
}

/* The preset joins. *out is NULL when there is no room for it. */
static enum status join(struct run *run, int number, struct format **out, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	const struct preset *preset = preset_of(run, number);
	bool has_room;

	*out = NULL;
	struct format *least = formats_least(formats, preset->is_generic);
	if (least && least->taken >= FORMAT_FIRM_LINES)
		return OK;
	if (least)
		drop(run, least);
	struct format *format = formats_add(formats, number, preset->is_generic);
	if (!format)
		return error_no_memory(err);
	enum status status = run_give_slots(run, format, &has_room, err);
	if (status != OK || !has_room) {
		formats_remove(formats, number);
		return status;
	}
	if (preset->is_generic)
		formats_forget_dull(formats); /* on which the others captured nothing */
	*out = format;
	return OK;
}

static struct rival *rival_of(struct format *format, int preset)
{
	struct rival *free = NULL;

	for (size_t i = 0; i < RIVALS_MAX; i++) {
		struct rival *rival = &format->rivals[i];
		if (rival->preset == preset)
			return rival;
		if (rival->preset < 0 || (!free && rival->more <= rival->fewer))
			free = rival;
	}
	if (free)
		*free = (struct rival){.preset = preset};
	return free;
}

/* It is asked first from now on; what it does not take stays with the other. */
static enum status take_over(struct run *run, int preset, struct format *format, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	struct format *other = formats_find(formats, preset);
	int from = format->preset;

	if (!other)
		TRY(join(run, preset, &other, err));
	format = formats_find(formats, from);
	if (!other || !format)
		return OK; /* no room; or it is included and gone */
	other->taken_over = from;
	format->taken_over = -1;
	for (size_t i = 0; i < RIVALS_MAX; i++)
		format->rivals[i] = other->rivals[i] = (struct rival){.preset = -1};
	formats_put_before(formats, other, format);
	return OK;
}

static enum status compare(struct run *run, struct format *format, size_t values, int preset, struct error *err)
{
	size_t others;

	TRY(try_preset(run, preset, &others, err));
	if (others == 0 || others == values)
		return OK;
	struct rival *rival = rival_of(format, preset);
	if (!rival)
		return OK;
	rival->more += others > values;
	rival->fewer += others < values;
	return rival->more >= LEAD_MIN + LEAD_FACTOR * rival->fewer ? take_over(run, preset, format, err) : OK;
}

static bool find_known(struct run *run, bool is_generic, uint64_t known[SIEVE_WORDS])
{
	return formats_find_known(
		&run->extractor->formats, run->set, run->scratch, &run->extractor->segment.view, is_generic, known);
}

/* Who else knows the line, which the preset has taken; without those that it includes. */
static bool find_rivals(struct run *run, int taker, uint64_t known[SIEVE_WORDS])
{
	const struct preset *own = preset_of(run, taker);
	uint64_t any = 0;

	if (!find_known(run, own->is_generic, known))
		return false;
	known[taker / 64] &= ~(UINT64_C(1) << taker % 64);
	for (size_t i = 0; i < own->include_count; i++)
		known[own->includes[i] / 64] &= ~(UINT64_C(1) << own->includes[i] % 64);
	for (size_t i = 0; i < SIEVE_WORDS; i++)
		any |= known[i];
	return any;
}

/* Is there one that captures more on this line, which the format has taken? */
static enum status watch(struct run *run, int taker, size_t values, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	uint64_t known[SIEVE_WORDS];

	(void)formats_see(formats, run->extractor->segment.view.whole);
	if (formats_is_alone(formats, taker))
		return OK;
	if (!find_rivals(run, taker, known)) {
		formats_note_alone(formats, taker);
		return OK;
	}
	for (int base = 0; base < PRESETS_MAX; base += 64)
		for (uint64_t bits = known[base / 64]; bits; bits &= bits - 1) {
			struct format *format = formats_find(formats, taker);
			if (format)
				TRY(compare(run, format, values, base + __builtin_ctzll(bits), err));
		}
	return OK;
}

/* Its first value: now it is one of the stream's. */
static enum status begin(struct run *run, struct error *err)
{
	uint64_t tried = run->format->pending_tried;

	if (run->set->fixed_preset >= 0)
		return OK;
	drop_included(run);
	bool has_leader = run->format->is_generic && run->extractor->step.is_there; /* who has said the step since */
	if (run->extractor->recent_count && !has_leader)
		TRY(replay_recent(run, err));
	run->format->pending_tried = tried;
	return OK;
}

/* What was a guess in front of that start was right. */
static void trust(struct run *run, size_t start)
{
	struct extractor *extractor = run->extractor;

	if (prefix_trust(&extractor->prefixes, line_view_prefix(&run->extractor->segment.view), start))
		formats_forget_dull(&extractor->formats);
}

static enum status take(struct run *run, struct error *err)
{
	struct extractor *extractor = run->extractor;
	struct format *format = run->format;
	size_t values = count_values(run);

	if (values)
		trust(run, run->extractor->segment.start);
	if (format->taken == 0 && values)
		TRY(begin(run, err));
	if (extractor->found_count)
		TRY(place_found(run, err));
	run_keep_name(run);
	if (values || format->taken)
		formats_note(
			&extractor->formats, format, line_view_text(&run->extractor->segment.view), run->line->number);
	bool is_watched = values && format->taken <= WATCH_LINES && run->set->fixed_preset < 0;
	return is_watched ? watch(run, format->preset, values, err) : OK;
}

static enum status ask_one(struct run *run, struct format *format, bool *is_taken, struct error *err)
{
	run_use(run, format);
	TRY(match_segment(run, err));
	if (run->list->is_reader)
		TRY(place_record_end(run, err));
	*is_taken = run->extractor->found_count || run->is_side_bar;
	if (*is_taken)
		return take(run, err);
	run_keep_name(run);
	return OK;
}

static enum status ask_kind(struct run *run, bool is_generic, bool *is_taken, struct error *err)
{
	struct formats *formats = &run->extractor->formats;

	for (size_t i = 0; i < formats->count && !*is_taken; i++)
		if (formats->items[i]->is_generic == is_generic)
			TRY(ask_one(run, formats->items[i], is_taken, err));
	return OK;
}

static enum status join_and_ask(struct run *run, int preset, bool *is_taken, struct error *err)
{
	struct format *format;

	TRY(join(run, preset, &format, err));
	return format ? ask_one(run, format, is_taken, err) : OK;
}

static bool is_candidate(const struct run *run, int number, bool is_generic)
{
	const struct formats *formats = &run->extractor->formats;

	if (preset_of(run, number)->is_generic != is_generic)
		return false;
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i]->preset == number ||
			has_included(preset_of(run, formats->items[i]->preset), number))
			return false;
	return true;
}

/* The header of a CSV is one with a prefix, too: what stands behind it is meant. */
static size_t innermost(const struct run *run, const struct preset *preset)
{
	const struct prefix *prefix = line_view_prefix(&run->extractor->segment.view);
	struct span groups[REGEX_MAX_GROUPS];

	for (size_t i = prefix->count; preset->has_start && --i > 0;)
		if (regex_search(preset->detect, run->scratch, prefix->starts[i], 0, groups) == REGEX_MATCH)
			return i;
	return 0;
}

/* It knows the line, and captures nothing on it: a head, perhaps. */
static enum status wait_for_value(struct run *run, int number, struct error *err)
{
	struct format *format;
	bool is_taken;

	TRY(join(run, number, &format, err));
	if (!format)
		return OK;
	trust(run, innermost(run, preset_of(run, number)));
	line_view_forget(&run->extractor->segment.view);
	return ask_one(run, format, &is_taken, err);
}

/* Of those that know the line the one that captures most of it; of two, the one that has the other included, or the first. */
static enum status ask_known(
	struct run *run, const uint64_t known[SIEVE_WORDS], bool is_generic, bool *is_taken, struct error *err)
{
	size_t most = 0, values;
	int best = -1;

	for (int base = 0; base < PRESETS_MAX; base += 64)
		for (uint64_t bits = known[base / 64]; bits; bits &= bits - 1) {
			int number = base + __builtin_ctzll(bits);
			if (!is_candidate(run, number, is_generic))
				continue;
			TRY(try_preset(run, number, &values, err));
			if (values == 0 && !is_generic)
				TRY(wait_for_value(run, number, err));
			bool is_equal = values && values == most && has_included(preset_of(run, number), best);
			if (values <= most && !is_equal)
				continue;
			most = values;
			best = number;
		}
	return best >= 0 ? join_and_ask(run, best, is_taken, err) : OK;
}

/* Of lines of a shape on which they captured nothing. */
static void pass_generic(struct formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		formats->items[i]->pending_tried += formats->items[i]->is_generic;
}

static const struct format *first_generic(const struct formats *formats)
{
	for (size_t i = 0; i < formats->count; i++)
		if (formats->items[i]->is_generic && formats->items[i]->taken)
			return formats->items[i];
	return NULL;
}

/*
 * A line that a specific one knows and takes no value from, as an unfinished bar: it is none for the generic ones, unless it
 * is theirs that the other only seems to know.
 */
static bool is_of_specific(struct formats *formats, const uint64_t known[SIEVE_WORDS])
{
	const struct format *generic = first_generic(formats);
	bool is = false;

	for (size_t i = 0; i < formats->count; i++) {
		struct format *format = formats->items[i];
		int preset = format->preset;
		if (format->is_generic || !(known[preset / 64] >> preset % 64 & 1))
			continue;
		bool is_stray =
			generic && generic->taken >= SETTLED_LINES && format->without_value < FORMAT_STRAY_LINES;
		bool speaks = format->taken && !(generic && format_outweighs(generic, format));
		format->without_value += format->without_value < UINT32_MAX;
		is |= is_stray || speaks;
	}
	return is;
}

/* What reads any line; -1: it is one of the stream's, or there is none. */
static int reader_to_join(const struct run *run)
{
	size_t count;
	const struct preset *presets = definition_set_presets(run->set, &count);

	for (size_t i = 0; i < count; i++)
		if (presets[i].list.is_reader && !presets[i].is_renamed)
			return is_candidate(run, (int)i, true) ? (int)i : -1;
	return -1;
}

/* A row of a table is known by the header above it alone, so each line is told to the reader before it has joined, too. */
static enum status ask_records(struct run *run, bool *is_taken, struct error *err)
{
	int reader = run->records_at == run->extractor->segments ? -1 : reader_to_join(run);
	size_t values;

	if (reader < 0)
		return OK;
	TRY(try_preset(run, reader, &values, err));
	return values && run->record.is_record ? join_and_ask(run, reader, is_taken, err) : OK;
}

static enum status ask_others(struct run *run, bool *is_taken, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	uint64_t known[SIEVE_WORDS];
	bool is_dull = formats_see(formats, run->extractor->segment.view.whole);
	bool is_known = find_known(run, false, known);

	if (!is_known && learn_prefix(run)) {
		is_dull = formats_see(formats, run->extractor->segment.view.whole);
		is_known = find_known(run, false, known);
	}
	if (is_dull && run->extractor->records.block.kind == BLOCK_NONE) { /* else it may be its end */
		pass_generic(formats);
		run->has_looked = true; /* at the first line of the shape, and it was no start */
		return OK;
	}
	*is_taken = tracker_line_is(line_view_prefix(&run->extractor->segment.view)); /* by nobody */
	if (*is_taken)
		return OK;
	if (is_known)
		TRY(ask_known(run, known, false, is_taken, err));
	if (!*is_taken && is_known && is_of_specific(formats, known))
		return OK;
	if (!*is_taken)
		TRY(ask_kind(run, true, is_taken, err));
	if (!*is_taken && find_known(run, true, known))
		TRY(ask_known(run, known, true, is_taken, err));
	if (!*is_taken)
		TRY(ask_records(run, is_taken, err));
	if (run->record.is_new)
		formats_forget_dull(formats);
	bool is_told = run->record.is_told || run->has_unread;
	if (!*is_taken && !run->has_match && !is_told && run->has_looked && !run->may_be_start)
		formats_note_dull(formats, run->extractor->segment.view.whole);
	return OK;
}

enum status ask_formats(struct run *run, struct error *err)
{
	struct formats *formats = &run->extractor->formats;
	bool is_taken = false;

	run->record = (struct record_line){0};
	run->has_unread = false;
	if (run->set->fixed_preset >= 0)
		return ask_kind(run, formats->items[0]->is_generic, &is_taken, err);
	formats->lines++;
	drop_waiting(run);
	TRY(ask_kind(run, false, &is_taken, err));
	if (!is_taken)
		TRY(ask_others(run, &is_taken, err));
	if (!is_taken)
		extractor_remember(run->extractor, run->extractor->segment.view.whole);
	return OK;
}
