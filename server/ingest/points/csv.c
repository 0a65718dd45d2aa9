/*
 * CSV with a head. Long: a column "metric" (or "key", MLflow's word) and one "value"; wide: each column that is nothing else is a
 * metric (step,loss,lr; W&B's _step and _timestamp). A cell that is empty is no point; a text within quotes has no line end.
 * Source: RFC 4180
 */
#include "ingest/points/points_text.h"

#include <stdio.h>

enum { COLUMNS_MAX = 4096 };
enum column_kind {
	COLUMN_METRIC,
	COLUMN_VALUE,
	COLUMN_STEP,
	COLUMN_TIME,
	COLUMN_STREAM,
	COLUMN_IGNORED,
	COLUMN_NUMBER
};

struct csv_column {
	enum column_kind kind;
	struct span metric; /* of a NUMBER, in its stored form */
};

struct csv_columns {
	struct csv_column *items;
	size_t count;
	bool is_long;
};

/* In any case of letters. Names of runs and their clocks are no metrics. */
static const struct {
	const char *name;
	enum column_kind kind;
} known[] = {{"metric", COLUMN_METRIC}, {"key", COLUMN_METRIC}, {"value", COLUMN_VALUE}, {"step", COLUMN_STEP},
	{"_step", COLUMN_STEP}, {"global_step", COLUMN_STEP}, {"trainer/global_step", COLUMN_STEP},
	{"iteration", COLUMN_STEP}, {"ts_ms", COLUMN_TIME}, {"timestamp", COLUMN_TIME}, {"_timestamp", COLUMN_TIME},
	{"time", COLUMN_TIME}, {"wall time", COLUMN_TIME}, {"wall_time", COLUMN_TIME}, {"stream", COLUMN_STREAM},
	{"job", COLUMN_IGNORED}, {"run_id", COLUMN_IGNORED}, {"run_uuid", COLUMN_IGNORED}, {"is_nan", COLUMN_IGNORED},
	{"_runtime", COLUMN_IGNORED}, {"", COLUMN_IGNORED}};

/* Takes a cell off *rest, its quotes off it; *is_last: there is none behind it. False: a quote without its other. */
static bool next_cell(struct span *rest, struct buf *scratch, struct span *cell, bool *is_last)
{
	size_t at = 0;

	if (!rest->len || rest->ptr[0] != '"') {
		ptrdiff_t comma = span_find_char(*rest, ',');
		at = comma < 0 ? rest->len : (size_t)comma;
		*cell = span_trim(span_of(rest->ptr, at));
	} else {
		size_t from = scratch->len;
		for (at = 1; at < rest->len; at++) {
			if (rest->ptr[at] == '"' && (at + 1 == rest->len || rest->ptr[at + 1] != '"'))
				break;
			at += rest->ptr[at] == '"';
			buf_append_char(scratch, rest->ptr[at]);
		}
		if (at == rest->len || (at + 1 < rest->len && rest->ptr[at + 1] != ','))
			return false;
		at++;
		*cell = span_of(scratch->ptr ? scratch->ptr + from : "", scratch->len - from);
	}
	*is_last = at == rest->len;
	*rest = span_skip(*rest, at + !*is_last);
	return true;
}

static enum status name_column(
	struct ingest_parser *parser, struct csv_column *column, struct span cell, struct error *err)
{
	column->kind = COLUMN_NUMBER;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (span_equal_fold(cell, span_from(known[i].name)))
			column->kind = known[i].kind;
	if (column->kind != COLUMN_NUMBER && column->kind != COLUMN_VALUE)
		return OK;
	buf_reset(&parser->metric);
	TRY(ingest_metric_name(cell, &parser->metric, err));
	column->metric = arena_copy(parser->arena, buf_span(&parser->metric));
	return column->metric.ptr ? OK : error_no_memory(err);
}

static enum status read_columns(
	struct ingest_parser *parser, struct csv_columns *columns, struct span line, struct error *err)
{
	struct span cell;
	bool is_last = false, has_metric = false, has_number = false;

	while (!is_last) {
		buf_reset(&parser->text);
		if (columns->count == COLUMNS_MAX)
			return error_set(err, ERR_TOO_LARGE, "more than %d columns", COLUMNS_MAX);
		if (!next_cell(&line, &parser->text, &cell, &is_last))
			return error_set(err, ERR_INVALID, "line %llu: column %zu: a quote has no end",
				(unsigned long long)parser->line_number, columns->count + 1);
		struct csv_column *column = &columns->items[columns->count++];
		TRY(name_column(parser, column, cell, err));
		has_metric = has_metric || column->kind == COLUMN_METRIC;
		has_number = has_number || column->kind == COLUMN_NUMBER || column->kind == COLUMN_VALUE;
		columns->is_long = columns->is_long || column->kind == COLUMN_VALUE;
	}
	columns->is_long = columns->is_long && has_metric;
	if (has_number && (!has_metric || columns->is_long))
		return OK;
	return error_set(err, ERR_INVALID,
		"line %llu: the head of CSV names no numbers: expected step,loss,… or metric,step,value",
		(unsigned long long)parser->line_number);
}

