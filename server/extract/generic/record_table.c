#include "extract/generic/record_table.h"

#include "extract/generic/guess.h"
#include "extract/generic/pair.h"

/* The columns that count. */
struct table_columns {
	size_t step; /* the finest; SIZE_MAX: none */
	size_t epoch; /* beside it */
	bool is_epoch; /* the step is the epoch */
};

static struct table_columns find_counters(const struct cells *cells)
{
	struct table_columns columns = {.step = SIZE_MAX, .epoch = SIZE_MAX};
	enum counter_word best = COUNTER_NONE;

	for (size_t i = 0; i < cells->count; i++) {
		enum counter_word rank = pair_counter(cells->items[i]);
		if (span_equal(cells->items[i], SPAN("#")))
			rank = COUNTER_ITERATION;
		if (rank == COUNTER_EPOCH && columns.epoch == SIZE_MAX)
			columns.epoch = i;
		if (rank > best) {
			best = rank;
			columns.step = i;
		}
	}
	columns.is_epoch = best == COUNTER_EPOCH;
	if (best == COUNTER_BATCH && columns.epoch == SIZE_MAX)
		columns.step = SIZE_MAX; /* how large one is, in a table of measurements */
	return columns;
}

static bool is_name(struct span cell)
{
	double value;

	return cell.len <= GENERIC_NAME_MAX_BYTES && (!cell.len || !number_parse(cell, &value));
}

/* Names alone, of which one counts and one is a metric's. */
static bool has_names_of_rows(const struct cells *cells)
{
	struct table_columns columns = find_counters(cells);
	bool has_metric = false;

	if (cells->count < 2 || columns.step == SIZE_MAX)
		return false;
	for (size_t i = 0; i < cells->count; i++) {
		if (!is_name(cells->items[i]) || !cells->items[i].len)
			return false;
		has_metric |= guess_points_needed(cells->items[i], true) == 1;
	}
	return has_metric;
}

/* "Validate metric" | "DataLoader 0" of Lightning: the split stands in front. */
static enum split split_of_first(struct span cell)
{
	if (!span_ends_with(cell, SPAN(" metric")))
		return SPLIT_NONE;
	cell.len -= SPAN(" metric").len;
	return span_equal_fold(cell, SPAN("validate")) ? SPLIT_VAL : split_of(cell);
}

/* Where the columns of splits begin: 0 when rows have a name in front of them that the header does not. SIZE_MAX: it is none. */
static size_t first_split(const struct cells *cells)
{
	size_t first = cells->count && split_of(cells->items[0]) == SPLIT_NONE;

	if (cells->count == 2 && split_of_first(cells->items[0]) != SPLIT_NONE &&
		span_equal(cells->items[1], SPAN("DataLoader 0")))
		return 1;
	if (cells->count < first + 2)
		return SIZE_MAX;
	for (size_t i = first; i < cells->count; i++)
		if (split_of(cells->items[i]) == SPLIT_NONE)
			return SIZE_MAX;
	return first;
}

/* A sentence may have all the words of a header: one blank between names is enough only where the first of them counts. */
static bool is_header(struct span text, enum cells_form form, enum table_kind *kind)
{
	struct cells cells;

	if (!cells_split(text, form, &cells))
		return false;
	bool is_certain = form != CELLS_BLANKS || (cells.count && pair_counter(cells.items[0]) != COUNTER_NONE);
	*kind = is_certain && has_names_of_rows(&cells)                 ? TABLE_ROWS
		: form == CELLS_BARS && first_split(&cells) != SIZE_MAX ? TABLE_SPLITS
									: TABLE_NONE;
	return *kind != TABLE_NONE;
}

static bool is_alive(const struct record_table *table, uint64_t line)
{
	uint64_t lines = table->kind == TABLE_SPLITS ? TABLE_SPLIT_LINES : TABLE_LINES;

	return table->kind != TABLE_NONE && line - table->line <= lines;
}

static struct span header_of(const struct record_table *table)
{
	return span_of(table->header, table->header_len);
}

static bool keep_header(
	struct record_table *table, struct span text, enum cells_form form, enum table_kind kind, uint64_t line)
{
	bool is_new = !span_equal(text, header_of(table));

	memcpy(table->header, text.ptr, text.len);
	table->header_len = (uint16_t)text.len;
	table->kind = (uint8_t)kind;
	table->form = (uint8_t)form;
	table->has_rows = false;
	table->line = line;
	return is_new;
}

bool record_table_take_header(struct record_table *table, struct span text, uint64_t line, bool *is_new)
{
	enum cells_form forms[] = {CELLS_GAPS, CELLS_BLANKS};
	bool has_bar = cells_has_bar(text);
	enum table_kind kind;

	if (text.len > TABLE_HEADER_MAX_BYTES || !span_is_utf8(text))
		return false;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		enum cells_form form = has_bar ? CELLS_BARS : forms[i];
		if (form == CELLS_BLANKS && table->has_rows && is_alive(table, line))
			return false;
		if (is_header(text, form, &kind)) {
			*is_new = keep_header(table, text, form, kind, line);
			return true;
		}
	}
	return false;
}

bool record_table_is_too_large(struct span text)
{
	struct cells cells;
	enum cells_form form = cells_has_bar(text) ? CELLS_BARS : CELLS_GAPS;
	bool is_long = text.len > TABLE_HEADER_MAX_BYTES;

	bool is_whole = cells_split(span_cut(text, TABLE_HEADER_MAX_BYTES), form, &cells);
	if (is_whole && !is_long)
		return false;
	cells.count -= is_whole && cells.count; /* the last one may be a part of one */
	return has_names_of_rows(&cells);
}

