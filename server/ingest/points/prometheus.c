/*
 * Prometheus' text: name{label="value"} number [time]. Comments are skipped, an OpenMetrics exemplar behind '#' too. The label
 * "step" is the point's step. Sum and count of a histogram or a summary are one distribution; its parts have no role. Source: prometheus.io/docs/instrumenting/exposition_formats
 */
#include "ingest/points/prometheus_pairs.h"

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

/* # TYPE name kind: a name that has a kind of its own is no part of another one. */
static void take_comment(struct ingest_parser *parser, struct span line)
{
	struct span rest = span_skip(line, 1), word;

	if (!next_word(&rest, &word) || !span_equal(word, SPAN("TYPE")) || !next_word(&rest, &word))
		return;
	buf_reset(&parser->text);
	buf_append_span(&parser->text, word);
}

static bool has_label(struct span metric, const char *name)
{
	char first[16], later[16];

	snprintf(first, sizeof first, "{%s=\"", name);
	snprintf(later, sizeof later, ",%s=\"", name);
	ptrdiff_t labels = span_find_char(metric, '{');
	struct span rest = labels < 0 ? SPAN("") : span_skip(metric, (size_t)labels);
	return span_starts_with(rest, span_from(first)) || span_find(rest, span_from(later)) >= 0;
}

/* Takes the ending off the name; labels stay. False: there is none. */
static bool cut_ending(struct buf *metric, const char *ending)
{
	struct span text = buf_span(metric);
	ptrdiff_t brace = span_find_char(text, '{');
	size_t bare = brace < 0 ? text.len : (size_t)brace, len = strlen(ending);

	if (bare <= len || !span_ends_with(span_of(text.ptr, bare), span_from(ending)))
		return false;
	memmove(metric->ptr + bare - len, metric->ptr + bare, metric->len - bare);
	metric->len -= len;
	return true;
}

static bool has_own_type(const struct ingest_parser *parser)
{
	struct span metric = buf_span(&parser->metric);
	ptrdiff_t brace = span_find_char(metric, '{');

	return span_equal(brace < 0 ? metric : span_of(metric.ptr, (size_t)brace), buf_span(&parser->text));
}

static enum status add(
	struct ingest_parser *parser, struct batch *batch, int64_t step, int64_t ts_ms, double value, struct error *err)
{
	struct buf *metric = &parser->metric;

	if (has_label(buf_span(metric), "quantile") || has_label(buf_span(metric), "le"))
		return prometheus_part_add(parser, batch, buf_span(metric), step, ts_ms, value, err);
	/* clients give _created a kind of its own, where the format has none for it */
	if (cut_ending(metric, "_created"))
		return prometheus_pairs_put(parser, batch, buf_span(metric), PART_CREATED, step, ts_ms, value, err);
	if (!has_own_type(parser) && cut_ending(metric, "_sum"))
		return prometheus_pairs_put(parser, batch, buf_span(metric), PART_SUM, step, ts_ms, value, err);
	if (!has_own_type(parser) && cut_ending(metric, "_count"))
		return prometheus_pairs_put(parser, batch, buf_span(metric), PART_COUNT, step, ts_ms, value, err);
	return points_text_add(parser, batch, SPAN(""), buf_span(metric), step, ts_ms, value, err);
}

/* With the labels that every series of the body gets: they stand first. A label of its own that is one of them is a mistake of the line. */
static enum status name_metric(struct ingest_parser *parser, struct span metric, struct error *err)
{
	struct span more = parser->options.more_labels;
	AUTO_DONE(buf) full = BUF_INIT(parser->options.max_points_bytes);
	ptrdiff_t brace = span_find_char(metric, '{');
	struct span labels = brace < 0 ? SPAN("}") : span_trim(span_skip(metric, (size_t)brace + 1));

	buf_reset(&parser->metric);
	if (!more.len)
		return ingest_metric_name(metric, &parser->metric, err);
	buf_append_span(&full, brace < 0 ? metric : span_of(metric.ptr, (size_t)brace));
	buf_append_char(&full, '{');
	buf_append_span(&full, more);
	if (labels.ptr[0] != '}')
		buf_append_char(&full, ',');
	buf_append_span(&full, labels);
	TRY(buf_status(&full, err));
	return ingest_metric_name(buf_span(&full), &parser->metric, err);
}

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err)
{
	struct span metric, rest, word;
	int64_t step = NO_STEP, ts_ms = NO_TIME;
	double value;

	line = span_trim(line);
	if (line.len && line.ptr[0] == '#')
		take_comment(parser, line);
	if (!line.len || line.ptr[0] == '#')
		return OK;
	if (!split(line, &metric, &rest))
		return error_set(err, ERR_INVALID, "the labels have no end");
	TRY(name_metric(parser, metric, err));
	take_step(&parser->metric, &step);
	if (!next_word(&rest, &word) || !span_parse_double(word, &value))
		return error_set(err, ERR_INVALID, "expected a number behind the metric, not '%.*s'",
			(int)(word.len < 60 ? word.len : 60), word.ptr);
	if (next_word(&rest, &word) && word.ptr[0] != '#' && !ingest_parse_time(word, &ts_ms))
		return error_set(err, ERR_INVALID, "'%.*s' is no time between 1990 and 2200",
			(int)(word.len < 60 ? word.len : 60), word.ptr);
	return add(parser, batch, step, ts_ms, value, err);
}

static enum status open_prometheus(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	struct ingest_parser *parser;

	TRY(points_text_open(&parser, options, take_line, err));
	if (!(parser->pairs = prometheus_pairs_new())) {
		points_text_free(parser);
		return error_no_memory(err);
	}
	parser->take_end = prometheus_pairs_end;
	*out = parser;
	return OK;
}

static void free_prometheus(struct ingest_parser *parser)
{
	if (parser)
		prometheus_pairs_free(parser->pairs);
	points_text_free(parser);
}

const struct ingest_protocol ingest_prometheus = {.name = "prometheus",
	.open = open_prometheus,
	.feed = points_text_feed,
	.finish = points_text_finish,
	.warning = points_text_warning,
	.free = free_prometheus};
