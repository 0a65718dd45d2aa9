#include "cli/search/search_show.h"

#include "base/text/csv.h"
#include "base/text/iso8601.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/search/search_options.h"
#include "cli/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_OUTPUT_BYTES = 64 << 20, MAX_NAME_BYTES = 4096, DEPTH_MAX = 16 };
/* 1973: what is less, in milliseconds, is no time but how long something took. */
static const double FIRST_TIME_MS = 1e11;

static const char *const subjects[] = {"anatomy", "checkpoints", "continuity", "fit", "goodput", "nccl", "notes",
	"replacements", "s3", "schedule", "tokens"};
static const char machine[] = "node"; /* of this the second word is a host, not a job */

enum status search_show_wanted(const struct options *options, bool *wanted, struct error *err)
{
	*wanted = options_word_count(options) == 2 && !strcmp(options_word(options, 0), machine);
	for (size_t i = 0; options_word_count(options) == 2 && i < sizeof subjects / sizeof *subjects; i++)
		*wanted = *wanted || !strcmp(options_word(options, 0), subjects[i]);
	if (!*wanted)
		return OK;
	TRY(search_options_refuse(options, options_word(options, 0), err));
	return options_text(options, "by") || options_text(options, "of")
		       ? error_set(err, ERR_INVALID, "--by and --of are of jobs: not with %s", options_word(options, 0))
		       : OK;
}

struct showing {
	struct search_list *search;
	struct table table;
	struct buf out, name, cell;
};

static void showing_done(struct showing *s)
{
	table_done(&s->table);
	buf_done(&s->out);
	buf_done(&s->name);
	buf_done(&s->cell);
}
AUTO_DONE_TYPE(showing)

/* The member of an object that a name ends with: "seconds" of "buckets.launch.seconds". */
static struct span last_part(struct span name)
{
	for (size_t i = name.len; i-- > 0;)
		if (name.ptr[i] == '.')
			return span_skip(name, i + 1);
	return name;
}

static bool is_seconds(struct span last)
{
	return span_equal(last, SPAN("seconds")) || span_ends_with(last, SPAN("_seconds")) ||
	       span_starts_with(last, SPAN("seconds_"));
}

/* Of 1: share, share_of_limit, clipped_share, share.data. */
static bool is_share(struct span name, struct span last)
{
	struct span before = span_of(name.ptr, name.len - last.len);

	return span_starts_with(last, SPAN("share")) || span_ends_with(last, SPAN("_share")) ||
	       span_equal(last, SPAN("exposed_communication")) || span_equal(before, SPAN("share.")) ||
	       span_ends_with(before, SPAN(".share."));
}

/* For people: what a number counts is said by its member's name, as everywhere in the REST interface. */
static void put_number(struct span name, double value, const struct json *exact, struct buf *out)
{
	struct span last = last_part(name);
	char time[ISO8601_BYTES];

	if (span_ends_with(last, SPAN("_ms")) && value >= FIRST_TIME_MS) {
		iso8601_format((int64_t)value, time);
		buf_append_text(out, time);
	} else if (span_ends_with(last, SPAN("_ms")) && value >= 0) {
		text_put_duration(out, value / 1000, false);
	} else if (is_seconds(last) && value >= 0) {
		text_put_duration(out, value, false);
	} else if (span_equal(last, SPAN("percent")) || span_equal(last, SPAN("goodput"))) {
		buf_printf(out, "%.4g%%", value);
	} else if (is_share(name, last)) {
		buf_printf(out, "%.4g%%", value * 100);
	} else if (value == trunc(value)) {
		json_print(exact, out);
	} else {
		buf_printf(out, fabs(value) < 1e6 ? "%.6g" : "%.0f", value);
	}
}

static enum status put_row(struct showing *s, const struct json *value, struct error *err)
{
	double number;

