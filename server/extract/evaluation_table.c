#include "extract/evaluation_table.h"

#include "extract/generic/cells.h"

#include <math.h>

enum { TAIL_BYTES = 96 /* "batch_size: auto (64,64,64,32)" */, MODEL_LINE_LEAST = 60 };

static bool is_near(const struct evaluation_table *table, uint64_t line)
{
	return line - table->line <= EVALUATION_TABLE_GAP_LINES;
}

static struct span task_of(const struct evaluation_table *table)
{
	return span_of(table->task, table->task_len);
}

/* ---- the line above it ---- */

/* What is between the parentheses of "hf (…), gen_kwargs: (". */
static bool find_arguments(struct span text, struct span *arguments)
{
	struct span tail = text.len > TAIL_BYTES ? span_skip(text, text.len - TAIL_BYTES) : text;

	if (text.len < MODEL_LINE_LEAST || span_find_char(tail, '_') < 0) /* nearly all lines end here */
		return false;
	ptrdiff_t begin = span_find(tail, SPAN(", batch_size: "));
	if (begin < 0 || (begin = span_find(text, SPAN(" ("))) < 0)
		return false;
	*arguments = span_skip(text, (size_t)begin + 2);
	ptrdiff_t end = span_find(*arguments, SPAN("), "));
	if (end < 0 || span_find(*arguments, SPAN(", num_fewshot: ")) < end)
		return false;
	arguments->len = (size_t)end;
	return true;
}

static bool take_model(struct evaluation_table *table, struct span text, uint64_t line)
{
	AUTO_DONE(buf) path = BUF_INIT(EVALUATION_PATH_BYTES);
	struct span arguments;

	if (!find_arguments(text, &arguments))
		return false;
	evaluation_append_model(evaluation_argument, &arguments, &path);
	table->columns = 0;
	table->line = line;
	table->path_len = path.failure ? 0 : (uint16_t)path.len;
	if (table->path_len)
		memcpy(table->path, path.ptr, path.len);
	return true;
}

/* ---- its head ---- */

static bool is_task_word(struct span cell)
{
	return span_equal(cell, SPAN("Tasks")) || span_equal(cell, SPAN("Groups")) || span_equal(cell, SPAN("Task"));
}

static void note_column(struct evaluation_table *table, const struct cells *cells, size_t i, size_t first)
{
	static const struct {
		struct span name;
		enum evaluation_column column;
	} names[] = {{SPAN("Filter"), EVALUATION_FILTER}, {SPAN("n-shot"), EVALUATION_SHOTS},
		{SPAN("Metric"), EVALUATION_METRIC}, {SPAN("Value"), EVALUATION_VALUE},
		{SPAN("Stderr"), EVALUATION_ERROR}};
	struct span cell = cells->items[i];

	for (size_t j = 0; j < sizeof names / sizeof *names; j++)
		if (span_equal(cell, names[j].name))
			table->at[names[j].column] = (uint8_t)(i - first + 1);
	if (!cell.len && span_equal(cells->items[i - 1], SPAN("Metric")))
		table->at[EVALUATION_BETTER] = (uint8_t)(i - first + 1);
}

/* What stands in front of it is a logger's. */
static bool take_head(struct evaluation_table *table, const struct cells *cells, uint64_t line)
{
	struct evaluation_table head = {.at = {[EVALUATION_TASK] = 1}};
	size_t first = 0;

	while (first < cells->count && !is_task_word(cells->items[first]))
		first++;
	for (size_t i = first + 1; i < cells->count; i++)
		note_column(&head, cells, i, first);
	if (!head.at[EVALUATION_METRIC] || !head.at[EVALUATION_VALUE])
		return false;
	bool is_of_another = table->columns && !span_equal(cells->items[first], SPAN("Groups"));
	if (is_of_another || !is_near(table, line))
		table->path_len = 0;
	table->line = line;
	table->columns = (uint8_t)(cells->count - first);
	table->has_scored_group = table->is_part = false;
	table->task_len = 0;
	memcpy(table->at, head.at, sizeof head.at);
	return true;
}

/* ---- its rows ---- */

static struct span cell_of(
	const struct evaluation_table *table, const struct cells *cells, enum evaluation_column column)
{
	if (!table->at[column])
		return SPAN("");
	return cells->items[cells->count - table->columns + table->at[column] - 1];
}

/* "- stem" is below the last group that has no dash. */
static bool take_task(struct evaluation_table *table, struct span name, bool has_score)
{
	bool is_below = span_starts_with(name, SPAN("- "));

	if (is_below)
		name = span_trim(span_skip(name, 2));
	if (!name.len || name.len > EVALUATION_NAME_BYTES || !span_is_utf8(name))
		return false;
	if (!is_below)
		table->has_scored_group = has_score;
	table->is_part = is_below && table->has_scored_group;
	memcpy(table->task, name.ptr, name.len);
	table->task_len = (uint16_t)name.len;
	return true;
}

