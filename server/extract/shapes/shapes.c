#include "extract/shapes/shapes.h"

#include "extract/shapes/shape_fit.h"

#include <math.h>
#include <stdlib.h>

/* What a number adds to its shape. */
static const double known_points = 5, fraction_points = 2, whole_points = 0.5, step_points = 3, points_most = 20;

/* Whole, not negative, and going up from line to line; it may begin anew, with each epoch. */
static bool is_counter(const struct shape_number *number)
{
	uint64_t changes = number->rises + number->falls + number->stays;

	return number->varies && number->is_whole && !number->is_negative && number->rises * 2 >= changes &&
	       number->falls * 5 <= number->rises;
}

static bool has_name(const struct shape_reading *reading, size_t number)
{
	const struct shape_name *name = &reading->names[number];
	size_t token = reading->number_tokens[number];

	return name->first_token != token || name->last_token != token;
}

/* Without a name it is one where no number of the line has any. */
bool shape_number_is_metric(const struct shape_reading *reading, const struct shape_group *group, size_t number)
{
	const struct shape_number *what = &group->numbers[number];
	enum shape_meaning meaning = reading->names[number].meaning;

	if (!what->varies || number == reading->step || (meaning != SHAPE_MAY_BE && meaning != SHAPE_KNOWN))
		return false;
	enum role role = reading->names[number].role;
	if ((role == ROLE_LOSS || role == ROLE_EVAL_LOSS) && is_counter(what))
		return false; /* "step/val_loss: 300/3.68" */
	return has_name(reading, number) || (!reading->has_names && !is_counter(what));
}

/* One that never falls back goes before one that begins anew. */
static size_t find_meaning(
	const struct shape_reading *reading, const struct shape_group *group, enum shape_meaning meaning)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < reading->number_count; i++) {
		if (reading->names[i].meaning != meaning || !is_counter(&group->numbers[i]))
			continue;
		if (!group->numbers[i].falls)
			return i;
		if (found == SIZE_MAX)
			found = i;
	}
	return found;
}

/* What is called a step; else a counter of which nothing else is known; else the epoch. */
static void find_counters(struct shape_reading *reading, const struct shape_group *group)
{
	reading->step = find_meaning(reading, group, SHAPE_STEPS);
	reading->epoch = SIZE_MAX;
	for (size_t i = reading->number_count; i-- > 0;)
		if (reading->names[i].meaning == SHAPE_EPOCHS && group->numbers[i].is_whole && group->numbers[i].varies)
			reading->epoch = i;
	if (reading->step == SIZE_MAX)
		reading->step = find_meaning(reading, group, SHAPE_MAY_BE);
	if (reading->step == SIZE_MAX)
		reading->step = find_meaning(reading, group, SHAPE_EPOCHS);
}

static double points_of(const struct shape_reading *reading, const struct shape_group *group, size_t number)
{
	if (!shape_number_is_metric(reading, group, number))
		return 0;
	if (reading->names[number].meaning == SHAPE_KNOWN)
		return known_points;
	return group->numbers[number].is_whole ? whole_points : fraction_points;
}

/* Of a communication library: thousands of lines of places, in all jobs of many devices. */
static bool is_chatter(const struct shape_reading *reading)
{
	for (size_t i = 0; i < reading->token_count; i++)
		if (span_equal(reading->tokens[i].text, SPAN("NCCL")))
			return true;
	return false;
}

static void judge(struct shape_reading *reading, const struct shape_group *group)
{
	double points = 0;

	for (size_t i = 0; i < reading->number_count; i++)
		points += points_of(reading, group, i);
	if (points > 0 && !is_chatter(reading))
		reading->score = log2(1 + (double)group->count) *
				 (fmin(points, points_most) + (reading->step != SIZE_MAX ? step_points : 0));
}

/* The group's tokens and names, for as long as the arena lives. */
static enum status read_group(
	struct shape_groups *groups, struct arena *arena, uint32_t number, struct shape_reading *out, struct error *err)
{
	struct shape_token found[SHAPE_TOKENS_MAX];
	struct shape_group *group = &groups->items[number];
	size_t count = shape_tokens_find(groups->pieces[group->first_piece].text, found), numbers = 0;
	struct shape_token *tokens = arena_alloc(arena, count * sizeof *tokens);

