#include "extract/trial.h"

#include "extract/line/ansi.h"
#include "extract/guide.h"
#include "extract/line/number.h"
#include "extract/line/starts.h"
#include "extract/line/prefix.h"
#include "extract/line/value_place.h"

#include <stdio.h>

enum { TEXT_MAX_BYTES = 16 << 20, MATCHES_MAX = 1000, ESCAPE = 0x1b };

struct tried {
	struct definition_set *set; /* of this one alone; NULL: it does not compile */
	struct trial_figures figures;
	uint64_t alone; /* lines on which no earlier one of the same name matched */
	bool is_hit; /* on the present line */
};

struct trial {
	struct arena *arena;
	const struct definition_set *presets;
	struct formats guide;
	struct buf header;
	struct bars bars;
	bool has_step_lines; /* lines that say the step alone: values take it from there */
	struct tried *items;
	size_t count;
	struct buf text;
};

/* The present line, and where the next hit goes. */
struct trying {
	struct line_view *view; /* the segment */
	struct trial *trial;
	struct regex_scratch *scratch;
	struct trial_hit *hits;
	size_t cap;
	size_t *count;
	struct guided guided; /* of the segment, once a value without a step was found there */
	bool is_guided;
};

const char *trial_warning_name(enum trial_warning warning)
{
	switch (warning) {
	case TRIAL_NEVER_MATCHED:
		return "never_matched";
	case TRIAL_NEVER_NUMERIC:
		return "never_numeric";
	case TRIAL_SEVERAL_GROUPS:
		return "several_groups";
	case TRIAL_SHADOWED:
		return "shadowed";
	case TRIAL_NO_STEP:
		return "no_step";
	case TRIAL_GAVE_UP:
		return "gave_up";
	case TRIAL_PLACE_ODD:
		return "place_not_numeric";
	case TRIAL_WARNINGS:
		break;
	}
	return "";
}

const char *trial_warning_text(enum trial_warning warning)
{
	switch (warning) {
	case TRIAL_NEVER_MATCHED:
		return "none of these lines match";
	case TRIAL_NEVER_NUMERIC:
		return "what it captures is never a number: put the group around the digits alone";
	case TRIAL_SEVERAL_GROUPS:
		return "there are several unnamed groups, and the first one is the value: name it (?<value>...)";
	case TRIAL_SHADOWED:
		return "an earlier definition of the same name matches every line that this one does";
	case TRIAL_NO_STEP:
		return "no step is found on these lines, so the points take the step seen last, or are counted 0, 1, 2: add (?<step>[0-9]+) or a Step";
	case TRIAL_GAVE_UP:
		return "gave up on some lines after too many steps: avoid nested repeats such as (a+)+ and .*.*";
	case TRIAL_PLACE_ODD:
		return "on some lines what stands where the value should is no number: those lines give no point";
	case TRIAL_WARNINGS:
		break;
	}
	return "";
}

/* The place in the user's list, not in the list of one that was compiled. */
static void place_error(struct error *err, size_t index)
{
	struct error moved = *err;
	ptrdiff_t end = span_find_char(span_from(err->field), ']');

	snprintf(moved.field, sizeof moved.field, "MetricDefinitions[%zu]%.40s", index,
		end >= 0 ? err->field + end + 1 : "");
	*err = moved;
}

static enum status compile_one(struct trial *trial, const struct json *item, size_t index, struct error *err)
{
	struct tried *tried = &trial->items[trial->count++];
	AUTO(json) list = NULL;
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);

	*tried = (struct tried){.figures = {.name = arena_copy(trial->arena, json_string_of(json_get(item, "Name")))}};
	buf_append_char(&text, '[');
	json_print(item, &text);
	buf_append_char(&text, ']');
	TRY(buf_status(&text, err));
	TRY(json_parse(&list, buf_span(&text), err));
	tried->figures.status = definition_set_new(&tried->set, list, trial->presets, &tried->figures.err);
	if (tried->figures.status == ERR_MEMORY || !tried->figures.name.ptr)
		return error_no_memory(err);
	if (tried->figures.status != OK)
		place_error(&tried->figures.err, index);
	return OK;
}

