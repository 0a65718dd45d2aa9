#include "extract/definition.h"

#include <stdio.h>

struct definition_set *definition_set_alloc(void)
{
	AUTO(definition_set) set = mem_zeroed(sizeof *set);

	if (!set || !(set->arena = arena_new()))
		return NULL;
	return TAKE(set);
}

void definition_set_free(struct definition_set *set)
{
	if (!set)
		return;
	definition_list_done(&set->list);
	for (size_t i = 0; i < set->preset_count; i++) {
		regex_free(set->items[i].detect);
		regex_free(set->items[i].detect_front);
		definition_list_done(&set->items[i].list);
	}
	sieve_free(set->sieve);
	arena_free(set->arena);
	mem_free(set);
}

/* [{"Preset": "nanogpt"}]: that preset, whatever the lines look like. *name stays empty when it is none of these. */
static enum status want_preset(const struct json *definitions, struct span *name, struct error *err)
{
	const struct json *first = json_first(definitions), *preset = json_get(first, "Preset");

	*name = SPAN("");
	if (!preset)
		return OK;
	*name = json_string_of(preset);
	if (name->len == 0 || json_count(definitions) != 1)
		return error_set_field(err, ERR_SEMANTIC, "MetricDefinitions[0].Preset",
			"MetricDefinitions[0].Preset must be the name of a preset, in the only entry");
	return OK;
}

static enum status fix_preset(struct definition_set *set, struct span name, struct error *err)
{
	set->fixed_preset = definition_set_preset_find(set, name);
	if (set->fixed_preset >= 0)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, "MetricDefinitions[0].Preset",
		"MetricDefinitions[0].Preset: there is no preset '%.*s'", SPAN_ARGS(name));
}

bool definition_has_step(const struct definition *definition)
{
	return definition->step_group > 0 || definition->step_regex || definition->is_step_only;
}

/* Presets are what says where the step of a line stands. */
static bool needs_guide(const struct definition_set *set)
{
	for (size_t i = 0; i < set->list.count && set->presets; i++)
		if (!definition_has_step(&set->list.items[i]))
			return true;
	return false;
}

enum status definition_set_new(struct definition_set **out, const struct json *definitions,
	const struct definition_set *presets, struct error *err)
{
	AUTO(definition_set) set = definition_set_alloc();
	struct definition_source source = {definitions, "MetricDefinitions", false};
	struct span name = SPAN("");

	if (!set)
		return error_no_memory(err);
	bool is_given = definitions && json_kind(definitions) != JSON_NULL;
	if (is_given)
		TRY(want_preset(definitions, &name, err));
	if (is_given && name.len == 0)
		TRY(definition_list_build(&set->list, set->arena, &source, 1, err));
	set->is_preset_form = set->list.count == 0;
	set->presets = presets;
	set->is_guided = needs_guide(set);
	set->fixed_preset = -1;
	if (name.len)
		TRY(fix_preset(set, name, err));
	*out = TAKE(set);
	return OK;
}

static enum status copy_name(struct preset *preset, struct arena *arena, struct span name, struct error *err)
{
	preset->name = arena_alloc(arena, name.len + 1);
	if (!preset->name)
		return error_no_memory(err);
	memcpy(preset->name, name.ptr, name.len);
	preset->name[name.len] = 0;
	return OK;
}

static enum status build_detect(
	struct preset *preset, struct arena *arena, struct span detect, const char *field, struct error *err)
{
	AUTO_DONE(buf) expanded = BUF_INIT(METRIC_REGEX_MAX_BYTES * 8);

	definition_expand(detect, &expanded);
	TRY(buf_status(&expanded, err));
	enum status status = regex_new(&preset->detect, buf_span(&expanded), 0, err);
	if (status != OK)
		error_prefix(err, "%s.detect", field);
	preset->detect_text = arena_copy(arena, buf_span(&expanded));
	preset->has_start = span_find_char(preset->detect_text, '^') >= 0;
	if (status == OK && preset->has_start && !preset->is_generic)
		status = regex_new(&preset->detect_front, buf_span(&expanded), REGEX_ANCHORED, err);
	return status != OK || preset->detect_text.ptr ? status : error_no_memory(err);
}

/* The preset of that name in the document, and its number. */
static const struct json *preset_named(const struct json *presets, struct span name, int *number)
{
	*number = 0;
	for (const struct json *item = json_first(presets); item; item = json_next(item), ++*number)
		if (span_equal(json_string_of(json_get(item, "name")), name))
			return item;
	return NULL;
}

/* Its own definitions, then those of the presets in `include`. */
static enum status build_list(struct preset *preset, struct arena *arena, const struct json *presets,
	const struct json *node, const char *field, struct error *err)
{
	struct definition_source sources[1 + PRESET_INCLUDES_MAX] = {{json_get(node, "definitions"), field, true}};
	size_t count = 1;

	if (!sources[0].node || json_count(sources[0].node) == 0)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is missing or empty", field);
	const struct json *include = json_get(node, "include");
	for (const struct json *name = json_first(include); name; name = json_next(name)) {
		int number;
		const struct json *other = preset_named(presets, json_string_of(name), &number);
		if (!other || count > PRESET_INCLUDES_MAX)
			return error_set_field(
				err, ERR_SEMANTIC, field, "%s: include names no preset, or too many", field);
		preset->includes[preset->include_count++] = number;
		sources[count++] = (struct definition_source){json_get(other, "definitions"), field, true};
	}
	return definition_list_build(&preset->list, arena, sources, count, err);
}

