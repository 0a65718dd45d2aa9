#include "extract/guide.h"

#include "extract/csv.h"
#include "extract/generic/generic.h"
#include "extract/line/number.h"
#include "extract/line/starts.h"

enum { CHOOSING_LINES = 1000 };

bool guide_is_choosing(const struct formats *formats)
{
	return formats->lines < CHOOSING_LINES;
}

static bool read_group(const struct span groups[REGEX_MAX_GROUPS], int group, int64_t *out)
{
	return group > 0 && group < REGEX_MAX_GROUPS && groups[group].ptr && number_parse_step(groups[group], out);
}

static void take_step(const struct span groups[REGEX_MAX_GROUPS], int step_group, int epoch_group, int total_group,
	struct guided *out)
{
	int64_t total;

	if (!read_group(groups, step_group, &out->step))
		return;
	out->has_step = true;
	out->where = groups[step_group];
	out->has_epoch = read_group(groups, epoch_group, &out->epoch);
	out->total = read_group(groups, total_group, &total) && total > 0 ? total : 0;
}

static void search_step(
	const struct definition *definition, struct regex_scratch *scratch, struct span text, struct guided *out)
{
	struct span groups[REGEX_MAX_GROUPS];

	if (regex_search(definition->step_regex, scratch, text, 0, groups) == REGEX_MATCH)
		take_step(groups, definition->line_step_group, definition->line_epoch_group,
			definition->line_total_group, out);
}

static bool is_side_bar(const struct definition *definition, const struct span groups[REGEX_MAX_GROUPS], int64_t total,
	const struct guide_memory *memory)
{
	int64_t step = 0;

	if (!definition->is_bar || total == 0)
		return false;
	(void)!read_group(groups, definition->step_group, &step);
	return bars_is_side(memory->bars, step, total);
}

/* True when the expression knows the line. */
static bool ask(const struct definition *definition, struct regex_scratch *scratch, const struct prefix *prefix,
	const struct guide_memory *memory, struct guided *out)
{
	struct span groups[REGEX_MAX_GROUPS];
	int64_t total = 0;
	size_t start;

	if (definition->is_csv) {
		out->has_step = csv_read_step(memory->header, prefix->starts[prefix->certain], &out->step, &out->where);
		return out->has_step;
	}
	if (starts_search(prefix, definition->regex, definition->has_start, scratch, SIZE_MAX, groups, &start) !=
		REGEX_MATCH)
		return false;
	(void)!read_group(groups, definition->total_group, &total);
	if (is_side_bar(definition, groups, total, memory))
		return false;
	take_step(groups, definition->step_group, definition->epoch_group, definition->total_group, out);
	if (!out->has_step && definition->step_regex)
		search_step(definition, scratch, prefix->starts[start], out);
	out->step_follows |= definition->step_follows;
	if (out->has_step && !out->has_epoch)
		out->run_total = total;
	return true;
}

/* True when the preset knows the line, with a step on it or without. */
static bool ask_preset(const struct definition_list *list, const struct sieve *sieve, struct regex_scratch *scratch,
	struct line_view *view, const struct guide_memory *memory, struct guided *out)
{
	uint64_t words[SIEVE_WORDS];
	bool is_known = false;

	if (!sieve)
		return false;
	sieve_find(sieve, view->whole, words);
	for (uint32_t base = 0; base < list->count; base += 64)
		for (uint64_t bits = words[base / 64]; bits && !out->has_step; bits &= bits - 1) {
			uint32_t i = base + (uint32_t)__builtin_ctzll(bits);
			if (i < list->count)
				is_known |= ask(&list->items[i], scratch, line_view_prefix(view), memory, out);
		}
	return is_known;
}

/* *out is NULL when there is no room. */
static enum status add_format(
	struct formats *formats, int preset, bool is_generic, struct format **out, struct error *err)
{
	const struct format *least = formats_least(formats, is_generic);

	*out = NULL;
	if (least && least->taken >= FORMAT_FIRM_LINES)
		return OK;
	if (least)
		formats_remove(formats, least->preset);
	*out = formats_add(formats, preset, is_generic);
	return *out ? OK : error_no_memory(err);
}

/* Detection alone counts: on lines that a preset does not know it is of no effect. */
enum status guide_hear(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, bool has_value, bool *is_new, struct error *err)
{
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);
	uint64_t known[SIEVE_WORDS], generic[SIEVE_WORDS];

	*is_new = false;
	if (!has_value && !guide_is_choosing(formats))
		return OK;
	formats->lines++;
	(void)formats_see(formats, view->whole);
	(void)formats_find_known(formats, set, scratch, view, false, known);
	(void)formats_find_known(formats, set, scratch, view, true, generic);
	for (int i = 0; (size_t)i < count; i++) {
		if (!((known[i / 64] | generic[i / 64]) >> i % 64 & 1))
			continue;
		struct format *format = formats_find(formats, i);
		if (!format) {
			TRY(add_format(formats, i, presets[i].is_generic, &format, err));
			*is_new |= format != NULL;
		}
		if (format)
			formats_note(formats, format, line_view_text(view), formats->lines);
	}
	return OK;
}

void guide_find_generic(struct span text, struct guided *out)
{
	struct generic_counters found;

	generic_find_step(text, &found);
	*out = (struct guided){.has_step = found.has_step,
		.has_epoch = found.has_epoch,
		.step = found.step,
		.epoch = found.epoch,
		.total = found.is_epoch ? 0 : found.total,
		.where = found.where};
}

static const struct preset *preset_at(const struct definition_set *set, int number)
{
	size_t count;
	const struct preset *presets = definition_set_presets(set, &count);

	return number >= 0 && (size_t)number < count ? &presets[number] : NULL;
}

bool guide_find(struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, const struct guide_memory *memory, struct guided *out)
{
	bool is_final = false, is_known = false;

	*out = (struct guided){0};
	for (size_t i = 0; i < formats->count && !out->has_step && !is_final; i++) {
		const struct preset *preset = preset_at(set, formats->items[i]->preset);
		is_known = preset && ask_preset(&preset->list, preset->list.sieve, scratch, view, memory, out);
		is_final = is_known && (out->step_follows || !preset->is_generic);
	}
	if (!out->has_step && !is_final && set->presets)
		guide_find_generic(line_view_text(view), out);
	return is_known;
}

void guide_find_alone(const struct formats *formats, const struct definition_set *set, struct regex_scratch *scratch,
	struct line_view *view, const struct guide_memory *memory, struct guided *out)
{
	*out = (struct guided){0};
	for (size_t i = 0; i < formats->count && !out->has_step; i++) {
		const struct preset *preset = preset_at(set, formats->items[i]->preset);
		if (preset && preset->has_step_lines)
			(void)!ask_preset(&preset->list, preset->list.step_sieve, scratch, view, memory, out);
	}
}
