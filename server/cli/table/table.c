#include "cli/table/table.h"

#include "cli/table/char_columns.h"

enum { MAX_TEXT_BYTES = 256 << 20, GAP_COLUMNS = 2, MIN_COLUMNS = 8 };

void table_init(struct table *table)
{
	*table = (struct table){.text = BUF_INIT(MAX_TEXT_BYTES)};
}

void table_done(struct table *table)
{
	buf_done(&table->text);
	mem_free(table->ends);
	table->ends = NULL;
}

bool table_add_cell(struct table *table, struct span text)
{
	if (!mem_grow((void **)&table->ends, table->cell_count, &table->cell_cap, sizeof *table->ends))
		return false;
	text_put_safe(&table->text, text);
	table->ends[table->cell_count++] = table->text.len;
	return table->text.failure == OK;
}

static uint32_t decode(struct span text, size_t len)
{
	static const unsigned char first_mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = (unsigned char)text.ptr[0] & first_mask[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)text.ptr[i] & 0x3f);
	return code;
}

/* C0, DEL, C1, and the marks that turn the direction of what follows. */
static bool is_unsafe(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || code == 0x2028 ||
	       code == 0x2029;
}

void text_put_safe(struct buf *out, struct span text)
{
	while (text.len) {
		size_t len = span_utf8_length(text);
		if (len == 0 || is_unsafe(decode(text, len)))
			buf_append_char(out, '?');
		else
			buf_append(out, text.ptr, len);
		text = span_skip(text, len ? len : 1);
	}
}

size_t text_columns(struct span text)
{
	size_t columns = 0;

	while (text.len) {
		size_t len = span_utf8_length(text);
		columns += len ? char_columns(decode(text, len)) : 1;
		text = span_skip(text, len ? len : 1);
	}
	return columns;
}

void text_put_duration(struct buf *out, double seconds, bool is_coarse)
{
	long long s = (long long)seconds;

	if (seconds < 60 && !is_coarse)
		buf_printf(out, "%.3gs", seconds < 59.95 ? seconds : 59.9);
	else if (s < 60)
		buf_printf(out, "%llds", s);
	else if (s < 3600 && is_coarse)
		buf_printf(out, "%lldm", s / 60);
	else if (s < 3600)
		buf_printf(out, "%lldm%02llds", s / 60, s % 60);
	else if (s < 86400)
		buf_printf(out, "%lldh%02lldm", s / 3600, s / 60 % 60);
	else
		buf_printf(out, "%lldd%02lldh", s / 86400, s / 3600 % 24);
}

static struct span cell_at(const struct table *table, size_t index)
{
	size_t start = index ? table->ends[index - 1] : 0;

	return span_of(table->text.ptr + start, table->ends[index] - start);
}

static size_t total_width(const struct table *table, const size_t *widths)
{
	size_t total = 0;

	for (size_t i = 0; i < table->column_count; i++)
		total += widths[i] + (i ? GAP_COLUMNS : 0);
	return total;
}

/* Takes from the widest text column until the table fits, or all are as narrow as is still of use. */
static void shrink(const struct table *table, size_t width, size_t *widths)
{
	while (total_width(table, widths) > width) {
		size_t widest = table->column_count;
		for (size_t i = 0; i < table->column_count; i++)
			if (!table->columns[i].is_number && widths[i] > MIN_COLUMNS &&
				(widest == table->column_count || widths[i] > widths[widest]))
				widest = i;
		if (widest == table->column_count)
			return;
		widths[widest]--;
	}
}

static void measure(const struct table *table, size_t width, size_t *widths)
{
	for (size_t i = 0; i < table->column_count; i++)
		widths[i] = text_columns(table->columns[i].name);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t columns = text_columns(cell_at(table, i));
		if (columns > widths[i % table->column_count])
			widths[i % table->column_count] = columns;
	}
	if (width)
		shrink(table, width, widths);
}

static void put_spaces(struct buf *out, size_t count)
{
	while (count--)
		buf_append_char(out, ' ');
}

/* Exactly width columns, but that the last cell of a row is not filled up. */
static void put_cell(struct buf *out, struct span text, size_t width, bool is_number, bool is_last)
{
	size_t columns = text_columns(text), used = 0;

	if (columns <= width) {
		put_spaces(out, is_number ? width - columns : 0);
		buf_append_span(out, text);
		put_spaces(out, is_number || is_last ? 0 : width - columns);
		return;
	}
	while (text.len) {
		size_t len = span_utf8_length(text);
		size_t next = len ? char_columns(decode(text, len)) : 1;
		if (used + next + 1 > width)
			break;
		buf_append(out, text.ptr, len ? len : 1);
		text = span_skip(text, len ? len : 1);
		used += next;
	}
	buf_append_text(out, "…");
	put_spaces(out, is_last ? 0 : width - used - 1);
}

static const char *colour_of(struct span text)
{
	static const struct {
		const char *word;
		const char *colour;
	} table[] = {{"Completed", "\x1b[32m"}, {"Failed", "\x1b[31m"}, {"InProgress", "\x1b[36m"},
		{"Stopping", "\x1b[33m"}, {"Stopped", "\x1b[33m"}};

	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (span_equal(text, span_from(table[i].word)))
			return table[i].colour;
	return NULL;
}

static void put_row(const struct table *table, size_t row, const size_t *widths, bool has_colours, struct buf *out)
{
	for (size_t i = 0; i < table->column_count; i++) {
		struct span cell = cell_at(table, row * table->column_count + i);
		const char *colour = has_colours ? colour_of(cell) : NULL;
		if (i)
			put_spaces(out, GAP_COLUMNS);
		if (colour)
			buf_append_text(out, colour);
		put_cell(out, cell, widths[i], table->columns[i].is_number, i + 1 == table->column_count);
		if (colour)
			buf_append_text(out, "\x1b[0m");
	}
	buf_append_char(out, '\n');
}

void table_print(const struct table *table, size_t width, bool has_colours, struct buf *out)
{
	size_t widths[TABLE_MAX_COLUMNS];

	if (table->column_count == 0)
		return;
	measure(table, width, widths);
	if (has_colours)
		buf_append_text(out, "\x1b[1m");
	for (size_t i = 0; i < table->column_count; i++) {
		const struct table_column *column = &table->columns[i];
		put_spaces(out, i ? GAP_COLUMNS : 0);
		put_cell(out, column->name, widths[i], column->is_number, i + 1 == table->column_count);
	}
	buf_append_text(out, has_colours ? "\x1b[0m\n" : "\n");
	for (size_t row = 0; row < table->cell_count / table->column_count; row++)
		put_row(table, row, widths, has_colours, out);
}
