#include "extract/shapes/shape_fit.h"

#include "extract/line/number.h"
#include "extract/shapes/shape_patterns.h"

#include <stdio.h>

enum { OTHERS_MAX = 512 /* lines of other shapes that an expression is tried on */ };

/* One number of one shape while an expression for it is looked for. */
struct search {
	const struct shape_fitting *on;
	const struct shape_reading *reading;
	const struct shape_group *group;
	struct span *targets; /* of each piece of the group, its numbers */
	size_t number;
	bool is_step;
	const char *group_name;
};

struct candidate {
	struct span regex;
	uint64_t matched; /* pieces where it found the number */
	uint64_t strays; /* lines of other shapes where it matches */
};

static struct shape_place place_of(const struct search *search, size_t number)
{
	const struct shape_reading *reading = search->reading;

	return (struct shape_place){.tokens = reading->tokens,
		.hides = search->group->hides,
		.count = reading->token_count,
		.token = reading->number_tokens[number],
		.first_token = reading->names[number].first_token,
		.last_token = reading->names[number].last_token,
		.group_name = search->group_name,
		.number = &search->group->numbers[number]};
}

/* Of each piece of the group the places of its numbers, one row a piece. */
static enum status find_targets(struct search *search, struct error *err)
{
	const struct shape_groups *groups = search->on->groups;
	struct shape_token tokens[SHAPE_TOKENS_MAX];
	size_t width = search->reading->number_count, row = 0;

	search->targets = arena_alloc(search->on->arena, search->group->count * width * sizeof *search->targets);
	if (!search->targets)
		return error_no_memory(err);
	memset(search->targets, 0, search->group->count * width * sizeof *search->targets);
	for (size_t i = 0; i < groups->piece_count; i++) {
		if (groups->pieces[i].group != search->reading->group)
			continue;
		size_t count = shape_tokens_find(groups->pieces[i].text, tokens), number = 0;
		for (size_t j = 0; j < count && number < width; j++)
			if (tokens[j].kind == SHAPE_NUMBER)
				search->targets[row * width + number++] = tokens[j].text;
		row++;
	}
	return OK;
}

/* Of ten lines nine. */
static uint64_t misses_allowed(const struct search *search)
{
	return search->group->count / 10;
}

/* Lines where it finds the number; 0: too few, or it takes more steps than are allowed. */
static uint64_t count_own(const struct search *search, const struct regex *regex, int group)
{
	const struct shape_groups *groups = search->on->groups;
	struct span found[REGEX_MAX_GROUPS];
	size_t width = search->reading->number_count, row = 0;
	uint64_t matched = 0;

	for (size_t i = 0; i < groups->piece_count && row - matched <= misses_allowed(search); i++) {
		if (groups->pieces[i].group != search->reading->group)
			continue;
		struct span target = search->targets[row++ * width + search->number];
		enum regex_result result = regex_search(regex, search->on->scratch, groups->pieces[i].text, 0, found);
		if (result == REGEX_LIMIT)
			return 0;
		matched += result == REGEX_MATCH && target.ptr && found[group].ptr == target.ptr &&
			   found[group].len == target.len;
	}
	return row - matched <= misses_allowed(search) ? matched : 0;
}

/* The nearest word before token `at`; empty: there is none. */
static struct span word_before(const struct shape_token *tokens, size_t at)
{
	while (at > 0)
		if (tokens[--at].kind == SHAPE_WORD)
			return tokens[at].text;
	return SPAN("");
}

static struct span word_first(const struct shape_token *tokens, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tokens[i].kind == SHAPE_WORD)
			return tokens[i].text;
	return SPAN("");
}

