#include "api/jobs/query_place.h"

#include <ctype.h>

enum { TYPED_MAX_BYTES = 8192 };

/* As query/names.c has them, without those that hold no word to suggest. */
static const char *const properties[] = {"name", "status", "secondary", "instance", "instances", "image", "role",
	"created", "started", "ended", "modified", "duration", "billable", "cost", "goodput", "pool", "run", "team",
	"owner", "project", "incident", "label", "s3", "log", "attempts", "failure", "silent", "continued", NULL};

const char *const *query_property_names(void)
{
	return properties;
}

static bool is_operator(char c)
{
	return c && strchr("=<>!~:", c);
}

/* Where the term begins in which the text ends. */
static size_t find_term(struct span text)
{
	bool is_quoted = false;
	size_t from = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (is_quoted && text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && strchr(" \t\r\n(),", text.ptr[i]) && text.ptr[i])
			from = i + 1;
	}
	return from;
}

/* -1: there is no operator yet. */
static ptrdiff_t find_operator(struct span term)
{
	bool is_quoted = false;

	for (size_t i = 0; i < term.len; i++) {
		if (is_quoted && term.ptr[i] == '\\')
			i++;
		else if (term.ptr[i] == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && is_operator(term.ptr[i]))
			return (ptrdiff_t)i;
	}
	return -1;
}

enum status query_place_of(struct span text, struct query_place *out, struct error *err)
{
	if (text.len > TYPED_MAX_BYTES)
		return error_set_field(err, ERR_INVALID, "prefix", "prefix has %zu bytes; at most %d are looked at",
			text.len, TYPED_MAX_BYTES);
	size_t from = find_term(text);
	struct span term = span_skip(text, from);
	size_t minus = term.len && term.ptr[0] == '-';
	*out = (struct query_place){
		.from = from, .head = span_of(term.ptr, minus), .name = SPAN(""), .typed = span_skip(term, minus)};
	ptrdiff_t at = find_operator(term);
	if (at < 0)
		return OK;
	size_t end = (size_t)at;
	while (end < term.len && is_operator(term.ptr[end]))
		end++;
	end += end < term.len && term.ptr[end - 1] == '~' && term.ptr[end] == '*';
	out->has_operator = true;
	out->name = span_of(term.ptr + minus, (size_t)at - minus);
	out->head = span_of(term.ptr, end);
	out->typed = span_skip(term, end);
	if (out->typed.len && out->typed.ptr[0] == '"')
		out->typed = span_skip(out->typed, 1);
	if (out->typed.len && out->typed.ptr[out->typed.len - 1] == '"')
		out->typed.len--;
	return OK;
}

static bool is_plain(struct span text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!isalnum((unsigned char)text.ptr[i]) && !strchr("_./-+", text.ptr[i]))
			return false;
	return text.len && text.ptr[0] != '-';
}

static void put_quoted(struct span text, struct buf *out)
{
	buf_append_char(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			buf_append_char(out, '\\');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}

void query_put_suggestion(const struct query_place *place, struct span text, struct buf *out)
{
	ptrdiff_t dot = span_find_char(text, '.');

	buf_append_span(out, place->head);
	if (is_plain(text) || (place->has_operator && span_parse_double(text, &(double){0}))) {
		buf_append_span(out, text);
	} else if (!place->has_operator && dot > 0) { /* metric."train:loss" */
		buf_append(out, text.ptr, (size_t)dot + 1);
		put_quoted(span_skip(text, (size_t)dot + 1), out);
	} else {
		put_quoted(text, out);
	}
}

void query_put_attribute(struct span name, struct buf *out)
{
	static const char *const table[][2] = {{"instance", "ResourceConfig.InstanceType"},
		{"instances", "ResourceConfig.InstanceCount"}, {"image", "AlgorithmSpecification.TrainingImage"},
		{"role", "RoleArn"}, {"owner", "tag.owner"}, {"project", "tag.project"}, {"label", "Labels"},
		{"failure", "FailureClass"}};
	ptrdiff_t quote = span_find_char(name, '"');

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (span_equal(name, span_from(table[i][0])))
			name = span_from(table[i][1]);
	for (size_t i = 0; i < name.len; i++) {
		bool is_escape = quote >= 0 && name.ptr[i] == '\\' && i + 1 < name.len;
		i += is_escape;
		if (is_escape || name.ptr[i] != '"')
			buf_append_char(out, name.ptr[i]);
	}
}
