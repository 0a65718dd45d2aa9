/* The definitions on one segment of a line. */
#include "extract/line/number.h"
#include "extract/state.h"
#include "extract/line/value_place.h"

enum { MATCHES_MAX = 65536 };
/* In hundredths of the match limit: a definition may overrun it a hundred times before it has paid anything back. */
enum { OVERRUN_MAX = 10000, CREDIT = 1, CREDIT_BYTES = 1024 };

/* One segment, as the definitions of a chain see it. */
struct subject {
	struct span segment;
	int32_t rank;
};

/* The step that an expression of its own finds on the segment: searched once, however many values there are. */
struct line_step {
	bool is_searched;
	bool has_step;
	bool has_epoch;
	int64_t step;
	int64_t epoch;
	int64_t total; /* of the epoch's steps */
};

static struct track *track_of(const struct run *run, uint32_t definition)
{
	return &run->tracks[definition];
}

static bool group_step(const struct span groups[REGEX_MAX_GROUPS], int group, int64_t *out)
{
	return group > 0 && group < REGEX_MAX_GROUPS && groups[group].ptr && number_parse_step(groups[group], out);
}

/* How far the step runs, in its epoch or in all; 0: the line does not say it. */
static int64_t group_total(const struct span groups[REGEX_MAX_GROUPS], int group)
{
	int64_t total;

	return group_step(groups, group, &total) && total > 0 ? total : 0;
}

/* What it costs is added to the account of the definition's chain, and what is given up is counted. */
static enum regex_result search(const struct run *run, uint32_t definition, const struct regex *regex,
	struct span segment, size_t from, struct span groups[REGEX_MAX_GROUPS])
{
	unsigned percent;
	enum regex_result result = regex_search_counted(regex, run->scratch, segment, from, groups, &percent);

	if (percent) {
		track_of(run, run->list->items[definition].leader)->overrun += percent;
		track_of(run, definition)->health.limited += result == REGEX_LIMIT;
	}
	return result;
}

static void search_line_step(
	const struct run *run, uint32_t index, const struct subject *subject, struct line_step *line)
{
	const struct definition *definition = &run->list->items[index];
	struct span groups[REGEX_MAX_GROUPS];

	line->is_searched = true;
	if (search(run, index, definition->step_regex, subject->segment, 0, groups) != REGEX_MATCH)
		return;
	line->has_step = group_step(groups, definition->line_step_group, &line->step);
	line->has_epoch = group_step(groups, definition->line_epoch_group, &line->epoch);
	line->total = group_total(groups, definition->line_total_group);
}

/* The step of the value's own expression, else of the line's. */
static void find_step(const struct run *run, const struct definition *definition, const struct subject *subject,
	const struct span groups[REGEX_MAX_GROUPS], struct line_step *line, struct found *found)
{
	found->has_epoch = group_step(groups, definition->epoch_group, &found->epoch);
	found->has_step = group_step(groups, definition->step_group, &found->step);
	found->total = group_total(groups, definition->total_group);
	if (!found->has_step && definition->step_regex) {
		if (!line->is_searched)
			search_line_step(run, found->definition, subject, line);
		found->has_step = line->has_step;
		found->step = line->step;
		if (!found->has_epoch) {
			found->has_epoch = line->has_epoch;
			found->epoch = line->epoch;
			found->total = line->total;
		}
	}
}

/* In front of the line, or behind a logger's words: what stands there is looked at once there is a value. */
static int32_t rank_of_prefix(struct run *run, const struct subject *subject)
{
	if (subject->rank != RANK_NONE)
		return subject->rank;
	const struct prefix *prefix = line_view_prefix(&run->extractor->segment.view);
	return prefix->is_bare ? RANK_NONE : prefix->rank;
}

/* "[Rank 7] … [Rank 6] …": the group `rank` wins over the tag of the line. */
static int32_t rank_of(
	struct run *run, const struct definition *definition, const struct subject *subject, const struct span *groups)
{
	int64_t rank;

	if (group_step(groups, definition->rank_group, &rank) && rank >= 0 && rank < RANK_MAX)
		return (int32_t)rank;
	return rank_of_prefix(run, subject);
}

/* The name in the match, else the one that came last: "lm loss": { … "1": 12.9, "2": 12.7. False: no series by that. */
static bool find_name(
	struct run *run, const struct definition *definition, const struct span *groups, struct found *found)
{
	if (definition->name_group < 1)
		return true;
	struct span name = groups[definition->name_group];
	if (name.ptr) {
		name = span_trim(name);
		bool is_good = name.len <= METRIC_NAME_MAX_BYTES / 2 && span_is_utf8(name) && name.len &&
			       !memchr(name.ptr, 0, name.len);
		run->extractor->segment.name = is_good ? name : SPAN("");
	}
	found->name = run->extractor->segment.name;
	return found->name.len > 0;
}

static bool is_side_bar(struct run *run, const struct definition *definition, const struct span *groups)
{
	int64_t total, step = 0;

	if (!definition->is_bar || !group_step(groups, definition->total_group, &total))
		return false;
	(void)!group_step(groups, definition->step_group, &step);
	return total > 0 && bars_is_side(&run->extractor->bars, step, total);
}

