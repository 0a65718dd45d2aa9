#include "cli/search/search.h"

#include "base/text/csv.h"
#include "base/clock.h"
#include "base/json/json_write.h"
#include "cli/http/client.h"
#include "cli/search/completion.h"
#include "cli/search/job_field.h"
#include "cli/search/row_diff.h"
#include "cli/search/search_compare.h"
#include "cli/search/search_document.h"
#include "cli/search/search_groups.h"
#include "cli/search/search_list.h"
#include "cli/search/search_logs.h"
#include "cli/search/search_mcp.h"
#include "cli/search/search_show.h"
#include "cli/table/table.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PAGE_ROWS = 1000, MAX_PATH_BYTES = 64 << 10, MAX_OUTPUT_BYTES = 64 << 20, DEFAULT_WIDTH = 80, WATCH_MS = 2000 };

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_NDJSON, FORMAT_COUNT };

struct search {
	const struct options *options;
	struct http_client *client;
	struct buf query;
	enum format format;
	bool is_terminal;
	bool has_fields; /* of JSON rows: else they are printed whole */
	struct table table; /* its columns are the fields */
	struct job_field_style style;
	uint64_t row_count, rest; /* printed; still wanted */
	bool has_total;
	uint64_t total;
	struct buf cursor;
	struct buf out;
	struct json *document; /* SageMaker's Search request instead of a query; NULL: none */
	struct search_logs logs; /* regex NULL: the jobs themselves are printed */
	struct changes *changes; /* of --watch into a pipe */
};

static void search_done(struct search *search)
{
	http_client_free(search->client);
	buf_done(&search->query);
	buf_done(&search->cursor);
	buf_done(&search->out);
	table_done(&search->table);
	changes_free(search->changes);
	json_free(search->document);
}
AUTO_DONE_TYPE(search)

static enum status choose_format(struct search *search, struct error *err)
{
	static const char *const names[] = {"table", "csv", "json", "ndjson", "count"};
	const char *chosen = NULL;

	search->is_terminal = isatty(STDOUT_FILENO);
	search->format = search->is_terminal ? FORMAT_TABLE : FORMAT_CSV;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (!options_flag(search->options, names[i]))
			continue;
		if (chosen)
			return error_set(err, ERR_INVALID, "either --%s or --%s", chosen, names[i]);
		chosen = names[i];
		search->format = (enum format)i;
	}
	return OK;
}

static enum status read_fields(struct search *search, struct error *err)
{
	const char *given = options_text(search->options, "fields");
	struct span rest = span_from(given ? given : "name,status,loss,step,lines,started,age"), name;

	search->has_fields = given != NULL;
	while (span_next_unquoted(&rest, ',', &name)) {
		name = span_trim(name);
		if (name.len == 0)
			continue;
		if (search->table.column_count == TABLE_MAX_COLUMNS)
			return error_set(err, ERR_INVALID, "more than %d fields", TABLE_MAX_COLUMNS);
		search->table.columns[search->table.column_count++] =
			(struct table_column){.name = name, .is_number = job_field_is_number(name)};
	}
	return search->table.column_count ? OK : error_set(err, ERR_INVALID, "--fields names no field");
}

static void put_parameter(struct buf *path, const char *name, struct span value)
{
	if (value.len == 0)
		return;
	buf_printf(path, "%c%s=", span_find_char(buf_span(path), '?') < 0 ? '?' : '&', name);
	buf_append_percent_encoded(path, value);
}

static enum status get_page(struct search *search, struct json **page, struct error *err)
{
	AUTO_DONE(buf) path = BUF_INIT(MAX_PATH_BYTES);
	bool wants_total = (search->format == FORMAT_COUNT || search->format == FORMAT_JSON) && !search->has_total;
	uint64_t rows = search->rest < PAGE_ROWS ? search->rest : PAGE_ROWS;
	char limit[24];