	buf_reset(&s->cell);
	if (json_kind(value) == JSON_STRING)
		buf_append_span(&s->cell, json_string_of(value));
	else if (s->search->format == LIST_TABLE && json_number_of(value, &number))
		put_number(buf_span(&s->name), number, value, &s->cell);
	else
		json_print(value, &s->cell); /* null is not known */
	TRY(buf_status(&s->cell, err));
	s->search->found++;
	if (s->search->format == LIST_TABLE)
		return table_add_cell(&s->table, buf_span(&s->name)) && table_add_cell(&s->table, buf_span(&s->cell))
			       ? OK
			       : error_no_memory(err);
	csv_put_cell(&s->out, buf_span(&s->name));
	buf_append_char(&s->out, ',');
	csv_put_cell(&s->out, buf_span(&s->cell));
	buf_append_char(&s->out, '\n');
	return OK;
}

/* A bucket of goodput to which no time went. */
static bool is_empty_bucket(struct span name, const struct json *value)
{
	double number;
	bool has_zero = false;

	if (!span_ends_with(name, SPAN("buckets")) || json_kind(value) != JSON_OBJECT)
		return false;
	for (const struct json *part = json_first(value); part; part = json_next(part)) {
		if (json_number_of(part, &number) ? number != 0 : json_kind(part) != JSON_NULL)
			return false;
		has_zero = has_zero || json_kind(part) != JSON_NULL;
	}
	return has_zero;
}

/* "share.data", "by_stream[0].stream": a row each of what is neither an object nor an array. */
static enum status put_rows(struct showing *s, const struct json *value, int depth, struct error *err)
{
	bool is_array = json_kind(value) == JSON_ARRAY;
	size_t used = s->name.len, at = 0;

	if ((!is_array && json_kind(value) != JSON_OBJECT) || depth == DEPTH_MAX)
		return put_row(s, value, err);
	for (const struct json *part = json_first(value); part; part = json_next(part)) {
		s->name.len = used;
		if (s->search->format == LIST_TABLE && is_empty_bucket(buf_span(&s->name), part))
			continue;
		if (is_array) {
			buf_printf(&s->name, "[%zu]", at++);
		} else {
			buf_append_text(&s->name, used ? "." : "");
			buf_append_span(&s->name, json_key_of(part));
		}
		TRY(buf_status(&s->name, err));
		TRY(put_rows(s, part, depth + 1, err));
	}
	s->name.len = used;
	return OK;
}

static enum status put_all(struct showing *s, const struct json *body, struct error *err)
{
	if (s->search->format == LIST_JSON || s->search->format == LIST_NDJSON) {
		json_print(body, &s->out);
		buf_append_char(&s->out, '\n');
		s->search->found = 1;
		return OK;
	}
	s->table.columns[s->table.column_count++] = (struct table_column){.name = SPAN("name")};
	s->table.columns[s->table.column_count++] = (struct table_column){.name = SPAN("value")};
	if (s->search->format == LIST_CSV)
		buf_append_text(&s->out, "name,value\n");
	TRY(put_rows(s, body, 0, err));
	if (s->search->format == LIST_TABLE)
		table_print(&s->table, s->search->width, s->search->has_colours, &s->out);
	return OK;
}

enum status search_show_print(struct search_list *search, struct error *err)
{
	const struct options *options = search->options;
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) body = NULL;
	AUTO_DONE(showing)
	s = {.search = search,
		.out = BUF_INIT(MAX_OUTPUT_BYTES),
		.name = BUF_INIT(MAX_NAME_BYTES),
		.cell = BUF_INIT(MAX_OUTPUT_BYTES)};

	table_init(&s.table);
	bool is_machine = !strcmp(options_word(options, 0), machine);
	url_put_value(&path, is_machine ? "/api/v1/nodes/" : "/api/v1/jobs/", span_from(options_word(options, 1)));
	if (!is_machine)
		buf_printf(&path, "/%s", options_word(options, 0));
	TRY(client_get_json(search->client, &path, &body, err));
	TRY(put_all(&s, body, err));
	TRY(buf_status(&s.out, err));
	if (s.out.len && (fwrite(s.out.ptr, 1, s.out.len, stdout) != s.out.len || fflush(stdout)))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	return OK;
}
