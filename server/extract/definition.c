#include "extract/definition.h"

#include <stdio.h>

/* Where in the document an error is: "MetricDefinitions[2].Regex". */
struct place {
	const char *list;
	size_t index;
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
	struct span name;

	TRY(want_text(node, at, "Role", METRIC_NAME_MAX_BYTES, &name, err));
	if (name.len == 0)
		shown->role = role_guess(shown->name);
	else if (!role_parse(name, &shown->role))
		return refuse(at, "Role", err,
			"is none of loss, eval_loss, throughput, step_time, learning_rate, grad_norm, mfu, other");
	return OK;
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
	static const char *const others[] = {"step", "epoch", "total", "unit"};
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

static enum status build_regex(struct definition *definition, const struct place *at, struct error *err)
{
	TRY(compile(&definition->regex, definition->shown.regex, at, "Regex", err));
	definition->value_group = value_group_of(definition->regex);
	definition->step_group = regex_group(definition->regex, "step");
	definition->epoch_group = regex_group(definition->regex, "epoch");
	if (definition->value_group < 1)
		return refuse(at, "Regex", err, "needs a group for the value: (...), or (?<value>...)");
	if (definition->shown.step_regex.len == 0)
		return OK;
	TRY(compile(&definition->step_regex, definition->shown.step_regex, at, "Step", err));
	definition->line_step_group = regex_group(definition->step_regex, "step");
	definition->line_epoch_group = regex_group(definition->step_regex, "epoch");
	if (definition->line_step_group < 1 && regex_group_count(definition->step_regex) > 0)
		definition->line_step_group = definition->line_epoch_group == 1 ? 2 : 1;
	if (definition->line_step_group < 1 ||
		definition->line_step_group > (int)regex_group_count(definition->step_regex))
		return refuse(at, "Step", err, "needs a group for the step: (...), or (?<step>...)");
	return OK;
}

static bool keep(struct arena *arena, struct span *text)
{
	if (text->len)
		*text = arena_copy(arena, *text);
	return text->ptr != NULL;
}

static enum status build_one(struct definition *definition, struct arena *arena, const struct json *node,
	const struct place *at, struct error *err)
{
	struct metric_definition *shown = &definition->shown;

	definition->line_step_group = definition->line_epoch_group = NO_GROUP;
	if (json_kind(node) != JSON_OBJECT) {
		char field[64];
		snprintf(field, sizeof field, "%s[%zu]", at->list, at->index);
		return error_set_field(err, ERR_SEMANTIC, field, "%s must be an object with Name and Regex", field);
	}
	TRY(want_name(node, at, &shown->name, err));
	TRY(want_text(node, at, "Regex", METRIC_REGEX_MAX_BYTES, &shown->regex, err));
	if (shown->regex.len == 0)
		return refuse(at, "Regex", err, "is missing or empty");
	TRY(want_text(node, at, "Step", METRIC_REGEX_MAX_BYTES, &shown->step_regex, err));
	TRY(want_text(node, at, "Unit", METRIC_UNIT_MAX_BYTES, &shown->unit, err));
	if (!span_is_utf8(shown->unit) || has_control(shown->unit))
		return refuse(at, "Unit", err, "must be valid UTF-8 without control characters");
	TRY(want_role(node, at, shown, err));
	TRY(want_higher(node, at, &shown->higher, err));
	if (!keep(arena, &shown->name) || !keep(arena, &shown->regex) || !keep(arena, &shown->step_regex) ||
		!keep(arena, &shown->unit))
		return error_set(err, ERR_MEMORY, "out of memory");
	return build_regex(definition, at, err);
}

enum status definition_list_build(struct definition_list *list, struct arena *arena, const struct json *node,
	const char *field, struct error *err)
{
	size_t count = json_count(node);
	struct place at = {.list = field};

	if (json_kind(node) != JSON_ARRAY)
		return error_set_field(err, ERR_SEMANTIC, field, "%s must be an array", field);
	if (count > DEFINITIONS_MAX)
		return error_set_field(err, ERR_SEMANTIC, field, "%s has %zu entries; at most %d are allowed", field,
			count, DEFINITIONS_MAX);
	if (count == 0)
		return OK;
	list->items = arena_alloc(arena, count * sizeof *list->items);
	if (!list->items)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (const struct json *item = json_first(node); item; item = json_next(item)) {
		struct definition *definition = &list->items[list->count++];
		*definition = (struct definition){0};
		TRY(build_one(definition, arena, item, &at, err));
		at.index++;
	}
	return OK;
}

void definition_list_done(struct definition_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		regex_free(list->items[i].regex);
		regex_free(list->items[i].step_regex);
	}
	*list = (struct definition_list){0};
}