	if (search->document)
		return search_document_send(search->client, search->document, search->format == FORMAT_COUNT ? 1 : rows,
			buf_span(&search->cursor), page, err);
	snprintf(limit, sizeof limit, "%" PRIu64, search->format == FORMAT_COUNT ? 1 : rows);
	buf_append_text(&path, "/api/v1/jobs");
	put_parameter(&path, "q", buf_span(&search->query));
	put_parameter(&path, "runs", options_flag(search->options, "runs") ? SPAN("true") : SPAN(""));
	put_parameter(&path, "tz", span_from(options_text(search->options, "timezone")));
	put_parameter(&path, "explain", options_flag(search->options, "explain") ? SPAN("true") : SPAN(""));
	put_parameter(&path, "sort", span_from(options_text(search->options, "sort")));
	bool are_whole = options_flag(search->options, "runs") || options_flag(search->options, "explain");
	const char *fields = options_text(search->options, "fields");
	put_parameter(&path, "fields", span_from(fields && !are_whole ? fields : ""));
	put_parameter(&path, "limit", span_from(limit));
	put_parameter(&path, "cursor", buf_span(&search->cursor));
	put_parameter(&path, "total", wants_total ? SPAN("true") : SPAN(""));
	TRY(client_get_json(search->client, &path, page, err));
	if (json_kind(json_get(*page, "jobs")) != JSON_ARRAY)
		return error_set(err, ERR_UNAVAILABLE,
			"%s did not answer with a list of jobs: is it an smfleet server?",
			options_text(search->options, "server"));
	return OK;
}

static bool is_number(const struct json *row, const struct table_column *column)
{
	for (const struct json *at = json_first(json_get(row, "fields")); at; at = json_next(at))
		if (span_equal(json_key_of(at), column->name))
			return json_kind(at) == JSON_NUMBER;
	return column->is_number;
}

static void put_fields_as_json(struct search *search, const struct json *row)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct json_writer w = json_writer_on(&search->out);
	double number;

	json_object(&w);
	for (size_t i = 0; i < search->table.column_count; i++) {
		buf_reset(&text);
		job_field_put(row, search->table.columns[i].name, &search->style, &text);
		json_key_span(&w, search->table.columns[i].name);
		if (text.len == 0)
			json_null(&w);
		else if (is_number(row, &search->table.columns[i]) && span_parse_double(buf_span(&text), &number))
			json_double(&w, number);
		else
			json_span(&w, buf_span(&text));
	}
	json_object_end(&w);
}

static void add_json_row(struct search *search, const struct json *row)
{
	if (search->format == FORMAT_JSON && search->row_count)
		buf_append_char(&search->out, ',');
	if (search->has_fields)
		put_fields_as_json(search, row);
	else
		json_print(row, &search->out);
	if (search->format == FORMAT_NDJSON)
		buf_append_char(&search->out, '\n');
}

static void add_csv_cell(struct search *search, size_t column, struct span text)
{
	AUTO_DONE(buf) safe = BUF_INIT(1 << 20);

	if (search->is_terminal) {
		text_put_safe(&safe, text);
		text = buf_span(&safe);
	}
	if (column)
		buf_append_char(&search->out, ',');
	csv_put_cell(&search->out, text);
}

/* The row, when it is not what it was. */
static bool add_change(struct search *search, const struct json *row)
{
	size_t start = search->out.len;
	bool is_news;

	add_json_row(search, row);
	struct span text = span_skip(buf_span(&search->out), start);
	if (!changes_note(search->changes, json_string_of(json_get(row, "TrainingJobName")), text, &is_news))
		return false;
	if (!is_news)
		search->out.len = start;
	return true;
}

static bool add_row(struct search *search, const struct json *row)
{
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);

	if (search->changes)
		return add_change(search, row);
	if (search->format == FORMAT_JSON || search->format == FORMAT_NDJSON) {
		add_json_row(search, row);
		return true;
	}
	for (size_t i = 0; i < search->table.column_count; i++) {
		buf_reset(&text);
		job_field_put(row, search->table.columns[i].name, &search->style, &text);
		if (search->format == FORMAT_CSV)
			add_csv_cell(search, i, buf_span(&text));
		else if (!table_add_cell(&search->table, buf_span(&text)))
			return false;
	}
	if (search->format == FORMAT_CSV)
		buf_append_text(&search->out, "\n");
	return true;
}