/* "12/500", unless the step starts over with each epoch. */
static void note_total(struct run *run, const struct definition *definition, const struct span *groups)
{
	int64_t total = group_total(groups, definition->total_group), epoch;

	if (total && (definition->is_bar || definition->is_step_only || definition->shown.role == ROLE_LOSS) &&
		!group_step(groups, definition->epoch_group, &epoch))
		run->format->said_total = total;
}

/* Once a segment: its first match need not be one with a value. */
static void count_match(const struct run *run, struct track *track)
{
	if (track->seen_at == run->extractor->segments)
		return;
	track->seen_at = run->extractor->segments;
	track->health.matched++;
	track->health.limited += run->line->is_cut;
}

static bool add_found(struct extractor *extractor, const struct found *found)
{
	if (!mem_grow((void **)&extractor->found, extractor->found_count, &extractor->found_cap, sizeof *found))
		return false;
	extractor->found[extractor->found_count++] = *found;
	return true;
}

/* In front of the place, else by the definition's own Step, else where the generic rules find it: it may stand behind. */
static void find_place_step(const struct run *run, const struct definition *definition, const struct subject *subject,
	const struct span groups[REGEX_MAX_GROUPS], struct found *found)
{
	struct line_step line = {0};
	struct guided guided;

	line.has_step = group_step(groups, definition->place_step_group, &line.step);
	line.has_epoch = group_step(groups, definition->place_epoch_group, &line.epoch);
	line.total = group_total(groups, definition->place_total_group);
	if (!line.has_step && definition->step_regex)
		search_line_step(run, found->definition, subject, &line);
	if (!line.has_step && definition->step_group > 0) {
		guide_find_generic(subject->segment, &guided);
		line.has_step = guided.has_step;
		line.step = guided.step;
	}
	found->has_step = line.has_step;
	found->has_epoch = line.has_epoch;
	found->step = line.step;
	found->epoch = line.epoch;
	found->total = line.total;
}

/* What stands where the value should: *is_told when it is a value or says that there is none. */
static bool look_at_place(struct run *run, uint32_t index, const struct subject *subject, bool *is_told)
{
	const struct definition *definition = &run->list->items[index];
	struct found found = {.definition = index};
	struct span groups[REGEX_MAX_GROUPS];

	*is_told = false;
	if (!definition->place_regex ||
		search(run, index, definition->place_regex, subject->segment, 0, groups) != REGEX_MATCH)
		return true;
	found.text = groups[definition->place_group];
	enum place_kind kind = value_place_read(found.text, &found.value);
	*is_told = kind != PLACE_OTHER;
	if (kind == PLACE_MISSING)
		track_of(run, index)->health.missing++;
	if (kind != PLACE_NON_FINITE)
		return true;
	count_match(run, track_of(run, index));
	run->has_match = true;
	found.rank = rank_of_prefix(run, subject);
	find_place_step(run, definition, subject, groups, &found);
	return add_found(run->extractor, &found);
}

/* The expression matches nothing on the line, whose value it may not foresee. */
static bool look_at_places(struct run *run, uint32_t leader, const struct subject *subject)
{
	bool is_told;

	for (uint32_t i = leader; i != UINT32_MAX; i = run->list->items[i].next)
		if (!look_at_place(run, i, subject, &is_told))
			return false;
	return true;
}

/* Captured, and no number: part of one that the expression does not foresee, or a word for none. */
static bool take_odd(struct run *run, uint32_t index, const struct subject *subject, struct span text)
{
	struct definition_health *health = &track_of(run, index)->health;
	bool is_told;
	double value;

	if (!look_at_place(run, index, subject, &is_told))
		return false;
	if (is_told)
		return true;
	if (!run->set->is_preset_form && value_place_read(text, &value) == PLACE_MISSING)
		health->missing++;
	else
		health->not_numeric++;
	return true;
}

/* One match, for one definition of the chain. */
static bool take_match(struct run *run, uint32_t index, const struct subject *subject, const struct span *groups,
	struct line_step *line)
{
	const struct definition *definition = &run->list->items[index];
	struct extractor *extractor = run->extractor;
	struct track *track = track_of(run, index);
	struct found found = {.definition = index,
		.text = definition_value_text(definition, groups),
		.is_of_bar = definition->is_bar};

	bool has_name = find_name(run, definition, groups, &found);
	if (!found.text.ptr || !has_name)
		return true; /* an optional group: the line has no such value */
	found.text = number_whole(subject->segment, found.text);
	if (is_side_bar(run, definition, groups)) {
		run->is_side_bar = true;
		return true;
	}
	count_match(run, track);
	run->has_match = true;
	if (!definition_read_value(definition, groups, found.text, &found.value, &found.unit))
		return take_odd(run, index, subject, found.text);
	found.rank = rank_of(run, definition, subject, groups);
	find_step(run, definition, subject, groups, line, &found);
	note_total(run, definition, groups);
	return add_found(extractor, &found);
}

