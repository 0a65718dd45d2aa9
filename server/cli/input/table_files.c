#include "cli/input/table_files.h"

#include "cli/http/client.h"
#include "cli/input/table_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

enum { FLUSH_BYTES = 64 << 10, NAME_BYTES = 60 };

struct table_file {
	struct table_part part;
	struct run_table *table;
	struct table_input input;
	struct table_cells cells;
	size_t run; /* of the point spool */
	bool is_done;
	int64_t last_ms; /* that a row said */
	uint64_t bad_lines, odd_cells;
	uint64_t odd_line;
	size_t odd_column;
	char why[200]; /* of the first bad line */
};

struct table_files {
	const char *program;
	struct point_spool *points;
	struct table_file **files;
	size_t count, cap;
	struct table_file *reading;
};

enum status table_files_new(
	struct table_files **out, const char *program, struct point_spool *points, struct error *err)
{
	struct table_files *tables = mem_zeroed(sizeof *tables);

	if (!tables)
		return error_no_memory(err);
	tables->program = program;
	tables->points = points;
	*out = tables;
	return OK;
}

static void table_file_free(struct table_file *file)
{
	if (!file)
		return;
	run_table_free(file->table);
	table_input_done(&file->input);
	table_cells_done(&file->cells);
	mem_free(file);
}
AUTO_TYPE(table_file)

void table_files_free(struct table_files *tables)
{
	if (!tables)
		return;
	for (size_t i = 0; i < tables->count; i++)
		table_file_free(tables->files[i]);
	mem_free(tables->files);
	mem_free(tables);
}

/* Its head, then the place where the part begins. */
static enum status open_part(struct table_file *file, struct error *err)
{
	const struct table_part *part = &file->part;
	struct table_place place;
	bool has_record;
	int fd = open(part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return error_set(err, ERR_INVALID, "cannot open '%s': %s", part->path, strerror(errno));
	table_input_open(&file->input, fd, part->max_record_bytes, 0, part->end, 1);
	TRY(table_input_next(&file->input, &file->cells, &place, &has_record, err));
	TRY(run_table_new(&file->table, &file->cells, err));
	if (!has_record || file->table->kind == RUN_TABLE_NONE)
		return error_set(err, ERR_INVALID, "'%s' has become another file", part->path);
	buf_done(&file->input.bytes);
	table_input_open(&file->input, fd, part->max_record_bytes, part->start, part->end, part->line);
	return OK;
}

enum status table_files_add(
	struct table_files *tables, const struct table_part *part, unsigned stream, struct error *err)
{
	AUTO(table_file) file = mem_zeroed(sizeof *file);

	if (!file || !mem_grow((void **)&tables->files, tables->count, &tables->cap, sizeof(struct table_file *)))
		return error_no_memory(err);
	file->part = *part;
	TRY(point_spool_open(tables->points, stream, &file->run, err));
	TRY(open_part(file, err));
	tables->files[tables->count++] = TAKE(file);
	return OK;
}

static void add_point(void *context, const struct table_point *point)
{
	struct table_files *tables = context;
	struct table_file *file = tables->reading;

	if (file->part.run && !span_equal(point->run, span_from(file->part.run)))
		return;
	if (point->ts_ms)
		file->last_ms = point->ts_ms;
	struct spool_point put = {.metric = point->metric,
		.step = point->step,
		.ts_ms = file->last_ms ? file->last_ms : file->part.written_ms,
		.is_time_assumed = !file->last_ms,
		.value = point->value};
	point_spool_put(tables->points, file->run, &put);
}

static void note_bad_line(struct table_file *file, const char *why)
{
	if (!file->bad_lines++)
		snprintf(file->why, sizeof file->why, "%.190s", why);
}

static void read_record(struct table_files *tables, struct table_file *file, const struct table_place *place)
{
	char why[sizeof file->why];
	struct table_row row;
	struct error err = {0};
	bool is_blank = file->cells.count == 1 && !file->cells.items[0].len;

	if (is_blank)
		return;
	tables->reading = file;
	if (run_table_read(file->table, &file->cells, add_point, tables, &row, &err) != OK) {
		snprintf(why, sizeof why, "line %" PRIu64 ": %.150s", place->line, err.text);
		note_bad_line(file, why);
		return;
	}
	if (row.odd_cells && !file->odd_cells) {
		file->odd_line = place->line;
		file->odd_column = row.odd_column;
	}
	file->odd_cells += row.odd_cells;
}

static void tell_end(const struct table_files *tables, const struct table_file *file)
{
	const char *of = file->part.run ? " of run " : "", *run = file->part.run ? file->part.run : "";

	if (file->bad_lines)
		client_say(tables->program, "'%s'%s%s: %s (%" PRIu64 " %s passed over)", file->part.path, of, run,
			file->why, file->bad_lines, file->bad_lines == 1 ? "line was" : "lines were");
	if (file->odd_cells)
		client_say(tables->program,
			"'%s'%s%s: %" PRIu64 " %s no number, the first in line %" PRIu64 ", column '%.*s'",
			file->part.path, of, run, file->odd_cells, file->odd_cells == 1 ? "cell is" : "cells are",
			file->odd_line, SPAN_ARGS(span_cut(file->table->columns[file->odd_column].name, NAME_BYTES)));
}

/* False: the spool is full. */
static bool read_file(struct table_files *tables, struct table_file *file)
{
	struct table_place place;
	struct error err = {0};
	bool has_record = true;

	while (!file->is_done) {
		if (point_spool_waiting_bytes(tables->points) >= FLUSH_BYTES && !point_spool_flush(tables->points))
			return false;
		if (table_input_next(&file->input, &file->cells, &place, &has_record, &err) != OK)
			note_bad_line(file, err.text);
		else if (has_record)
			read_record(tables, file, &place);
		file->is_done = err.status != OK || !has_record;
		if (file->is_done)
			tell_end(tables, file);
	}
	return point_spool_flush(tables->points);
}

bool table_files_round(struct table_files *tables)
{
	for (size_t i = 0; i < tables->count; i++)
		if (!read_file(tables, tables->files[i]))
			return false;
	return true;
}

size_t table_files_damaged(const struct table_files *tables)
{
	size_t damaged = 0;

	for (size_t i = 0; i < tables->count; i++)
		damaged += tables->files[i]->bad_lines > 0;
	return damaged;
}
