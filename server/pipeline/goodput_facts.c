/*
 * What a job's time is derived from: statuses with their messages, the times at which steps were printed, and evaluations.
 * A series of many points is read by its pyramid's lowest buckets, which hold 64 steps or so: their times and steps are exact.
 */
#include "pipeline/goodput.h"

#include "model/failure.h"
#include "model/stream_name.h"
#include "pipeline/pyramids.h"
#include "store/faults.h"

#include <stdlib.h>

enum { EXACT_POINTS = 16384, CHECKPOINTS_MAX = 65536 };

static enum status out_of_memory(struct error *err)
{
	return error_set(err, ERR_MEMORY, "out of memory");
}

static int64_t within(int64_t x)
{
	return x > GOODPUT_LIMIT ? GOODPUT_LIMIT : x < -GOODPUT_LIMIT ? -GOODPUT_LIMIT : x;
}

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

/* The loss is printed once a step; what else is may be printed less often, and by anybody. */
static int rank_of(const struct series_view *series)
{
	static const enum role roles[] = {
		ROLE_OTHER, ROLE_LEARNING_RATE, ROLE_GRAD_NORM, ROLE_MFU, ROLE_THROUGHPUT, ROLE_STEP_TIME, ROLE_LOSS};

	for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
		if (series->role == roles[i])
			return (int)i + 1;
	return 0;
}

static struct lead find_lead(const struct job_view *view, struct span rank_0)
{
	struct lead best = {0};

	for (size_t i = 0; i < view->stream_count; i++) {
		const struct stream_view *stream = &view->streams[i];
		bool is_rank_0 = span_equal(stream->name, rank_0);
		for (size_t j = 0; !stream_is_system(stream->name) && j < stream->series_count; j++) {
			const struct series_view *series = &stream->series[j];
			int rank = 2 * rank_of(series) + is_rank_0;
			if (rank < 2 || series_is_derived(series->series_id) || !points_of(series) ||
				rank < best.rank || (rank == best.rank && points_of(series) <= points_of(best.series)))
				continue;
			best = (struct lead){stream, series, rank};
		}
	}
	return best;
}

static const struct series_view *find_evaluation(const struct stream_view *stream)
{
	const struct series_view *best = NULL;

	for (size_t i = 0; i < stream->series_count; i++)
		if (stream->series[i].role == ROLE_EVAL_LOSS && points_of(&stream->series[i]) &&
			(!best || points_of(&stream->series[i]) > points_of(best)))
			best = &stream->series[i];
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
		if (c->count)
			memcpy(grown, c->points, c->count * sizeof *grown);
		c->points = grown;
		c->cap = cap;
	}
	c->points[c->count++] = (struct goodput_point){within(ts_ms), within(step), attempt};
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
	c->spans += within(bucket->max_step) - within(bucket->min_step);
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
		return out_of_memory(err);
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

	for (size_t i = 0; i < count; i++) {
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

static enum status read_series(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct span stream, const struct series_view *series, struct collecting *c,
	struct error *err)
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
			return out_of_memory(err);
		TRY(pipeline_read_points(
			pipeline, reader, own, view->row.name, stream, &query, batch.next_ordinal, &batch, err));
		for (size_t i = 0; i < batch.count; i++)
			collect_point(c, &batch.points[i]);
	}
	if (c->is_out_of_memory)
		return out_of_memory(err);
	if (c->count)
		qsort(c->points, c->count, sizeof *c->points, by_time);
	return OK;
}

