/* Parts of a prefix that launchers put there: tags with ranks, hosts. */
#include "extract/line/part.h"

bool launcher_take_number(struct span *text, int32_t *number)
{
	int64_t value = 0;
	size_t len = 0;

	while (len < text->len && is_digit(text->ptr[len]) && value < RANK_MAX)
		value = value * 10 + text->ptr[len++] - '0';
	if (len == 0 || value >= RANK_MAX)
		return false;
	*text = span_skip(*text, len);
	*number = (int32_t)value;
	return true;
}

/* [default0]: [rank3]: [trainer7]: */
static bool take_role(struct span *text, int32_t *rank)
{
	struct span rest = span_skip(*text, 1);
	size_t letters = 0;

	while (letters < NAME_MAX_BYTES && (is_letter(char_at(rest, letters)) || char_at(rest, letters) == '_'))
		letters++;
	struct span role = span_of(rest.ptr, letters);
	rest = span_skip(rest, letters);
	if (!letters || !launcher_take_number(&rest, rank) || !span_take(&rest, SPAN("]")))
		return false;
	bool is_known = span_equal(role, SPAN("default")) || span_equal(role, SPAN("rank"));
	if (!span_take(&rest, SPAN(":")) ? !is_known : !is_known && logger_is_trainer_word(role))
		return false;
	(void)!span_take(&rest, SPAN(" "));
	*text = rest;
	return true;
}

/* [1,0]<stdout>: [prterun-gpu01-4242@1,0]<stdout>: */
static bool take_mpi(struct span *text, int32_t *rank)
{
	struct span rest = span_skip(*text, 1);
	int32_t job;

	size_t name = is_digit(char_at(rest, 0)) ? 0 : count_name(rest);
	if (name && char_at(rest, name) != '@')
		return false;
	rest = span_skip(rest, name ? name + 1 : 0);
	if (!launcher_take_number(&rest, &job) || !span_take(&rest, SPAN(",")) || !launcher_take_number(&rest, rank) ||
		!(span_take(&rest, SPAN("]<stdout>:")) || span_take(&rest, SPAN("]<stderr>:"))))
		return false;
	if (name)
		(void)!span_take(&rest, SPAN(" "));
	*text = rest;
	return true;
}

/* "  3: " of srun; "3:\t" is CatBoost's own, "12:30:01" a time, "3: 0.25" a row of two numbers; a day and a time are none. */
static bool take_srun(struct span *text, int32_t *rank)
{
	struct span rest = span_skip(*text, count_char(*text, ' '));
	int32_t number;

	if (!launcher_take_number(&rest, &number) || !span_take(&rest, SPAN(": ")) || rest.len == 0 ||
		(is_digit(rest.ptr[0]) && !stamp_has_date(rest)))
		return false;
	*rank = number;
	*text = rest;
	return true;
}

/* algo-1-xyz | */
static bool take_algo(struct span *text)
{
	int32_t number;
	struct span rest = *text;

	if (!span_take(&rest, SPAN("algo-")) || !launcher_take_number(&rest, &number))
		return false;
	size_t at = 0;
	while (at < rest.len && at < NAME_MAX_BYTES && rest.ptr[at] != ' ' && rest.ptr[at] != '|')
		at++;
	rest = span_skip(rest, at);
	rest = span_skip(rest, count_char(rest, ' '));
	if (!span_take(&rest, SPAN("|")))
		return false;
	(void)!span_take(&rest, SPAN(" "));
	*text = rest;
	return true;
}

/* (TaskRunner pid=87031) (RayTrainWorker pid=7, ip=10.0.0.1) */
static bool take_ray(struct span *text)
{
	struct span rest = *text;
	size_t at = 1;

	while (at < rest.len && at < NAME_MAX_BYTES && rest.ptr[at] != ' ' && rest.ptr[at] != ')')
		at++;
	rest = span_skip(rest, at);
	if (!span_take(&rest, SPAN(" pid=")))
		return false;
	size_t digits = count_digits(rest); /* a process may have more of them than a rank */
	rest = span_skip(rest, digits);
	if (digits && span_take(&rest, SPAN(", ip=")))
		for (at = 0; at < NAME_MAX_BYTES && rest.len && rest.ptr[0] != ')'; at++)
			rest = span_skip(rest, 1);
	if (!digits || !span_take(&rest, SPAN(") ")))
		return false;
	*text = rest;
	return true;
}

/* "ok: [gpu01] => " of ansible */
static bool take_task(struct span *text)
{
	struct span rest = *text;

	if (!span_take(&rest, SPAN("ok: [")) && !span_take(&rest, SPAN("changed: [")))
		return false;
	rest = span_skip(rest, count_name(rest));
	if (!span_take(&rest, SPAN("] => ")))
		return false;
	*text = rest;
	return true;
}

enum part launcher_take(struct span *text, struct peeling *peeling)
{
	char first = text->ptr[0];

	if (first == 'a')
		return take_algo(text) ? PART_TAG : PART_NONE;
	if (first == '(')
		return take_ray(text) ? PART_TAG : PART_NONE;
	if (first == 'o' || first == 'c')
		return take_task(text) ? PART_TAG : PART_NONE;
	if (first == '[' && (take_role(text, &peeling->rank) || take_mpi(text, &peeling->rank))) {
		peeling->is_bare = false;
		return PART_TAG;
	}
	if ((first != ' ' && !is_digit(first)) || peeling->rank != RANK_NONE)
		return PART_NONE;
	peeling->is_bare = take_srun(text, &peeling->rank);
	return peeling->is_bare ? PART_TAG : PART_NONE;
}
