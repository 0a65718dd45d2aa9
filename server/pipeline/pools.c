#include "pipeline/pools.h"

#include "base/clock.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "pipeline/internal.h"
#include "store/goodput.h"

enum { SHAPE_MAX_BYTES = 16 << 10 };

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

static enum status derive(struct store_tx *tx, uint64_t shape, int64_t now_ms, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pool_job_row *rows;
	size_t count;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(store_read_pool_group(store_tx_reader(tx), arena, shape, &rows, &count, err));
	AUTO_MEM struct pool_job *facts = mem_resize(NULL, count ? count : 1, sizeof *facts);
	AUTO_MEM struct pool_place *places = mem_resize(NULL, count ? count : 1, sizeof *places);
	if (!facts || !places)
		return error_set(err, ERR_MEMORY, "out of memory");
	for (size_t i = 0; i < count; i++) {
		facts[i] = fact_of(&rows[i]);
		/* A clock that goes backwards brings no pool back. */
		if (rows[i].state == POOL_TERMINATED && rows[i].until_ms > now_ms)
			now_ms = rows[i].until_ms;
	}
	TRY(pool_derive(facts, count, now_ms, places, err));
	for (size_t i = 0; i < count; i++) {
		if (is_at(&rows[i], &places[i]))
			continue;
		move_to(&rows[i], &places[i]);
		TRY(store_put_pool_job(tx, &rows[i], err));
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
	row->startup_ms = job->started_ms ? job->started_ms - job->created_ms : -1;
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

/* derive reads all jobs of the shape: where none ever kept its cluster, which is most of them, nobody has a place. */
static enum status derive_after(
	struct store_tx *tx, uint64_t shape, const struct pool_job_row *old, int64_t now_ms, struct error *err)
{
	bool has_pools = old->pool_id != 0;

	if (!has_pools)
		TRY(store_has_pools(store_tx_reader(tx), shape, &has_pools, err));
	return has_pools ? derive(tx, shape, now_ms, err) : OK;
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
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(json_parse(&document, job->document, err));
	TRY(pool_shape_read(&shape, document, arena, err));
	TRY(store_read_pool_job(store_tx_reader(tx), arena, job->job_id, &row, err));
	if (!row.job_id && !(shape.is_whole && had_cluster))
		return OK;
	struct pool_job_row old = row;
	bool is_known = row.job_id != 0;
	if (shape.is_whole && had_cluster) {
		set_facts(&row, job, &shape, json_string_of(json_get_path(document, "WarmPoolStatus.ReusedByJob")),
			now_ms);
		if (!is_known)
			row.heir_id = 0;
		TRY(put_shape(tx, &shape, err));
		TRY(store_put_pool_job(tx, &row, err));
		if (!has_same_facts(&old, &row))
			TRY(derive_after(tx, shape.hash, &old, now_ms, err));
	} else {
		TRY(store_delete_pool_job(tx, job->job_id, err));
	}
	bool has_moved = !shape.is_whole || !had_cluster || old.shape != shape.hash;
	return is_known && has_moved ? derive_after(tx, old.shape, &old, now_ms, err) : OK;
}

enum status pools_put_job(struct store_tx *tx, struct job_row *job, struct error *err)
{
	TRY(store_put_job(tx, job, err));
	TRY(store_touch_goodput(tx, job->job_id, 0, err));
	return follow(tx, job, clock_wall_ms(), err);
}

enum status pools_leave(struct store_tx *tx, int64_t job_id, struct error *err)
{
	int64_t now_ms = clock_wall_ms();
	AUTO(arena) arena = arena_new();
	struct pool_job_row row;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(store_read_pool_job(store_tx_reader(tx), arena, job_id, &row, err));
	if (row.job_id && !row.pool_id) /* no chain misses it */
		return store_delete_pool_job(tx, job_id, err);
	if (!row.job_id || row.ended_ms)
		return OK;
	row.ended_ms = now_ms;
	row.is_retained = false;
	TRY(store_put_pool_job(tx, &row, err));
	return derive(tx, row.shape, now_ms, err);
}

struct ending {
	uint64_t shape;
	int64_t now_ms;
};

static enum status write_ending(void *context, struct store_tx *tx, struct error *err)
{
	const struct ending *ending = context;

	return derive(tx, ending->shape, ending->now_ms, err);
}

enum status pools_run(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct pool_job_row row;
	struct ending ending = {.now_ms = clock_wall_ms()};

	*has_more = false;
	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(store_next_pool_due(reader, arena, &row, err));
	if (!row.job_id || row.until_ms > ending.now_ms)
		return OK;
	*has_more = true;
	ending.shape = row.shape;
	return pipeline_execute(pipeline, write_ending, &ending, err);
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
