#include "pipeline/life/pools.h"

#include "base/clock.h"
#include "fleet/goodput.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "model/jobs/by_hand.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "state/jobs/stated.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "store/run.h"
#include "store/transitions.h"

#include <stdlib.h>

enum { SHAPE_MAX_BYTES = 16 << 10, WINDOW_JOBS = 64 };

/* A failure of the service or the hardware may have hurt the cluster; one of the algorithm or its input has not. */
static bool is_retained(const struct job_row *job)
{
	return !span_starts_with(job->failure_reason, SPAN("InternalServerError")) &&
	       !span_starts_with(job->failure_reason, SPAN("CapacityError"));
}

static struct pool_job fact_of(const struct pool_job_row *row)
{
	return (struct pool_job){.job_id = row->job_id,
		.begun_ms = row->begun_ms,
		.ended_ms = row->ended_ms,
		.keep_alive_ms = row->keep_alive_ms,
		.released_ms = row->released_ms,
		.reused_by = row->told_heir_id,
		.is_retained = row->is_retained};
}

static bool is_at(const struct pool_job_row *row, const struct pool_place *place)
{
	return row->pool_id == place->pool_id && row->position == place->position && row->is_last == place->is_last &&
	       row->state == (int)place->state && row->heir_id == place->reused_by &&
	       row->retained_ms == place->retained_ms && row->until_ms == place->until_ms;
}

static void move_to(struct pool_job_row *row, const struct pool_place *place)
{
	row->pool_id = place->pool_id;
	row->position = place->position;
	row->is_last = place->is_last;
	row->state = (int)place->state;
	row->heir_id = place->reused_by;
	row->retained_ms = place->retained_ms;
	row->until_ms = place->until_ms;
}

/* What is derived anew: the jobs of a shape from a moment on, as far as a change of one of them can reach. */
struct reach {
	uint64_t shape;
	int64_t from_ms;
	int64_t now_ms;
	int64_t job_id; /* the one that changed; 0: none did, time passed */
	struct pool_job before, after; /* what was and is known of it; job_id 0: nothing */
};

struct window {
	struct pool_job_row *rows;
	struct pool_job *facts;
	struct pool_place *places;
	size_t count;
	bool has_more; /* jobs that began at end_ms and later are not in it */
	int64_t end_ms;
};

static enum status take_rows(struct arena *arena, const struct pool_job_row *past, size_t past_count,
	const struct pool_job_row *present, size_t present_count, struct window *out, struct error *err)
{
	size_t count = past_count + present_count;

	out->count = count;
	out->rows = arena_alloc(arena, (count + 1) * sizeof *out->rows);
	out->facts = arena_alloc(arena, (count + 1) * sizeof *out->facts);
	out->places = arena_alloc(arena, (count + 1) * sizeof *out->places);
	if (!out->rows || !out->facts || !out->places)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		out->rows[i] = i < past_count ? past[i] : present[i - past_count];
		out->facts[i] = fact_of(&out->rows[i]);
		if (i >= past_count)
			continue;
		out->facts[i].settled_pool_id = past[i].pool_id;
		out->facts[i].settled_position = past[i].position;
		out->facts[i].settled_begun_ms = past[i].pool_begun_ms;
	}
	return OK;
}

static int compare_rows(const void *a, const void *b)
{
	const struct pool_job_row *left = a, *right = b;

	if (left->begun_ms != right->begun_ms)
		return left->begun_ms < right->begun_ms ? -1 : 1;
	return left->job_id < right->job_id ? -1 : left->job_id > right->job_id;
}

static enum status read_window(struct store_reader *reader, struct arena *arena, const struct reach *reach,
	size_t limit, struct window *out, struct error *err)
{
	struct pool_window donors = {.shape = reach->shape,
		.from_ms = reach->from_ms,
		.to_ms = INT64_MAX,
		.ended_after_ms = reach->from_ms - POOL_KEEP_ALIVE_MAX_MS,
		.job_id = reach->job_id};
	struct pool_job_row *present, *past;
	size_t present_count, past_count;

	TRY(store_read_pool_group(
		reader, arena, reach->shape, reach->from_ms, limit + 1, &present, &present_count, err));
	*out = (struct window){.has_more = present_count > limit};
	if (out->has_more) {
		out->end_ms = donors.to_ms = present[limit].begun_ms;
		present_count = limit;
	}
	TRY(store_read_pool_donors(reader, arena, &donors, &past, &past_count, err));
	if (past_count)
		qsort(past, past_count, sizeof *past, compare_rows);
	return take_rows(arena, past, past_count, present, present_count, out, err);
}