enum status trial_new(
	struct trial **out, const struct json *definitions, const struct definition_set *presets, struct error *err)
{
	AUTO(trial) trial = mem_zeroed(sizeof *trial);

	if (!definitions || json_kind(definitions) != JSON_ARRAY || json_count(definitions) == 0)
		return error_set_field(err, ERR_SEMANTIC, "MetricDefinitions",
			"MetricDefinitions must be an array of {Name, Regex} that is not empty");
	if (json_count(definitions) > DEFINITIONS_MAX)
		return error_set_field(err, ERR_SEMANTIC, "MetricDefinitions",
			"MetricDefinitions has %zu entries; at most %d are allowed", json_count(definitions),
			DEFINITIONS_MAX);
	if (!trial || !(trial->arena = arena_new()) ||
		!(trial->items = arena_alloc(trial->arena, json_count(definitions) * sizeof *trial->items)))
		return error_no_memory(err);
	trial->text = BUF_INIT(TEXT_MAX_BYTES);
	trial->header = BUF_INIT(TEXT_MAX_BYTES);
	trial->presets = presets;
	formats_init(&trial->guide);
	for (const struct json *item = json_first(definitions); item; item = json_next(item))
		TRY(compile_one(trial, item, trial->count, err));
	*out = TAKE(trial);
	return OK;
}

void trial_free(struct trial *trial)
{
	if (!trial)
		return;
	for (size_t i = 0; i < trial->count; i++)
		definition_set_free(trial->items[i].set);
	buf_done(&trial->text);
	buf_done(&trial->header);
	formats_done(&trial->guide);
	arena_free(trial->arena);
	mem_free(trial);
}

size_t trial_count(const struct trial *trial)
{
	return trial->count;
}

struct span trial_text(const struct trial *trial)
{
	return buf_span(&trial->text);
}

static const struct definition *definition_at(const struct trial *trial, size_t index)
{
	const struct definition_set *set = trial->items[index].set;

	return set ? definition_set_list(set, -1)->items : NULL;
}

/* Once a segment. */
static const struct guided *guide(struct trying *on, const struct definition_set *set)
{
	struct trial *trial = on->trial;
	struct guide_memory memory = {&trial->header, &trial->bars};

	if (!on->is_guided)
		(void)guide_find(&trial->guide, set, on->scratch, on->view, &memory, &on->guided);
	on->is_guided = true;
	return &on->guided;
}

static bool find_step(struct trying *on, size_t index, struct span segment, const struct span *groups,
	struct span *where, int64_t *step)
{
	const struct definition *definition = definition_at(on->trial, index);
	struct span line_groups[REGEX_MAX_GROUPS];

	if (!definition_has_step(definition) && on->trial->presets) {
		const struct guided *guided = guide(on, on->trial->items[index].set);
		*where = guided->where;
		*step = guided->step;
		return guided->has_step;
	}
	if (definition->step_group > 0 && groups[definition->step_group].ptr)
		*where = groups[definition->step_group];
	else if (definition->step_regex &&
		 regex_search(definition->step_regex, on->scratch, segment, 0, line_groups) == REGEX_MATCH)
		*where = line_groups[definition->line_step_group];
	else
		return false;
	return where->ptr && number_parse_step(*where, step);
}

