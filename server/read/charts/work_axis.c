#include "read/charts/work_axis.h"

#include "extract/inputs.h"
#include "model/metrics/consumed.h"
#include "model/metrics/stream_name.h"
#include "read/charts/chart.h"
#include "read/charts/chart_chain.h"
#include "read/charts/run_inputs.h"
#include "read/charts/tokens_meter.h"
#include "read/view.h"
#include "store/jobs.h"

#include <math.h>

enum { RANK_NONE, RANK_MAYBE, RANK_DERIVED, RANK_OWN };

static const double FLOPS_EACH = 6; /* a parameter and token, forward and backward: Kaplan et al., arXiv 2001.08361 */

const char work_no_tokens[] = "none of its metrics is a count of them that rises";
const char work_no_parameters[] =
	"its settings state neither parameters nor the sizes that they follow from, or are those of a mixture of experts or LoRA";

bool chart_axis_is_work(enum chart_axis axis)
{
	return axis == AXIS_TOKENS || axis == AXIS_FLOPS;
}

/* ---- which count ---- */

static bool rises(const struct summary *summary)
{
	return summary->count > 1 && summary->max > summary->min;
}

/* Whose count goes before another's: what the trainer calls one, what follows from batch and length, what may be one. */
static unsigned rank_of(const struct series_view *series)
{
	enum consumed what = consumed_of(series->metric);

	if (!rises(&series->summary))
		return RANK_NONE;
	if (what == CONSUMED_TOKENS)
		return RANK_OWN;
	if (span_equal(series->metric, SPAN("derived:tokens")))
		return RANK_DERIVED;
	return what == CONSUMED_TOKENS_MAYBE && series->summary.last == series->summary.max ? RANK_MAYBE : RANK_NONE;
}

static const struct series_view *find_own(const struct job_view *view, unsigned *rank)
{
	const struct series_view *best = NULL;

	*rank = 0;
	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; !stream_is_system(view->streams[i].name) && j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			unsigned one = rank_of(series);
			if (!one || one < *rank || (one == *rank && series->summary.max <= best->summary.max))
				continue;
			*rank = one;
			best = series;
		}
	return best;
}

static bool meter_rises(const struct tokens_meter *meter)
{
	return meter->series &&
	       (meter->is_by_step ? meter->series->summary.last_step > meter->series->summary.first_step
				  : rises(&meter->series->summary));
}

enum status work_count_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct work_count *out, struct error *err)
{
	unsigned rank;
	const struct series_view *own = find_own(view, &rank);
	struct tokens_meter meter;
	struct inputs *inputs;

	*out = (struct work_count){.metric = own ? own->metric : SPAN(""), .tokens_each = 1};
	out->from = out->metric;
	if (rank > RANK_MAYBE)
		return OK;
	TRY(tokens_meter_read(pipeline, reader, arena, view, &inputs, &meter, err));
	if (!meter_rises(&meter))
		return OK;
	*out = (struct work_count){
		.metric = meter.series->metric, .tokens_each = meter.tokens_each, .is_by_step = meter.is_by_step};
	out->from = arena_copy(arena, span_from(meter.from));
	return out->from.ptr ? OK : error_no_memory(err);
}

/* ---- its points ---- */

static enum status read_count(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, bool is_chain, struct work_axis *out, struct error *err)
{
	AUTO(arena) scratch = arena_new();
	struct work_points points;
	struct work_count by;
	struct job_view view;