static enum status flush(struct search *search, struct error *err)
{
	TRY(buf_status(&search->out, err));
	if (search->out.len &&
		(fwrite(search->out.ptr, 1, search->out.len, stdout) != search->out.len || fflush(stdout)))
		return error_set(err, ERR_IO, "cannot write the result: %s", strerror(errno));
	buf_reset(&search->out);
	return OK;
}

/* Of a list of jobs, or of an answer to Search. */
static const struct json *first_row(const struct json *page)
{
	return json_first(json_get(page, json_get(page, "Results") ? "Results" : "jobs"));
}

static const struct json *job_of(const struct json *row)
{
	const struct json *job = json_get(row, "TrainingJob");

	return job ? job : row;
}

static struct span next_page(const struct json *page)
{
	struct span cursor = json_string_of(json_get(page, "next_cursor"));

	return cursor.len ? cursor : json_string_of(json_get(page, "NextToken"));
}

/* *has_more: there is a next page, and it is wanted. */
static enum status take_page(struct search *search, bool *has_more, struct error *err)
{
	AUTO(json) page = NULL;
	double total;

	TRY(get_page(search, &page, err));
	const struct json *hits = json_get_path(page, "TotalHits.Value");
	if (json_number_of(hits ? hits : json_get(page, "total"), &total) && total >= 0) {
		search->has_total = true;
		search->total = (uint64_t)total;
	}
	for (const struct json *at = json_first(json_get(page, "explain")); at; at = json_next(at)) {
		buf_append_span(&search->out, json_key_of(at));
		buf_append_text(&search->out, ": ");
		text_put_safe(&search->out, json_string_of(at));
		buf_append_char(&search->out, '\n');
		for (const struct json *step = json_first(at); step; step = json_next(step)) {
			buf_append_text(&search->out, "  ");
			text_put_safe(&search->out, json_string_of(step));
			buf_append_char(&search->out, '\n');
		}
		search->row_count++;
	}
	for (const struct json *at = first_row(page); at && search->rest && search->format != FORMAT_COUNT;
		at = json_next(at)) {
		const struct json *row = job_of(at);
		if (search->logs.regex)
			TRY(search_logs_print(&search->logs, json_string_of(json_get(row, "TrainingJobName")), err));
		else if (!add_row(search, row))
			return error_no_memory(err);
		search->row_count++;
		search->rest--;
	}
	struct span next = next_page(page);
	*has_more = next.len && search->rest && search->format != FORMAT_COUNT;
	buf_reset(&search->cursor);
	buf_append_span(&search->cursor, next);
	return flush(search, err);
}

static void put_head(struct search *search)
{
	if (search->logs.regex || options_flag(search->options, "explain"))
		return;
	if (search->format == FORMAT_JSON)
		buf_append_text(&search->out, "{\"jobs\":[");
	for (size_t i = 0; search->format == FORMAT_CSV && i < search->table.column_count; i++) {
		if (i)
			buf_append_char(&search->out, ',');
		csv_put_cell(&search->out, search->table.columns[i].name);
	}
	if (search->format == FORMAT_CSV)
		buf_append_text(&search->out, "\n");
}

static size_t terminal_width(char *const *environment)
{
	struct winsize size;
	const char *columns = environment_find(environment, "COLUMNS");
	uint64_t stated;

	if (!isatty(STDOUT_FILENO))
		return 0;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		return size.ws_col;
	return columns && span_parse_u64(span_from(columns), &stated) && stated ? (size_t)stated : DEFAULT_WIDTH;
}

static bool has_colours(char *const *environment)
{
	const char *no_color = environment_find(environment, "NO_COLOR");
	const char *terminal = environment_find(environment, "TERM");

	return isatty(STDOUT_FILENO) && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
}

