/* The step's time is read first, then each timer at the steps that it names. */
#include "read/charts/anatomy_read.h"

#include "base/buf.h"
#include "base/median.h"
#include "model/metrics/stream_name.h"
#include "read/charts/main_series.h"
#include "read/charts/points_read.h"
#include "read/view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FROM_BYTES = 4096, NOWHERE = ANATOMY_PARTS };
enum family { MEGATRON, DEEPSPEED, LOADER, TORCHTITAN, SPANS, FAMILIES };

/* The step's time and its timers' unit, where a trainer has names for them of its own; else the job's step time, each in its unit. */
static const struct {
	const char *step;
	double unit_ms;
} OWN[FAMILIES] = {[TORCHTITAN] = {"time_metrics/end_to_end(s)", 1000}, [SPANS] = {"span:step_time", 1}};

/* Whose step time holds the wait for data: lerobot's, say, is without it. */
static const char *const LOADERS[] = {"openmmlab", "detectron2", "torch-metric-logger", "maskrcnn-benchmark", "vjepa"};

/* within: this timer runs inside that part's, which is less by it; with `since`, only of a trainer that has that timer, too. */
struct timer {
	const char *metric;
	enum family family;
	enum anatomy_part part;
	int within;
	const char *since;
};

static const struct timer TIMERS[] = {
	{"time:batch-generator", MEGATRON, ANATOMY_DATA, ANATOMY_FORWARD, NULL},
	{"time:forward-compute", MEGATRON, ANATOMY_FORWARD, NOWHERE, NULL},
	{"time:backward-compute", MEGATRON, ANATOMY_BACKWARD, NOWHERE, NULL},
	{"time:forward-recv", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:forward-send", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:backward-recv", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:backward-send", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:forward-send-backward-recv", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:backward-send-forward-recv", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:backward-params-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:backward-embedding-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:layernorm-grads-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:embedding-grads-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:non-tensor-parallel-grads-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:conditional-embedder-grads-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:grads-all-reduce", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:grads-reduce-scatter", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:all-grads-sync", MEGATRON, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"time:params-all-gather", MEGATRON, ANATOMY_COMMUNICATION, ANATOMY_OPTIMIZER, "time:all-grads-sync"},
	{"time:optimizer", MEGATRON, ANATOMY_OPTIMIZER, NOWHERE, NULL},
	{"time:save-checkpoint", MEGATRON, ANATOMY_CHECKPOINT, NOWHERE, NULL},
	{"time:fwd", DEEPSPEED, ANATOMY_FORWARD, NOWHERE, NULL},
	{"time:bwd", DEEPSPEED, ANATOMY_BACKWARD, NOWHERE, NULL},
	{"time:bwd_allreduce", DEEPSPEED, ANATOMY_COMMUNICATION, ANATOMY_BACKWARD, NULL},
	{"time:step", DEEPSPEED, ANATOMY_OPTIMIZER, NOWHERE, NULL},
	{"train:data_time", LOADER, ANATOMY_DATA, NOWHERE, NULL},
	{"time_metrics/data_loading(s)", TORCHTITAN, ANATOMY_DATA, NOWHERE, NULL},
	{"span:data", SPANS, ANATOMY_DATA, NOWHERE, NULL},
	{"span:forward", SPANS, ANATOMY_FORWARD, NOWHERE, NULL},
	{"span:backward", SPANS, ANATOMY_BACKWARD, NOWHERE, NULL},
	{"span:communication", SPANS, ANATOMY_COMMUNICATION, NOWHERE, NULL},
	{"span:optimizer", SPANS, ANATOMY_OPTIMIZER, NOWHERE, NULL},
	{"span:checkpoint", SPANS, ANATOMY_CHECKPOINT, NOWHERE, NULL},
};
enum { TIMERS_COUNT = sizeof TIMERS / sizeof TIMERS[0] };

/* Of one stream: its step time, which timers it has, and what each runs inside there. */
struct used {
	const struct series_view *time;
	double unit_ms; /* of the step's time */
	bool is_in_parts;
	double timer_ms[TIMERS_COUNT]; /* the timer's unit */
	bool is_there[TIMERS_COUNT];
	int within[TIMERS_COUNT];
};

struct step {
	int64_t step, ts_ms;
	double step_ms;
	double timer_ms[TIMERS_COUNT]; /* below 0: not told */
	double ms[ANATOMY_PARTS];
	bool is_known[ANATOMY_PARTS];
};

/* One stream while it is read. */
struct reading {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct span job;
	const struct stream_view *stream;
	int64_t from, to;
	double unit_ms; /* of what is walked over */
	struct step *steps; /* by number; a ring of the newest until they are sorted */
	size_t count;
	uint64_t seen;
	bool is_begun, is_enough; /* a walk; it need not have begun earlier */
	bool is_in_parts; /* a step may be told in several points, which are one sum: spans of one step come in several requests */
};

