#include "extract/definition.h"
#include "extract/generic/generic.h"
#include "extract/line/line_hint.h"
#include "extract/line/number.h"
#include "extract/line/value_place.h"

#include <stdio.h>

/* Where in the document an error is: "MetricDefinitions[2].Regex". */
struct place {
	const char *list;
	size_t index;
	bool is_preset;
};

static enum status refuse(const struct place *at, const char *key, struct error *err, const char *text)
{
	char field[64];

	snprintf(field, sizeof field, "%s[%zu].%s", at->list, at->index, key);
	return error_set_field(err, ERR_SEMANTIC, field, "%s %s", field, text);
}

static bool has_control(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] < 0x20 || s.ptr[i] == 0x7f)
			return true;
	return false;
}

/* An optional string; absent and null leave *out empty. */
static enum status want_text(const struct json *node, const struct place *at, const char *key, size_t max_bytes,
	struct span *out, struct error *err)
{
	const struct json *value = json_get(node, key);
	char text[64];

	*out = SPAN("");
	if (!value || json_kind(value) == JSON_NULL)
		return OK;
	if (json_kind(value) != JSON_STRING)
		return refuse(at, key, err, "must be a string");
	*out = json_string_of(value);
	snprintf(text, sizeof text, "is longer than %zu bytes", max_bytes);
	return out->len > max_bytes ? refuse(at, key, err, text) : OK;
}

static enum status want_name(const struct json *node, const struct place *at, struct span *out, struct error *err)
{
	TRY(want_text(node, at, "Name", METRIC_NAME_MAX_BYTES, out, err));
	if (out->len == 0)
		return refuse(at, "Name", err, "is missing or empty");
	if (!span_is_utf8(*out) || has_control(*out))
		return refuse(at, "Name", err, "must be valid UTF-8 without control characters");
	return OK;
}

static enum status want_role(
	const struct json *node, const struct place *at, struct metric_definition *shown, struct error *err)
{
	char text[ROLE_LIST_BYTES + sizeof "is none of "], list[ROLE_LIST_BYTES];
	struct span name;

	TRY(want_text(node, at, "Role", METRIC_NAME_MAX_BYTES, &name, err));
	if (name.len == 0)
		shown->role = role_guess(shown->name);
	if (name.len == 0 || role_parse(name, &shown->role))
		return OK;
	snprintf(text, sizeof text, "is none of %s", role_list(list));
	return refuse(at, "Role", err, text);
}

static enum status want_higher(const struct json *node, const struct place *at, int *out, struct error *err)
{
	const struct json *value = json_get(node, "Higher");

	if (!value || json_kind(value) == JSON_NULL)
		return OK;
	if (json_kind(value) != JSON_BOOL)
		return refuse(at, "Higher", err, "must be true (higher is better) or false (lower is)");
	*out = json_is_true(value) ? 1 : -1;
	return OK;
}

/* What the presets write as {N}: a number as trainers print it. */
#define NUMBER "[-+]?(?:" PATTERN_NON_FINITE "|\\d+\\.?\\d*(?:[eE][-+]?\\d+)?|\\.\\d+(?:[eE][-+]?\\d+)?)"

void definition_expand(struct span pattern, struct buf *out)
{
	for (ptrdiff_t at; (at = span_find(pattern, SPAN("{N}"))) >= 0; pattern = span_skip(pattern, (size_t)at + 3)) {
		buf_append(out, pattern.ptr, (size_t)at);
		buf_append_span(out, SPAN(NUMBER));
	}
	buf_append_span(out, pattern);
}

/* The compiler knows the column; the place in the document is known here. */
static enum status compile(
	struct regex **out, struct span pattern, const struct place *at, const char *key, struct error *err)
{
	enum status status = regex_new(out, pattern, 0, err);

	if (status != OK && err)
		snprintf(err->field, sizeof err->field, "%s[%zu].%s", at->list, at->index, key);
	return status;
}

/* The group `value`, else the first that has another meaning than a counter or a unit; NO_GROUP when none is left. */
static int value_group_of(const struct regex *regex)
{
	static const char *const others[] = {"step", "epoch", "total", "unit", "name", "rank"};
	int named = regex_group(regex, "value");

	for (int group = 1; named < 1 && group <= (int)regex_group_count(regex); group++) {
		bool is_other = false;
		for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
			is_other |= regex_group(regex, others[i]) == group;
		if (!is_other)
			return group;
	}
	return named;
}