static enum status take_head(struct ingest_parser *parser, struct span line, struct error *err)
{
	static const struct span mark = {"\xef\xbb\xbf", 3}; /* spreadsheets begin with it */
	struct csv_columns *columns = arena_alloc(parser->arena, sizeof *columns);

	if (span_starts_with(line, mark))
		line = span_skip(line, mark.len);
	parser->is_head_bad = true;
	if (columns)
		*columns = (struct csv_columns){
			.items = arena_alloc(parser->arena, COLUMNS_MAX * sizeof(struct csv_column))};
	if (!columns || !columns->items)
		return error_no_memory(err);
	TRY(read_columns(parser, columns, line, err));
	parser->is_head_bad = false;
	parser->columns = columns;
	return OK;
}

struct row {
	struct span metric, value, stream;
	int64_t step, ts_ms;
};

/* What is not a number of its own; those come when the whole row is known to be good. */
static enum status read_cell(struct row *row, enum column_kind kind, struct span cell, struct error *err)
{
	if (kind == COLUMN_METRIC)
		row->metric = cell;
	else if (kind == COLUMN_VALUE)
		row->value = cell;
	else if (kind == COLUMN_STREAM)
		row->stream = cell;
	else if (kind == COLUMN_STEP && cell.len && !points_text_step(cell, &row->step))
		return error_set(err, ERR_INVALID, "'%.*s' is no step", (int)(cell.len < 60 ? cell.len : 60), cell.ptr);
	else if (kind == COLUMN_TIME && cell.len && !ingest_parse_time(cell, &row->ts_ms))
		return error_set(err, ERR_INVALID, "'%.*s' is no time between 1990 and 2200",
			(int)(cell.len < 60 ? cell.len : 60), cell.ptr);
	return OK;
}

static enum status read_row(struct ingest_parser *parser, struct span line, struct row *row, struct error *err)
{
	const struct csv_columns *columns = parser->columns;
	size_t count = 0;
	bool is_last = false;
	struct span cell;

	buf_reset(&parser->text);
	buf_reserve(&parser->text, line.len); /* cells point into it: it must not move */
	while (!is_last) {
		if (!next_cell(&line, &parser->text, &cell, &is_last))
			return error_set(err, ERR_INVALID, "column %zu: a quote has no end", count + 1);
		if (count < columns->count)
			TRY(read_cell(row, columns->items[count].kind, cell, err));
		count++;
	}
	return count == columns->count
		       ? OK
		       : error_set(err, ERR_INVALID, "%zu columns, where the head has %zu", count, columns->count);
}

static enum status add_cell(struct ingest_parser *parser, struct batch *batch, const struct row *row,
	struct span metric, struct span cell, struct error *err)
{
	char why[160];
	double value;

	if (!cell.len)
		return OK;
	if (span_parse_double(cell, &value))
		return points_text_add(parser, batch, row->stream, metric, row->step, row->ts_ms, value, err);
	snprintf(why, sizeof why, "%.*s: '%.*s' is no number", (int)(metric.len < 60 ? metric.len : 60), metric.ptr,
		(int)(cell.len < 60 ? cell.len : 60), cell.ptr);
	points_text_reject(parser, batch, why);
	return OK;
}

static enum status add_wide(
	struct ingest_parser *parser, struct batch *batch, const struct row *row, struct span line, struct error *err)
{
	const struct csv_columns *columns = parser->columns;
	AUTO_DONE(buf) scratch = BUF_INIT(parser->options.max_points_bytes);
	bool is_last = false;
	struct span cell;

	for (size_t i = 0; i < columns->count && !is_last; i++) {
		buf_reset(&scratch);
		next_cell(&line, &scratch, &cell, &is_last); /* was good a moment ago */
		if (columns->items[i].kind == COLUMN_NUMBER || columns->items[i].kind == COLUMN_VALUE)
			TRY(add_cell(parser, batch, row, columns->items[i].metric, cell, err));
	}
	return buf_status(&scratch, err);
}

static enum status take_line(struct ingest_parser *parser, struct batch *batch, struct span line, struct error *err)
{
	struct row row = {.step = NO_STEP, .ts_ms = NO_TIME, .stream = SPAN("")};

	if (!span_trim(line).len)
		return OK;
	if (!parser->columns)
		return take_head(parser, line, err);
	TRY(read_row(parser, line, &row, err));
	TRY(buf_status(&parser->text, err));
	if (row.stream.len)
		TRY(ingest_check_name("stream", row.stream, parser->options.max_name_bytes, err));
	if (!parser->columns->is_long)
		return add_wide(parser, batch, &row, line, err);
	buf_reset(&parser->metric);
	TRY(ingest_metric_name(row.metric, &parser->metric, err));
	return add_cell(parser, batch, &row, buf_span(&parser->metric), row.value, err);
}

static enum status open_csv(struct ingest_parser **out, const struct ingest_options *options, struct error *err)
{
	return points_text_open(out, options, take_line, err);
}

const struct ingest_protocol ingest_csv = {.name = "csv",
	.open = open_csv,
	.feed = points_text_feed,
	.finish = points_text_finish,
	.warning = points_text_warning,
	.free = points_text_free};