/* With its filter, as evaluation.h has it. */
static bool take_metric(struct evaluation_table *table, const struct cells *cells, struct evaluation_score *out)
{
	struct span metric = cell_of(table, cells, EVALUATION_METRIC),
		    filter = cell_of(table, cells, EVALUATION_FILTER);
	size_t len = metric.len;

	if (!metric.len || metric.len + 1 + filter.len > EVALUATION_NAME_BYTES || !span_is_utf8(metric) ||
		!span_is_utf8(filter))
		return false;
	memcpy(table->metric, metric.ptr, metric.len);
	if (filter.len && !span_equal(filter, SPAN("none"))) {
		table->metric[len++] = ',';
		memcpy(table->metric + len, filter.ptr, filter.len);
		len += filter.len;
	}
	out->metric = span_of(table->metric, len);
	return true;
}

static void take_better(struct span sign, struct evaluation_score *out)
{
	bool is_up = span_equal(sign, SPAN("↑")), is_down = span_equal(sign, SPAN("↓"));

	out->is_lower = is_down || (!is_up && evaluation_is_lower(out->metric));
	out->lower_from = is_up || is_down ? EVALUATION_LOWER_STATED
			  : out->is_lower  ? EVALUATION_LOWER_NAME
					   : EVALUATION_LOWER_ASSUMED;
}

static bool take_row(
	struct evaluation_table *table, const struct cells *cells, uint64_t line, struct evaluation_score *out)
{
	struct span task = cell_of(table, cells, EVALUATION_TASK);
	double value, error;
	int64_t shots;

	bool has_value = span_parse_double(cell_of(table, cells, EVALUATION_VALUE), &value) && isfinite(value);
	table->line = line;
	if (task.len && !take_task(table, task, has_value))
		table->task_len = 0;
	*out = (struct evaluation_score){.path = span_of(table->path, table->path_len),
		.task = task_of(table),
		.value = has_value ? value : NAN,
		.error = -1,
		.samples = -1,
		.shots = -1,
		.is_part = table->is_part};
	if (!has_value || !table->task_len || !take_metric(table, cells, out))
		return false;
	if (span_parse_double(cell_of(table, cells, EVALUATION_ERROR), &error) && isfinite(error) && error >= 0)
		out->error = error;
	if (span_parse_i64(cell_of(table, cells, EVALUATION_SHOTS), &shots) && shots >= 0)
		out->shots = shots;
	take_better(cell_of(table, cells, EVALUATION_BETTER), out);
	return true;
}

bool evaluation_table_may_begin(struct span text)
{
	struct span trimmed = span_trim(text), arguments;

	if (!trimmed.len)
		return false;
	return trimmed.ptr[trimmed.len - 1] == '|' ? span_find(trimmed, SPAN("Metric")) >= 0
						   : find_arguments(trimmed, &arguments);
}

bool evaluation_table_see(struct evaluation_table *table, struct span text, uint64_t line, struct evaluation_score *out)
{
	struct span trimmed = span_trim(text);
	struct cells cells;

	if (!trimmed.len)
		return false;
	if (trimmed.ptr[trimmed.len - 1] != '|') {
		(void)take_model(table, trimmed, line);
		return false;
	}
	bool is_open = table->columns && is_near(table, line);
	if (!is_open && span_find(trimmed, SPAN("Metric")) < 0)
		return false;
	if (!cells_split(trimmed, CELLS_BARS, &cells) || take_head(table, &cells, line))
		return false;
	if (!is_open || cells.count < table->columns)
		return false;
	return take_row(table, &cells, line, out);
}

/* ---- the state ---- */

void evaluation_table_pack(const struct evaluation_table *table, struct buf *out)
{
	pack_u64(out, table->line);
	pack_u64(out, table->columns);
	for (int i = 0; i < EVALUATION_COLUMN_COUNT; i++)
		pack_u64(out, table->at[i]);
	pack_u64(out, table->is_part);
	pack_u64(out, table->has_scored_group);
	pack_span(out, span_of(table->path, table->path_len));
	pack_span(out, task_of(table));
}

void evaluation_table_unpack(struct evaluation_table *table, struct unpacker *in)
{
	uint64_t line = unpack_u64(in), columns = unpack_u64(in), largest = 0;

	*table = (struct evaluation_table){.line = line, .columns = (uint8_t)columns};
	for (int i = 0; i < EVALUATION_COLUMN_COUNT; i++) {
		uint64_t at = unpack_u64(in);
		largest = at > largest ? at : largest;
		table->at[i] = (uint8_t)at;
	}
	table->is_part = unpack_u64(in) != 0;
	table->has_scored_group = unpack_u64(in) != 0;
	struct span path = unpack_span(in), task = unpack_span(in);
	if (in->has_failed || columns > CELLS_MAX || largest > columns || path.len > EVALUATION_PATH_BYTES ||
		task.len > EVALUATION_NAME_BYTES) {
		in->has_failed = true;
		return;
	}
	table->path_len = (uint16_t)path.len;
	table->task_len = (uint16_t)task.len;
	memcpy(table->path, path.ptr, path.len);
	memcpy(table->task, task.ptr, task.len);
}
