/* A tree as text again, by the rules that Prometheus prints one by: what takes more than a hundred bytes is broken into lines. */
#include "base/json/json_write.h"
#include "prometheus/logql.h"
#include "prometheus/matcher_parse.h"
#include "prometheus/promql.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MOST_BYTES = 100, SELECTOR_BYTES = 1 << 20 };

static const double SMALL = 1e-4, LARGE = 1e6;

static const char *const matcher_ops[] = {
	[MATCHER_IS] = "=", [MATCHER_IS_NOT] = "!=", [MATCHER_LIKE] = "=~", [MATCHER_NOT_LIKE] = "!~"};

static void print(const struct promql_node *node, struct buf *out);

/* ---- words ---- */

/* A byte that was written as \x99 may be no character of its own. */
static void put_quoted(struct span text, struct buf *out)
{
	size_t length;

	buf_append_char(out, '"');
	for (; text.len && !out->failure; text = span_skip(text, length ? length : 1)) {
		unsigned char c = (unsigned char)text.ptr[0];
		length = span_utf8_length(text);
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			buf_append_text(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
		else if (c < ' ' || c == 0x7f || !length)
			buf_printf(out, "\\x%02x", c);
		else
			buf_append_span(out, span_of(text.ptr, length));
	}
	buf_append_char(out, '"');
}

/* 1e-05, by as few digits as read back the same. */
static void put_with_exponent(double value, struct buf *out)
{
	char digits[40];
	double again;

	for (int places = 0; places < 17; places++) {
		int len = snprintf(digits, sizeof digits, "%.*e", places, value);
		if (span_parse_double(span_of(digits, (size_t)len), &again) && again == value)
			break;
	}
	buf_append_text(out, digits);
}

static void put_number(double value, struct buf *out)
{
	char digits[33];

	if (isinf(value))
		buf_append_text(out, value > 0 ? "Inf" : "-Inf"); /* +Inf^2 were a sign of Inf^2 */
	else if (isnan(value))
		buf_append_text(out, "NaN");
	else if (fabs(value) > 0 && (fabs(value) < SMALL || fabs(value) >= LARGE))
		put_with_exponent(value, out);
	else
		buf_append(out, digits, json_format_double(value, digits));
}

/* Units of days and longer ones only where nothing is left over. */
static void put_duration(int64_t ms, struct buf *out)
{
	static const struct {
		const char *unit;
		int64_t ms;
		bool is_whole;
	} units[] = {{"y", 31536000000, true}, {"w", 604800000, true}, {"d", 86400000, true}, {"h", 3600000, false},
		{"m", 60000, false}, {"s", 1000, false}, {"ms", 1, false}};

	if (ms < 0)
		buf_append_char(out, '-');
	ms = ms < 0 ? -ms : ms;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (ms < units[i].ms || (units[i].is_whole && ms % units[i].ms))
			continue;
		buf_printf(out, "%" PRId64 "%s", ms / units[i].ms, units[i].unit);
		ms %= units[i].ms;
	}
}

static void put_names(const struct promql_labels *labels, struct buf *out)
{
	buf_append_text(out, " (");
	for (size_t i = 0; i < labels->count; i++) {
		buf_append_text(out, i ? ", " : "");
		buf_append_span(out, labels->names[i]);
	}
	buf_append_char(out, ')');
}

/* ---- selectors ---- */

static int by_bytes(const void *left, const void *right)
{
	return span_compare(*(const struct span *)left, *(const struct span *)right);
}

static void put_matcher(const struct matcher *matcher, struct buf *out)
{
	buf_append_span(out, matcher->name);
	buf_append_text(out, matcher_ops[matcher->op]);
	put_quoted(matcher->value, out);
}

/* In the order of their texts; the metric's name stands in front of the braces. */
static void put_matchers(const struct promql_node *node, struct buf *out)
{
	AUTO_DONE(buf) text = BUF_INIT(SELECTOR_BYTES);
	size_t ends[MATCHERS_MAX + 1], count = 0;
	struct span parts[MATCHERS_MAX];

	for (size_t i = node->text.len > 0; i < node->matcher_count; i++) {
		put_matcher(&node->matchers[i], &text);
		ends[count++] = text.len;
	}
	if (text.failure) { /* no query is so long; whoever gets the text sees that it is none */
		out->failure = text.failure;
		return;
	}
	for (size_t i = 0; i < count; i++)
		parts[i] = span_of(text.ptr + (i ? ends[i - 1] : 0), ends[i] - (i ? ends[i - 1] : 0));
	if (count)
		qsort(parts, count, sizeof *parts, by_bytes);
	buf_append_span(out, node->text);
	for (size_t i = 0; i < count; i++) {
		buf_append_char(out, i ? ',' : '{');
		buf_append_span(out, parts[i]);
	}
	buf_append_text(out, count ? "}" : "");
}