static int by_mark(const void *a, const void *b)
{
	const struct goodput_mark *x = a, *y = b;

	if (x->ts_ms != y->ts_ms)
		return x->ts_ms < y->ts_ms ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Evaluations by the times of their values, checkpoints by the lines that tell of them. */
static enum status read_marks(struct store_reader *reader, struct arena *arena, int64_t job_id,
	const struct collecting *evaluations, struct goodput_facts *out, struct error *err)
{
	struct checkpoint_row *saved;
	size_t saved_count;

	TRY(store_read_checkpoints(reader, arena, job_id, INT64_MAX, CHECKPOINTS_MAX, &saved, &saved_count, err));
	struct goodput_mark *marks = arena_alloc(arena, (evaluations->count + saved_count + 1) * sizeof *marks);
	if (!marks)
		return out_of_memory(err);
	for (size_t i = 0; i < evaluations->count; i++)
		if (!i || evaluations->points[i].ts_ms != evaluations->points[i - 1].ts_ms)
			marks[out->mark_count++] =
				(struct goodput_mark){evaluations->points[i].ts_ms, GOODPUT_EVALUATION, -1};
	for (size_t i = 0; i < saved_count; i++)
		marks[out->mark_count++] =
			(struct goodput_mark){within(saved[i].ts_ms), GOODPUT_CHECKPOINT, within(saved[i].step)};
	if (out->mark_count)
		qsort(marks, out->mark_count, sizeof *marks, by_mark);
	out->marks = marks;
	return OK;
}

static enum status read_steps(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, struct job_facts *out, struct error *err)
{
	struct rank_0 rank_0;
	struct collecting c;

	TRY(pipeline_find_rank_0(reader, arena, view, &rank_0, err));
	struct lead lead = find_lead(view, rank_0.stream);
	out->metric = lead.series ? lead.series->metric : SPAN("");
	out->stream = lead.series ? lead.stream->name : SPAN("");
	if (!lead.series)
		return OK;
	TRY(read_series(pipeline, reader, arena, view, lead.stream->name, lead.series, &c, err));
	out->facts.point_count = join_equal_times(c.points, c.count);
	out->facts.points = c.points;
	if (c.between && c.spans / c.between > 0)
		out->facts.stride = c.spans / c.between;
	const struct series_view *evaluation = find_evaluation(lead.stream);
	c = (struct collecting){.count = 0};
	if (evaluation)
		TRY(read_series(pipeline, reader, arena, view, lead.stream->name, evaluation, &c, err));
	return read_marks(reader, arena, view->row.job_id, &c, &out->facts, err);
}

/* ---- the machines ---- */

static int64_t count_of(const struct json *node)
{
	double count;

	return node && json_number_of(node, &count) && count >= 1 && count <= JOB_NODES_MAX ? (int64_t)count : 0;
}

/* Names of the machines that its lines came from. */
static int64_t count_hosts(const struct job_view *view)
{
	int64_t count = 0;

	for (size_t i = 0; i < view->stream_count; i++) {
		bool is_new = !stream_is_system(view->streams[i].name) && view->streams[i].host.len;
		for (size_t j = 0; is_new && j < i; j++)
			is_new = !span_equal(view->streams[i].host, view->streams[j].host) ||
				 stream_is_system(view->streams[j].name);
		count += is_new;
	}
	return count;
}

static enum status read_nodes(struct arena *arena, const struct job_view *view, const struct json *document,
	struct job_facts *out, struct error *err)
{
	const struct json *resources = json_get(document, "ResourceConfig");
	const struct json *groups = resources ? json_get(resources, "InstanceGroups") : NULL;
	size_t most = groups ? json_count(groups) + 1 : 1;

	out->nodes = arena_alloc(arena, most * sizeof *out->nodes);
	if (!out->nodes)
		return out_of_memory(err);
	for (const struct json *group = groups ? json_first(groups) : NULL; group; group = json_next(group)) {
		int64_t count = count_of(json_get(group, "InstanceCount"));
		struct span instance = arena_copy(arena, json_string_of(json_get(group, "InstanceType")));
		if (!instance.ptr)
			return out_of_memory(err);
		if (!count || out->node_count + count > JOB_NODES_MAX)
			continue;
		out->nodes[out->type_count++] = (struct job_nodes){instance, count};
		out->node_count += count;
	}
	if (out->type_count)
		return OK;
	int64_t count = resources ? count_of(json_get(resources, "InstanceCount")) : 0;
	struct span instance = resources ? json_string_of(json_get(resources, "InstanceType")) : SPAN("");
	if (!count)
		count = count_hosts(view);
	out->node_count = count ? count : 1;
	out->nodes[0] = (struct job_nodes){arena_copy(arena, instance), out->node_count};
	out->type_count = 1;
	return out->nodes[0].instance.ptr ? OK : out_of_memory(err);
}

/* ---- statuses ---- */

struct phasing {
	struct goodput_phase *phases;
	bool *is_billed;
	size_t count;
	bool has_trained;
};

static bool is_waiting(struct span status)
{
	return span_equal(status, SPAN("Interrupted")) || span_equal(status, SPAN("Starting")) ||
	       span_equal(status, SPAN("Pending")) || span_equal(status, SPAN("LaunchingMLInstances")) ||
	       span_equal(status, SPAN("PreparingTrainingStack"));
}

static void add_phase(struct phasing *p, struct span status, struct span message, int64_t from_ms, int64_t to_ms)
{
	struct goodput_phase phase = goodput_phase_of(status, message, p->has_trained);

	phase.from_ms = p->count ? p->phases[p->count - 1].to_ms : from_ms;
	phase.to_ms = to_ms > phase.from_ms ? to_ms : phase.from_ms;
	p->has_trained |= phase.is_training;
	p->is_billed[p->count] = p->has_trained && !is_waiting(status);
	p->phases[p->count++] = phase;
}

/* A transition in the pieces that its messages cut it into. */
static void add_transition(struct phasing *p, const struct transition_row *row, int64_t to_ms,
	const struct status_message *messages, size_t message_count)
{
	struct span message = SPAN("");
	int64_t from_ms = row->start_ms;
	bool has_any = false;

	for (size_t i = 0; i < message_count; i++) {
		const struct status_message *said = &messages[i];
		if (!span_equal(said->status, row->status) || said->at_ms < row->start_ms ||
			(said->at_ms >= to_ms && said->at_ms > row->start_ms))
			continue;
		if (has_any && said->at_ms > from_ms) { /* the first one holds from the beginning */
			add_phase(p, row->status, message, from_ms, said->at_ms);
			from_ms = said->at_ms;
		}
		message = said->message;
		has_any = true;
	}
	add_phase(p, row->status, has_any ? message : row->message, from_ms, to_ms);
}

static int64_t first_line_ms(const struct job_view *view)
{
	int64_t first_ms = INT64_MAX;

	for (size_t i = 0; i < view->stream_count; i++)
		if (view->streams[i].first_ms && view->streams[i].first_ms < first_ms)
			first_ms = view->streams[i].first_ms;
	return first_ms;
}

/* A job that nobody announced and nobody ended runs as long as its lines: of the past, or until it falls silent. */
static int64_t open_end_ms(
	const struct pipeline *pipeline, const struct job_view *view, int64_t now_ms, struct job_facts *out)
{
	int64_t last_ms = 0, heard_ms = 0;

	for (size_t i = 0; i < view->stream_count; i++) {
		last_ms = view->streams[i].last_ms > last_ms ? view->streams[i].last_ms : last_ms;
		heard_ms = view->streams[i].last_arrival_ms > heard_ms ? view->streams[i].last_arrival_ms : heard_ms;
	}
	out->changed_ms = heard_ms > view->row.modified_ms ? heard_ms : view->row.modified_ms;
	bool is_over = view->row.is_implicit && last_ms &&
		       (last_ms < heard_ms - HISTORIC_MS || pipeline_silent_since(pipeline, &view->row, heard_ms));
	out->is_open = !is_over;
	return is_over ? last_ms : now_ms;
}

static enum status read_phases(const struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_view *view, int64_t now_ms, struct job_facts *out, struct error *err)
{
	const struct job_row *row = &view->row;
	struct transition_row *rows;
	struct status_message *messages;
	size_t count, message_count;
	int64_t end_ms = row->ended_ms ? row->ended_ms : open_end_ms(pipeline, view, now_ms, out);
	int64_t begin_ms = row->created_ms, first_ms = first_line_ms(view);

	TRY(store_read_transitions(reader, arena, row->job_id, &rows, &count, err));
	TRY(store_read_status_messages(reader, arena, row->job_id, &messages, &message_count, err));
	struct phasing p = {.phases = arena_alloc(arena, (count + message_count + 2) * sizeof *p.phases),
		.is_billed = arena_alloc(arena, (count + message_count + 2) * sizeof *p.is_billed)};
	if (!p.phases || !p.is_billed)
		return out_of_memory(err);
	if (count && rows[0].start_ms < begin_ms)
		begin_ms = rows[0].start_ms;
	if (row->is_implicit && first_ms < begin_ms)
		begin_ms = first_ms;
	begin_ms = within(begin_ms);
	end_ms = within(end_ms);
	/* It was asked for before it trained, whether anybody said so or not. */
	bool begins_training = count && span_equal(rows[0].status, SPAN("Training"));
	if (!count)
		add_phase(&p, row->secondary, SPAN(""), begin_ms, end_ms);
	else if (begins_training && rows[0].source != SOURCE_ASSUMED && rows[0].start_ms > begin_ms)
		add_phase(&p, SPAN("Starting"), SPAN(""), begin_ms, within(rows[0].start_ms));
	else
		rows[0].start_ms = begin_ms;
	for (size_t i = 0; i < count; i++)
		add_transition(
			&p, &rows[i], i + 1 < count ? within(rows[i + 1].start_ms) : end_ms, messages, message_count);
	out->facts.phases = p.phases;
	out->facts.phase_count = p.count;
	out->is_billed = p.is_billed;
	return OK;
}

static enum goodput_end end_of(const struct job_row *row)
{
	if (!row->ended_ms)
		return GOODPUT_RUNS;
	if (span_equal(row->status, SPAN("Failed")))
		return GOODPUT_FAILED;
	return span_equal(row->status, SPAN("Completed")) ? GOODPUT_COMPLETED : GOODPUT_STOPPED;
}

enum status goodput_gather(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	int64_t now_ms, struct job_row *row, struct job_facts *out, struct error *err)
{
	AUTO(json) document = NULL;
	struct job_view view;
	double billable_s;

	*out = (struct job_facts){.stated_billable_ms = -1, .facts = {.next_from_step = INT64_MAX}};
	TRY(pipeline_view_job(pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err));
	TRY(json_parse(&document, view.row.document, err));
	TRY(read_nodes(arena, &view, document, out, err));
	if (json_number_of(json_get(document, "BillableTimeInSeconds"), &billable_s) && billable_s >= 0 &&
		billable_s < 1e12)
		out->stated_billable_ms = (int64_t)(billable_s * 1000);
	out->is_spot = json_is_true(json_get(document, "EnableManagedSpotTraining"));
	TRY(read_phases(pipeline, reader, arena, &view, now_ms, out, err));
	TRY(read_steps(pipeline, reader, arena, &view, out, err));
	out->facts.end = end_of(&view.row);
	const char *class = failure_class(view.row.failure_reason);
	out->facts.end_cause = span_from(class ? class : "");
	*row = view.row;
	return OK;
}
