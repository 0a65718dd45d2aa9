#include "extract/definition.h"

#include <stdio.h>

struct definition_set *definition_set_alloc(void)
{
	AUTO(definition_set) set = mem_zeroed(sizeof *set);

	if (!set || !(set->arena = arena_new()))
		return NULL;
	struct definition_set *result = set;
	set = NULL;
	return result;
}

void definition_set_free(struct definition_set *set)
{
	if (!set)
		return;
	definition_list_done(&set->list);
	for (size_t i = 0; i < set->preset_count; i++) {
		regex_free(set->items[i].detect);
		definition_list_done(&set->items[i].list);
	}
	arena_free(set->arena);
	mem_free(set);
}

enum status definition_set_new(struct definition_set **out, const struct json *definitions,
	const struct definition_set *presets, struct error *err)
{
	AUTO(definition_set) set = definition_set_alloc();

	if (!set)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (definitions && json_kind(definitions) != JSON_NULL)
		TRY(definition_list_build(&set->list, set->arena, definitions, "MetricDefinitions", err));
	set->is_preset_form = set->list.count == 0;
	set->presets = set->is_preset_form ? presets : NULL;
	*out = set;
	set = NULL;
	return OK;
}

static enum status preset_build(
	struct preset *preset, struct arena *arena, const struct json *node, size_t index, struct error *err)
{
	struct span name = json_string_of(json_get(node, "name"));
	struct span detect = json_string_of(json_get(node, "detect"));
	char field[64];

	snprintf(field, sizeof field, "presets[%zu]", index);
	if (name.len == 0 || detect.len == 0)
		return error_set_field(err, ERR_SEMANTIC, field, "%s needs name and detect", field);
	preset->name = arena_alloc(arena, name.len + 1);
	if (!preset->name)
		return error_set(err, ERR_MEMORY, "out of memory");
	memcpy(preset->name, name.ptr, name.len);
	preset->name[name.len] = 0;
	enum status status = regex_new(&preset->detect, detect, 0, err);
	if (status != OK) {
		error_prefix(err, "%s.detect", field);
		return status;
	}
	snprintf(field, sizeof field, "presets[%zu].definitions", index);
	const struct json *definitions = json_get(node, "definitions");
	if (!definitions || json_count(definitions) == 0)
		return error_set_field(err, ERR_SEMANTIC, field, "%s is missing or empty", field);
	return definition_list_build(&preset->list, arena, definitions, field, err);
}

enum status definition_presets_new(struct definition_set **out, struct span json, struct error *err)
{
	AUTO(json) document = NULL;
	AUTO(definition_set) set = definition_set_alloc();

	if (!set)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(json_parse(&document, json, err));
	const struct json *presets = json_get(document, "presets");
	if (!presets || json_kind(presets) != JSON_ARRAY || json_count(presets) == 0)
		return error_set_field(err, ERR_SEMANTIC, "presets", "presets must be an array that is not empty");
	set->items = arena_alloc(set->arena, json_count(presets) * sizeof *set->items);
	if (!set->items)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (const struct json *item = json_first(presets); item; item = json_next(item)) {
		struct preset *preset = &set->items[set->preset_count++];
		*preset = (struct preset){0};
		TRY(preset_build(preset, set->arena, item, set->preset_count - 1, err));
	}
	*out = set;
	set = NULL;
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

int definition_set_detect(const struct definition_set *set, struct regex_scratch *scratch, struct span text)
{
	struct span groups[REGEX_MAX_GROUPS];

	for (size_t i = 0; set->presets && i < set->presets->preset_count; i++)
		if (regex_search(set->presets->items[i].detect, scratch, text, 0, groups) == REGEX_MATCH)
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

const char *definition_set_preset_name(const struct definition_set *set, int preset)
{
	const struct definition_set *owner = set->presets ? set->presets : set;

	return preset >= 0 && (size_t)preset < owner->preset_count ? owner->items[preset].name : NULL;
}
