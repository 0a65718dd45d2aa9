#include "cli/search/search_list.h"

#include "base/text/csv.h"
#include "base/text/iso8601.h"
#include "cli/http/client.h"
#include "cli/http/url.h"
#include "cli/search/search_options.h"
#include "cli/table/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	MAX_PATH_BYTES = 64 << 10,
	MAX_OUTPUT_BYTES = 256 << 20,
	PAGE_ROWS = 1000,
	LEADERS_MAX = 10000,
	MOST_COLUMNS = 7
};

struct list_column {
	const char *name, *member;
	bool is_number, is_time; /* is_time: milliseconds since 1970 */
};

struct list_kind {
	const char *rows; /* the member of the reply */
	const char *next; /* where the page behind begins */
	const char *parameter; /* that takes it */
	struct list_column columns[MOST_COLUMNS];
};

static const struct list_kind attachments = {"attachments", "next_after", "after",
	{{"path", "path", false, false}, {"bytes", "bytes", true, false}, {"type", "content_type", false, false},
		{"stored", "created_ms", false, true}, {"by", "author", false, false}}};

static const struct list_kind trash = {"jobs", "next_cursor", "cursor",
	{{"name", "TrainingJobName", false, false}, {"id", "id", true, false}, {"deleted", "deleted_ms", false, true},
		{"by", "deleted_by", false, false}, {"goes", "purge_ms", false, true},
		{"bytes", "bytes", true, false}}};

/* All in one page. */
static const struct list_kind leaders = {"leaders", "", "",
	{{"rank", "rank", true, false}, {"job", "job", false, false}, {"step", "step", true, false},
		{"value", "value", true, false}, {"stderr", "stderr", true, false},
		{"evaluated", "evaluated_ms", false, true}, {"path", "path", false, false}}};
static const struct list_kind leading_runs = {"leaders", "", "",
	{{"rank", "rank", true, false}, {"run", "run", false, false}, {"job", "job", false, false},
		{"step", "step", true, false}, {"value", "value", true, false}, {"stderr", "stderr", true, false},
		{"path", "path", false, false}}};

static bool wants_leaders(const struct options *options)
{
	return options_word_count(options) > 1 && !strcmp(options_word(options, 0), "evaluations");
}

static enum status check_leaders(const struct options *options, struct error *err)
{
	TRY(search_options_refuse(options, "evaluations", err));
	if (options_text(options, "of"))
		return error_set(err, ERR_INVALID, "--of is of groups of jobs: not with evaluations");
	return options_word_count(options) > 3
		       ? error_set(err, ERR_INVALID,
				 "evaluations takes a score and a query at most, each one word: quote it")
		       : OK;
}

static bool wants_attachments(const struct options *options)
{
	size_t words = options_word_count(options);

	return words > 1 && !strcmp(options_word(options, 0), "attachments");
}

enum status search_list_wanted(const struct options *options, bool *wanted, struct error *err)
{
	bool is_trash = options_flag(options, "trash");

	*wanted = is_trash || wants_attachments(options) || wants_leaders(options);
	if (!*wanted)
		return OK;
	if (!is_trash && wants_leaders(options))
		return check_leaders(options, err);
	const char *what = is_trash ? "--trash" : options_word(options, 0);
	TRY(search_options_refuse(options, what, err));
	if (options_text(options, "by") || options_text(options, "of"))
		return error_set(err, ERR_INVALID, "--by and --of are of jobs: not with %s", what);
	if (is_trash && options_word_count(options))
		return error_set(err, ERR_INVALID, "--trash lists the whole trash: it takes no query");
	if (options_word_count(options) > 3)
		return error_set(err, ERR_INVALID, "attachments takes the name of a job, and a path of it at most");
	return OK;
}

struct listing {
	struct search_list *search;
	const struct list_kind *kind;
	struct buf path; /* without a page */
	struct buf next; /* "": from the first */
	uint64_t rest; /* still wanted */
	struct table table;
	struct buf out, cell;
};

