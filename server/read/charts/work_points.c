#include "read/charts/work_points.h"

#include "read/charts/chart.h"
#include "read/charts/chart_chain.h"
#include "read/charts/tokens_meter.h"
#include "read/view.h"
#include "store/run.h"

#include <math.h>

enum { BUCKETS = 2000 };

struct filling {
	struct work_points *points;
	const struct work_count *by;
	double highest; /* since the count began last */
	uint32_t attempt; /* of the job, the latest */
	bool is_other_job; /* than the point before */
};

/* In tokens: what the count said at its steps, the least and the most of it. */
struct counted {
	int64_t step, last_step;
	double least, most;
	uint32_t attempt;
};

static void begin_if_anew(struct filling *filling, const struct counted *counted)
{
	struct work_points *points = filling->points;
	bool is_other = filling->is_other_job || counted->attempt > filling->attempt;

	if (is_other && points->count && counted->most < filling->highest) {
		points->before = points->tokens[points->count - 1];
		filling->highest = 0;
	}
	if (is_other)
		filling->attempt = counted->attempt;
}

static void take(struct filling *filling, const struct counted *counted)
{
	struct work_points *points = filling->points;

	begin_if_anew(filling, counted);
	double tokens = points->before + counted->most;
	if (filling->is_other_job)
		points->own_first = points->before + counted->least;
	filling->is_other_job = false;
	if (points->count && (tokens <= points->tokens[points->count - 1] ||
				     (double)counted->last_step <= points->steps[points->count - 1]))
		return;
	filling->highest = counted->most;
	points->steps[points->count] = (double)counted->last_step;
	points->tokens[points->count++] = tokens;
}

static void take_buckets(struct filling *filling, const struct bucket *buckets, size_t count)
{
	double each = filling->by->tokens_each;
	bool is_by_step = filling->by->is_by_step;

	filling->is_other_job = true;
	for (size_t i = 0; i < count; i++) {
		const struct bucket *bucket = &buckets[i];
		struct counted counted = {bucket->x, bucket->max_x,
			(is_by_step ? (double)bucket->x : bucket->min) * each,
			(is_by_step ? (double)bucket->max_x : bucket->max) * each, bucket->attempt};
		if (bucket->count)
			take(filling, &counted);
	}
}

/* Of a job that counts otherwise what it had made when the next one went on. */
static void take_points(struct filling *filling, const struct work_points *points, int64_t until_step)
{
	filling->is_other_job = true;
	for (size_t i = 0; i < points->count && points->steps[i] < (double)until_step; i++) {
		struct counted counted = {
			(int64_t)points->steps[i], (int64_t)points->steps[i], points->tokens[i], points->tokens[i], 1};
		take(filling, &counted);
	}
}

static enum status make_room(struct arena *arena, size_t count, struct work_points *out, struct error *err)
{
	out->steps = arena_alloc(arena, (count + 1) * sizeof *out->steps);
	out->tokens = arena_alloc(arena, (count + 1) * sizeof *out->tokens);
	return out->steps && out->tokens ? OK : error_no_memory(err);
}

/* ---- of a run ---- */

/* The jobs before those that have the metric, and what they count by. */
struct others {
	const struct run_link *links;
	struct work_points *points; /* beside the links; none where the job has the metric, or counts nothing */
	size_t count, total;
};

static bool is_charted(const struct chart *chart, struct span job)
{
	bool is = false;

	for (size_t i = 0; i < chart->link_count; i++)
		is |= span_equal(chart->links[i].job, job);
	return is;
}

static enum status read_other(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct work_points *out, struct error *err)
{
	struct tokens_meter meter;
	struct inputs *inputs;
	struct job_view view;

	enum status status = view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* it was deleted just now */
	TRY(status);
	TRY(tokens_meter_read(pipeline, reader, arena, &view, &inputs, &meter, err));
	if (!meter.series)
		return OK;
	const struct work_count by = {
		.metric = meter.series->metric, .tokens_each = meter.tokens_each, .is_by_step = meter.is_by_step};
	return work_points_read(pipeline, reader, arena, job, &by, WORK_OF_JOB, out, err);
}

static enum status read_others(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart *chart, struct others *out, struct error *err)
{
	struct run_link *links;
	size_t count, at;

	TRY(store_read_run(reader, arena, job, &links, &count, &at, err));
	if (at >= CHAIN_JOBS_MAX) { /* as many as a chart has */
		links += at + 1 - CHAIN_JOBS_MAX;
		at = CHAIN_JOBS_MAX - 1;
	}
	*out = (struct others){
		.links = links, .points = arena_alloc(arena, (at + 1) * sizeof *out->points), .count = at};
	if (!out->points)
		return error_no_memory(err);
	for (size_t i = 0; i < at; i++) {
		out->points[i] = (struct work_points){.own_first = NAN};
		if (!is_charted(chart, links[i].job))
			TRY(read_other(pipeline, reader, arena, links[i].job, &out->points[i], err));
		out->total += out->points[i].count;
	}
	return OK;
}

/* Where the next job that counts anything goes on from. */
static int64_t next_step(const struct others *others, size_t at, const struct chart *chart, size_t link)
{
	for (size_t i = at + 1; i < others->count; i++) {
		if (link < chart->link_count && span_equal(chart->links[link].job, others->links[i].job))
			return chart->links[link].first_step;
		if (others->points[i].count)
			return (int64_t)others->points[i].steps[0];
	}
	return link < chart->link_count ? chart->links[link].first_step : INT64_MAX;
}

static void take_run(struct filling *filling, const struct others *others, const struct chart *chart)
{
	size_t link = 0, taken = 0;

	for (size_t i = 0; i < others->count; i++) {
		bool is_next = link < chart->link_count && span_equal(chart->links[link].job, others->links[i].job);
		if (!is_next) {
			take_points(filling, &others->points[i], next_step(others, i, chart, link));
			continue;
		}
		take_buckets(filling, chart->buckets + taken, chart->links[link].buckets);
		taken += chart->links[link++].buckets;
	}
	for (; link < chart->link_count; taken += chart->links[link++].buckets)
		take_buckets(filling, chart->buckets + taken, chart->links[link].buckets);
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
	struct filling filling = {.points = out, .by = by};
	struct others others = {.count = 0};
	struct chart chart;

	*out = (struct work_points){.own_first = NAN};
	if (!scratch)
		return error_no_memory(err);
	TRY(read(pipeline, reader, scratch, job, &query, &chart, err));
	if (extent != WORK_OF_JOB && !by->is_by_step) /* steps go on */
		TRY(read_others(pipeline, reader, scratch, job, &chart, &others, err));
	TRY(make_room(arena, chart.count + others.total, out, err));
	if (chart.link_count)
		take_run(&filling, &others, &chart);
	else
		take_buckets(&filling, chart.buckets, chart.count);
	return OK;
}