	if (!scratch)
		return error_no_memory(err);
	TRY(view_read_job(pipeline, reader, scratch, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(work_count_read(pipeline, reader, scratch, &view, &by, err));
	out->tokens_from = arena_copy(arena, by.from);
	if (!out->tokens_from.ptr)
		return error_no_memory(err);
	if (!by.metric.len)
		return OK;
	TRY(work_points_read(pipeline, reader, arena, job, &by, is_chain ? WORK_OF_RUN : WORK_OF_JOB, &points, err));
	out->steps = points.steps;
	out->tokens = points.tokens;
	out->count = points.count;
	return OK;
}

/* ---- what a token is ---- */

static enum status read_flops(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct work_axis *out, struct error *err)
{
	static const enum input wanted[] = {INPUT_PARAMETERS};
	struct inputs *inputs;
	struct job_row row;

	TRY(store_read_job(reader, arena, job, &row, err));
	TRY(run_inputs_read(pipeline, reader, arena, &row, wanted, 1, &inputs, err));
	const struct input_value *parameters = &inputs->items[INPUT_PARAMETERS];
	if (!(parameters->value > 0))
		return error_set_field(err, ERR_NOT_FOUND, "x", "the FLOPs of job '%.*s' are not known: %s",
			SPAN_ARGS(job), work_no_parameters);
	out->parameters = parameters->value;
	out->parameters_from = span_from(parameters->from);
	out->each = FLOPS_EACH * parameters->value;
	return OK;
}

enum status work_axis_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	enum chart_axis axis, bool is_chain, struct work_axis *out, struct error *err)
{
	*out = (struct work_axis){.each = 1, .parameters = NAN, .parameters_from = SPAN("")};
	TRY(read_count(pipeline, reader, arena, job, is_chain, out, err));
	if (out->count < 2)
		return error_set_field(
			err, ERR_NOT_FOUND, "x", "job '%.*s' counts no tokens: %s", SPAN_ARGS(job), work_no_tokens);
	return axis == AXIS_FLOPS ? read_flops(pipeline, reader, arena, job, out, err) : OK;
}

/* ---- from steps, and back ---- */

static double along(const double *from, const double *to, size_t count, double x)
{
	size_t low = 0, high = count - 2;

	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		if (from[middle] <= x)
			low = middle;
		else
			high = middle - 1;
	}
	return to[low] + (x - from[low]) / (from[low + 1] - from[low]) * (to[low + 1] - to[low]);
}

double work_axis_tokens(const struct work_axis *axis, double step)
{
	return along(axis->steps, axis->tokens, axis->count, step);
}

static int64_t to_i64(double x)
{
	return x <= -9e18 ? INT64_MIN : x >= 9e18 ? INT64_MAX : (int64_t)x;
}

static double step_at(const struct work_axis *axis, double work)
{
	return along(axis->tokens, axis->steps, axis->count, work / axis->each);
}

void work_axis_narrow(const struct work_axis *axis, const struct chart_query *asked, struct chart_query *out)
{
	*out = *asked;
	out->axis = AXIS_STEP;
	out->from = isfinite(asked->work_from) ? to_i64(ceil(step_at(axis, asked->work_from))) : INT64_MIN;
	out->to = isfinite(asked->work_to) ? to_i64(floor(step_at(axis, asked->work_to))) : INT64_MAX;
}

static int64_t tokens_at(const struct work_axis *axis, int64_t step)
{
	return to_i64(round(work_axis_tokens(axis, (double)step)));
}

enum status work_axis_chart(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, const struct chart_query *asked, bool is_chain, struct chart *out, struct error *err)
{
	enum status (*read)(struct pipeline *, struct store_reader *, struct arena *, struct span,
		const struct chart_query *, struct chart *, struct error *) = is_chain ? chart_read_chain : chart_read;
	struct chart_query query;

	if (!chart_axis_is_work(asked->axis))
		return read(pipeline, reader, arena, job, asked, out, err);
	struct work_axis *axis = arena_alloc(arena, sizeof *axis);
	if (!axis)
		return error_no_memory(err);
	TRY(work_axis_read(pipeline, reader, arena, job, asked->axis, is_chain, axis, err));
	work_axis_narrow(axis, asked, &query);
	TRY(read(pipeline, reader, arena, job, &query, out, err));
	out->work = axis;
	for (size_t i = 0; i < out->count; i++) {
		struct bucket *bucket = &out->buckets[i];
		bucket->x = tokens_at(axis, bucket->x);
		bucket->last_x = tokens_at(axis, bucket->last_x);
		bucket->min_x = tokens_at(axis, bucket->min_x);
		bucket->max_x = tokens_at(axis, bucket->max_x);
	}
	return OK;
}
