#include "extract/line/prefix.h"

enum { PREFIXES_MAX = 8, NAME_MAX_BYTES = 64 };

static bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* Skips the digits at the front of *text; false when there are none or they are no rank. */
static bool take_number(struct span *text, int32_t *number)
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

/* [1,0]<stdout>: [default0]: [rank3]: */
static bool take_tag(struct span *text, int32_t *rank)
{
	struct span rest = *text;
	int32_t job, number;

	if (span_take(&rest, SPAN("[default")) || span_take(&rest, SPAN("[rank"))) {
		if (!take_number(&rest, &number) || !span_take(&rest, SPAN("]")))
			return false;
		(void)!span_take(&rest, SPAN(":"));
		(void)!span_take(&rest, SPAN(" "));
	} else {
		if (!span_take(&rest, SPAN("[")) || !take_number(&rest, &job) || !span_take(&rest, SPAN(",")) ||
			!take_number(&rest, &number) ||
			!(span_take(&rest, SPAN("]<stdout>:")) || span_take(&rest, SPAN("]<stderr>:"))))
			return false;
	}
	*rank = number;
	*text = rest;
	return true;
}

/* "  3: " of srun; "3:\t" is CatBoost's own, "12:30:01" a time, "3: 0.25" a row of two numbers. */
static bool take_srun(struct span *text, int32_t *rank)
{
	struct span rest = *text;
	int32_t number;

	while (rest.len && rest.ptr[0] == ' ')
		rest = span_skip(rest, 1);
	if (!take_number(&rest, &number) || !span_take(&rest, SPAN(": ")) || rest.len == 0 || is_digit(rest.ptr[0]))
		return false;
	*rank = number;
	*text = rest;
	return true;
}

/* algo-1-xyz | */
static bool take_host(struct span *text)
{
	int32_t number;
	struct span rest = *text;

	if (!span_take(&rest, SPAN("algo-")) || !take_number(&rest, &number))
		return false;
	size_t at = 0;
	while (at < rest.len && at < NAME_MAX_BYTES && rest.ptr[at] != ' ' && rest.ptr[at] != '|')
		at++;
	while (at < rest.len && rest.ptr[at] == ' ')
		at++;
	rest = span_skip(rest, at);
	if (!span_take(&rest, SPAN("|")))
		return false;
	(void)!span_take(&rest, SPAN(" "));
	*text = rest;
	return true;
}

/* False when there are none. A process may have more than a rank. */
static bool skip_digits(struct span *text)
{
	size_t len = 0;

	while (len < text->len && is_digit(text->ptr[len]))
		len++;
	*text = span_skip(*text, len);
	return len > 0;
}

/* (TaskRunner pid=87031) (RayTrainWorker pid=7, ip=10.0.0.1) */
static bool take_ray(struct span *text)
{
	struct span rest = *text;
	size_t at = 1;

	while (at < rest.len && at < NAME_MAX_BYTES && rest.ptr[at] != ' ' && rest.ptr[at] != ')')
		at++;
	rest = span_skip(rest, at);
	if (!span_take(&rest, SPAN(" pid=")) || !skip_digits(&rest))
		return false;
	if (span_take(&rest, SPAN(", ip=")))
		for (at = 0; at < NAME_MAX_BYTES && rest.len && rest.ptr[0] != ')'; at++)
			rest = span_skip(rest, 1);
	if (!span_take(&rest, SPAN(") ")))
		return false;
	*text = rest;
	return true;
}

/* 'd' a digit, 's' '-' or '/', 'T' a T or a space; all else is itself. */
static bool has_form(struct span text, const char *form)
{
	size_t len = span_from(form).len;

	for (size_t i = 0; i < len; i++) {
		char c = i < text.len ? text.ptr[i] : 0;
		bool fits = form[i] == 'd'   ? is_digit(c)
			    : form[i] == 's' ? c == '-' || c == '/'
			    : form[i] == 'T' ? c == 'T' || c == ' '
					     : c == form[i];
		if (!fits)
			return false;
	}
	return true;
}

/* Date and time, fraction, zone, bracket, separators; in CRI also the stream and the flag. */
static bool take_time(struct span *text)
{
	struct span rest = *text;
	bool is_in_brackets = span_take(&rest, SPAN("["));

	if (!has_form(rest, "ddddsddsddTdd:dd:dd"))
		return false;
	rest = span_skip(rest, 19);
	if (rest.len && (rest.ptr[0] == '.' || rest.ptr[0] == ','))
		do
			rest = span_skip(rest, 1);
		while (rest.len && is_digit(rest.ptr[0]));
	if (!span_take(&rest, SPAN("Z")) && (has_form(rest, "+dd:dd") || has_form(rest, "-dd:dd")))
		rest = span_skip(rest, 6);
	if (is_in_brackets && !span_take(&rest, SPAN("]")))
		return false;
	if (rest.len && rest.ptr[0] != ' ' && rest.ptr[0] != '\t' && rest.ptr[0] != ':')
		return false;
	(void)!span_take(&rest, SPAN(":"));
	(void)!(span_take(&rest, SPAN(" ")) ||
		span_take(&rest, SPAN("\t"))); /* one: what is behind it may be the line's own indentation */
	(void)!(span_take(&rest, SPAN("stdout F ")) || span_take(&rest, SPAN("stderr F ")) ||
		span_take(&rest, SPAN("stdout P ")) || span_take(&rest, SPAN("stderr P ")));
	*text = rest;
	return true;
}

static bool take_one(struct span *text, struct prefix *prefix)
{
	char first = text->len ? text->ptr[0] : 0;

	if (first == 'a')
		return take_host(text);
	if (first == '(')
		return take_ray(text);
	if (first == '[' && take_tag(text, &prefix->rank)) {
		prefix->is_bare = false;
		return true;
	}
	if ((first == '[' || is_digit(first)) && take_time(text))
		return true;
	if ((first != ' ' && !is_digit(first)) || prefix->rank != RANK_NONE)
		return false;
	return prefix->is_bare = take_srun(text, &prefix->rank);
}

struct span line_peel(struct span text, struct prefix *prefix)
{
	*prefix = (struct prefix){.rank = RANK_NONE};
	for (int i = 0; i < PREFIXES_MAX && take_one(&text, prefix); i++)
		;
	return text;
}