/* Nothing that changed in the window matters to a job behind it: those stay as they are. */
static bool is_settled(const struct reach *reach, const struct window *window)
{
	if (!window->has_more)
		return true;
	/* A window that begins at a job whose report names this one has to hold this one, too. */
	if (reach->before.begun_ms >= window->end_ms || reach->after.begun_ms >= window->end_ms)
		return false;
	if (pool_job_reaches(&reach->before, window->end_ms) || pool_job_reaches(&reach->after, window->end_ms))
		return false;
	for (size_t i = 0; i < window->count; i++)
		if (!is_at(&window->rows[i], &window->places[i]) && pool_job_reaches(&window->facts[i], window->end_ms))
			return false;
	return true;
}

static enum status derive_window(const struct reach *reach, const struct window *window, struct error *err)
{
	int64_t now_ms = reach->now_ms;

	for (size_t i = 0; i < window->count; i++) /* a clock that goes backwards brings no pool back */
		if (window->rows[i].state == POOL_TERMINATED && window->rows[i].until_ms > now_ms)
			now_ms = window->rows[i].until_ms;
	return pool_derive(window->facts, window->count, now_ms, window->places, err);
}

static enum status derive(struct store_tx *tx, const struct reach *reach, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct window window;
	size_t limit = WINDOW_JOBS;

	do {
		arena_free(arena);
		arena = arena_new();
		if (!arena)
			return error_no_memory(err);
		TRY(read_window(store_tx_reader(tx), arena, reach, limit, &window, err));
		TRY(derive_window(reach, &window, err));
		limit *= 4;
	} while (!is_settled(reach, &window));
	for (size_t i = 0; i < window.count; i++) {
		if (is_at(&window.rows[i], &window.places[i]))
			continue;
		move_to(&window.rows[i], &window.places[i]);
		TRY(store_put_pool_job(tx, &window.rows[i], err));
	}
	return OK;
}

/* What the job is now; its place follows. A keep-alive that is taken back or cut ends the wait, and is known as what it was. */
static void set_facts(struct pool_job_row *row, const struct job_row *job, const struct pool_shape *shape,
	struct span told_heir, int64_t now_ms)
{
	bool waits = row->job_id && row->state == POOL_AVAILABLE;

	if (waits && job->ended_ms + shape->keep_alive_ms <= now_ms) {
		row->released_ms = row->released_ms ? row->released_ms : now_ms;
	} else {
		row->keep_alive_ms = shape->keep_alive_ms;
		row->released_ms = job->ended_ms ? row->released_ms : 0;
	}
	row->job_id = job->job_id;
	row->shape = shape->hash;
	row->begun_ms = job->created_ms;
	row->ended_ms = job->ended_ms;
	row->is_retained = is_retained(job);
	/* of a job that its first line made nobody knows when it was asked for */
	row->startup_ms = job->started_ms > job->created_ms ? job->started_ms - job->created_ms : -1;
	row->told_heir = told_heir;
}

static enum status put_shape(struct store_tx *tx, const struct pool_shape *shape, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(POOL_SHAPE_FIELDS * SHAPE_MAX_BYTES);

	pool_shape_print(shape, &text);
	TRY(buf_status(&text, err));
	return store_put_pool_shape(tx, shape->hash, buf_span(&text), err);
}

/* Of what the places of a shape's jobs are derived from. */
static bool has_same_facts(const struct pool_job_row *a, const struct pool_job_row *b)
{
	return a->job_id == b->job_id && a->shape == b->shape && a->begun_ms == b->begun_ms &&
	       a->ended_ms == b->ended_ms && a->keep_alive_ms == b->keep_alive_ms && a->released_ms == b->released_ms &&
	       a->is_retained == b->is_retained && span_equal(a->told_heir, b->told_heir);
}

