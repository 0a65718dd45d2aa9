#include "cli/input/run_table.h"

#include "base/text/iso8601.h"

#include <math.h>

enum {
	NAME_MAX_BYTES = 255, /* of a metric, as the server takes them */
	SHOWN_BYTES = 60,
};

static const int64_t earliest_ms = 631152000000,
		     latest_ms = 7258118400000; /* 1990 to 2200, as the server takes times */
static const double largest_step = 9007199254740992; /* doubles hold all whole numbers up to it */

/* ---- records ---- */

size_t table_record(struct span text, bool is_end, size_t *lines)
{
	bool is_start = true, has_quotes = false, is_quoted = false; /* of the cell */

	*lines = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (is_start)
			has_quotes = is_quoted = c == '"';
		else if (c == '"' && has_quotes)
			is_quoted = !is_quoted; /* a quote that is doubled opens again at once */
		is_start = c == ',' && !is_quoted;
		*lines += c == '\n';
		if (c == '\n' && !is_quoted)
			return i + 1;
	}
	return is_end && !is_quoted ? text.len : 0;
}

void table_cells_done(struct table_cells *cells)
{
	mem_free(cells->items);
	buf_done(&cells->text);
	*cells = (struct table_cells){0};
}

/* Takes a cell off *rest; what is in quotes is written to the text, which has room and does not move. */
static struct span take_cell(struct span *rest, struct buf *text, bool *is_last)
{
	size_t from = text->len, at = 0;
	bool is_quoted = false, has_quotes = rest->len && rest->ptr[0] == '"';

	for (; at < rest->len && (is_quoted || rest->ptr[at] != ','); at++) {
		char c = rest->ptr[at];
		if (!has_quotes)
			continue;
		if (c == '"' && is_quoted && at + 1 < rest->len && rest->ptr[at + 1] == '"')
			buf_append_char(text, rest->ptr[++at]);
		else if (c == '"')
			is_quoted = !is_quoted;
		else
			buf_append_char(text, c);
	}
	struct span cell = has_quotes ? span_of(text->ptr + from, text->len - from) : span_of(rest->ptr, at);
	*is_last = at == rest->len;
	*rest = span_skip(*rest, at + !*is_last);
	return span_trim(cell);
}

bool table_cells_read(struct table_cells *cells, struct span record)
{
	bool is_last = false;

	while (record.len && (record.ptr[record.len - 1] == '\n' || record.ptr[record.len - 1] == '\r'))
		record.len--;
	cells->count = 0;
	if (cells->text.max_bytes < record.len + 1)
		cells->text.max_bytes = 2 * record.len + 1;
	buf_reset(&cells->text);
	if (!buf_reserve(&cells->text, record.len))
		return false;
	while (!is_last) {
		if (!mem_grow((void **)&cells->items, cells->count, &cells->cap, sizeof *cells->items))
			return false;
		cells->items[cells->count++] = take_cell(&record, &cells->text, &is_last);
	}
	return true;
}

/* ---- heads ---- */

void run_table_free(struct run_table *table)
{
	if (!table)
		return;
	arena_free(table->arena);
	mem_free(table);
}

const char *run_table_name(enum run_table_kind kind)
{
	switch (kind) {
	case RUN_TABLE_CHART:
		return "a chart of W&B's";
	case RUN_TABLE_HISTORY:
		return "a run's history of W&B's";
	case RUN_TABLE_METRICS:
		return "a table of metrics of MLflow's";
	case RUN_TABLE_NONE:
		break;
	}
	return "no table of runs";
}

static bool has_name(const struct table_cells *head, const char *name)
{
	for (size_t i = 0; i < head->count; i++)
		if (span_equal(head->items[i], span_from(name)))
			return true;
	return false;
}

/* Where the last " - " stands, which runs' names may hold as well; -1: nowhere. */
static ptrdiff_t dash_of(struct span name)
{
	for (size_t i = name.len < 3 ? 0 : name.len - 2; i-- > 0;)
		if (memcmp(name.ptr + i, " - ", 3) == 0)
			return (ptrdiff_t)i;
	return -1;
}