/* The groups by their names; `group`: that of the value when it has another name. */
static enum status find_groups(struct definition *definition, const struct regex *regex, struct span group,
	const struct place *at, struct error *err)
{
	char name[METRIC_UNIT_MAX_BYTES + 1];

	definition->step_group = regex_group(regex, "step");
	definition->epoch_group = regex_group(regex, "epoch");
	definition->unit_group = regex_group(regex, "unit");
	definition->name_group = regex_group(regex, "name");
	definition->rank_group = regex_group(regex, "rank");
	definition->total_group = regex_group(regex, "total");
	definition->has_start = span_find_char(definition->shown.regex, '^') >= 0;
	definition->repeats = definition->step_group > 0 || definition->name_group > 0 || definition->rank_group > 0;
	if (definition->is_step_only) {
		definition->value_group = definition->step_group;
	} else if (group.len) {
		snprintf(name, sizeof name, "%.*s", SPAN_ARGS(group));
		definition->value_group = regex_group(regex, name);
		return definition->value_group < 1 ? refuse(at, "Group", err, "is no group of the regular expression")
						   : OK;
	} else {
		definition->value_group = value_group_of(regex);
		definition->value_others = value_place_others(definition->shown.regex, definition->value_group);
	}
	if (definition->value_group < 1)
		return refuse(at, "Regex", err, "needs a group for the value: (...), or (?<value>...)");
	return OK;
}

static enum status build_step_regex(struct definition *definition, const struct place *at, struct error *err)
{
	if (definition->shown.step_regex.len == 0)
		return OK;
	TRY(compile(&definition->step_regex, definition->shown.step_regex, at, "Step", err));
	definition->line_step_group = regex_group(definition->step_regex, "step");
	definition->line_epoch_group = regex_group(definition->step_regex, "epoch");
	definition->line_total_group = regex_group(definition->step_regex, "total");
	if (definition->line_step_group < 1 && regex_group_count(definition->step_regex) > 0)
		definition->line_step_group = definition->line_epoch_group == 1 ? 2 : 1;
	if (definition->line_step_group < 1 ||
		definition->line_step_group > (int)regex_group_count(definition->step_regex))
		return refuse(at, "Step", err, "needs a group for the step: (...), or (?<step>...)");
	return OK;
}

static enum status build_place(struct definition *definition, struct error *err)
{
	AUTO_DONE(buf) pattern = BUF_INIT(2 * METRIC_REGEX_MAX_BYTES);
	struct error ignored;

	if (definition->name_group > 0 || definition->is_step_only ||
		!value_place_pattern(definition->shown.regex, definition->value_group, &pattern))
		return OK;
	TRY(buf_status(&pattern, err));
	enum status status = regex_new(&definition->place_regex, buf_span(&pattern), 0, &ignored);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		return OK; /* one that is no expression by itself has no place */
	definition->place_group = regex_group(definition->place_regex, PLACE_GROUP);
	definition->place_step_group = regex_group(definition->place_regex, "step");
	definition->place_epoch_group = regex_group(definition->place_regex, "epoch");
	definition->place_total_group = regex_group(definition->place_regex, "total");
	return OK;
}

/* Joins the chain of those with the same Regex, or compiles it. */
static enum status build_regex(struct definition_list *list, struct definition *definition, struct span group,
	const struct place *at, struct error *err)
{
	uint32_t self = (uint32_t)(definition - list->items), last = UINT32_MAX;

	definition->leader = self;
	definition->next = UINT32_MAX;
	for (uint32_t i = 0; i < self && last == UINT32_MAX; i++)
		if (list->items[i].leader == i && span_equal(list->items[i].shown.regex, definition->shown.regex) &&
			list->items[i].is_step_only == definition->is_step_only)
			last = i;
	if (last == UINT32_MAX) {
		TRY(compile(&definition->regex, definition->shown.regex, at, "Regex", err));
	} else {
		definition->leader = last;
		while (list->items[last].next != UINT32_MAX)
			last = list->items[last].next;
		list->items[last].next = self;
		list->items[definition->leader].shares_regex = definition->shares_regex = true;
	}
	TRY(find_groups(definition, list->items[definition->leader].regex, group, at, err));
	return build_step_regex(definition, at, err);
}