/* Where none of the shape ever kept its cluster, which is most of them, nobody has a place. */
static enum status derive_after(
	struct store_tx *tx, const struct reach *reach, const struct pool_job_row *old, struct error *err)
{
	bool has_pools = old->pool_id != 0;

	if (!has_pools)
		TRY(store_has_pools(store_tx_reader(tx), reach->shape, &has_pools, err));
	return has_pools ? derive(tx, reach, err) : OK;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* The job took or changed its place among those of its shape. old: as it was there; job_id 0: it was not. */
static enum status derive_here(struct store_tx *tx, const struct pool_job_row *row, const struct pool_job_row *old,
	struct span name, int64_t now_ms, struct error *err)
{
	struct reach reach = {.shape = row->shape, .now_ms = now_ms, .job_id = row->job_id, .after = fact_of(row)};
	int64_t told_ms;

	reach.after.reused_by = row->told_heir.len ? row->job_id : 0; /* by whom matters not */
	if (old->job_id && old->shape == row->shape)
		reach.before = fact_of(old);
	/* A report may have named the job before it was known. */
	TRY(store_read_pool_told(store_tx_reader(tx), row->shape, name, &told_ms, err));
	reach.from_ms = sooner(row->begun_ms, reach.before.job_id ? old->begun_ms : row->begun_ms);
	reach.from_ms = sooner(reach.from_ms, told_ms);
	return derive_after(tx, &reach, old, err);
}

/* It is no longer among those of its old shape. */
static enum status derive_there(
	struct store_tx *tx, const struct pool_job_row *old, struct span name, int64_t now_ms, struct error *err)
{
	struct reach reach = {.shape = old->shape, .now_ms = now_ms, .job_id = old->job_id, .before = fact_of(old)};
	int64_t told_ms;