static bool is_bound(struct span name)
{
	return span_ends_with(name, SPAN("__MIN")) || span_ends_with(name, SPAN("__MAX"));
}

/* Each column but the first is of a run, and of an x axis that is not Step the bounds prove that it is a chart. */
static bool is_chart(const struct table_cells *head)
{
	bool has_bounds = false;

	for (size_t i = 1; i < head->count; i++) {
		if (dash_of(head->items[i]) <= 0)
			return false;
		has_bounds = has_bounds || is_bound(head->items[i]);
	}
	return head->count > 1 && (has_bounds || span_equal(head->items[0], SPAN("Step")));
}

static enum run_table_kind kind_of(const struct table_cells *head)
{
	if (has_name(head, "key") && has_name(head, "value") && has_name(head, "timestamp") && has_name(head, "step"))
		return RUN_TABLE_METRICS;
	if (has_name(head, "_step") && head->count > 1)
		return RUN_TABLE_HISTORY;
	return is_chart(head) ? RUN_TABLE_CHART : RUN_TABLE_NONE;
}

/* What the server would not take as a metric's name is passed over, and so are the clocks of a run. */
static bool is_metric(struct span name)
{
	bool is_plain = name.len > 0 && name.len <= NAME_MAX_BYTES && span_is_utf8(name) &&
			span_find_char(name, '{') < 0 && !span_equal(name, SPAN("_step")) &&
			!span_equal(name, SPAN("_runtime")) && !span_equal(name, SPAN("_timestamp"));

	for (size_t i = 0; i < name.len; i++)
		is_plain = is_plain && (unsigned char)name.ptr[i] >= ' ' && name.ptr[i] != 127;
	return is_plain;
}

static void name_chart_column(struct table_column *column, size_t index)
{
	ptrdiff_t dash = dash_of(column->name);

	if (index == 0)
		column->role = TABLE_STEP;
	if (index == 0 || is_bound(column->name))
		return;
	column->run = span_trim(span_of(column->name.ptr, (size_t)dash));
	column->metric = span_trim(span_skip(column->name, (size_t)dash + 3));
	column->role = column->run.len && is_metric(column->metric) ? TABLE_VALUE : TABLE_OTHER;
}

static void name_history_column(struct run_table *table, struct table_column *column)
{
	if (span_equal(column->name, SPAN("_step"))) {
		column->role = TABLE_STEP;
	} else if (span_equal(column->name, SPAN("_timestamp"))) {
		column->role = TABLE_TIME;
		table->has_times = true;
	} else if (is_metric(column->name)) {
		column->metric = column->name;
		column->role = TABLE_VALUE;
	}
}

static void name_metrics_column(struct run_table *table, struct table_column *column)
{
	static const struct {
		const char *name;
		enum table_column_role role;
	} known[] = {{"key", TABLE_KEY}, {"value", TABLE_VALUE}, {"timestamp", TABLE_TIME}, {"step", TABLE_STEP},
		{"run_id", TABLE_RUN}, {"run_uuid", TABLE_RUN}};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (span_equal(column->name, span_from(known[i].name)))
			column->role = known[i].role;
	table->has_runs |= column->role == TABLE_RUN;
	table->has_times = true;
}

/* W&B's charts over time bear no steps. */
static enum status check_axis(const struct run_table *table, struct error *err)
{
	struct span axis = table->columns[0].name;

	if (table->kind != RUN_TABLE_CHART ||
		!(span_starts_with(axis, SPAN("Relative Time")) || span_starts_with(axis, SPAN("Wall Time"))))
		return OK;
	return error_set(err, ERR_INVALID,
		"a chart of W&B's over '%.*s', which holds no steps: export it with Step as its x axis",
		SPAN_ARGS(span_cut(axis, SHOWN_BYTES)));
}

enum status run_table_new(struct run_table **out, const struct table_cells *head, struct error *err)
{
	AUTO(run_table) table = mem_zeroed(sizeof *table);

