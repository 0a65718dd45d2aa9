/*
 * Prometheus' text: name{label="value"} number [time]. Comments are skipped, an OpenMetrics exemplar behind '#' too. The label
 * "step" is the point's step. Source: prometheus.io/docs/instrumenting/exposition_formats
 */
#include "ingest/points_text.h"

#include <stdio.h>

/* Behind the name and its labels; false: the labels do not end. */
static bool split(struct span line, struct span *metric, struct span *rest)
{
	bool in_text = false, in_labels = false;
	size_t at = 0;

	for (; at < line.len; at++) {
		char c = line.ptr[at];
		if (in_text && c == '\\')
			at++;
		else if (c == '"')
			in_text = in_labels && !in_text;
		else if (c == '{' && !in_text)
			in_labels = true;
		else if (c == '}' && !in_text) {
			at++;
			break;
		} else if (!in_labels && (c == ' ' || c == '\t'))
			break;
	}
	at = at < line.len ? at : line.len;
	*metric = span_of(line.ptr, at);
	*rest = span_trim(span_skip(line, at));
	return !in_labels || line.ptr[at - 1] == '}';
}

/* Out of the stored form, where quotes in values are escaped: what stands before step=" is no value. */
static void take_step(struct buf *metric, int64_t *step)
{
	struct span text = buf_span(metric);
	ptrdiff_t brace = span_find_char(text, '{'), at = brace < 0 ? -1 : span_find(text, SPAN("{step=\""));

	at = at != brace && brace >= 0 ? span_find(text, SPAN(",step=\"")) : at;
	if (at < 0)
		return;
	struct span value = span_skip(text, (size_t)at + sizeof "{step=\"" - 1);
	ptrdiff_t quote = span_find_char(value, '"');
	if (quote < 0 || !points_text_step(span_of(value.ptr, (size_t)quote), step))
		return;
	size_t end = (size_t)(value.ptr - text.ptr) + (size_t)quote + 1; /* of the label */
	size_t from = (size_t)at;
	if (text.ptr[at] == '{' && text.ptr[end] == ',') {
		from++;
		end++;
	} else if (text.ptr[at] == '{') {
		end++; /* it was the only one */
	}
	memmove(metric->ptr + from, metric->ptr + end, metric->len - end);
	metric->len -= end - from;
}

static bool next_word(struct span *rest, struct span *word)
{
	size_t len = 0;

	*rest = span_trim(*rest);
	while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
		len++;
	*word = span_of(rest->ptr, len);
	*rest = span_skip(*rest, len);
	return len > 0;
}

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err)
{
	struct span metric, rest, word;
	int64_t step = NO_STEP, ts_ms = NO_TIME;
	double value;

	line = span_trim(line);
	if (!line.len || line.ptr[0] == '#')
		return OK;
	if (!split(line, &metric, &rest))
		return error_set(err, ERR_INVALID, "the labels have no end");
	buf_reset(&parser->metric);
	TRY(ingest_metric_name(metric, &parser->metric, err));
	take_step(&parser->metric, &step);
	if (!next_word(&rest, &word) || !span_parse_double(word, &value))
		return error_set(err, ERR_INVALID, "expected a number behind the metric, not '%.*s'",
			(int)(word.len < 60 ? word.len : 60), word.ptr);
	if (next_word(&rest, &word) && word.ptr[0] != '#' && !ingest_parse_time(word, &ts_ms))
		return error_set(err, ERR_INVALID, "'%.*s' is no time between 1990 and 2200",
			(int)(word.len < 60 ? word.len : 60), word.ptr);
	return points_text_add(parser, batch, SPAN(""), buf_span(&parser->metric), step, ts_ms, value, err);
}

static enum status open_prometheus(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	return points_text_open(out, options, take_line, err);
}

const struct ingest_protocol ingest_prometheus = {.name = "prometheus",
	.open = open_prometheus,
	.feed = points_text_feed,
	.finish = points_text_finish,
	.warning = points_text_warning,
	.free = points_text_free};