/* Into the arena; presets have {N} written out. */
static bool keep(struct arena *arena, struct span *text, bool is_pattern_of_preset)
{
	AUTO_DONE(buf) expanded = BUF_INIT(METRIC_REGEX_MAX_BYTES * 8);

	if (is_pattern_of_preset) {
		definition_expand(*text, &expanded);
		*text = buf_span(&expanded);
	}
	if (text->len)
		*text = arena_copy(arena, *text);
	return text->ptr != NULL && !expanded.failure;
}

/* `node` says what the metric is, `shared` how it is found (the same, or what holds `node` in its Values). */
static enum status read_texts(struct metric_definition *shown, struct arena *arena, const struct json *node,
	const struct json *shared, const struct place *at, struct error *err)
{
	TRY(want_name(node, at, &shown->name, err));
	TRY(want_text(shared, at, "Regex", METRIC_REGEX_MAX_BYTES, &shown->regex, err));
	if (shown->regex.len == 0)
		return refuse(at, "Regex", err, "is missing or empty");
	TRY(want_text(shared, at, "Step", METRIC_REGEX_MAX_BYTES, &shown->step_regex, err));
	TRY(want_text(node, at, "Unit", METRIC_UNIT_MAX_BYTES, &shown->unit, err));
	if (!span_is_utf8(shown->unit) || has_control(shown->unit))
		return refuse(at, "Unit", err, "must be valid UTF-8 without control characters");
	TRY(want_role(node, at, shown, err));
	TRY(want_higher(node, at, &shown->higher, err));
	if (!keep(arena, &shown->name, false) || !keep(arena, &shown->regex, at->is_preset) ||
		!keep(arena, &shown->step_regex, at->is_preset && shown->step_regex.len) ||
		!keep(arena, &shown->unit, false))
		return error_no_memory(err);
	return OK;
}

static void read_flags(struct definition *definition, const struct json *node, const struct json *shared)
{
	double first = 0;

	definition->is_bar = json_is_true(json_get(shared, "Bar"));
	definition->is_csv = json_is_true(json_get(shared, "Csv"));
	definition->step_follows = json_is_true(json_get(shared, "StepFollows"));
	definition->is_mean = json_number_of(json_get(node, "Mean"), &first);
	definition->mean_first = (int64_t)first;
}

static enum status build_one(struct definition_list *list, struct arena *arena, const struct json *node,
	const struct json *shared, const struct place *at, struct error *err)
{
	struct definition *definition = &list->items[list->count++];

	*definition = (struct definition){.line_step_group = NO_GROUP, .line_epoch_group = NO_GROUP};
	if (json_kind(node) != JSON_OBJECT) {
		char field[64];
		snprintf(field, sizeof field, "%s[%zu]", at->list, at->index);
		return error_set_field(err, ERR_SEMANTIC, field, "%s must be an object with Name and Regex", field);
	}
	TRY(read_texts(&definition->shown, arena, node, shared, at, err));
	struct span *group = &definition->shown.group;
	TRY(want_text(node, at, "Group", METRIC_UNIT_MAX_BYTES, group, err));
	if (!keep(arena, group, false))
		return error_no_memory(err);
	definition->unit_s = unit_seconds(definition->shown.unit);
	definition->is_step_only = definition->shown.is_step_only = json_is_true(json_get(shared, "StepOnly"));
	if (at->is_preset)
		read_flags(definition, node, shared);
	TRY(build_regex(list, definition, *group, at, err));
	return at->is_preset ? OK : build_place(definition, err);
}

static enum status build_entry(struct definition_list *list, struct arena *arena, const struct json *item,
	const struct place *at, struct error *err)
{
	const struct json *values = at->is_preset ? json_get(item, "Values") : NULL;

	if (!values)
		return build_one(list, arena, item, item, at, err);
	for (const struct json *value = json_first(values); value; value = json_next(value))
		TRY(build_one(list, arena, value, item, at, err));
	return OK;
}