/* False: the match has no value. */
static bool take_hit(struct trying *on, size_t index, struct span segment, const struct span *groups, bool is_first)
{
	const struct definition *definition = definition_at(on->trial, index);
	struct tried *tried = &on->trial->items[index];
	struct span value = definition_value_text(definition, groups), step, unit;
	const char *text = on->trial->text.ptr;

	if (!value.ptr)
		return false; /* an optional group: the line has no such value */
	value = number_whole(segment, value);
	struct trial_hit hit = {.definition = (uint32_t)index,
		.start = (size_t)(value.ptr - text),
		.end = (size_t)(value.ptr - text) + value.len,
		.name = definition->name_group > 0 ? groups[definition->name_group] : SPAN("")};
	hit.is_number = definition_read_value(definition, groups, value, &hit.value, &unit);
	if (find_step(on, index, segment, groups, &step, &hit.step)) {
		hit.has_step = true;
		hit.step_start = (size_t)(step.ptr - text);
		hit.step_end = hit.step_start + step.len;
	}
	tried->is_hit = true;
	tried->figures.matched += is_first;
	tried->figures.numeric += hit.is_number;
	tried->figures.not_numeric += is_first && !hit.is_number;
	tried->figures.with_step += hit.has_step;
	if (*on->count < on->cap)
		on->hits[(*on->count)++] = hit;
	return true;
}

/* In front of the place, else as of a value; the groups are those of the place. */
static bool find_place_step(struct trying *on, size_t index, struct span whole, const struct span *groups,
	struct span *where, int64_t *step)
{
	const struct definition *definition = definition_at(on->trial, index);

	if (definition->place_step_group > 0 && groups[definition->place_step_group].ptr) {
		*where = groups[definition->place_step_group];
		return number_parse_step(*where, step);
	}
	return definition->step_group <= 0 && find_step(on, index, whole, groups, where, step);
}

/*
 * The expression does not match, but what stands before its group does: "nan" and "inf" there are values all the same, all else is
 * shown for what it is.
 */
static void take_place(struct trying *on, size_t index, struct span whole)
{
	const struct definition *definition = definition_at(on->trial, index);
	struct tried *tried = &on->trial->items[index];
	struct span groups[REGEX_MAX_GROUPS], step;
	const char *text = on->trial->text.ptr;

	if (!definition->place_regex ||
		regex_search(definition->place_regex, on->scratch, whole, 0, groups) != REGEX_MATCH)
		return;
	struct span place = groups[definition->place_group];
	struct trial_hit hit = {.definition = (uint32_t)index,
		.start = (size_t)(place.ptr - text),
		.end = (size_t)(place.ptr - text) + place.len,
		.name = SPAN("")};
	hit.is_number = value_place_read(place, &hit.value) == PLACE_NON_FINITE;
	if (hit.is_number && find_place_step(on, index, whole, groups, &step, &hit.step)) {
		hit.has_step = true;
		hit.step_start = (size_t)(step.ptr - text);
		hit.step_end = hit.step_start + step.len;
	}
	tried->is_hit |= hit.is_number;
	tried->figures.matched += hit.is_number;
	tried->figures.numeric += hit.is_number;
	tried->figures.with_step += hit.has_step;
	tried->figures.not_numeric += !hit.is_number;
	if (*on->count < on->cap)
		on->hits[(*on->count)++] = hit;
}

static void try_one(struct trying *on, size_t index, struct span whole)
{
	const struct definition *definition = definition_at(on->trial, index);
	struct trial_figures *figures = &on->trial->items[index].figures;
	struct span groups[REGEX_MAX_GROUPS];
	bool is_first = true;

	if (!definition)
		return;
	figures->tried++;
	size_t start = 0;
	const struct prefix *prefix = line_view_prefix(on->view);
	enum regex_result result =
		starts_search(prefix, definition->regex, definition->has_start, on->scratch, SIZE_MAX, groups, &start);
	struct span segment = prefix->starts[start];
	if (result == REGEX_NO_MATCH && prefix->starts[0].len != whole.len) {
		segment = whole;
		result = regex_search(definition->regex, on->scratch, segment, 0, groups);
	}
	figures->limited += result == REGEX_LIMIT;
	if (result == REGEX_NO_MATCH)
		take_place(on, index, whole);
	for (int i = 0; result == REGEX_MATCH && i < MATCHES_MAX; i++) {
		is_first = !take_hit(on, index, segment, groups, is_first) && is_first;
		size_t end = (size_t)(groups[0].ptr - segment.ptr) + groups[0].len + (groups[0].len == 0);
		if (!definition->repeats || end >= segment.len)
			break;
		result = regex_search(definition->regex, on->scratch, segment, end, groups);
	}
}