static bool take_chain(struct run *run, uint32_t leader, const struct subject *subject, const struct span *groups,
	struct line_step *line)
{
	for (uint32_t i = leader; i != UINT32_MAX; i = run->list->items[i].next)
		if (!take_match(run, i, subject, groups, line))
			return false;
	return true;
}

/*
 * Presets look at the text behind the prefixes, at each start of it when there is a '^' (prefix.h). A user's definition may
 * have had the prefix in mind: it looks at the line as it stands, where it finds all the same, but for one with a '^', which
 * is tried there at last.
 */
static enum regex_result search_first(struct run *run, uint32_t leader, struct subject *subject, struct span whole,
	struct span groups[REGEX_MAX_GROUPS])
{
	const struct definition *definition = &run->list->items[leader];
	enum regex_result result = REGEX_NO_MATCH;

	subject->segment = whole;
	if (!run->set->is_preset_form && !definition->has_start)
		return search(run, leader, definition->regex, whole, 0, groups);
	const struct prefix *prefix = line_view_prefix(&run->extractor->segment.view);
	bool is_prefixed = !run->set->is_preset_form && whole.len != prefix->starts[0].len;
	size_t *start = &run->extractor->segment.start;
	size_t first = definition->has_start ? 0 : *start, end = definition->has_start ? prefix->count : first + 1;
	for (size_t i = first; i < end && result == REGEX_NO_MATCH; i++) {
		subject->segment = prefix->starts[i];
		result = search(run, leader, definition->regex, subject->segment, 0, groups);
		*start = result == REGEX_MATCH ? i : *start;
	}
	if (result != REGEX_NO_MATCH || !is_prefixed || !definition->has_start)
		return result;
	subject->segment = whole;
	return search(run, leader, definition->regex, whole, 0, groups);
}

/* From the first match on. */
static bool take_matches(struct run *run, uint32_t leader, const struct subject *subject, struct span *groups)
{
	const struct definition *definition = &run->list->items[leader];
	struct line_step line = {0};
	enum regex_result result = REGEX_MATCH;

	for (int i = 0; result == REGEX_MATCH; i++) {
		if (i == MATCHES_MAX) {
			track_of(run, leader)->health.limited++;
			break;
		}
		if (!take_chain(run, leader, subject, groups, &line))
			return false;
		if (!definition->repeats)
			break;
		size_t end = (size_t)(groups[0].ptr - subject->segment.ptr) + groups[0].len + (groups[0].len == 0);
		if (end >= subject->segment.len || track_of(run, leader)->overrun >= OVERRUN_MAX)
			break;
		result = search(run, leader, definition->regex, subject->segment, end, groups);
	}
	return true;
}

static void pay_back(struct track *track, size_t line_bytes)
{
	size_t credit = CREDIT + line_bytes / CREDIT_BYTES; /* a long line is worth more than a short one */

	track->overrun = track->overrun > credit ? track->overrun - (uint32_t)credit : 0;
}

static void leave_out(struct run *run, uint32_t leader)
{
	format_settle_tried(run->format, run->tracks);
	for (uint32_t i = leader; i != UINT32_MAX; i = run->list->items[i].next)
		track_of(run, i)->is_left_out = true;
}

static bool try_chain(struct run *run, uint32_t leader, struct subject subject, struct span whole)
{
	struct track *track = track_of(run, leader);
	struct span groups[REGEX_MAX_GROUPS];

	if (run->list->items[leader].is_csv)
		return match_csv(
			run, leader, line_view_text(&run->extractor->segment.view), rank_of_prefix(run, &subject));
	if (track->is_left_out)
		return true;
	if (track->overrun)
		pay_back(track, whole.len);
	enum regex_result result = search_first(run, leader, &subject, whole, groups);
	bool is_ok = result == REGEX_MATCH      ? take_matches(run, leader, &subject, groups)
		     : result == REGEX_NO_MATCH ? look_at_places(run, leader, &subject)
						: true;
	if (track->overrun >= OVERRUN_MAX)
		leave_out(run, leader);
	return is_ok;
}

/* All are tried, most by the sieve alone: only what it lets through is worth to look at its prefix. */
static bool try_all(struct run *run, struct span whole)
{
	struct subject subject = {whole, run->extractor->segment.rank};
	uint64_t words[SIEVE_WORDS];

	run->format->pending_tried++;
	sieve_find(run->list->sieve, whole, words);
	run->has_looked = true;
	run->may_be_start |= words[START_BIT / 64] >> START_BIT % 64 & 1;
	words[START_BIT / 64] &= ~(UINT64_C(1) << START_BIT % 64);
	for (uint32_t base = 0; base < SIEVE_MAX; base += 64)
		for (uint64_t bits = words[base / 64]; bits; bits &= bits - 1)
			if (!try_chain(run, base + (uint32_t)__builtin_ctzll(bits), subject, whole))
				return false;
	return !run->list->is_reader || match_generic(run);
}

enum status match_segment(struct run *run, struct error *err)
{
	struct segment *segment = &run->extractor->segment;

	segment->start = 0;
	run->extractor->found_count = 0;
	run->is_side_bar = false;
	segment->name = buf_span(&run->format->name);
	return run->list->count == 0 || try_all(run, segment->view.whole) ? OK : error_no_memory(err);
}