	TRY(store_read_pool_told(store_tx_reader(tx), old->shape, name, &told_ms, err));
	reach.from_ms = sooner(old->begun_ms, told_ms);
	return derive_after(tx, &reach, old, err);
}

/* Of a mixed cluster the sum of its groups, whose type is not one; of a job that does not say it what was seen. What nobody has is not believed: goodput neither. */
static int64_t count_nodes(const struct json *document, int64_t seen)
{
	const struct json *groups = json_get_path(document, "ResourceConfig.InstanceGroups");
	double count = 0, sum = 0;
	struct by_hand by;

	by_hand_read(&by, document);
	if (by.nodes)
		return by.nodes;
	for (const struct json *group = json_first(groups); group; group = json_next(group))
		sum += json_number_of(json_get(group, "InstanceCount"), &count) && count > 0 ? count : 0;
	if (sum < 1 && !json_number_of(json_get_path(document, "ResourceConfig.InstanceCount"), &sum))
		return seen > 0 ? seen : 1;
	return sum >= 1 && sum <= JOB_NODES_MAX ? (int64_t)sum : 1;
}

/* One meaning everywhere: as the job's row and its cost have it. -1: it runs, and grows. */
static int64_t billed_of(
	const struct job_row *job, const struct json *document, const struct goodput_row *goodput, int64_t unbilled_ms)
{
	int64_t stated_ms = job_stated_billable_ms(job, document);
	int64_t lasted_ms = job->started_ms && job->ended_ms > job->started_ms ? job->ended_ms - job->started_ms : 0;

	if (stated_ms >= 0)
		return stated_ms;
	if (job->ended_ms)
		return lasted_ms > unbilled_ms ? lasted_ms - unbilled_ms : 0;
	if (!goodput->is_over)
		return -1;
	return job->started_ms && goodput->billable_ms > 0 ? goodput->billable_ms : 0;
}

static enum status count_job(
	struct store_tx *tx, const struct job_row *job, const struct json *document, int64_t now_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct goodput_row goodput;
	struct by_hand by;
	int64_t idle_ms = 0;

	if (!arena)
		return error_no_memory(err);
	by_hand_read(&by, document);
	TRY(store_read_goodput(store_tx_reader(tx), arena, job->job_id, &goodput, err));
	if (job->started_ms)
		TRY(store_read_idle(store_tx_reader(tx), job->job_id, job->started_ms,
			job->ended_ms ? job->ended_ms : now_ms, &idle_ms, err));
	struct fleet_job row = {.job_id = job->job_id,
		.status = job->status,
		.instance_type = by.instance_type.len
					 ? by.instance_type
					 : json_string_of(json_get_path(document, "ResourceConfig.InstanceType")),
		.nodes = count_nodes(document, goodput.nodes),
		.started_ms = job->started_ms,
		.ended_ms = job->ended_ms,
		.paused_ms = goodput.paused_ms,
		.unbilled_ms = goodput.paused_ms + idle_ms,
		.billed_ms = billed_of(job, document, &goodput, goodput.paused_ms + idle_ms)};

	return store_put_fleet_job(tx, &row, now_ms, err);
}

enum status pools_count_job(struct store_tx *tx, int64_t job_id, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;
	int64_t now_ms = clock_wall_ms();
	struct job_row job;

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_job_by_id(store_tx_reader(tx), arena, job_id, &job, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* deleted meanwhile */
	TRY(status);
	TRY(json_parse(&document, job.document.len ? job.document : SPAN("{}"), err));
	TRY(count_job(tx, &job, document, now_ms, err));
	return store_settle_fleet_totals(tx, now_ms, err);
}

static enum status follow(struct store_tx *tx, const struct job_row *job, int64_t now_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;
	struct pool_shape shape;
	struct pool_job_row row;
	/* A job that ended before it had a cluster left none behind. */
	bool had_cluster = !job->ended_ms || job->started_ms;

	if (!arena)
		return error_no_memory(err);
	TRY(json_parse(&document, job->document.len ? job->document : SPAN("{}"), err));
	TRY(by_hand_settle(document, err));
	TRY(count_job(tx, job, document, now_ms, err));
	TRY(pool_shape_read(&shape, document, arena, err));
	TRY(store_read_pool_job(store_tx_reader(tx), arena, job->job_id, &row, err));
	if (!row.job_id && !(shape.is_whole && had_cluster))
		return OK;
	struct pool_job_row old = row;
	bool is_known = row.job_id != 0, is_in = shape.is_whole && had_cluster;
	if (is_in) {
		set_facts(&row, job, &shape, json_string_of(json_get_path(document, "WarmPoolStatus.ReusedByJob")),
			now_ms);
		if (!is_known)
			row.heir_id = 0;
		TRY(put_shape(tx, &shape, err));
		TRY(store_put_pool_job(tx, &row, err));
	} else {
		TRY(store_delete_pool_job(tx, job->job_id, err));
	}
	if (is_known && (!is_in || old.shape != shape.hash))
		TRY(derive_there(tx, &old, job->name, now_ms, err));
	return is_in && !has_same_facts(&old, &row) ? derive_here(tx, &row, &old, job->name, now_ms, err) : OK;
}

/* A job that it goes on with, and one that it no longer goes on with, have lost other steps. */
static enum status put_link(struct store_tx *tx, struct job_row *job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct span before, after;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_continued(store_tx_reader(tx), arena, job->job_id, &before, err));
	TRY(store_put_job(tx, job, err));
	TRY(store_read_continued(store_tx_reader(tx), arena, job->job_id, &after, err));
	if (span_equal(before, after))
		return OK;
	TRY(store_touch_goodput_of(tx, before, job->job_id, err));
	return store_touch_goodput_of(tx, after, job->job_id, err);
}

enum status pools_put_job(struct store_tx *tx, struct job_row *job, struct error *err)
{
	int64_t now_ms = clock_wall_ms();