static void listing_done(struct listing *l)
{
	buf_done(&l->path);
	buf_done(&l->next);
	table_done(&l->table);
	buf_done(&l->out);
	buf_done(&l->cell);
}
AUTO_DONE_TYPE(listing)

static enum status flush(struct buf *out, struct error *err)
{
	TRY(buf_status(out, err));
	if (out->len && (fwrite(out->ptr, 1, out->len, stdout) != out->len || fflush(stdout)))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	buf_reset(out);
	return OK;
}

static void put_value(const struct json *value, const struct list_column *column, struct buf *out)
{
	char time[ISO8601_BYTES];
	double number;

	if (!value || json_kind(value) == JSON_NULL)
		return;
	if (json_kind(value) == JSON_STRING) {
		buf_append_span(out, json_string_of(value));
	} else if (column->is_time && json_number_of(value, &number)) {
		iso8601_format((int64_t)number, time);
		buf_append_text(out, time);
	} else {
		json_print(value, out);
	}
}

static void put_separator(struct listing *l, size_t at)
{
	if (l->search->format == LIST_CSV && at)
		buf_append_char(&l->out, ',');
}

static void put_head(struct listing *l)
{
	if (l->search->format == LIST_JSON)
		buf_printf(&l->out, "{\"%s\":[", l->kind->rows);
	for (size_t i = 0; i < MOST_COLUMNS && l->kind->columns[i].name; i++) {
		const struct list_column *column = &l->kind->columns[i];
		l->table.columns[l->table.column_count++] =
			(struct table_column){.name = span_from(column->name), .is_number = column->is_number};
		put_separator(l, i);
		if (l->search->format == LIST_CSV)
			csv_put_cell(&l->out, span_from(column->name));
	}
	if (l->search->format == LIST_CSV)
		buf_append_char(&l->out, '\n');
}

static enum status put_cells(struct listing *l, const struct json *row, struct error *err)
{
	for (size_t i = 0; i < l->table.column_count; i++) {
		buf_reset(&l->cell);
		put_value(json_get(row, l->kind->columns[i].member), &l->kind->columns[i], &l->cell);
		TRY(buf_status(&l->cell, err));
		put_separator(l, i);
		if (l->search->format == LIST_CSV)
			csv_put_cell(&l->out, buf_span(&l->cell));
		else if (!table_add_cell(&l->table, buf_span(&l->cell)))
			return error_no_memory(err);
	}
	if (l->search->format == LIST_CSV)
		buf_append_char(&l->out, '\n');
	return OK;
}

static enum status put_row(struct listing *l, const struct json *row, struct error *err)
{
	enum list_format format = l->search->format;

	if (format == LIST_JSON && l->search->found)
		buf_append_char(&l->out, ',');
	l->search->found++;
	l->rest--;
	if (format != LIST_JSON && format != LIST_NDJSON)
		return put_cells(l, row, err);
	json_print(row, &l->out);
	if (format == LIST_NDJSON)
		buf_append_char(&l->out, '\n');
	return OK;
}

static void put_tail(struct listing *l)
{
	const struct search_list *search = l->search;

	if (search->format == LIST_JSON)
		buf_append_text(&l->out, "]}\n");
	else if (search->format == LIST_TABLE && search->found)
		table_print(&l->table, search->width, search->has_colours, &l->out);
}

static enum status put_page(struct listing *l, bool *has_more, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	AUTO(json) page = NULL;
	uint64_t most = l->kind->next[0] ? PAGE_ROWS : LEADERS_MAX, limit = l->rest < most ? l->rest : most;

	buf_append_span(&path, buf_span(&l->path));
	buf_printf(&path, "%climit=%" PRIu64, span_find_char(buf_span(&l->path), '?') < 0 ? '?' : '&', limit);
	if (l->next.len) {
		buf_printf(&path, "&%s=", l->kind->parameter);
		buf_append_percent_encoded(&path, buf_span(&l->next));
	}
	TRY(client_get_json(l->search->client, &path, &page, err));
	const struct json *rows = json_get(page, l->kind->rows);
	if (json_kind(rows) != JSON_ARRAY)
		return error_set(
			err, ERR_UNAVAILABLE, "the reply is no list: is this an smfleet server of this version?");
	for (const struct json *row = json_first(rows); row && l->rest; row = json_next(row))
		TRY(put_row(l, row, err));
	buf_reset(&l->next);
	if (l->kind->next[0])
		buf_append_span(&l->next, json_string_of(json_get(page, l->kind->next)));
	*has_more = l->next.len != 0;
	TRY(buf_status(&l->next, err));
	return flush(&l->out, err);
}

