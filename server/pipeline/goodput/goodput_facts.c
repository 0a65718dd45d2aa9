/*
 * What a job's time is derived from: the times at which steps were printed, and evaluations; statuses: goodput_phases.c.
 * A series of many points is read by its pyramid's lowest buckets, which hold 64 steps or so: their times and steps are exact.
 */
#include "model/jobs/failure.h"
#include "model/metrics/stream_name.h"
#include "pipeline/goodput/goodput.h"
#include "read/charts/chart_query.h"
#include "read/charts/continuity_read.h"
#include "read/charts/derivation.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/charts/pyramid_read.h"
#include "read/charts/rank_0.h"
#include "read/checkpoints.h"
#include "read/view.h"
#include "state/streams/directory.h"
#include "state/streams/job_view.h"
#include "state/streams/told_metrics.h"
#include "state/pipeline_state.h"
#include "state/jobs/stated.h"
#include "state/streams/work_times.h"
#include "store/jobs.h"
#include "store/run.h"

#include <stdlib.h>

enum { EXACT_POINTS = 16384, CHECKPOINTS_MAX = 65536, EVALUATIONS_MAX = 32 };

/* ---- which series tells of the steps ---- */

struct lead {
	const struct stream_view *stream;
	const struct series_view *series;
	int rank;
};

static uint64_t points_of(const struct series_view *series)
{
	return series->sealed_points + series->tail_count + series->summary.count;
}

/* What a definition looks for in front of the value: "valid_acc=" of "valid_acc=([0-9.]+)". */
static bool definition_says_evaluation(const struct json *definition)
{
	struct span regex = json_string_of(json_get(definition, "Regex"));
	char text[METRIC_NAME_MAX_BYTES];
	size_t len = 0;

	for (size_t i = 0; i < regex.len && regex.ptr[i] != '(' && len < sizeof text; i++) {
		bool is_escape = regex.ptr[i] == '\\' && i + 1 < regex.len;
		text[len++] = is_escape ? ' ' : regex.ptr[i];
		i += is_escape;
	}
	return metric_is_evaluation(span_of(text, len));
}

static bool is_evaluation(const struct series_view *series, const struct json *document)
{
	const struct json *definition = json_first(json_get_path(document, "AlgorithmSpecification.MetricDefinitions"));

	if (series->role == ROLE_EVAL_LOSS || metric_is_evaluation(series->metric))
		return true;
	while (definition && !span_equal(json_string_of(json_get(definition, "Name")), series->metric))
		definition = json_next(definition);
	return definition && series->role == ROLE_OTHER && definition_says_evaluation(definition);
}

/* The loss is printed once a step; what else is may be printed less often, and by anybody. 0: its steps are no training's. */
static int rank_of(const struct series_view *series)
{
	static const enum role roles[] = {
		ROLE_LEARNING_RATE, ROLE_GRAD_NORM, ROLE_MFU, ROLE_THROUGHPUT, ROLE_STEP_TIME, ROLE_LOSS};

	if (series->role == ROLE_EVAL_LOSS || series->role == ROLE_BENCHMARK)
		return 0;
	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (series->role == roles[i])
			return (int)i + 2;
	return 1;
}

/* What is not of an evaluation, and the main series of its role, before others of it, and of the streams the leading one's. */
static struct lead find_lead(const struct job_view *view, const struct json *document, struct span rank_0,
	const struct span mains[ROLE_COUNT])
{
	struct lead best = {0};

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		bool is_rank_0 = span_equal(stream->name, rank_0);
		for (size_t j = 0; !stream_is_system(stream->name) && j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			bool is_main = span_equal(series->metric, mains[series->role]);
			int rank = 8 * rank_of(series) + 4 * !is_evaluation(series, document) + 2 * is_main + is_rank_0;
			if (!rank_of(series) || series_is_derived(series->series_id) || !points_of(series) ||
				rank < best.rank ||
				(best.series && rank == best.rank && points_of(series) <= points_of(best.series)))
				continue;
			best = (struct lead){stream, series, rank};
		}
	}
	return best;
}

/* ---- its points ---- */

struct collecting {
	struct arena *arena;
	struct goodput_point *points;
	size_t count, cap;
	int64_t spans, between; /* steps from the first to the last of each bucket, and how many lie between them */
	bool is_out_of_memory;
};

