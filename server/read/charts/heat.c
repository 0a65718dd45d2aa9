/* Means of the streams of a job beside each other, by buckets of one width. */
#include "read/charts/heat.h"

#include "read/charts/chart.h"
#include "read/charts/folding.h"
#include "read/charts/main_series.h"
#include "read/view.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A mean needs no more; millions of points a picture are added to these. */
struct cell {
	struct sum sum;
	uint64_t count; /* finite values */
	uint64_t bad_count; /* the others */
};

struct mapping {
	struct folding folding; /* what it gives its points and buckets */
	struct cell *cells; /* of one stream at a time */
	bool has_any; /* a point of the stream at work */
};

static struct cell *cell_at(struct mapping *mapping, int64_t x)
{
	size_t at = folding_place(&mapping->folding, x);

	if (at == mapping->folding.size)
		return NULL;
	mapping->has_any = true;
	return &mapping->cells[at];
}

static void add_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *from)
{
	struct mapping *mapping = context;
	struct cell *cell = cell_at(mapping, from->first_x);

	(void)attempt;
	if (!cell)
		return;
	struct sum sum = sum_convert(from->sum, mapping->folding.factor);
	sum_merge(&cell->sum, &sum);
	cell->count += from->count;
	cell->bad_count += from->nan_count + from->inf_count + from->neg_inf_count;
}

static void add_point(void *context, const struct point *point)
{
	struct mapping *mapping = context;
	struct cell *cell = cell_at(mapping, pyramid_x(mapping->folding.axis, point));

	if (!cell)
		return;
	if (isfinite(point->value)) {
		sum_add(&cell->sum, time_unit_convert(point->value, mapping->folding.factor));
		cell->count++;
	} else {
		cell->bad_count++;
	}
}

static double mean_of(const struct cell *cell)
{
	if (cell->count)
		return sum_mean(cell->sum, cell->count, -DBL_MAX, DBL_MAX);
	return cell->bad_count ? INFINITY : NAN;
}

static enum status fold_rows(struct mapping *mapping, struct heat *out, struct error *err)
{
	for (size_t i = 0; i < out->view.stream_count; i++) {
		memset(mapping->cells, 0, out->columns * sizeof *mapping->cells);
		mapping->has_any = false;
		TRY(folding_fold_stream(&mapping->folding, &out->view.streams[i], err));
		if (!mapping->has_any)
			continue;
		double *row = out->means + out->row_count * out->columns;
		out->row_streams[out->row_count++] = (uint32_t)i;
		for (size_t column = 0; column < out->columns; column++)
			row[column] = mean_of(&mapping->cells[column]);
	}
	out->series = mapping->folding.first;
	return OK;
}

static enum status make_room(struct mapping *mapping, struct arena *arena, struct heat *out, struct error *err)
{
	size_t columns = mapping->folding.size, rows = out->view.stream_count;

	mapping->cells = arena_alloc(arena, columns * sizeof *mapping->cells);
	out->columns = columns;
	out->means = arena_alloc(arena, columns * rows * sizeof *out->means);
	out->row_streams = arena_alloc(arena, rows * sizeof *out->row_streams);
	return mapping->cells && out->means && out->row_streams ? OK : error_no_memory(err);
}

static enum status draw(struct store_reader *reader, struct arena *arena, const struct chart_query *query,
	struct heat *out, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct mapping mapping = {.folding = {.reader = reader,
					  .zstd = zstd,
					  .view = &out->view,
					  .query = query,
					  .take_bucket = add_bucket,
					  .take_point = add_point}};

	TRY(folding_lay_out(&mapping.folding, arena, err));
	if (!mapping.folding.size)
		return OK;
	TRY(make_room(&mapping, arena, out, err));
	out->first_x = mapping.folding.first_number << mapping.folding.shift;
	out->bucket_width = (int64_t)1 << mapping.folding.shift;
	return fold_rows(&mapping, out, err);
}

enum status heat_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct chart_query *asked, struct heat *out, struct error *err)
{
	struct chart_query resolved = *asked;

	*out = (struct heat){.bucket_width = 1};
	TRY(view_read_job(
		pipeline, reader, arena, job, SPAN(""), asked->metric, VIEW_SERIES | VIEW_TAILS, &out->view, err));
	TRY(main_series_resolve(reader, arena, &out->view, asked, &resolved.metric, err));
	out->metric = resolved.metric;
	return draw(reader, arena, &resolved, out, err);
}