/* Two names of a header may have one blank between them or in them: the row tells. */
static bool split_both(const struct record_table *table, struct span text, struct cells *names, struct cells *row)
{
	struct span header = header_of(table);

	if (table->form == CELLS_BARS)
		return cells_split(header, CELLS_BARS, names) && cells_split(text, CELLS_BARS, row);
	if (!cells_split(header, CELLS_GAPS, names) || !cells_split(text, CELLS_BLANKS, row))
		return false;
	if (names->count == row->count || !cells_split(header, CELLS_BLANKS, names))
		return names->count == row->count;
	return names->count == row->count || (cells_split(header, CELLS_GAPS, names) &&
						     cells_split(text, CELLS_GAPS, row) && names->count == row->count);
}

/* "12", "12/300" */
static bool read_count(struct span cell, int64_t *count, int64_t *total)
{
	struct span first;

	if (!span_next(&cell, '/', &first) || !number_parse_step(span_trim(first), count))
		return false;
	int64_t last;
	if (cell.len && number_parse_step(span_trim(cell), &last) && last > 0)
		*total = last;
	return true;
}

static bool take_counters(
	const struct cells *row, const struct table_columns *columns, struct generic_counters *counters)
{
	*counters = (struct generic_counters){.where = row->items[columns->step]};
	if (!read_count(row->items[columns->step], &counters->step, &counters->total))
		return false;
	int64_t total;
	counters->has_step = true;
	counters->is_epoch = columns->is_epoch;
	if (columns->is_epoch)
		counters->epoch = counters->step;
	counters->has_epoch = columns->is_epoch || (columns->epoch != SIZE_MAX && read_count(row->items[columns->epoch],
											  &counters->epoch, &total));
	return true;
}

/* Numbers, but for what is missing: a sentence of as many words is no row. */
static bool is_row(const struct tokens *tokens, const struct cells *row)
{
	size_t numbers = 0;

	for (size_t i = 0; i < row->count; i++)
		numbers += cell_find_number(tokens, row->items[i]) != SIZE_MAX;
	return 2 * numbers > row->count;
}

struct span record_table_row_text(struct span text)
{
	ptrdiff_t bar = span_find(text, SPAN(": 100%"));

	return bar > 0 ? span_of(text.ptr, (size_t)bar) : text;
}

static bool take_row(const struct record_table *table, const struct tokens *tokens, struct generic_line *out)
{
	struct generic_counters counters;
	struct cells names, row;

	if (!split_both(table, record_table_row_text(tokens->text), &names, &row) || names.count != row.count ||
		!is_row(tokens, &row))
		return false;
	struct table_columns columns = find_counters(&names);
	if (columns.step == SIZE_MAX || !take_counters(&row, &columns, &counters))
		return false;
	pair_begin(out);
	out->counters = counters;
	for (size_t i = 0; i < row.count; i++)
		if (i != columns.step && i != columns.epoch)
			(void)pair_add(out, SPLIT_NONE, names.items[i], tokens, row.items[i]);
	return out->count > 0;
}

/* One name, and a value of each split. */
static bool take_splits(const struct record_table *table, const struct tokens *tokens, struct generic_line *out)
{
	struct cells names, row;

	if (!split_both(table, tokens->text, &names, &row))
		return false;
	size_t first = first_split(&names), shift = first == 0;
	enum split split = names.count ? split_of_first(names.items[0]) : SPLIT_NONE;
	if (first == SIZE_MAX || row.count != names.count + shift || !is_name(row.items[0]) || !row.items[0].len)
		return false;
	pair_begin(out);
	for (size_t i = first; i < names.count; i++)
		(void)pair_add(out, split != SPLIT_NONE ? split : split_of(names.items[i]), row.items[0], tokens,
			row.items[i + shift]);
	return out->count > 0;
}

bool record_table_take_row(
	struct record_table *table, const struct tokens *tokens, uint64_t line, struct generic_line *out)
{
	if (!is_alive(table, line))
		return false;
	bool is_row = table->kind == TABLE_ROWS ? take_row(table, tokens, out) : take_splits(table, tokens, out);
	if (is_row) {
		table->line = line;
		table->has_rows = true;
	}
	return is_row;
}

void record_table_copy(struct record_table *to, const struct record_table *from)
{
	to->kind = from->kind;
	to->form = from->form;
	to->has_rows = from->has_rows;
	to->line = from->line;
	to->header_len = from->header_len;
	memcpy(to->header, from->header, from->header_len);
}

void record_table_pack(const struct record_table *table, struct buf *out)
{
	pack_u64(out, table->kind);
	pack_u64(out, table->form);
	pack_u64(out, table->has_rows);
	pack_u64(out, table->line);
	pack_span(out, header_of(table));
}

void record_table_unpack(struct record_table *table, struct unpacker *in)
{
	uint64_t kind = unpack_u64(in), form = unpack_u64(in), has_rows = unpack_u64(in), line = unpack_u64(in);
	struct span header = unpack_span(in);

	if (in->has_failed || kind > TABLE_SPLITS || form > CELLS_BLANKS || header.len > TABLE_HEADER_MAX_BYTES) {
		in->has_failed = true;
		return;
	}
	if (kind == TABLE_NONE)
		return;
	(void)keep_header(table, header, (enum cells_form)form, (enum table_kind)kind, line);
	table->has_rows = has_rows != 0;
}