static void collect(struct collecting *c, int64_t ts_ms, int64_t step, uint32_t attempt)
{
	if (!c->points || c->count == c->cap) {
		size_t cap = c->cap ? 2 * c->cap : 1024;
		struct goodput_point *grown = arena_alloc(c->arena, cap * sizeof *grown);
		if (!grown) {
			c->is_out_of_memory = true;
			return;
		}
		if (c->points && c->count)
			memcpy(grown, c->points, c->count * sizeof *grown);
		c->points = grown;
		c->cap = cap;
	}
	c->points[c->count++] = (struct goodput_point){goodput_within(ts_ms), goodput_within(step), attempt};
}

static void collect_point(void *context, const struct point *point)
{
	collect(context, point->ts_ms, point->step, point->attempt);
}

static void collect_bucket(void *context, uint32_t attempt, const struct pyramid_bucket *bucket)
{
	struct collecting *c = context;
	uint64_t values = bucket->count + bucket->nan_count + bucket->inf_count + bucket->neg_inf_count;

	collect(c, bucket->first_x, bucket->min_step, attempt);
	if (values < 2)
		return;
	collect(c, bucket->last_x, bucket->max_step, attempt);
	c->spans += goodput_within(bucket->max_step) - goodput_within(bucket->min_step);
	c->between += (int64_t)values - 1;
}

static bool wants_all(void *context, uint32_t attempt, int64_t *last_step)
{
	(void)context;
	(void)attempt;
	*last_step = INT64_MAX;
	return true;
}

static enum status collect_buckets(struct store_reader *reader, const struct job_view *view,
	const struct series_view *series, struct collecting *c, uint64_t *covered, struct error *err)
{
	AUTO(zstd) zstd = zstd_new();
	struct pyramid_reading reading = {.reader = reader,
		.zstd = zstd,
		.job_id = view->row.job_id,
		.series_id = series->series_id,
		.axis = PYRAMID_TIME,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.wants_attempt = wants_all,
		.take_bucket = collect_bucket,
		.take_point = collect_point,
		.context = c};

	*covered = 0;
	if (!zstd)
		return error_no_memory(err);
	TRY(pyramid_base(reader, reading.job_id, reading.series_id, PYRAMID_TIME, &reading.level, err));
	return reading.level ? pyramid_read(&reading, covered, err) : OK;
}

static int by_time(const void *a, const void *b)
{
	const struct goodput_point *x = a, *y = b;

	if (x->ts_ms != y->ts_ms)
		return x->ts_ms < y->ts_ms ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Of steps that were printed in one millisecond the last: they were sent in one batch, or took no time. An attempt's first stays. */
static size_t join_equal_times(struct goodput_point *points, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; points && i < count; i++) {
		bool is_same = kept && points[kept - 1].ts_ms == points[i].ts_ms &&
			       points[kept - 1].attempt == points[i].attempt;
		bool is_first = kept < 2 || points[kept - 2].attempt != points[i].attempt;
		if (is_same && !is_first)
			points[kept - 1] = points[i];
		else
			points[kept++] = points[i];
	}
	return kept;
}

/* A date that a line happens to show is no time of a step. */
static size_t drop_odd(struct goodput_point *points, size_t count, const struct stretches *work)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (stretches_hold(work, points[i].ts_ms))
			points[kept++] = points[i];
	return kept;
}

static enum status read_series(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct span stream, const struct series_view *series, const struct stretches *work,
	struct collecting *c, struct error *err)
{
	struct chart_query query = {.metric = series->metric,
		.stream = stream,
		.axis = AXIS_TIME,
		.from = INT64_MIN,
		.to = INT64_MAX,
		.attempts = ATTEMPTS_ALL};
	struct points_batch batch = {.is_end = false};

	*c = (struct collecting){.arena = arena};
	if (series->sealed_points > EXACT_POINTS)
		TRY(collect_buckets(reader, view, series, c, &batch.next_ordinal, err));
	while (!batch.is_end) {
		AUTO(arena) own = arena_new();
		if (!own)
			return error_no_memory(err);
		TRY(points_read(
			pipeline, reader, own, view->row.name, stream, &query, batch.next_ordinal, &batch, err));
		for (size_t i = 0; i < batch.count; i++)
			collect_point(c, &batch.points[i]);
	}
	if (c->is_out_of_memory)
		return error_no_memory(err);
	c->count = drop_odd(c->points, c->count, work);
	if (c->points && c->count)
		qsort(c->points, c->count, sizeof *c->points, by_time);
	return OK;
}

/* ---- what a tracker was not told ---- */