typedef void take_point(struct reading *r, const struct timer *timer, const struct point *point);

const char *anatomy_part_name(enum anatomy_part part)
{
	static const char *const NAMES[] = {
		"data", "forward", "backward", "communication", "optimizer", "checkpoint", "other"};

	return NAMES[part];
}

/* ---- points ---- */

static enum status walk(struct reading *r, struct span metric, uint64_t start, const struct timer *timer,
	take_point *take, struct error *err)
{
	struct chart_query query = {.metric = metric,
		.stream = r->stream->name,
		.axis = AXIS_STEP,
		.from = INT64_MIN,
		.to = r->to,
		.attempts = ATTEMPTS_LIVE};
	struct points_batch batch = {.next_ordinal = start};

	while (!batch.is_end) {
		AUTO(arena) own = arena_new();
		if (!own)
			return error_no_memory(err);
		TRY(points_read(
			r->pipeline, r->reader, own, r->job, query.stream, &query, batch.next_ordinal, &batch, err));
		for (size_t i = 0; i < batch.count; i++)
			if (isfinite(batch.points[i].value) && batch.points[i].value >= 0)
				take(r, timer, &batch.points[i]);
	}
	return OK;
}

/* The newest points are at the end, of a series that may be long: a walk begins near it, and again earlier if that was not enough. */
static enum status walk_back(struct reading *r, const struct series_view *series, const struct timer *timer,
	take_point *take, struct error *err)
{
	for (uint64_t back = 2 * ANATOMY_STEPS_MAX;; back *= 4) {
		uint64_t start = series->summary.count > back ? series->summary.count - back : 0;
		r->is_begun = r->is_enough = false;
		TRY(walk(r, series->metric, start, timer, take, err));
		if (r->is_enough || !start)
			return OK;
	}
}

/* What stands grows in steps: what is before the first point of a walk, is before its step. */
static void begin(struct reading *r, int64_t least, const struct point *point)
{
	if (!r->is_begun)
		r->is_enough = point->step < least;
	r->is_begun = true;
}

static void take_step(struct reading *r, const struct timer *timer, const struct point *point)
{
	(void)timer;
	if (!r->is_begun)
		r->seen = r->count = 0;
	begin(r, r->from, point);
	if (point->value <= 0 || point->step < r->from)
		return;
	struct step *last = r->seen ? &r->steps[(r->seen - 1) % ANATOMY_STEPS_MAX] : NULL;
	if (r->is_in_parts && last && last->step == point->step) {
		last->step_ms += point->value * r->unit_ms;
		return;
	}
	struct step *step = &r->steps[r->seen++ % ANATOMY_STEPS_MAX];
	*step = (struct step){.step = point->step, .ts_ms = point->ts_ms, .step_ms = point->value * r->unit_ms};
	for (size_t i = 0; i < TIMERS_COUNT; i++)
		step->timer_ms[i] = -1;
	r->count = r->seen < ANATOMY_STEPS_MAX ? (size_t)r->seen : ANATOMY_STEPS_MAX;
	r->is_enough = r->is_enough || r->count == ANATOMY_STEPS_MAX;
}

static int by_step(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->step > y->step) - (x->step < y->step);
}

static void take_timer(struct reading *r, const struct timer *timer, const struct point *point)
{
	struct step key = {.step = point->step};
	size_t which = (size_t)(timer - TIMERS);

	for (size_t i = 0; !r->is_begun && i < r->count; i++)
		r->steps[i].timer_ms[which] = -1;
	struct step *step = bsearch(&key, r->steps, r->count, sizeof key, by_step);

	begin(r, r->steps[0].step, point);
	if (!step)
		return;
	double before = r->is_in_parts && step->timer_ms[which] > 0 ? step->timer_ms[which] : 0;
	step->timer_ms[which] = before + point->value * r->unit_ms; /* else told twice of one step: the later one */
}

static void add_up(struct step *step, const struct used *used)
{
	for (size_t i = 0; i < TIMERS_COUNT; i++) {
		const struct timer *timer = &TIMERS[i];
		if (step->timer_ms[i] < 0)
			continue;
		step->ms[timer->part] += step->timer_ms[i];
		step->is_known[timer->part] = true;
		if (used->within[i] != NOWHERE)
			step->ms[used->within[i]] -= step->timer_ms[i];
	}
}

/* ---- shares ---- */

static bool is_used(const struct used *used, int part)
{
	for (size_t i = 0; i < TIMERS_COUNT; i++)
		if (used->is_there[i] && (int)TIMERS[i].part == part)
			return true;
	return false;
}