static void note_shadows(struct trial *trial)
{
	for (size_t i = 0; i < trial->count; i++) {
		bool has_earlier = false;
		for (size_t j = 0; j < i && trial->items[i].is_hit; j++)
			has_earlier |= trial->items[j].is_hit &&
				       span_equal(trial->items[j].figures.name, trial->items[i].figures.name);
		trial->items[i].alone += trial->items[i].is_hit && !has_earlier;
	}
}

/* The rows of a CSV, and lines that say the step alone, count as steps of what follows when it runs. */
static void see_format(struct trying *on)
{
	const struct definition_set *set = NULL;

	for (size_t i = 0; i < on->trial->count && !set; i++)
		set = on->trial->items[i].set;
	on->is_guided = false;
	if (!set || !on->trial->presets)
		return;
	bool is_new;
	struct error ignored; /* for want of memory it is known from a later line on */
	(void)!guide_hear(&on->trial->guide, set, on->scratch, on->view, false, &is_new, &ignored);
	struct guide_memory memory = {&on->trial->header, &on->trial->bars};
	struct guided alone;
	guide_find_alone(&on->trial->guide, set, on->scratch, on->view, &memory, &alone);
	on->trial->has_step_lines |= alone.has_step;
}

enum status trial_line(struct trial *trial, struct regex_scratch *scratch, struct span text, struct trial_hit *hits,
	size_t cap, size_t *count, struct error *err)
{
	struct line_view view;
	struct trying on = {
		.view = &view, .trial = trial, .scratch = scratch, .hits = hits, .cap = cap, .count = count};
	struct span rest, segment;

	*count = 0;
	buf_reset(&trial->text);
	if (text.len && memchr(text.ptr, ESCAPE, text.len))
		ansi_strip(text, &trial->text);
	else
		buf_append_span(&trial->text, text);
	TRY(buf_status(&trial->text, err));
	for (size_t i = 0; i < trial->count; i++)
		trial->items[i].is_hit = false;
	for (rest = buf_span(&trial->text); span_next(&rest, '\r', &segment);) {
		line_view_set(&view, segment, NULL);
		see_format(&on);
		for (size_t i = 0; i < trial->count && segment.len; i++)
			try_one(&on, i, segment);
	}
	note_shadows(trial);
	return OK;
}

bool trial_match(const struct trial *trial, size_t definition, struct regex_scratch *scratch, struct span text)
{
	const struct definition *one = definition_at(trial, definition);
	struct span groups[REGEX_MAX_GROUPS];

	return one && regex_search(one->regex, scratch, text, 0, groups) == REGEX_MATCH;
}

static unsigned unnamed_groups(const struct definition *definition)
{
	static const char *const names[] = {"value", "step", "epoch", "total", "unit", "name", "rank"};
	unsigned count = regex_group_count(definition->regex);

	if (definition->shown.group.len || regex_group(definition->regex, "value") > 0)
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		count -= regex_group(definition->regex, names[i]) > 0 && count;
	return count;
}

struct trial_figures trial_figures(const struct trial *trial, size_t index)
{
	const struct tried *tried = &trial->items[index];
	const struct definition *definition = definition_at(trial, index);
	struct trial_figures figures = tried->figures;

	if (!definition)
		return figures;
	figures.warnings = (figures.tried && !figures.matched ? TRIAL_NEVER_MATCHED : 0) |
			   (figures.matched && !figures.numeric ? TRIAL_NEVER_NUMERIC : 0) |
			   (unnamed_groups(definition) > 1 ? TRIAL_SEVERAL_GROUPS : 0) |
			   (figures.matched && !tried->alone ? TRIAL_SHADOWED : 0) |
			   (figures.matched && !figures.with_step && !trial->has_step_lines ? TRIAL_NO_STEP : 0) |
			   (figures.limited ? TRIAL_GAVE_UP : 0) |
			   (figures.not_numeric && (figures.numeric || !figures.matched) ? TRIAL_PLACE_ODD : 0);
	return figures;
}