/* A line that begins with the same word, with the same neighbour before the number's name, says the same metric in another shape. */
static bool is_variant(const struct search *search, struct span text, const char *number)
{
	const struct shape_reading *own = search->reading;
	struct shape_token tokens[SHAPE_TOKENS_MAX];
	size_t count = shape_tokens_find(text, tokens), at = 0;
	size_t own_first = own->names[search->number].first_token;
	size_t words = own->number_tokens[search->number] - own_first;

	while (at < count && tokens[at].text.ptr != number)
		at++;
	return at < count && at >= words &&
	       span_equal(word_first(tokens, count), word_first(own->tokens, own->token_count)) &&
	       span_equal(word_before(tokens, at - words), word_before(own->tokens, own_first));
}

/* UINT64_MAX: it takes more steps than are allowed. */
static uint64_t count_strays(const struct search *search, const struct regex *regex)
{
	const struct shape_groups *groups = search->on->groups;
	size_t stride = groups->piece_count / OTHERS_MAX + 1;
	struct span found[REGEX_MAX_GROUPS];
	uint64_t strays = 0;

	for (size_t i = 0; i < groups->piece_count; i += stride) {
		if (groups->pieces[i].group == search->reading->group)
			continue;
		enum regex_result result = regex_search(regex, search->on->scratch, groups->pieces[i].text, 0, found);
		if (result == REGEX_LIMIT)
			return UINT64_MAX;
		strays += result == REGEX_MATCH && !is_variant(search, groups->pieces[i].text, found[1].ptr);
	}
	return strays;
}

/* *out is filled when the pattern compiles and finds the number. A pattern that is too long is none. */
static enum status try_pattern(const struct search *search, struct buf *pattern, const char *group_name,
	struct candidate *out, struct error *err)
{
	AUTO(regex) regex = NULL;
	struct error ignored;

	*out = (struct candidate){.regex = SPAN("")};
	if (buf_status(pattern, &ignored) == ERR_MEMORY)
		return error_no_memory(err);
	if (pattern->failure || !span_is_utf8(buf_span(pattern)))
		return OK;
	enum status status = regex_new(&regex, buf_span(pattern), 0, &ignored);
	if (status == ERR_MEMORY)
		return error_no_memory(err);
	if (status != OK)
		return OK;
	uint64_t matched = count_own(search, regex, group_name ? regex_group(regex, group_name) : 1);
	/* A step is asked of lines that match only. */
	uint64_t strays = search->is_step || !matched ? 0 : count_strays(search, regex);
	if (!matched || strays == UINT64_MAX)
		return OK;
	out->matched = matched;
	out->strays = strays;
	out->regex = arena_copy(search->on->arena, buf_span(pattern));
	return out->regex.ptr ? OK : error_no_memory(err);
}

static enum status find_pattern(const struct search *search, struct candidate *best, struct error *err)
{
	struct shape_place place = place_of(search, search->number);

	*best = (struct candidate){.regex = SPAN("")};
	for (enum shape_style style = 0; style < SHAPE_STYLES && !(best->regex.len && !best->strays); style++) {
		AUTO_DONE(buf) pattern = BUF_INIT(METRIC_REGEX_MAX_BYTES);
		struct candidate next;
		if (!shape_pattern(&place, style, search->is_step, &pattern))
			continue;
		TRY(try_pattern(search, &pattern, NULL, &next, err));
		if (next.regex.len && (!best->regex.len || next.strays < best->strays))
			*best = next;
	}
	return OK;
}

/* A step that falls back with each epoch needs the epoch. */
static enum status find_step(struct search *search, struct span *step, struct error *err)
{
	const struct shape_reading *reading = search->reading;
	struct candidate found;

	*step = SPAN("");
	search->is_step = true;
	search->number = reading->step;
	if (reading->epoch < reading->step && search->group->numbers[reading->step].falls) {
		AUTO_DONE(buf) pattern = BUF_INIT(METRIC_REGEX_MAX_BYTES);
		struct shape_place epoch = place_of(search, reading->epoch), own = place_of(search, reading->step);
		shape_pattern_epoch(&epoch, &own, &pattern);
		TRY(try_pattern(search, &pattern, "step", &found, err));
		*step = found.regex;
	}
	if (!step->len) {
		TRY(find_pattern(search, &found, err));
		*step = found.regex;
	}
	search->is_step = false;
	return OK;
}