/* Of the time with saving, which is beside the steps': what was saved between the first step and the last. NaN: these are one. */
static double checkpoint_share(const struct reading *r)
{
	double lengths[ANATOMY_STEPS_MAX], saved_ms = 0;

	if (r->count < 2)
		return NAN;
	for (size_t i = 0; i < r->count; i++) {
		lengths[i] = r->steps[i].step_ms;
		saved_ms += i + 1 < r->count ? r->steps[i].ms[ANATOMY_CHECKPOINT] : 0;
	}
	double iterations = (double)(r->steps[r->count - 1].step - r->steps[0].step);
	return saved_ms / (iterations * median_of(lengths, r->count) + saved_ms);
}

/* What no timer tells of; NaN where they tell of nothing, or of more than the step, as the slowest rank's may together. */
static double rest_of(const struct step *step)
{
	double left = step->step_ms;
	bool is_any = false;

	for (int i = 0; i < ANATOMY_OTHER; i++)
		if (step->is_known[i] && i != ANATOMY_CHECKPOINT) {
			left -= step->ms[i];
			is_any = true;
		}
	return is_any && left >= 0 ? left / step->step_ms : NAN;
}

static void set_shares(const struct reading *r, const struct used *used, struct anatomy_stream *out)
{
	double values[ANATOMY_STEPS_MAX];

	for (int part = 0; part < ANATOMY_PARTS; part++) {
		size_t count = 0;
		if (part == ANATOMY_CHECKPOINT) {
			out->share[part] = is_used(used, part) ? checkpoint_share(r) : NAN;
			if (!isnan(out->share[part]) && r->count > out->steps)
				out->steps = r->count;
			continue;
		}
		for (size_t i = 0; i < r->count; i++) {
			const struct step *step = &r->steps[i];
			double share = part == ANATOMY_OTHER  ? rest_of(step)
				       : step->is_known[part] ? step->ms[part] / step->step_ms
							      : NAN;
			if (share >= 0 && share <= 1) /* no part is more than its step: that is of several steps */
				values[count++] = share;
		}
		out->share[part] = median_of(values, count);
		out->steps = count > out->steps ? count : out->steps;
	}
}

/* ---- formulas ---- */

static enum status keep(struct arena *arena, const struct buf *text, struct span *out, struct error *err)
{
	TRY(buf_status(text, err));
	*out = arena_copy(arena, buf_span(text));
	return out->ptr ? OK : error_no_memory(err);
}

static void put_metrics(const struct used *used, int part, struct buf *text)
{
	for (size_t i = 0, written = 0; i < TIMERS_COUNT; i++)
		if (used->is_there[i] && (int)TIMERS[i].part == part)
			buf_printf(text, "%s%s", written++ ? " + " : "", TIMERS[i].metric);
	for (size_t i = 0; i < TIMERS_COUNT; i++)
		if (used->is_there[i] && used->within[i] == part)
			buf_printf(text, " - %s", TIMERS[i].metric);
}

static void put_formula(const struct used *used, const struct anatomy_stream *stream, int part, struct buf *text)
{
	if (part == ANATOMY_OTHER) {
		buf_append_text(text, "1 - the other shares");
		return;
	}
	buf_append_text(text, part == ANATOMY_CHECKPOINT ? "sum(" : "(");
	put_metrics(used, part, text);
	if (part != ANATOMY_CHECKPOINT) {
		buf_printf(text, ") / %.*s", SPAN_ARGS(stream->step_from));
		return;
	}
	buf_printf(text, ") / (steps * median(%.*s) + sum(", SPAN_ARGS(stream->step_from));
	put_metrics(used, part, text);
	buf_append_text(text, "))");
}

static enum status write_from(
	const struct used *used, struct arena *arena, struct anatomy_stream *out, struct error *err)
{
	for (int part = 0; part < ANATOMY_PARTS; part++) {
		AUTO_DONE(buf) text = BUF_INIT(FROM_BYTES);
		out->from[part] = SPAN("");
		if (isnan(out->share[part]))
			continue;
		put_formula(used, out, part, &text);
		TRY(keep(arena, &text, &out->from[part], err));
	}
	return OK;
}

/* ---- streams ---- */

/* 0: in no unit of time. */
static double unit_of(enum family family, const struct series_view *series)
{
	if (OWN[family].step)
		return OWN[family].unit_ms;
	return span_equal(series->unit, SPAN("ms")) ? 1 : span_equal(series->unit, SPAN("s")) ? 1000 : 0;
}

static bool may_have(const struct stream_view *stream, enum family family)
{
	for (size_t i = 0; family == LOADER && i < sizeof LOADERS / sizeof LOADERS[0]; i++)
		if (span_equal(stream->preset, span_from(LOADERS[i])))
			return true;
	return family != LOADER;
}