static void put_tail(struct search *search, char *const *environment)
{
	if (search->logs.regex || options_flag(search->options, "explain"))
		return;
	switch (search->format) {
	case FORMAT_TABLE:
		if (search->row_count)
			table_print(
				&search->table, terminal_width(environment), has_colours(environment), &search->out);
		break;
	case FORMAT_JSON:
		buf_append_char(&search->out, ']');
		if (search->has_total)
			buf_printf(&search->out, ",\"total\":%" PRIu64, search->total);
		buf_append_text(&search->out, "}\n");
		break;
	case FORMAT_COUNT:
		buf_printf(&search->out, "%" PRIu64 "\n", search->total);
		break;
	case FORMAT_CSV:
	case FORMAT_NDJSON:
		break;
	}
}

/* The query with a caret under the place, when the error has one. */
static void tell_error(const struct search *search, const struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_PATH_BYTES);

	client_say(search_program.name, "%s", err->text);
	if (err->column < 1 || (err->field[0] && strcmp(err->field, "q") != 0) || search->query.len == 0 ||
		(size_t)err->column > search->query.len + 1)
		return;
	struct span before = span_of(search->query.ptr, (size_t)err->column - 1);
	text_put_safe(&text, buf_span(&search->query));
	fprintf(stderr, "  %.*s\n  %*s^\n", SPAN_ARGS(buf_span(&text)), (int)text_columns(before), "");
}

/* The words of the command line, or "-": standard input. */
static enum status read_query(struct search *search, struct error *err)
{
	for (size_t i = 0; i < options_word_count(search->options); i++) {
		if (i)
			buf_append_char(&search->query, ' ');
		buf_append_text(&search->query, options_word(search->options, i));
	}
	if (span_equal(buf_span(&search->query), SPAN("-"))) {
		buf_reset(&search->query);
		TRY(search_read_whole(stdin, "standard input", &search->query, err));
		while (search->query.len && strchr("\r\n", search->query.ptr[search->query.len - 1]))
			search->query.len--;
	}
	return buf_status(&search->query, err);
}

static enum status prepare_watch(struct search *search, struct error *err)
{
	if (!options_flag(search->options, "watch"))
		return OK;
	if (search->logs.regex || options_flag(search->options, "explain"))
		return error_set(err, ERR_INVALID, "--watch is of jobs: not with --logs or --explain");
	if (search->is_terminal && search->format == FORMAT_TABLE)
		return OK;
	if (search->format != FORMAT_NDJSON && search->format != FORMAT_CSV)
		return error_set(
			err, ERR_INVALID, "--watch prints NDJSON into a pipe: not with --table, --json or --count");
	search->format = FORMAT_NDJSON;
	search->changes = changes_new();
	return search->changes ? OK : error_no_memory(err);
}

static enum status prepare(struct search *search, struct error *err)
{
	int64_t limit = options_i64(search->options, "limit");

	TRY(read_query(search, err));
	if (options_text(search->options, "sagemaker-json")) {
		if (search->query.len || options_text(search->options, "sort"))
			return error_set(
				err, ERR_INVALID, "--sagemaker-json is the whole search: not with a query or --sort");
		TRY(search_document_read(options_text(search->options, "sagemaker-json"), &search->document, err));
	}
	TRY(choose_format(search, err));
	TRY(read_fields(search, err));
	search->rest = limit ? (uint64_t)limit : UINT64_MAX;
	search->style =
		(struct job_field_style){.is_for_people = search->format == FORMAT_TABLE, .now_ms = clock_wall_ms()};
	TRY(client_open(&search->client, search->options, search_program.name, err));
	search->logs = (struct search_logs){.client = search->client,
		.regex = options_text(search->options, "logs"),
		.is_ndjson = search->format == FORMAT_NDJSON,
		.is_terminal = search->is_terminal};
	return prepare_watch(search, err);
}