/* Lines of the same metric as the tracker's that leads. NULL: there are none. */
static const struct series_view *find_printed(const struct lead *lead)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; lead->series->is_told && i < lead->stream->series_count; i++) {
		const struct series_view *series = &lead->stream->series[i];
		if (series->is_told || series_is_derived(series->series_id) || !points_of(series) ||
			!told_metrics_are_one(lead->series->metric, lead->series->role, series->metric, series->role))
			continue;
		if (!best || points_of(series) > points_of(best))
			best = series;
	}
	return best;
}

/* Its client was killed before it had sent what it held. */
static void take_untold(struct collecting *told, struct collecting *printed, int64_t stride)
{
	size_t count = goodput_find_untold(told->points, told->count, printed->points, printed->count, stride);

	for (size_t i = 0; i < count; i++)
		collect(told, printed->points[i].ts_ms, printed->points[i].step, printed->points[i].attempt);
	if (count)
		qsort(told->points, told->count, sizeof *told->points, by_time);
}

/* What a line says without its step is no place in the training: of that only the time is known. */
static enum status read_untold(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct lead *lead, struct job_facts *out, struct collecting *told,
	struct error *err)
{
	const struct series_view *series = find_printed(lead);
	struct collecting printed;

	if (!series)
		return OK;
	out->facts.printed_ms = goodput_within(series->min_ms);
	if (series->has_given_way)
		return OK;
	TRY(read_series(pipeline, reader, arena, view, lead->stream->name, series, &out->work, &printed, err));
	take_untold(told, &printed, out->facts.stride);
	return told->is_out_of_memory ? error_no_memory(err) : OK;
}

/* All there are beside the series that tells of the steps: one may be of every epoch, another of the end. */
static enum status read_evaluations(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct json *document, const struct lead *lead, const struct stretches *work,
	struct collecting *out, struct error *err)
{
	size_t used = 0;

	*out = (struct collecting){.arena = arena};
	for (size_t i = 0; i < lead->stream->series_count && used < EVALUATIONS_MAX; i++) {
		const struct series_view *series = &lead->stream->series[i];
		struct collecting one;
		if (series == lead->series || series_is_derived(series->series_id) || !is_evaluation(series, document))
			continue;
		used++; /* also where none of its points counts any more: they took their time */
		TRY(read_series(pipeline, reader, arena, view, lead->stream->name, series, work, &one, err));
		for (size_t j = 0; j < one.count; j++)
			collect(out, one.points[j].ts_ms, one.points[j].step, one.points[j].attempt);
	}
	if (out->is_out_of_memory)
		return error_no_memory(err);
	if (out->count)
		qsort(out->points, out->count, sizeof *out->points, by_time);
	return OK;
}

static int by_mark(const void *a, const void *b)
{
	const struct goodput_mark *x = a, *y = b;

	if (x->ts_ms != y->ts_ms)
		return x->ts_ms < y->ts_ms ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Evaluations by the times of their values, checkpoints by the lines that tell of them. One from which nothing can go on took its time. */
static enum status read_marks(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct collecting *evaluations, struct goodput_facts *out, struct error *err)
{
	struct checkpoint_row *saved;
	size_t saved_count;

	TRY(checkpoints_read_all(reader, arena, job_id, INT64_MAX, CHECKPOINTS_MAX, &saved, &saved_count, err));
	struct goodput_mark *marks = arena_alloc(arena, (evaluations->count + saved_count + 1) * sizeof *marks);
	if (!marks)
		return error_no_memory(err);
	for (size_t i = 0; i < evaluations->count; i++)
		if (!i || evaluations->points[i].ts_ms != evaluations->points[i - 1].ts_ms)
			marks[out->mark_count++] =
				(struct goodput_mark){evaluations->points[i].ts_ms, GOODPUT_EVALUATION, -1};
	for (size_t i = 0; i < saved_count; i++)
		marks[out->mark_count++] = (struct goodput_mark){goodput_within(saved[i].ts_ms), GOODPUT_CHECKPOINT,
			saved[i].is_denied ? -1 : goodput_within(saved[i].step)};
	if (out->mark_count)
		qsort(marks, out->mark_count, sizeof *marks, by_mark);
	out->marks = marks;
	return OK;
}

static enum status read_steps(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, const struct json *document, struct job_facts *out, struct error *err)
{
	struct span mains[ROLE_COUNT];
	struct rank_0 rank_0;
	struct collecting c;

	TRY(rank_0_find(reader, arena, view, &rank_0, err));
	TRY(main_series_find_all(reader, arena, view, mains, err));
	struct lead lead = find_lead(view, document, rank_0.stream, mains);
	out->metric = lead.series ? lead.series->metric : SPAN("");
	out->stream = lead.series ? lead.stream->name : SPAN("");
	if (!lead.series)
		return OK;
	TRY(read_series(pipeline, reader, arena, view, lead.stream->name, lead.series, &out->work, &c, err));
	out->facts.is_thinned = c.between > 0;
	if (c.between && c.spans / c.between > 0)
		out->facts.stride = c.spans / c.between;
	else /* before steps of one time are joined: how many were sent at once says nothing of the training */
		TRY(goodput_find_stride(c.points, c.count, arena, &out->facts.stride, err));
	TRY(read_untold(pipeline, reader, arena, view, &lead, out, &c, err));
	out->facts.point_count = join_equal_times(c.points, c.count);
	out->facts.points = c.points;
	TRY(read_evaluations(pipeline, reader, arena, view, document, &lead, &out->work, &c, err));
	return read_marks(reader, arena, view->row.job_id, &c, &out->facts, err);
}

static const struct series_view *find_longest(const struct stream_view *stream)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; i < stream->series_count; i++)
		if (!series_is_derived(stream->series[i].series_id) &&
			(!best || points_of(&stream->series[i]) > points_of(best)))
			best = &stream->series[i];
	return best;
}

