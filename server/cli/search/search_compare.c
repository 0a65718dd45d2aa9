#include "cli/search/search_compare.h"

#include "base/text/csv.h"
#include "base/json/json_read.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/table/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

enum { MAX_PATH_BYTES = 64 << 10, MAX_OUTPUT_BYTES = 64 << 20 };

struct printing {
	const struct search_compare *search;
	struct table table;
	struct buf out;
	struct buf cell;
};

static void printing_done(struct printing *printing)
{
	table_done(&printing->table);
	buf_done(&printing->out);
	buf_done(&printing->cell);
}
AUTO_DONE_TYPE(printing)

/* A comma in a name is encoded twice: the list is one value of the query. */
static enum status get(const struct search_compare *search, struct http_reply *reply, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(MAX_PATH_BYTES);
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);

	for (size_t i = 0; i < options_word_count(search->options); i++) {
		buf_append_text(&names, i ? "," : "");
		buf_append_percent_encoded(&names, span_from(options_word(search->options, i)));
	}
	url_put_value(&path, "/api/v1/compare?jobs=", buf_span(&names));
	TRY(buf_status(&names, err));
	TRY(buf_status(&path, err));
	struct http_request request = {.method = "GET", .path = buf_span(&path)};
	return client_call(search->client, &request, reply, err);
}

static enum status put_cell(struct printing *p, struct error *err)
{
	TRY(buf_status(&p->cell, err));
	if (!p->search->is_csv && !table_add_cell(&p->table, buf_span(&p->cell)))
		return error_no_memory(err);
	if (p->search->is_csv)
		csv_put_cell(&p->out, buf_span(&p->cell));
	buf_reset(&p->cell);
	return OK;
}

static void put_value(const struct json *value, struct buf *out)
{
	double number;

	if (!value || json_kind(value) == JSON_NULL)
		return;
	if (json_kind(value) == JSON_STRING) {
		buf_append_span(out, json_string_of(value));
	} else if (json_kind(value) == JSON_ARRAY) {
		for (const struct json *at = json_first(value); at; at = json_next(at)) {
			buf_append_text(out, at == json_first(value) ? "" : ", ");
			put_value(at, out);
		}
	} else if (json_number_of(value, &number) && number != trunc(number)) {
		buf_printf(out, "%.6g", number);
	} else {
		json_print(value, out);
	}
}

/* What is in the cell is the row's name. member "": the values themselves, else this member of each. */
static enum status put_row(struct printing *p, const struct json *values, const char *member, struct error *err)
{
	TRY(put_cell(p, err));
	for (const struct json *at = json_first(values); at; at = json_next(at)) {
		buf_append_text(&p->out, p->search->is_csv ? "," : "");
		put_value(*member ? json_get(at, member) : at, &p->cell);
		TRY(put_cell(p, err));
	}
	buf_append_text(&p->out, p->search->is_csv ? "\n" : "");
	return OK;
}

static enum status put_head(struct printing *p, const struct json *jobs, struct error *err)
{
	buf_append_text(&p->cell, p->search->is_csv ? "job" : "");
	if (p->search->is_csv)
		return put_row(p, jobs, "", err);
	p->table.columns[p->table.column_count++] = (struct table_column){.name = SPAN("job")};
	for (const struct json *job = json_first(jobs); job; job = json_next(job)) {
		if (p->table.column_count == TABLE_MAX_COLUMNS)
			return error_set(
				err, ERR_INVALID, "a table has at most %d columns: take --csv", TABLE_MAX_COLUMNS);
		p->table.columns[p->table.column_count++] = (struct table_column){.name = json_string_of(job)};
	}
	return OK;
}

/* Settings that differ, each role's figures, the loss at the same steps. */
static enum status put_rows(struct printing *p, const struct json *reply, struct error *err)
{
	static const char *const figures[] = {"last", "best", "final", "last_step"};
	const struct json *steps = json_get(reply, "steps");

	for (const struct json *at = json_first(json_get(reply, "differ")); at; at = json_next(at)) {
		buf_append_span(&p->cell, json_string_of(json_get(at, "key")));
		TRY(put_row(p, json_get(at, "values"), "", err));
	}
	for (const struct json *at = json_first(json_get(reply, "roles")); at; at = json_next(at))
		for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
			buf_append_span(&p->cell, json_string_of(json_get(at, "role")));
			buf_printf(&p->cell, ".%s", figures[i]);
			TRY(put_row(p, json_get(at, "values"), figures[i], err));
		}
	for (const struct json *at = json_first(json_get(steps, "at")); at; at = json_next(at)) {
		buf_append_span(&p->cell, json_string_of(json_get(steps, "metric")));
		buf_append_text(&p->cell, " at ");
		put_value(json_get(at, "step"), &p->cell);
		TRY(put_row(p, json_get(at, "values"), "value", err));
	}
	return OK;
}

enum status search_compare_print(const struct search_compare *search, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	AUTO_DONE(printing)
	p = {.search = search, .out = BUF_INIT(MAX_OUTPUT_BYTES), .cell = BUF_INIT(MAX_OUTPUT_BYTES)};
	AUTO(json) body = NULL;

	table_init(&p.table);
	TRY(get(search, &reply, err));
	if (json_parse(&body, buf_span(&reply.body), err) != OK || json_kind(json_get(body, "differ")) != JSON_ARRAY)
		return error_set(err, ERR_UNAVAILABLE, "the reply compares no jobs: is this an smfleet server?");
	if (search->is_json) {
		buf_append_span(&p.out, buf_span(&reply.body));
		buf_append_char(&p.out, '\n');
	} else {
		TRY(put_head(&p, json_get(body, "jobs"), err));
		TRY(put_rows(&p, body, err));
		if (!search->is_csv)
			table_print(&p.table, search->width, search->has_colours, &p.out);
	}
	TRY(buf_status(&p.out, err));
	if (fwrite(p.out.ptr, 1, p.out.len, stdout) != p.out.len || fflush(stdout))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	return OK;
}