static enum status run(struct search *search, char *const *environment, struct error *err)
{
	bool has_more = true;

	put_head(search);
	while (has_more)
		TRY(take_page(search, &has_more, err));
	put_tail(search, environment);
	TRY(flush(search, err));
	bool has_left = search->cursor.len && !search->rest && search->format != FORMAT_COUNT;
	bool is_asked = options_origin(search->options, "limit") != OPTION_FROM_DEFAULT; /* for so many */
	if (has_left && !is_asked && !options_flag(search->options, "watch"))
		client_say(search_program.name, "there are more jobs than these %" PRIu64 ": --limit 0 prints all",
			search->row_count);
	return OK;
}

/* Rows that match no more: {"TrainingJobName", "gone": true}. */
static enum status tell_gone(struct search *search, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(MAX_PATH_BYTES);

	while (changes_next_gone(search->changes, &name)) {
		struct json_writer w = json_writer_on(&search->out);
		json_object(&w);
		json_put_span(&w, "TrainingJobName", buf_span(&name));
		json_put_bool(&w, "gone", true);
		json_object_end(&w);
		buf_append_char(&search->out, '\n');
	}
	return flush(search, err);
}

/* Until it is ended, or refused; a server that is away for a while is waited for. */
static enum status watch(struct search *search, char *const *environment, struct error *err)
{
	uint64_t limit = search->rest;

	for (;; poll(NULL, 0, WATCH_MS)) {
		buf_reset(&search->cursor);
		buf_reset(&search->table.text);
		search->table.cell_count = 0;
		search->row_count = 0;
		search->rest = limit;
		search->style.now_ms = clock_wall_ms();
		if (!search->changes)
			buf_append_text(&search->out, "\x1b[H\x1b[J");
		enum status status = run(search, environment, err);
		if (status == OK && search->changes)
			status = tell_gone(search, err);
		buf_reset(&search->out);
		if (status != OK && !client_is_passing(status))
			return status;
		if (status != OK)
			client_say(search_program.name, "%s", err->text);
	}
}

static int exit_code(enum status status)
{
	if (status == ERR_INVALID || status == ERR_SEMANTIC)
		return EXIT_USAGE; /* the server's way to say that the query is wrong */
	return client_is_passing(status) ? EXIT_UNREACHABLE : EXIT_REFUSED;
}

/* What shells ask for. */
static int complete(struct search *search)
{
	const char *shell = options_text(search->options, "completion"),
		   *typed = options_text(search->options, "suggest");
	struct error err = {0};
	enum status status;

	if (shell) {
		status = completion_put_script(&search_program, shell, &search->out, &err);
	} else {
		status = client_open(&search->client, search->options, search_program.name, &err);
		if (status == OK)
			status = completion_put_queries(search->client, typed, &search->out, &err);
	}
	if (status == OK)
		status = flush(search, &err);
	if (status == OK)
		return EXIT_DONE;
	client_say(search_program.name, "%s", err.text);
	return exit_code(status);
}

/* `sm-search mcp`, and nothing else; a search for the word is `name:mcp`. */
static bool wants_mcp(const struct options *options)
{
	return options_word_count(options) == 1 && !strcmp(options_word(options, 0), "mcp");
}

static int relay_mcp(struct search *search)
{
	struct error err = {0};
	enum status status = client_open(&search->client, search->options, search_program.name, &err);
	bool is_open = status == OK;

	if (is_open)
		status = search_mcp_relay(search->client, &err);
	if (status == OK)
		return EXIT_DONE;
	client_say(search_program.name, "%s", err.text);
	return is_open ? EXIT_UNREACHABLE : EXIT_USAGE;
}