	TRY(put_link(tx, job, err));
	TRY(store_touch_goodput(tx, job->job_id, 0, err));
	TRY(follow(tx, job, now_ms, err));
	return store_settle_fleet_totals(tx, now_ms, err);
}

enum status pools_leave(struct store_tx *tx, int64_t job_id, struct error *err)
{
	int64_t now_ms = clock_wall_ms();
	AUTO(arena) arena = arena_new();
	struct pool_job_row row;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_pool_job(store_tx_reader(tx), arena, job_id, &row, err));
	if (row.job_id && !row.pool_id) /* no chain misses it */
		return store_delete_pool_job(tx, job_id, err);
	if (!row.job_id || row.ended_ms)
		return OK;
	struct reach reach = {.shape = row.shape,
		.from_ms = row.begun_ms,
		.now_ms = now_ms,
		.job_id = job_id,
		.before = fact_of(&row)};
	row.ended_ms = now_ms;
	row.is_retained = false;
	reach.after = fact_of(&row);
	TRY(store_put_pool_job(tx, &row, err));
	return derive(tx, &reach, err);
}

static enum status write_ending(void *context, struct store_tx *tx, struct error *err)
{
	return derive(tx, context, err);
}

enum status pools_run(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pool_job_row row;
	struct reach reach = {.now_ms = clock_wall_ms()};

	*has_more = false;
	if (!arena)
		return error_no_memory(err);
	TRY(store_next_pool_due(reader, arena, &row, err));
	if (!row.job_id || row.until_ms > reach.now_ms)
		return OK;
	*has_more = true;
	reach.shape = row.shape;
	reach.from_ms = row.begun_ms;
	return writer_execute(pipeline, write_ending, &reach, err);
}

/* ---- databases from before pools ---- */

enum { SWEEP_JOBS = 200 };

struct sweep {
	int64_t ids[SWEEP_JOBS];
	size_t count;
};

static enum status write_sweep(void *context, struct store_tx *tx, struct error *err)
{
	const struct sweep *sweep = context;
	int64_t now_ms = clock_wall_ms();

	for (size_t i = 0; i < sweep->count; i++) {
		AUTO(arena) arena = arena_new();
		struct job_row row;
		if (!arena)
			return error_no_memory(err);
		enum status status = store_read_job_by_id(store_tx_reader(tx), arena, sweep->ids[i], &row, err);
		if (status == OK)
			status = follow(tx, &row, now_ms, err);
		if (status != OK && status != ERR_NOT_FOUND) /* it was deleted meanwhile */
			return status;
	}
	return OK;
}

enum status pools_sweep(struct pipeline *pipeline, struct store_reader *reader, int64_t *after_id, struct error *err)
{
	struct sweep sweep;

	if (*after_id == INT64_MAX)
		return OK;
	TRY(store_read_uncounted_jobs(reader, *after_id, sweep.ids, SWEEP_JOBS, &sweep.count, err));
	int64_t last_id = sweep.count ? sweep.ids[sweep.count - 1] : INT64_MAX;
	if (sweep.count)
		TRY(writer_execute(pipeline, write_sweep, &sweep, err));
	*after_id = last_id;
	return OK;
}

void pools_age(struct pool_job_row *row, int64_t now_ms)
{
	if (row->state != POOL_AVAILABLE || row->until_ms > now_ms)
		return;
	row->state = POOL_TERMINATED;
	row->retained_ms = row->until_ms > row->ended_ms ? row->until_ms - row->ended_ms : 0;
}

static void write_status(const struct pool_job_row *row, struct json_writer *w)
{
	json_key(w, "WarmPoolStatus");
	json_object(w);
	json_put_text(w, "Status", pool_state_name((enum pool_state)row->state));
	if (row->state == POOL_REUSED || row->state == POOL_TERMINATED)
		json_put_i64(w, "ResourceRetainedBillableTimeInSeconds", row->retained_ms / 1000);
	if (row->heir.len)
		json_put_span(w, "ReusedByJob", row->heir);
	json_put_i64(w, "PoolId", row->pool_id); /* of ours: /api/v1/warm-pools/{id} */
	json_object_end(w);
}

enum status pools_write_status(struct store_reader *reader, struct arena *arena, int64_t job_id, int64_t now_ms,
	struct json_writer *w, struct error *err)
{
	struct pool_job_row row;

	TRY(store_read_pool_job(reader, arena, job_id, &row, err));
	pools_age(&row, now_ms);
	/* A pool's first job runs on a cluster that is no warm pool yet. */
	if (row.pool_id && (row.position || row.state != POOL_IN_USE))
		write_status(&row, w);
	return OK;
}
