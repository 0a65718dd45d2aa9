#include "extract/guide.h"

#include "extract/csv.h"
#include "extract/line/number.h"

bool guide_is_choosing(const struct choice *choice)
{
	return !choice->is_revised && choice->lines - choice->chosen_at < CHOICE_LINES;
}

static bool read_group(const struct span groups[REGEX_MAX_GROUPS], int group, int64_t *out)
{
	return group > 0 && group < REGEX_MAX_GROUPS && groups[group].ptr && number_parse_step(groups[group], out);
}

static void take_step(const struct span groups[REGEX_MAX_GROUPS], int step_group, int epoch_group, struct guided *out)
{
	if (!read_group(groups, step_group, &out->step))
		return;
	out->has_step = true;
	out->where = groups[step_group];
	out->has_epoch = read_group(groups, epoch_group, &out->epoch);
}

static void search_step(
	const struct definition *definition, struct regex_scratch *scratch, struct span text, struct guided *out)
{
	struct span groups[REGEX_MAX_GROUPS];

	if (regex_search(definition->step_regex, scratch, text, 0, groups) == REGEX_MATCH)
		take_step(groups, definition->line_step_group, definition->line_epoch_group, out);
}

/* A bar of fewer steps than one before is that of an evaluation. */
static bool is_side_bar(const struct definition *definition, int64_t total, const struct guide_memory *memory)
{
	if (!definition->is_bar || total == 0)
		return false;
	if (total > *memory->largest_total)
		*memory->largest_total = total;
	return total < *memory->largest_total;
}

/* True when the expression knows the line. */
static bool ask(const struct definition *definition, struct regex_scratch *scratch, struct span text,
	const struct guide_memory *memory, struct guided *out)
{
	struct span groups[REGEX_MAX_GROUPS];
	int64_t total = 0;

	if (definition->is_csv) {
		out->has_step = csv_read_step(memory->header, text, &out->step, &out->where);
		return out->has_step;
	}
	if (regex_search(definition->regex, scratch, text, 0, groups) != REGEX_MATCH)
		return false;
	(void)!read_group(groups, definition->total_group, &total);
	if (is_side_bar(definition, total, memory))
		return false;
	take_step(groups, definition->step_group, definition->epoch_group, out);
	if (!out->has_step && definition->step_regex)
		search_step(definition, scratch, text, out);
	out->step_follows |= definition->step_follows;
	if (out->has_step && definition->epoch_group < 1)
		out->total = total;
	return true;
}

/* True when the preset knows the line, with a step on it or without. */
static bool ask_preset(const struct definition_list *list, bool is_alone, struct regex_scratch *scratch,
	struct span text, const struct guide_memory *memory, struct guided *out)
{
	uint64_t words[SIEVE_WORDS];
	bool is_known = false;

	if (!list->sieve)
		return false;
	sieve_find(list->sieve, text, words);
	for (uint32_t i = 0; i < list->count && !out->has_step; i++) {
		const struct definition *definition = &list->items[i];
		bool is_asked = definition->leader == i && (words[i / 64] >> i % 64 & 1) &&
				(!is_alone || definition->is_step_only || definition->is_csv);
		if (is_asked)
			is_known |= ask(definition, scratch, text, memory, out);
	}
	return is_known;
}

void guide_find(const struct definition_set *set, int preset, struct regex_scratch *scratch, struct span text,
	const struct guide_memory *memory, struct guided *out)
{
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);
	const struct definition *generic = definition_set_line_step(set);

	*out = (struct guided){0};
	bool is_known = preset >= 0 && (size_t)preset < count &&
			ask_preset(&presets[preset].list, false, scratch, text, memory, out);
	bool is_final = is_known && (out->step_follows || !presets[preset].is_generic);
	if (!out->has_step && !is_final && generic)
		search_step(generic, scratch, text, out);
}

void guide_find_alone(const struct definition_set *set, int preset, struct regex_scratch *scratch, struct span text,
	const struct guide_memory *memory, struct guided *out)
{
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);

	*out = (struct guided){0};
	if (preset >= 0 && (size_t)preset < count && presets[preset].has_step_lines)
		(void)!ask_preset(&presets[preset].list, true, scratch, text, memory, out);
}
