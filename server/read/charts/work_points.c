#include "read/charts/work_points.h"

#include "read/charts/chart.h"
#include "read/charts/chart_chain.h"

#include <math.h>

enum { BUCKETS = 2000 };

struct filling {
	struct work_points *points;
	const struct work_count *by;
	double highest; /* since the count began last */
	uint32_t attempt; /* of the job, the latest */
	bool is_other_job; /* than the point before */
};

static void begin_if_anew(struct filling *filling, const struct bucket *bucket, double counted)
{
	struct work_points *points = filling->points;
	bool is_other = filling->is_other_job || bucket->attempt > filling->attempt;

	if (is_other && points->count && counted < filling->highest) {
		points->before = points->tokens[points->count - 1];
		filling->highest = 0;
	}
	if (is_other)
		filling->attempt = bucket->attempt;
}

static void take_bucket(struct filling *filling, const struct bucket *bucket)
{
	struct work_points *points = filling->points;
	double each = filling->by->tokens_each;
	double counted = (filling->by->is_by_step ? (double)bucket->max_x : bucket->max) * each;

	if (!bucket->count)
		return;
	begin_if_anew(filling, bucket, counted);
	double tokens = points->before + counted;
	if (filling->is_other_job)
		points->own_first = points->before + (filling->by->is_by_step ? (double)bucket->x : bucket->min) * each;
	filling->is_other_job = false;
	if (points->count && (tokens <= points->tokens[points->count - 1] ||
				     (double)bucket->max_x <= points->steps[points->count - 1]))
		return;
	filling->highest = counted;
	points->steps[points->count] = (double)bucket->max_x;
	points->tokens[points->count++] = tokens;
}

static enum status fill(struct arena *arena, const struct work_count *by, const struct chart *chart,
	struct work_points *out, struct error *err)
{
	struct filling filling = {.points = out, .by = by, .is_other_job = true};
	size_t link = 0, link_end = chart->link_count ? chart->links[0].buckets : chart->count;

	out->steps = arena_alloc(arena, (chart->count + 1) * sizeof *out->steps);
	out->tokens = arena_alloc(arena, (chart->count + 1) * sizeof *out->tokens);
	if (!out->steps || !out->tokens)
		return error_no_memory(err);
	for (size_t i = 0; i < chart->count; i++) {
		for (; i >= link_end && link + 1 < chart->link_count; filling.is_other_job = true)
			link_end += chart->links[++link].buckets;
		take_bucket(&filling, &chart->buckets[i]);
	}
	return OK;
}

enum status work_points_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct work_count *by, enum work_extent extent, struct work_points *out,
	struct error *err)
{
	enum status (*read)(struct pipeline *, struct store_reader *, struct arena *, struct span,
		const struct chart_query *, struct chart *, struct error *) = extent == WORK_OF_JOB ? chart_read
									      : extent == WORK_OF_RUN_SO_FAR
										      ? chart_read_chain_so_far
										      : chart_read_chain;
	AUTO(arena) scratch = arena_new();
	struct chart_query query = {.metric = by->metric,
		.stream = SPAN(""),
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.buckets = BUCKETS,
		.attempts = ATTEMPTS_LIVE};
	struct chart chart;

	*out = (struct work_points){.own_first = NAN};
	if (!scratch)
		return error_no_memory(err);
	TRY(read(pipeline, reader, scratch, job, &query, &chart, err));
	return fill(arena, by, &chart, out, err);
}