	*out = (struct shape_reading){.group = number, .tokens = tokens, .token_count = count};
	out->number_tokens = arena_alloc(arena, group->number_count * sizeof *out->number_tokens);
	out->names = arena_alloc(arena, group->number_count * sizeof *out->names);
	if (!group->hides && (group->hides = arena_alloc(arena, count * sizeof *group->hides)))
		memset(group->hides, 0, count * sizeof *group->hides);
	if (!tokens || !out->number_tokens || !out->names || !group->hides)
		return error_no_memory(err);
	memcpy(tokens, found, count * sizeof *tokens);
	for (size_t i = 0; i < count && numbers < group->number_count; i++) {
		if (tokens[i].kind != SHAPE_NUMBER)
			continue;
		out->number_tokens[numbers] = i;
		out->names[numbers] = shape_name_of(arena, tokens, group->hides, count, i);
		if (!out->names[numbers++].name.ptr)
			return error_no_memory(err);
	}
	out->number_count = numbers;
	find_counters(out, group);
	for (size_t i = 0; i < numbers; i++)
		out->has_names |= has_name(out, i) && shape_number_is_metric(out, group, i);
	judge(out, group);
	return OK;
}

static bool any_varies(const struct shape_group *group)
{
	bool varies = false;

	for (size_t i = 0; i < group->number_count && group->numbers; i++)
		varies |= group->numbers[i].varies;
	return varies;
}

static int compare_readings(const void *a, const void *b)
{
	const struct shape_reading *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static enum status read_groups(
	struct shape_groups *groups, struct arena *arena, struct shape_reading **out, size_t *count, struct error *err)
{
	struct shape_reading *readings = arena_alloc(arena, (groups->count + 1) * sizeof *readings);

	if (!readings)
		return error_no_memory(err);
	*count = 0;
	for (uint32_t i = 0; i < groups->count; i++) {
		const struct shape_group *group = &groups->items[i];
		if (group->leader != i || group->count < SHAPE_LINES_LEAST || !any_varies(group))
			continue;
		TRY(read_group(groups, arena, i, &readings[*count], err));
		*count += readings[*count].score > 0;
	}
	qsort(readings, *count, sizeof *readings, compare_readings);
	*out = readings;
	return OK;
}

static bool has_regex(const struct line_shape *shapes, size_t count, struct span regex)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < shapes[i].metric_count; j++)
			if (span_equal(shapes[i].metrics[j].definition.regex, regex))
				return true;
	return false;
}

/* A line with a word behind the same numbers is read by the same expressions. */
static bool says_more(const struct line_shape *shape, const struct line_shape *before, size_t count)
{
	for (size_t i = 0; i < shape->metric_count; i++)
		if (!has_regex(before, count, shape->metrics[i].definition.regex))
			return true;
	return false;
}

/* "=== Step 12/300 ===": a step that never falls back, and nothing else that varies. */
static bool says_step_alone(const struct shape_reading *reading, const struct shape_group *group)
{
	size_t varying = 0;

	for (size_t i = 0; i < reading->number_count; i++)
		varying += group->numbers[i].varies;
	return varying == 1 && reading->step != SIZE_MAX && reading->names[reading->step].meaning == SHAPE_STEPS &&
	       !group->numbers[reading->step].falls;
}

/* Records of several lines: there are as many lines with the step as of the shape, but for a tenth, and the first is above it. */
static bool may_head(const struct shape_group *heading, const struct shape_group *shape)
{
	uint64_t more = heading->count > shape->count ? heading->count : shape->count;
	uint64_t less = heading->count > shape->count ? shape->count : heading->count;

	return heading->numbers && any_varies(heading) && less >= SHAPE_LINES_LEAST && more - less <= more / 10 &&
	       heading->first_piece < shape->first_piece;
}

static enum status find_heading(struct shape_groups *groups, const struct shape_fitting *on,
	const struct shape_reading *shape, struct line_shape *out, struct error *err)
{
	struct shape_reading reading;

	for (uint32_t i = 0; i < groups->count && !out->has_step && !out->heading.regex.len; i++) {
		const struct shape_group *group = &groups->items[i];
		if (group->leader != i || !may_head(group, &groups->items[shape->group]))
			continue;
		TRY(read_group(groups, on->arena, i, &reading, err));
		if (says_step_alone(&reading, group))
			TRY(shape_fit_heading(on, &reading, &out->heading, err));
	}
	return OK;
}

enum status shapes_find(struct arena *arena, const struct span *lines, size_t count, uint32_t match_steps,
	struct line_shape out[SHAPES_MAX], size_t *found, struct error *err)
{
	AUTO(regex_scratch) scratch = regex_scratch_new();
	struct shape_groups groups;
	struct shape_reading *readings;
	size_t reading_count;

	*found = 0;
	if (!scratch)
		return error_no_memory(err);
	regex_scratch_limit(scratch, match_steps);
	TRY(shape_groups_find(&groups, arena, lines, count, err));
	TRY(read_groups(&groups, arena, &readings, &reading_count, err));
	struct shape_fitting on = {arena, scratch, &groups};
	for (size_t i = 0; i < reading_count && i < 4 * SHAPES_MAX && *found < SHAPES_MAX; i++) {
		TRY(shape_fit(&on, &readings[i], &out[*found], err));
		TRY(find_heading(&groups, &on, &readings[i], &out[*found], err));
		*found += says_more(&out[*found], out, *found);
	}
	return OK;
}
