#include "cli/search/search_groups.h"

#include "base/text/csv.h"
#include "cli/http/client.h"
#include "cli/search/search_options.h"
#include "cli/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_OUTPUT_BYTES = 256 << 20 };

enum status search_groups_wanted(const struct options *options, bool *wanted, struct error *err)
{
	*wanted = options_text(options, "by") || options_text(options, "of");
	return *wanted ? search_options_refuse(options, "--by and --of, which print groups", err) : OK;
}

static void put_parameter(struct buf *path, char sign, const char *name, const char *value)
{
	buf_printf(path, "%c%s=", sign, name);
	buf_append_percent_encoded(path, span_from(value));
}

static enum status get(const struct search_groups *search, struct http_reply *reply, struct error *err)
{
	const char *by = options_text(search->options, "by"), *of = options_text(search->options, "of");
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	buf_append_text(&path, "/api/v1/aggregate");
	put_parameter(&path, '?', "by", by ? by : "");
	put_parameter(&path, '&', "of", of ? of : "count");
	if (options_text(search->options, "timezone"))
		put_parameter(&path, '&', "tz", options_text(search->options, "timezone"));
	buf_append_text(&path, "&q=");
	buf_append_percent_encoded(&path, search->query);
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "GET", .path = buf_span(&path)};
	return client_call(search->client, &request, reply, err);
}

/* A figure that nobody knows is none; one of costs lacks a price. */
static void put_unknown(struct span name, bool is_unpriced, struct buf *out)
{
	bool is_cost = is_unpriced && name.len >= 4 && span_equal(span_skip(name, name.len - 4), SPAN("cost"));

	buf_append_text(out, is_cost ? "no price" : span_find_char(name, ':') >= 0 ? "–" : "");
}

static void put_value(const struct json *value, bool is_for_people, struct buf *out)
{
	double number;

	if (!value || json_kind(value) == JSON_NULL)
		return;
	if (json_kind(value) == JSON_ARRAY) {
		for (const struct json *at = json_first(value); at; at = json_next(at)) {
			buf_append_text(out, at == json_first(value) ? "" : " ");
			buf_append_span(out, json_string_of(at));
		}
		return;
	}
	if (json_kind(value) == JSON_STRING)
		buf_append_span(out, json_string_of(value));
	else if (is_for_people && json_number_of(value, &number) && number != trunc(number))
		buf_printf(out, "%.6g", number);
	else
		json_print(value, out);
}

/* Every group has the same members, in the same order. */
static enum status put_rows(const struct search_groups *search, const struct json *groups, struct table *table,
	struct buf *out, struct error *err)
{
	AUTO_DONE(buf) cell = BUF_INIT(MAX_OUTPUT_BYTES);
	bool is_table = search->format == GROUPS_TABLE;

	for (const struct json *group = json_first(groups); group; group = json_next(group)) {
		bool is_first = true;
		double unpriced = 0;
		bool is_unpriced = json_number_of(json_get(group, "unpriced_jobs"), &unpriced) && unpriced > 0;
		for (const struct json *at = json_first(group); at; at = json_next(at), is_first = false) {
			buf_reset(&cell);
			if (is_table && json_kind(at) == JSON_NULL)
				put_unknown(json_key_of(at), is_unpriced, &cell);
			else
				put_value(at, is_table, &cell);
			if (is_table && !table_add_cell(table, buf_span(&cell)))
				return error_no_memory(err);
			if (is_table)
				continue;
			buf_append_text(out, is_first ? "" : ",");
			csv_put_cell(out, buf_span(&cell));
		}
		buf_append_text(out, is_table ? "" : "\n");
	}
	return buf_status(&cell, err);
}

static enum status put_head(const struct search_groups *search, const struct json *group, struct table *table,
	struct buf *out, struct error *err)
{
	for (const struct json *at = json_first(group); at; at = json_next(at)) {
		struct table_column column = {.name = json_key_of(at),
			.is_number = json_kind(at) == JSON_NUMBER || json_kind(at) == JSON_NULL};
		if (search->format == GROUPS_TABLE && table->column_count == TABLE_MAX_COLUMNS)
			return error_set(
				err, ERR_INVALID, "a table has at most %d columns: take --csv", TABLE_MAX_COLUMNS);
		if (search->format == GROUPS_TABLE) {
			table->columns[table->column_count++] = column;
			continue;
		}
		buf_append_text(out, at == json_first(group) ? "" : ",");
		csv_put_cell(out, column.name);
	}
	buf_append_text(out, search->format == GROUPS_TABLE ? "" : "\n");
	return OK;
}

static enum status put_groups(
	const struct search_groups *search, const struct json *groups, struct buf *out, struct error *err)
{
	AUTO_DONE(table) table;

	table_init(&table);
	TRY(put_head(search, json_first(groups), &table, out, err));
	TRY(put_rows(search, groups, &table, out, err));
	if (search->format == GROUPS_TABLE)
		table_print(&table, search->width, search->has_colours, out);
	return OK;
}

/* Beside the groups, which are for programs, too. */
static void tell_left_out(const struct json *body)
{
	double jobs;

	if (json_number_of(json_get(body, "too_long_jobs"), &jobs))
		fprintf(stderr,
			"sm-search: left out, because they last longer than days or months that the server shares a job among: %.0f\n",
			jobs);
}

enum status search_groups_print(const struct search_groups *search, size_t *found, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO_DONE(buf) out = BUF_INIT(MAX_OUTPUT_BYTES);
	AUTO(json) body = NULL;

	TRY(get(search, &reply, err));
	if (json_parse(&body, buf_span(&reply.body), err) != OK || json_kind(json_get(body, "groups")) != JSON_ARRAY)
		return error_set(err, ERR_UNAVAILABLE, "the reply is no list of groups: is this an smfleet server?");
	const struct json *groups = json_get(body, "groups");
	tell_left_out(body);
	for (const struct json *group = json_first(groups); group; group = json_next(group)) {
		++*found;
		if (search->format != GROUPS_NDJSON)
			continue;
		json_print(group, &out);
		buf_append_char(&out, '\n');
	}
	if (search->format == GROUPS_JSON) {
		buf_append_span(&out, buf_span(&reply.body));
		buf_append_char(&out, '\n');
	} else if (search->format != GROUPS_NDJSON && *found) {
		TRY(put_groups(search, groups, &out, err));
	}
	TRY(buf_status(&out, err));
	if (out.len && (fwrite(out.ptr, 1, out.len, stdout) != out.len || fflush(stdout)))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	return OK;
}