enum status goodput_read_attempts(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct attempt_points *out, struct error *err)
{
	const struct stream_view *most = NULL;
	struct stretches work;
	struct collecting c;
	struct job_view view;

	*out = (struct attempt_points){.attempts = 1};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	for (size_t i = 0; i < view.stream_count; i++)
		if (!stream_is_system(view.streams[i].name) && view.streams[i].attempt > out->attempts &&
			view.streams[i].attempt <= view.streams[i].attempt_start_count) {
			most = &view.streams[i];
			out->attempts = most->attempt;
		}
	const struct series_view *series = most ? find_longest(most) : NULL;
	if (most)
		out->starts = most->attempt_starts;
	if (!series)
		return OK;
	TRY(work_times_read(reader, &view, &work, err));
	TRY(read_series(pipeline, reader, arena, &view, most->name, series, &work, &c, err));
	out->items = c.points;
	out->count = c.count;
	return OK;
}

/*
 * Steps before a start that was set by hand are none of the job's, nor are those after an end that was. If that would leave none, the log
 * has times of its own, and all of them stay.
 */
static void keep_by_hand(struct job_facts *facts)
{
	const struct goodput_point *points = facts->facts.points;
	size_t first = 0, end = facts->facts.point_count;

	while (first < end && points[first].ts_ms <= facts->from_by_hand_ms)
		first++;
	while (end > first && points[end - 1].ts_ms > facts->to_by_hand_ms)
		end--;
	if (first == end)
		return;
	facts->facts.points = points + first;
	facts->facts.point_count = end - first;
}

static enum goodput_end end_of(const struct job_row *row)
{
	if (!row->ended_ms)
		return GOODPUT_RUNS;
	if (span_equal(row->status, SPAN("Failed")))
		return GOODPUT_FAILED;
	return span_equal(row->status, SPAN("Completed")) ? GOODPUT_COMPLETED : GOODPUT_STOPPED;
}

/* A job that is Completed has lost nothing by one that counts anew, from before its own first step: fine-tuning. */
static bool counts_anew(const struct goodput_facts *facts, int64_t from_step)
{
	return facts->end == GOODPUT_COMPLETED && (!facts->point_count || from_step < facts->points[0].step);
}

static bool is_fork(const struct job_row *row)
{
	return span_find(row->document, SPAN("\"wandb.fork_from\"")) >= 0;
}

/* It broke off, nobody goes on with it, and another job that printed its first step later goes on with the one that it went on with: that
 * one is the run's. */
static enum status read_tried_again(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	int64_t first_step_ms, struct goodput_went_on **out, size_t *count, struct error *err)
{
	struct span before;
	size_t kept = 0;

	TRY(store_read_continued(reader, arena, row->job_id, &before, err));
	if (!before.len)
		return OK;
	TRY(store_read_went_on(reader, arena, row->job_id, before, out, count, err));
	for (size_t i = 0; i < *count; i++)
		if ((*out)[i].step_ms > first_step_ms)
			(*out)[kept++] = (*out)[i];
	*count = kept;
	return OK;
}

/* Several may have tried: made again is what lies behind the lowest of their beginnings, and work went on with the earliest. */
static enum status read_next(struct store_reader *reader, struct arena *arena, const struct job_row *row,
	struct job_facts *out, struct error *err)
{
	struct goodput_link *next = &out->facts.next;
	struct goodput_went_on *rows;
	size_t count;