static void put_filter(const struct logql_filter *filter, struct buf *out)
{
	buf_append_text(
		out, filter->is_negated ? (filter->is_pattern ? "!~ " : "!= ") : (filter->is_pattern ? "|~ " : "|= "));
	put_quoted(filter->text, out);
}

void logql_print(const struct logql *logql, const char *between, struct buf *out)
{
	size_t drop = 0;

	buf_append_char(out, '{');
	for (size_t i = 0; i < logql->matcher_count; i++) {
		buf_append_text(out, i ? ", " : "");
		put_matcher(&logql->matchers[i], out);
	}
	buf_append_char(out, '}');
	for (size_t i = 0; i <= logql->filter_count; i++) {
		for (; drop < logql->drop_count && logql->drops[drop].behind == i; drop++) {
			buf_append_text(out, between);
			buf_append_text(out, "| drop ");
			buf_append_span(out, logql->drops[drop].names);
		}
		if (i == logql->filter_count)
			break;
		buf_append_text(out, between);
		put_filter(&logql->filters[i], out);
	}
}

static void put_selector(const struct promql_node *node, struct buf *out)
{
	if (node->lines) {
		logql_print(node->lines, " ", out);
		buf_append_char(out, ' ');
	} else {
		put_matchers(node, out);
	}
	if (node->range_ms) {
		buf_append_char(out, '[');
		put_duration(node->range_ms, out);
		buf_append_char(out, ']');
	}
	if (node->offset_ms) {
		buf_append_text(out, " offset ");
		put_duration(node->offset_ms, out);
	}
}

/* ---- in one line ---- */

/* -1 is a number, -(1) is none. */
static bool is_number(const struct promql_node *node, double *value)
{
	if (node->kind == PROMQL_NUMBER) {
		*value = node->number;
		return true;
	}
	if (node->kind != PROMQL_NEGATION || node->arguments[0]->brackets || !is_number(node->arguments[0], value))
		return false;
	*value = node->is_plus ? *value : -*value;
	return true;
}

static void put_grouping(const struct promql_node *node, struct buf *out)
{
	buf_append_text(out, node->function->name);
	if (node->kind != PROMQL_AGGREGATE || (node->keeps_labels && !node->labels.count))
		return;
	buf_append_text(out, node->keeps_labels ? " by" : " without");
	put_names(&node->labels, out);
	buf_append_char(out, ' ');
}

static void put_operator(const struct promql_node *node, struct buf *out)
{
	buf_append_text(out, promql_operator_text(node->op));
	buf_append_text(out, node->is_bool ? " bool" : "");
	if (!node->has_matching || (!node->keeps_labels && !node->labels.count))
		return;
	buf_append_text(out, node->keeps_labels ? " on" : " ignoring");
	put_names(&node->labels, out);
	if (node->group == PROMQL_ONE_TO_ONE)
		return;
	buf_append_text(out, node->group == PROMQL_GROUP_LEFT ? " group_left" : " group_right");
	put_names(&node->included, out);
}

static void print_call(const struct promql_node *node, struct buf *out)
{
	put_grouping(node, out);
	buf_append_char(out, '(');
	for (size_t i = 0; i < node->argument_count; i++) {
		buf_append_text(out, i ? ", " : "");
		print(node->arguments[i], out);
	}
	buf_append_char(out, ')');
}