/* {"name","reader":true,"generic":true}: what it reads is not in the file. */
static enum status build_reader(struct preset *preset, struct arena *arena, const struct json *presets,
	const struct json *node, struct error *err)
{
	const struct json *include = json_get(node, "include");

	preset->is_renamed = json_is_true(json_get(node, "renamed"));
	preset->detect_text = preset->is_renamed ? SPAN("") : SPAN(".*"); /* what it knows, generic/ says */
	preset->has_step_lines = true;
	for (const struct json *name = json_first(include); name; name = json_next(name))
		if (preset->include_count < PRESET_INCLUDES_MAX &&
			preset_named(presets, json_string_of(name), &preset->includes[preset->include_count]))
			preset->include_count++;
	return definition_list_build_reader(&preset->list, arena, err);
}

static enum status preset_build(struct preset *preset, struct arena *arena, const struct json *presets,
	const struct json *node, size_t index, struct error *err)
{
	struct span name = json_string_of(json_get(node, "name"));
	struct span detect = json_string_of(json_get(node, "detect"));
	char field[64];

	snprintf(field, sizeof field, "presets[%zu]", index);
	bool is_reader = json_is_true(json_get(node, "reader"));
	if (name.len == 0 || (detect.len == 0 && !is_reader))
		return error_set_field(err, ERR_SEMANTIC, field, "%s needs name and detect", field);
	preset->is_generic = json_is_true(json_get(node, "generic"));
	TRY(copy_name(preset, arena, name, err));
	if (is_reader)
		return build_reader(preset, arena, presets, node, err);
	TRY(build_detect(preset, arena, detect, field, err));
	snprintf(field, sizeof field, "presets[%zu].definitions", index);
	TRY(build_list(preset, arena, presets, node, field, err));
	for (size_t i = 0; i < preset->list.count; i++)
		preset->has_step_lines |= preset->list.items[i].is_step_only || preset->list.items[i].is_csv;
	return OK;
}

static enum status build_sieve(struct definition_set *set, struct error *err)
{
	struct span patterns[PRESETS_MAX];

	for (size_t i = 0; i < set->preset_count; i++) {
		patterns[i] = set->items[i].detect_text;
		set->generic[i / 64] |= (uint64_t)set->items[i].is_generic << i % 64;
	}
	return sieve_new(&set->sieve, patterns, set->preset_count, err);
}

enum status definition_presets_new(struct definition_set **out, struct span json, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO(definition_set) set = definition_set_alloc();

	if (!set)
		return error_no_memory(err);
	TRY(json_parse(&document, json, err));
	const struct json *presets = json_get(document, "presets");
	if (!presets || json_kind(presets) != JSON_ARRAY || json_count(presets) == 0)
		return error_set_field(err, ERR_SEMANTIC, "presets", "presets must be an array that is not empty");
	if (json_count(presets) > PRESETS_MAX)
		return error_set_field(err, ERR_SEMANTIC, "presets", "presets has more than %d entries", PRESETS_MAX);
	set->items = arena_alloc(set->arena, json_count(presets) * sizeof *set->items);
	if (!set->items)
		return error_no_memory(err);
	for (const struct json *item = json_first(presets); item; item = json_next(item)) {
		struct preset *preset = &set->items[set->preset_count++];
		*preset = (struct preset){0};
		TRY(preset_build(preset, set->arena, presets, item, set->preset_count - 1, err));
	}
	TRY(build_sieve(set, err));
	*out = TAKE(set);
	return OK;
}

const struct definition_list *definition_set_list(const struct definition_set *set, int preset)
{
	static const struct definition_list none;
	const struct definition_set *owner = set->presets ? set->presets : set;

	if (preset < 0)
		return &set->list;
	return (size_t)preset < owner->preset_count ? &owner->items[preset].list : &none;
}

const struct preset *definition_set_presets(const struct definition_set *set, size_t *count)
{
	*count = set->presets ? set->presets->preset_count : 0;
	return set->presets ? set->presets->items : NULL;
}

const struct sieve *definition_set_sieve(const struct definition_set *set)
{
	return set->presets ? set->presets->sieve : NULL;
}

const uint64_t *definition_set_generic(const struct definition_set *set)
{
	return set->presets->generic;
}

bool definition_set_is_guided(const struct definition_set *set)
{
	return set->is_guided;
}

int definition_set_preset_find(const struct definition_set *set, struct span name)
{
	const struct definition_set *owner = set->presets ? set->presets : set;

	for (size_t i = 0; i < owner->preset_count; i++)
		if (span_equal(span_from(owner->items[i].name), name))
			return (int)i;
	return -1;
}

size_t definition_set_count(const struct definition_set *set, int preset)
{
	return definition_set_list(set, preset)->count;
}

struct metric_definition definition_set_get(const struct definition_set *set, int preset, size_t index)
{
	const struct definition_list *list = definition_set_list(set, preset);

	return index < list->count ? list->items[index].shown : (struct metric_definition){0};
}

bool definition_set_is_preset_form(const struct definition_set *set)
{
	return set->is_preset_form;
}

bool definition_set_preset_is_renamed(const struct definition_set *set, int preset)
{
	const struct definition_set *owner = set->presets ? set->presets : set;

	return preset >= 0 && (size_t)preset < owner->preset_count && owner->items[preset].is_renamed;
}

const char *definition_set_preset_name(const struct definition_set *set, int preset)
{
	const struct definition_set *owner = set->presets ? set->presets : set;

	return preset >= 0 && (size_t)preset < owner->preset_count ? owner->items[preset].name : NULL;
}