	TRY(store_read_went_on(reader, arena, row->job_id, row->name, &rows, &count, err));
	if (!count && row->ended_ms && out->facts.end != GOODPUT_COMPLETED && out->facts.point_count && !is_fork(row))
		TRY(read_tried_again(reader, arena, row, out->facts.points[0].ts_ms, &rows, &count, err));
	for (size_t i = 0; i < count; i++) {
		int64_t from_step = goodput_within(rows[i].from_step);
		if (counts_anew(&out->facts, from_step))
			continue;
		next->from_step = from_step < next->from_step ? from_step : next->from_step;
		if (next->step_ms && rows[i].step_ms >= next->step_ms)
			continue;
		next->step_ms = goodput_within(rows[i].step_ms);
		next->work_ms = goodput_within(rows[i].work_ms);
		next->silent_ms = goodput_within(rows[i].silent_ms);
		out->went_on_in = rows[i].job;
	}
	return OK;
}

struct printed {
	bool has_lines, has_loss; /* that they say */
};

static struct printed printed_of(const struct job_view *view)
{
	struct printed printed = {false, false};

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		if (stream_is_system(stream->name) || !stream->extracted_lines)
			continue;
		printed.has_lines = true;
		for (size_t j = 0; j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			printed.has_loss |= !series->is_told && !series->has_given_way && series->role == ROLE_LOSS &&
					    points_of(series);
		}
	}
	return printed;
}

/*
 * Where the lines of the next job that has points say a loss, and those of this one nothing at all, it made no step. Of a job whose steps a tracker alone is
 * told nobody knows.
 */
static enum status find_made_none(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct job_facts *out, struct error *err)
{
	struct run_link *links;
	struct job_view next;
	size_t count, at;

	if (out->metric.len || out->facts.next.from_step == INT64_MAX || !printed_of(view).has_lines)
		return OK;
	TRY(store_read_run(reader, arena, view->row.name, &links, &count, &at, err));
	for (at++; at < count && !continuity_may_have_loss(pipeline, &links[at]); at++)
		;
	if (at == count)
		return OK;
	enum status status =
		view_read_job(pipeline, reader, arena, links[at].job, SPAN(""), SPAN(""), VIEW_SERIES, &next, err);
	if (status == OK)
		out->facts.made_no_step = printed_of(&next).has_loss;
	return status == ERR_NOT_FOUND ? OK : status;
}

/* As settings say: a log may tell how many there are in an epoch, too, and the newest total alone. */
static enum status read_declared(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *row, int64_t *steps, struct error *err)
{
	struct inputs *inputs;

	TRY(derivation_read_inputs(pipeline, reader, arena, row, &inputs, err));
	double value = inputs->items[INPUT_TOTAL_STEPS].value;
	*steps = value >= 1 && value < 1e15 ? (int64_t)value : 0;
	return OK;
}

static enum status gather(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t now_ms, bool has_steps, struct job_row *row, struct job_facts *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct job_view view;

	*out = (struct job_facts){.facts = {.next = {.from_step = INT64_MAX}}, .went_on_in = SPAN("")};
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(json_parse(&document, view.row.document, err));
	out->stated_billable_ms = job_stated_billable_ms(&view.row, document);
	out->is_spot = json_is_true(json_get(document, "EnableManagedSpotTraining"));
	TRY(work_times_read(reader, &view, &out->work, err));
	TRY(goodput_read_nodes(reader, arena, &view, document, out, err));
	TRY(goodput_read_phases(pipeline, reader, arena, &view, now_ms, out, err));
	if (has_steps)
		TRY(read_steps(pipeline, reader, arena, &view, document, out, err));
	if (out->facts.point_count)
		TRY(read_declared(pipeline, reader, arena, &view.row, &out->facts.declared_steps, err));
	keep_by_hand(out);
	out->facts.end = end_of(&view.row);
	const char *class = failure_class(view.row.failure_reason);
	out->facts.end_cause = span_from(class ? class : "");
	*row = view.row;
	TRY(read_next(reader, arena, row, out, err));
	return has_steps ? find_made_none(pipeline, reader, arena, &view, out, err) : OK;
}

enum status goodput_gather(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t now_ms, struct job_row *row, struct job_facts *out, struct error *err)
{
	return gather(pipeline, reader, arena, job, now_ms, true, row, out, err);
}

enum status goodput_gather_phases(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, int64_t now_ms, struct job_facts *out, struct error *err)
{
	struct job_row row;

	return gather(pipeline, reader, arena, job, now_ms, false, &row, out, err);
}