static void print_inside(const struct promql_node *node, struct buf *out)
{
	double value;

	if (is_number(node, &value)) {
		put_number(value, out);
		return;
	}
	switch (node->kind) {
	case PROMQL_NUMBER:
		break;
	case PROMQL_TEXT:
		put_quoted(node->text, out);
		break;
	case PROMQL_SELECTOR:
		put_selector(node, out);
		break;
	case PROMQL_CALL:
	case PROMQL_AGGREGATE:
		print_call(node, out);
		break;
	case PROMQL_BINARY:
		print(node->arguments[0], out);
		buf_append_char(out, ' ');
		put_operator(node, out);
		buf_append_char(out, ' ');
		print(node->arguments[1], out);
		break;
	case PROMQL_NEGATION:
		buf_append_char(out, node->is_plus ? '+' : '-');
		print(node->arguments[0], out);
		break;
	}
}

static void print(const struct promql_node *node, struct buf *out)
{
	if (out->failure) /* it was too long before */
		return;
	for (unsigned i = 0; i < node->brackets; i++)
		buf_append_char(out, '(');
	print_inside(node, out);
	for (unsigned i = 0; i < node->brackets; i++)
		buf_append_char(out, ')');
}

/* ---- in several ---- */

static void indent(unsigned level, struct buf *out)
{
	for (unsigned i = 0; i < level; i++)
		buf_append_text(out, "  ");
}

static void break_up(
	const struct promql_node *node, unsigned level, unsigned brackets, bool is_behind, struct buf *out);

static void break_arguments(const struct promql_node *node, unsigned level, struct buf *out)
{
	put_grouping(node, out);
	buf_append_text(out, "(\n");
	for (size_t i = 0; i < node->argument_count; i++) {
		buf_append_text(out, i ? ",\n" : "");
		break_up(node->arguments[i], level + 1, node->arguments[i]->brackets, false, out);
	}
	buf_append_char(out, '\n');
	indent(level, out);
	buf_append_char(out, ')');
}

static void break_binary(const struct promql_node *node, unsigned level, struct buf *out)
{
	break_up(node->arguments[0], level + 1, node->arguments[0]->brackets, false, out);
	buf_append_char(out, '\n');
	indent(level, out);
	put_operator(node, out);
	buf_append_char(out, '\n');
	break_up(node->arguments[1], level + 1, node->arguments[1]->brackets, false, out);
}

static void break_inside(const struct promql_node *node, unsigned level, struct buf *out)
{
	switch (node->kind) {
	case PROMQL_CALL:
	case PROMQL_AGGREGATE:
		break_arguments(node, level, out);
		break;
	case PROMQL_NEGATION:
		buf_append_char(out, node->is_plus ? '+' : '-');
		break_up(node->arguments[0], level, node->arguments[0]->brackets, true, out);
		break;
	default: /* a selector is not broken */
		print_inside(node, out);
	}
}

/* brackets: of the node's, those that are still to be written. is_behind: something stands in this line already. */
static void break_up(const struct promql_node *node, unsigned level, unsigned brackets, bool is_behind, struct buf *out)
{
	AUTO_DONE(buf) line = BUF_INIT(LINE_MOST_BYTES);

	for (unsigned i = 0; i < brackets; i++)
		buf_append_char(&line, '(');
	print_inside(node, &line);
	for (unsigned i = 0; i < brackets; i++)
		buf_append_char(&line, ')');
	if (out->failure)
		return;
	bool begins_itself = node->kind == PROMQL_BINARY && !brackets && line.failure;
	if (!is_behind && !begins_itself)
		indent(level, out);
	if (!line.failure) {
		buf_append_span(out, buf_span(&line));
	} else if (brackets) {
		buf_append_text(out, "(\n");
		break_up(node, level + 1, brackets - 1, false, out);
		buf_append_char(out, '\n');
		indent(level, out);
		buf_append_char(out, ')');
	} else if (node->kind == PROMQL_BINARY) {
		break_binary(node, level, out);
	} else {
		break_inside(node, level, out);
	}
}

enum status promql_check_patterns(const struct promql_node *node, struct error *err)
{
	enum status status = OK;

	if (node->lines) {
		status = logql_prepare(node->lines, err);
		logql_release(node->lines);
	} else if (node->kind == PROMQL_SELECTOR) {
		status = matchers_prepare(node->matchers, node->matcher_count, err);
		matchers_done(node->matchers, node->matcher_count);
	}
	for (size_t i = 0; status == OK && i < node->argument_count; i++)
		status = promql_check_patterns(node->arguments[i], err);
	return status;
}

void promql_print(const struct promql_node *node, struct buf *out)
{
	break_up(node, 0, node->brackets, false, out);
}