static int print_groups(struct search *search, char *const *environment)
{
	static const enum groups_format formats[FORMAT_COUNT] = {[FORMAT_TABLE] = GROUPS_TABLE,
		[FORMAT_CSV] = GROUPS_CSV,
		[FORMAT_JSON] = GROUPS_JSON,
		[FORMAT_NDJSON] = GROUPS_NDJSON};
	struct search_groups groups = {.client = search->client,
		.options = search->options,
		.query = buf_span(&search->query),
		.format = formats[search->format],
		.has_colours = has_colours(environment),
		.width = terminal_width(environment)};
	struct error err = {0};
	size_t found = 0;

	enum status status = search_groups_print(&groups, &found, &err);
	if (status != OK) {
		tell_error(search, &err);
		return exit_code(status);
	}
	return found ? EXIT_DONE : EXIT_NOTHING_MATCHED;
}

static int print_comparison(struct search *search, char *const *environment)
{
	struct search_compare compare = {.client = search->client,
		.options = search->options,
		.is_json = search->format == FORMAT_JSON || search->format == FORMAT_NDJSON,
		.is_csv = search->format == FORMAT_CSV,
		.has_colours = has_colours(environment),
		.width = terminal_width(environment)};
	struct error err = {0};

	enum status status = search_compare_print(&compare, &err);
	if (status == OK)
		return EXIT_DONE;
	client_say(search_program.name, "%s", err.text);
	return exit_code(status);
}

static int print_list(struct search *search, char *const *environment,
	enum status (*print)(struct search_list *list, struct error *err))
{
	static const enum list_format formats[FORMAT_COUNT] = {[FORMAT_TABLE] = LIST_TABLE,
		[FORMAT_CSV] = LIST_CSV,
		[FORMAT_JSON] = LIST_JSON,
		[FORMAT_NDJSON] = LIST_NDJSON}; /* --count was refused */
	struct search_list list = {.client = search->client,
		.options = search->options,
		.format = formats[search->format],
		.is_terminal = search->is_terminal,
		.has_colours = has_colours(environment),
		.width = terminal_width(environment)};
	struct error err = {0};

	enum status status = print(&list, &err);
	if (status == OK)
		return list.found ? EXIT_DONE : EXIT_NOTHING_MATCHED;
	client_say(search_program.name, "%s", err.text);
	/* the job is there, and has no such file */
	return status == ERR_NOT_FOUND && !strcmp(err.field, "path") ? EXIT_NOTHING_MATCHED : exit_code(status);
}

int search_run(const struct options *options, char *const *environment)
{
	AUTO_DONE(search)
	search = {.options = options,
		.query = BUF_INIT(MAX_PATH_BYTES),
		.cursor = BUF_INIT(MAX_PATH_BYTES),
		.out = BUF_INIT(MAX_OUTPUT_BYTES)};
	struct error err = {0};

	table_init(&search.table);
	if (options_text(options, "completion") || options_text(options, "suggest"))
		return complete(&search);
	if (wants_mcp(options))
		return relay_mcp(&search);
	bool wants_groups, wants_list, wants_show;
	if (search_groups_wanted(options, &wants_groups, &err) != OK ||
		search_list_wanted(options, &wants_list, &err) != OK ||
		search_show_wanted(options, &wants_show, &err) != OK || prepare(&search, &err) != OK) {
		client_say(search_program.name, "%s", err.text);
		return EXIT_USAGE;
	}
	if (wants_list || wants_show)
		return print_list(&search, environment, wants_show ? search_show_print : search_list_print);
	if (wants_groups)
		return print_groups(&search, environment);
	if (options_flag(options, "compare"))
		return print_comparison(&search, environment);
	enum status status =
		options_flag(options, "watch") ? watch(&search, environment, &err) : run(&search, environment, &err);
	if (status != OK) {
		tell_error(&search, &err);
		return exit_code(status);
	}
	if (search.logs.is_partial)
		client_say(search_program.name,
			"a log was too long to be searched to its end: what is printed is not all");
	if (search.logs.regex)
		return search.logs.found ? EXIT_DONE : EXIT_NOTHING_MATCHED;
	if (search.format == FORMAT_COUNT ? search.total == 0 : search.row_count == 0)
		return EXIT_NOTHING_MATCHED;
	return EXIT_DONE;
}