static size_t count_of(const struct definition_source *source)
{
	size_t count = 0;

	for (const struct json *item = json_first(source->node); item; item = json_next(item)) {
		const struct json *values = source->is_preset ? json_get(item, "Values") : NULL;
		count += values ? json_count(values) : 1;
	}
	return count;
}

/* Of a leader. Rows of numbers are not found by an expression alone: a header comes first. */
static struct span sieved_pattern(const struct definition *definition, size_t i)
{
	if (definition->leader != i)
		return SPAN("");
	return definition->is_csv ? SPAN(".*") : definition->shown.regex;
}

static enum status build_step_sieve(struct definition_list *list, struct error *err)
{
	struct span patterns[SIEVE_MAX] = {{0}};
	bool is_any = false;

	for (size_t i = 0; i < list->count && !list->is_reader; i++) {
		const struct definition *definition = &list->items[i];
		if (!definition->is_step_only && !definition->is_csv)
			continue;
		patterns[i] = sieved_pattern(definition, i);
		is_any |= patterns[i].len > 0;
	}
	return is_any ? sieve_new(&list->step_sieve, patterns, list->count, err) : OK;
}

static enum status build_sieves(struct definition_list *list, struct error *err)
{
	AUTO_DONE(buf) start = BUF_INIT(METRIC_REGEX_MAX_BYTES);
	struct span patterns[SIEVE_MAX] = {{0}};

	line_start_pattern(&start);
	TRY(buf_status(&start, err));
	patterns[START_BIT] = buf_span(&start);
	for (size_t i = 0; i < list->count && !list->is_reader; i++)
		patterns[i] = sieved_pattern(&list->items[i], i);
	TRY(sieve_new(&list->sieve, patterns, SIEVE_MAX, err));
	return build_step_sieve(list, err);
}

enum status definition_list_build(struct definition_list *list, struct arena *arena,
	const struct definition_source *sources, size_t source_count, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < source_count; i++) {
		const char *field = sources[i].field;
		if (json_kind(sources[i].node) != JSON_ARRAY)
			return error_set_field(err, ERR_SEMANTIC, field, "%s must be an array", field);
		count += count_of(&sources[i]);
		if (count > DEFINITIONS_MAX)
			return error_set_field(err, ERR_SEMANTIC, field, "%s has %zu entries; at most %d are allowed",
				field, count, DEFINITIONS_MAX);
	}
	if (count == 0)
		return OK;
	list->items = arena_alloc(arena, count * sizeof *list->items);
	if (!list->items)
		return error_no_memory(err);
	for (size_t i = 0; i < source_count; i++) {
		struct place at = {.list = sources[i].field, .is_preset = sources[i].is_preset};
		for (const struct json *item = json_first(sources[i].node); item; item = json_next(item)) {
			TRY(build_entry(list, arena, item, &at, err));
			at.index++;
		}
	}
	return build_sieves(list, err);
}

/* A rate by its unit says enough; all else is shown once it has proved itself. */
static bool is_guess(size_t series)
{
	return series != GENERIC_STEPS_RATE && series != GENERIC_STEP_SECONDS && series != GENERIC_STEP;
}

enum status definition_list_build_reader(struct definition_list *list, struct arena *arena, struct error *err)
{
	list->items = arena_alloc(arena, GENERIC_SERIES_COUNT * sizeof *list->items);
	if (!list->items)
		return error_no_memory(err);
	for (uint32_t i = 0; i < GENERIC_SERIES_COUNT; i++) {
		struct metric_definition shown = generic_definitions[i];
		list->items[i] = (struct definition){.shown = shown,
			.leader = i,
			.next = UINT32_MAX,
			.unit_s = unit_seconds(shown.unit),
			.is_step_only = shown.is_step_only,
			.is_guess = is_guess(i)};
	}
	list->count = GENERIC_SERIES_COUNT;
	list->is_reader = true;
	return build_sieves(list, err);
}

void definition_list_done(struct definition_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		regex_free(list->items[i].regex);
		regex_free(list->items[i].step_regex);
		regex_free(list->items[i].place_regex);
	}
	sieve_free(list->sieve);
	sieve_free(list->step_sieve);
	*list = (struct definition_list){0};
}