static enum status print_list(struct listing *l, struct error *err)
{
	int64_t limit = options_i64(l->search->options, "limit");
	bool has_more = true;

	table_init(&l->table);
	l->rest = limit > 0 ? (uint64_t)limit : UINT64_MAX;
	TRY(buf_status(&l->path, err));
	put_head(l);
	while (has_more && l->rest)
		TRY(put_page(l, &has_more, err));
	put_tail(l);
	TRY(flush(&l->out, err));
	if (has_more)
		client_say(
			search_program.name, "there are more than these %zu: --limit 0 prints all", l->search->found);
	return OK;
}

/* Of a path the parts are encoded, the slashes between them are not. */
static void put_path(struct buf *out, struct span path)
{
	struct span part;

	while (span_next(&path, '/', &part)) {
		buf_append_char(out, '/');
		buf_append_percent_encoded(out, part);
	}
}

static bool is_plain_text(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f)
			return false;
	}
	return true;
}

static enum status print_file(struct search_list *search, struct span path, struct error *err)
{
	AUTO_DONE(http_reply) reply = {0};
	struct http_request request = {.method = "GET", .path = path, .accept = "*/*"};

	TRY(client_call(search->client, &request, &reply, err));
	if (search->is_terminal && !is_plain_text(buf_span(&reply.body)))
		return error_set(err, ERR_INVALID, "the file is no text: send it into a file or a pipe");
	search->found = 1;
	return flush(&reply.body, err);
}

static void put_parameter(struct buf *out, char sign, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out, "%c%s=", sign, name);
	buf_append_percent_encoded(out, span_from(value));
}

/* "mmlu/acc", or with weights "mmlu/acc:2,gsm8k/exact_match:1". */
static enum status print_leaders(struct listing *l, struct error *err)
{
	const struct options *options = l->search->options;
	const char *score = options_word(options, 1), *by = options_text(options, "by");
	size_t words = options_word_count(options);

	l->kind = by && !strcmp(by, "run") ? &leading_runs : &leaders;
	buf_append_text(&l->path, "/api/v1/evaluations");
	put_parameter(&l->path, '?', strchr(score, ':') ? "weights" : "metric", score);
	put_parameter(&l->path, '&', "q", words > 2 ? options_word(options, 2) : NULL);
	put_parameter(&l->path, '&', "by", by);
	put_parameter(&l->path, '&', "tz", options_text(options, "timezone"));
	return print_list(l, err);
}

enum status search_list_print(struct search_list *search, struct error *err)
{
	const struct options *options = search->options;
	AUTO_DONE(listing)
	l = {.search = search,
		.kind = options_flag(options, "trash") ? &trash : &attachments,
		.path = BUF_INIT(MAX_PATH_BYTES),
		.next = BUF_INIT(MAX_PATH_BYTES),
		.out = BUF_INIT(MAX_OUTPUT_BYTES),
		.cell = BUF_INIT(MAX_OUTPUT_BYTES)};

	if (l.kind == &trash) {
		buf_append_text(&l.path, "/api/v1/trash");
		return print_list(&l, err);
	}
	if (wants_leaders(options))
		return print_leaders(&l, err);
	url_put_value(&l.path, "/api/v1/jobs/", span_from(options_word(options, 1)));
	buf_append_text(&l.path, "/attachments");
	if (options_word_count(options) == 2)
		return print_list(&l, err);
	put_path(&l.path, span_from(options_word(options, 2)));
	TRY(buf_status(&l.path, err));
	return print_file(search, buf_span(&l.path), err);
}