/* Two numbers of one name on a line: the second one is name_2. */
static struct span name_apart(struct arena *arena, const struct line_shape *shape, struct span name)
{
	char text[METRIC_NAME_MAX_BYTES + 1];
	struct span out = name;

	for (unsigned number = 2; number < 2 * SHAPE_METRICS_MAX; number++) {
		bool is_taken = false;
		for (size_t i = 0; i < shape->metric_count; i++)
			is_taken |= span_equal(shape->metrics[i].definition.name, out);
		if (!is_taken)
			break;
		int len = snprintf(
			text, sizeof text, "%.*s_%u", SPAN_ARGS(span_cut(name, METRIC_NAME_MAX_BYTES - 4)), number);
		out = span_of(text, (size_t)len);
	}
	return out.ptr == text ? arena_copy(arena, out) : out;
}

static enum status add_metric(const struct search *search, struct span step, struct line_shape *out, struct error *err)
{
	const struct shape_name *name = &search->reading->names[search->number];
	struct span target =
		search->targets[(search->group->count - 1) * search->reading->number_count + search->number];
	struct candidate found;

	TRY(find_pattern(search, &found, err));
	if (!found.regex.len || !target.ptr)
		return OK;
	struct shape_metric *metric = &out->metrics[out->metric_count];
	*metric = (struct shape_metric){.definition = {.regex = found.regex,
						.step_regex = step,
						.group = SPAN(""),
						.unit = name->unit,
						.role = name->role},
		.matched = found.matched,
		.start = (size_t)(target.ptr - out->example.ptr),
		.end = (size_t)(target.ptr - out->example.ptr) + target.len};
	(void)!number_parse_value(target, 0, &metric->value);
	metric->definition.name = name_apart(search->on->arena, out, name->name);
	if (!metric->definition.name.ptr)
		return error_no_memory(err);
	out->metric_count++;
	return OK;
}

static void place_step(const struct search *search, struct span step, struct line_shape *out)
{
	size_t width = search->reading->number_count;
	struct span target;

	if (!step.len)
		return;
	target = search->targets[(search->group->count - 1) * width + search->reading->step];
	out->has_step = target.ptr && number_parse_step(target, &out->step);
	out->step_start = (size_t)(target.ptr - out->example.ptr);
	out->step_end = out->step_start + target.len;
}

enum status shape_fit(
	const struct shape_fitting *on, const struct shape_reading *reading, struct line_shape *out, struct error *err)
{
	const struct shape_group *group = &on->groups->items[reading->group];
	const struct shape_piece *last = &on->groups->pieces[group->last_piece];
	struct search search = {.on = on, .reading = reading, .group = group};
	struct span step = SPAN("");

	*out = (struct line_shape){.count = group->count, .line = last->line, .example = last->whole};
	out->metrics = arena_alloc(on->arena, SHAPE_METRICS_MAX * sizeof *out->metrics);
	if (!out->metrics)
		return error_no_memory(err);
	TRY(find_targets(&search, err));
	if (reading->step != SIZE_MAX)
		TRY(find_step(&search, &step, err));
	place_step(&search, step, out);
	for (size_t i = 0; i < reading->number_count && out->metric_count < SHAPE_METRICS_MAX; i++) {
		search.number = i;
		if (shape_number_is_metric(reading, group, i))
			TRY(add_metric(&search, step, out, err));
	}
	return OK;
}

enum status shape_fit_heading(const struct shape_fitting *on, const struct shape_reading *reading,
	struct metric_definition *out, struct error *err)
{
	struct search search = {
		.on = on, .reading = reading, .group = &on->groups->items[reading->group], .group_name = "step"};
	struct span step;

	TRY(find_targets(&search, err));
	TRY(find_step(&search, &step, err));
	*out = (struct metric_definition){.name = SPAN("step"),
		.regex = step,
		.step_regex = SPAN(""),
		.group = SPAN(""),
		.unit = SPAN(""),
		.is_step_only = true};
	return OK;
}