static void find_timer(const struct stream_view *stream, size_t i, struct used *out)
{
	const struct timer *timer = &TIMERS[i];
	const struct series_view *series = stream_view_find(stream, span_from(timer->metric));
	bool is_within = !timer->since || stream_view_find(stream, span_from(timer->since));

	out->timer_ms[i] = series ? unit_of(timer->family, series) : 0;
	out->is_there[i] = out->timer_ms[i] > 0 && may_have(stream, timer->family);
	out->within[i] = is_within ? timer->within : NOWHERE;
}

/* One trainer's timers alone: those that the stream has most of. */
static bool find_timers(const struct stream_view *stream, struct span step_time, struct used *out)
{
	size_t counts[FAMILIES] = {0};
	enum family most = MEGATRON;

	for (size_t i = 0; i < TIMERS_COUNT; i++) {
		find_timer(stream, i, out);
		counts[TIMERS[i].family] += out->is_there[i];
	}
	for (int family = 0; family < FAMILIES; family++)
		most = counts[family] > counts[most] ? (enum family)family : most;
	for (size_t i = 0; i < TIMERS_COUNT; i++)
		out->is_there[i] = out->is_there[i] && TIMERS[i].family == most;
	out->time = stream_view_find(stream, OWN[most].step ? span_from(OWN[most].step) : step_time);
	out->unit_ms = out->time ? unit_of(most, out->time) : 0;
	out->is_in_parts = most == SPANS;
	return counts[most] && out->unit_ms > 0;
}

static bool has_any(const struct used *used)
{
	for (size_t i = 0; i < TIMERS_COUNT; i++)
		if (used->is_there[i])
			return true;
	return false;
}

static void find_late(const struct reading *r, struct anatomy_stream *out)
{
	size_t late = r->count / 8 > ANATOMY_LATE_LEAST ? r->count / 8 : ANATOMY_LATE_LEAST;

	out->late_step = -1;
	if (r->count < 2 * late)
		return;
	out->late_step = r->steps[r->count - late].step;
	out->late_ms = r->steps[r->count - late].ts_ms;
}

static enum status read_stream(
	struct reading *r, const struct used *used, struct arena *arena, struct anatomy_stream *out, struct error *err)
{
	*out = (struct anatomy_stream){.name = r->stream->name, .step_from = used->time->metric, .exposed = NAN};
	r->unit_ms = used->unit_ms;
	r->is_in_parts = used->is_in_parts;
	r->count = 0;
	r->seen = 0;
	TRY(walk_back(r, used->time, NULL, take_step, err));
	qsort(r->steps, r->count, sizeof *r->steps, by_step);
	for (size_t i = 0; i < TIMERS_COUNT; i++) {
		if (!used->is_there[i] || !r->count)
			continue;
		r->unit_ms = used->timer_ms[i];
		TRY(walk_back(
			r, stream_view_find(r->stream, span_from(TIMERS[i].metric)), &TIMERS[i], take_timer, err));
	}
	for (size_t i = 0; i < r->count; i++)
		add_up(&r->steps[i], used);
	find_late(r, out);
	set_shares(r, used, out);
	return write_from(used, arena, out, err);
}

static void set_medians(struct anatomy *out)
{
	double values[ANATOMY_STREAMS_MAX];

	for (int part = 0; part < ANATOMY_PARTS; part++) {
		size_t count = 0;
		for (size_t i = 0; i < out->count; i++)
			if (!isnan(out->streams[i].share[part]))
				values[count++] = out->streams[i].share[part];
		out->share[part] = median_of(values, count);
	}
	for (size_t i = 0; i < out->count; i++)
		out->steps = out->streams[i].steps > out->steps ? out->streams[i].steps : out->steps;
}

enum status anatomy_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	const struct anatomy_range *range, struct anatomy *out, struct error *err)
{
	struct reading r = {.pipeline = pipeline, .reader = reader, .job = job, .from = range->from, .to = range->to};
	struct job_view view;
	struct span step_time;

	*out = (struct anatomy){.streams = arena_alloc(arena, ANATOMY_STREAMS_MAX * sizeof *out->streams)};
	r.steps = arena_alloc(arena, ANATOMY_STEPS_MAX * sizeof *r.steps);
	if (!out->streams || !r.steps)
		return error_no_memory(err);
	TRY(view_read_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(main_series_find(reader, arena, &view, ROLE_STEP_TIME, &step_time, err));
	for (size_t i = 0; i < view.stream_count; i++) {
		struct used used;
		r.stream = &view.streams[i];
		if (stream_is_system(r.stream->name))
			continue;
		bool is_timed = find_timers(r.stream, step_time, &used);
		out->has_timers |= has_any(&used);
		out->has_timed_steps |= is_timed;
		if (!is_timed)
			continue;
		if (out->count == range->streams) {
			out->left_out++;
			continue;
		}
		TRY(read_stream(&r, &used, arena, &out->streams[out->count], err));
		if (out->streams[out->count].steps)
			out->count++;
	}
	set_medians(out);
	return OK;
}
