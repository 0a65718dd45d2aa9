#include "cli/input/table_scan.h"

#include "base/map.h"
#include "cli/input/table_input.h"

#include <fcntl.h>

/* What is known while rows come. */
struct look {
	struct table_scan *scan;
	struct map *runs; /* name -> its number + 1 */
	struct map *metrics; /* "number TAB metric" */
	struct buf *key;
	struct table_place place; /* of the row */
	bool has_failed; /* out of memory */
};

void table_scan_free(struct table_scan *scan)
{
	if (!scan)
		return;
	for (size_t i = 0; i < scan->count; i++)
		mem_free(scan->runs[i].metrics);
	mem_free(scan->runs);
	arena_free(scan->arena);
	mem_free(scan);
}

static bool add_run(struct look *look, struct span name, size_t *number)
{
	struct table_scan *scan = look->scan;
	uintptr_t found = (uintptr_t)map_get(look->runs, name);

	if (found) {
		*number = found - 1;
		return true;
	}
	if (!mem_grow((void **)&scan->runs, scan->count, &scan->cap, sizeof *scan->runs))
		return false;
	struct table_scan_run *run = &scan->runs[scan->count];
	*run = (struct table_scan_run){.start = look->place.start, .line = look->place.line};
	char *copy = arena_alloc(scan->arena, name.len + 1);
	if (!copy || !map_put(look->runs, name, (void *)(uintptr_t)(scan->count + 1)))
		return false;
	memcpy(copy, name.len ? name.ptr : "", name.len);
	copy[name.len] = 0;
	run->name = name.len ? copy : NULL;
	*number = scan->count++;
	return true;
}

static bool add_metric(struct look *look, struct span name, struct span metric)
{
	size_t number;

	if (!add_run(look, name, &number))
		return false;
	struct table_scan_run *run = &look->scan->runs[number];
	run->end = look->place.end;
	buf_reset(look->key);
	buf_printf(look->key, "%zu\t", number);
	buf_append_span(look->key, metric);
	if (look->key->failure != OK || map_get(look->metrics, buf_span(look->key)))
		return look->key->failure == OK;
	struct span kept = arena_copy(look->scan->arena, metric);
	if (!kept.ptr || !map_put(look->metrics, buf_span(look->key), look) ||
		!mem_grow((void **)&run->metrics, run->metric_count, &run->metric_cap, sizeof *run->metrics))
		return false;
	run->metrics[run->metric_count++] = kept;
	return true;
}

static void add_metric_of(void *context, const struct table_point *point)
{
	struct look *look = context;

	look->has_failed = !add_metric(look, point->run, point->metric) || look->has_failed;
}

/* Each run has all rows. */
static void look_at_head(struct look *look, const struct run_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (table->columns[i].role == TABLE_VALUE)
			look->has_failed =
				!add_metric(look, table->columns[i].run, table->columns[i].metric) || look->has_failed;
}

/* A row that is wrong is passed over, and told by who reads it to send it; so is where a file cannot be read on. */
static void look_at_rows(
	struct look *look, const struct run_table *table, struct table_input *input, struct table_cells *cells)
{
	bool has_record;
	struct table_row row;
	struct error err = {0};

	while (table_input_next(input, cells, &look->place, &has_record, &err) == OK && has_record)
		if (run_table_read(table, cells, add_metric_of, look, &row, &err) != OK)
			continue;
}

static enum status look_through(
	struct look *look, struct table_input *input, struct table_cells *cells, struct error *err)
{
	AUTO(run_table) table = NULL;
	bool has_record = false;

	if (table_input_next(input, cells, &look->place, &has_record, err) != OK || !has_record)
		return OK; /* whatever it is: a log */
	TRY(run_table_new(&table, cells, err));
	look->scan->kind = table->kind;
	look->scan->has_times = table->has_times;
	look->place = (struct table_place){input->line, look->place.end, input->end};
	if (table->kind == RUN_TABLE_METRICS)
		look_at_rows(look, table, input, cells);
	else if (table->kind != RUN_TABLE_NONE)
		look_at_head(look, table);
	return look->has_failed ? error_no_memory(err) : OK;
}

enum status table_scan_new(struct table_scan **out, const char *path, size_t max_record_bytes, struct error *err)
{
	AUTO(table_scan) scan = mem_zeroed(sizeof *scan);
	AUTO_DONE(table_cells) cells = {0};
	AUTO_DONE(table_input) input = {.fd = -1};
	AUTO(map) runs = map_new();
	AUTO(map) metrics = map_new();
	AUTO_DONE(buf) key = BUF_INIT(max_record_bytes + 64);

	*out = NULL;
	if (!scan || !runs || !metrics || !(scan->arena = arena_new()))
		return error_no_memory(err);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return OK; /* who opens it to send it says why */
	table_input_open(&input, fd, max_record_bytes, 0, UINT64_MAX, 1);
	struct look look = {.scan = scan, .runs = runs, .metrics = metrics, .key = &key};
	TRY(look_through(&look, &input, &cells, err));
	if (scan->kind == RUN_TABLE_NONE)
		return OK;
	if (!scan->count)
		return error_set(err, ERR_INVALID, "%s without any point", run_table_name(scan->kind));
	*out = TAKE(scan);
	return OK;
}