	if (!table || !(table->arena = arena_new()))
		return error_no_memory(err);
	table->kind = kind_of(head);
	table->columns = arena_alloc(table->arena, head->count * sizeof *table->columns);
	if (!table->columns)
		return error_no_memory(err);
	table->has_runs = table->kind == RUN_TABLE_CHART;
	for (; table->count < head->count && table->kind != RUN_TABLE_NONE; table->count++) {
		struct table_column *column = &table->columns[table->count];
		struct span name = arena_copy(table->arena, head->items[table->count]);
		*column = (struct table_column){TABLE_OTHER, SPAN(""), SPAN(""), name};
		if (!name.ptr)
			return error_no_memory(err);
		if (table->kind == RUN_TABLE_CHART)
			name_chart_column(column, table->count);
		else if (table->kind == RUN_TABLE_HISTORY)
			name_history_column(table, column);
		else
			name_metrics_column(table, column);
	}
	if (table->count)
		TRY(check_axis(table, err));
	*out = TAKE(table);
	return OK;
}

/* ---- rows ---- */

static bool parse_step(struct span cell, int64_t *step)
{
	double value;

	if (span_parse_i64(cell, step))
		return true;
	if (!span_parse_double(cell, &value) || !(fabs(value) <= largest_step) || value != floor(value))
		return false;
	*step = (int64_t)value;
	return true;
}

/* Seconds, milliseconds, or as ISO 8601 has it; what no run can have been at is not known. */
static int64_t parse_time(struct span cell)
{
	double value;
	int64_t ts_ms = 0;

	if (span_parse_double(cell, &value)) {
		double ms = fabs(value) < 1e11 ? value * 1000 : value;
		ts_ms = fabs(ms) < 1e15 ? (int64_t)llround(ms) : 0;
	} else if (!iso8601_parse(cell, &ts_ms)) {
		return 0;
	}
	return ts_ms >= earliest_ms && ts_ms < latest_ms ? ts_ms : 0;
}

static enum status read_row(
	const struct run_table *table, const struct table_cells *cells, struct table_point *point, struct error *err)
{
	bool has_step = false;

	for (size_t i = 0; i < table->count; i++) {
		struct span cell = cells->items[i];
		switch (table->columns[i].role) {
		case TABLE_STEP:
			has_step = parse_step(cell, &point->step);
			if (!has_step)
				return error_set(err, ERR_INVALID, "'%.*s' in column '%.*s' is no step",
					SPAN_ARGS(span_cut(cell, SHOWN_BYTES)),
					SPAN_ARGS(span_cut(table->columns[i].name, SHOWN_BYTES)));
			break;
		case TABLE_TIME:
			point->ts_ms = parse_time(cell);
			break;
		case TABLE_RUN:
			point->run = cell;
			break;
		case TABLE_KEY:
			if (!is_metric(cell))
				return error_set(err, ERR_INVALID, "'%.*s' is no name of a metric",
					SPAN_ARGS(span_cut(cell, SHOWN_BYTES)));
			point->metric = cell;
			break;
		case TABLE_VALUE:
		case TABLE_OTHER:
			break;
		}
	}
	return OK;
}

enum status run_table_read(const struct run_table *table, const struct table_cells *cells,
	void (*take)(void *context, const struct table_point *point), void *context, struct table_row *row,
	struct error *err)
{
	struct table_point point = {.run = SPAN(""), .metric = SPAN("")};

	*row = (struct table_row){0};
	if (cells->count != table->count)
		return error_set(err, ERR_INVALID, "%zu columns, where the head has %zu", cells->count, table->count);
	TRY(read_row(table, cells, &point, err));
	if (table->kind == RUN_TABLE_METRICS && table->has_runs && !point.run.len)
		return error_set(err, ERR_INVALID, "no run_id");
	for (size_t i = 0; i < table->count; i++) {
		const struct table_column *column = &table->columns[i];
		if (column->role != TABLE_VALUE || !cells->items[i].len)
			continue;
		if (column->metric.len)
			point.metric = column->metric;
		if (column->run.len)
			point.run = column->run;
		if (span_parse_double(cells->items[i], &point.value))
			take(context, &point);
		else if (!row->odd_cells++)
			row->odd_column = i;
	}
	return OK;
}
