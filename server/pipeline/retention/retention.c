/*
 * Retention. Over the budget the text of the job that ended first goes first; limits of age and size are a job's, else its
 * team's, else the server's. Running and pinned jobs are never touched, and a disk that is full deletes nothing: it stops ingest.
 */
#include "pipeline/retention/retention.h"

#include "base/clock.h"
#include "base/log.h"
#include "pipeline/jobs/trash.h"
#include "pipeline/retention/retention_notice.h"
#include "state/streams/directory.h"
#include "state/execute.h"
#include "state/figures.h"
#include "state/pipeline_state.h"
#include "store/admin.h"
#include "store/jobs.h"
#include "store/retention.h"
#include "store/tokens.h"

#include <inttypes.h>
#include <math.h>

enum {
	BUDGET_MS = 2000,
	PLAN_MS = 60 * 1000, /* ages, sizes, forecast */
	AGAIN_MS = 5 * 1000, /* the same, while text that should go is on its way into blocks */
	SLICE_BLOCKS = 32, /* about 4 MB of pages go to the free list in one transaction */
	SIZE_BLOCKS = 32 * SLICE_BLOCKS, /* chosen by one look at all blocks of a job over its limit of size */
	SWEEP_ROWS = 64,
	VACUUM_PAGES = 500,
	VACUUM_FROM_PAGES = 4096, /* what is free below this is used again soon */
	PAGE_JOBS = 64,
	PLAN_JOBS_MAX =
		4096, /* that one plan looks at, the first to go first: so many may be told within a week that their text will go */
	SAMPLES_MAX = 7 * 24,
};

static const int64_t hour_ms = 60 * 60 * 1000, day_ms = 24 * 60 * 60 * 1000;

/* ---- slices ---- */

struct slice {
	struct text_deletion deletion;
	size_t deleted;
};

static enum status write_slice(void *context, struct store_tx *tx, struct error *err)
{
	struct slice *slice = context;

	return store_delete_text(tx, &slice->deletion, &slice->deleted, err);
}

static enum status delete_some(struct pipeline *pipeline, struct store_reader *reader, const struct expendable *job,
	const char *reason, uint64_t keep_bytes, size_t *deleted, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct doomed_block *blocks;
	size_t count;

	*deleted = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_doomed(
		reader, arena, job->job_id, keep_bytes, keep_bytes ? SIZE_BLOCKS : SLICE_BLOCKS, &blocks, &count, err));
	for (size_t at = 0; at < count; at += SLICE_BLOCKS) {
		struct slice slice = {.deletion = {job->job_id, clock_wall_ms(), span_from(reason), blocks + at,
					      count - at < SLICE_BLOCKS ? count - at : SLICE_BLOCKS}};
		TRY(writer_execute(pipeline, write_slice, &slice, err));
		*deleted += slice.deleted;
		atomic_fetch_add(&pipeline->figures.expired_blocks, slice.deleted);
	}
	return OK;
}

/* ---- the budget ---- */

enum status retention_used_bytes(struct store_reader *reader, uint64_t *used, struct error *err)
{
	struct store_figures figures;

	TRY(store_figures(reader, &figures, err));
	*used = (figures.page_count - figures.freelist_count) * figures.page_bytes;
	return OK;
}

/* Is the text of this job sealed whole? What is in the journal yet would come back as blocks. */
static bool is_whole(struct pipeline *pipeline, struct span name)
{
	struct job_state *job = directory_find(pipeline->directory, name);
	struct stream_state *stream;
	bool whole = true;

	for (size_t i = 0; job && whole && (stream = job_stream_at(job, i)); i++) {
		pthread_mutex_lock(&stream->mutex);
		whole = stream->range_count == 0;
		pthread_mutex_unlock(&stream->mutex);
	}
	job_unref(job);
	return whole;
}

/* A limit that nobody stated takes the text of those jobs only of whom it was said a week before. *over: how much too much is left then. */
static enum status may_go(struct pipeline *pipeline, struct store_reader *reader, struct expendable *job, double *over,
	bool *may, struct error *err)
{
	int64_t since_ms, now_ms = clock_wall_ms();

	*may = true;
	if (!atomic_load(&pipeline->figures.is_log_bytes_chosen))
		return OK;
	TRY(retention_notice_since(reader, job->job_id, &since_ms, err));
	*may = since_ms && since_ms <= now_ms - RETENTION_NOTICE_MS;
	if (*may)
		return OK;
	TRY(store_weigh_text(reader, job, err));
	*over -= (double)job->stored_bytes;
	return retention_notice_open(pipeline, reader, job, now_ms + RETENTION_NOTICE_MS, err);
}

static enum status delete_oldest(struct pipeline *pipeline, struct store_reader *reader, struct expendable *jobs,
	size_t count, double over, size_t *deleted, struct error *err)
{
	bool may;

	*deleted = 0;
	for (size_t i = 0; i < count && !*deleted && over > 0; i++) {
		TRY(may_go(pipeline, reader, &jobs[i], &over, &may, err));
		if (!may || !is_whole(pipeline, jobs[i].name))
			continue;
		TRY(delete_some(pipeline, reader, &jobs[i], "budget", 0, deleted, err));
		log_line(LOG_INFO, "text_expired", "job=\"%.*s\" blocks=%zu reason=budget", SPAN_ARGS(jobs[i].name),
			*deleted);
	}
	return *deleted ? retention_notices_end(pipeline, reader, NULL, 0, err) : OK;
}

static enum status keep_budget(
	struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	AUTO(arena) arena = arena_new();
	uint64_t used, budget;
	struct expendable *jobs;
	size_t count, deleted;

	if (!arena)
		return error_no_memory(err);
	TRY(retention_used_bytes(reader, &used, err));
	atomic_store(&pipeline->figures.used_bytes, used);
	atomic_store(&pipeline->figures.used_at_ms, clock_wall_ms());
	TRY(retention_follow_disk(pipeline, used, err));
	budget = atomic_load(&pipeline->figures.log_bytes_limit);
	if (!budget || used <= budget)
		return OK;
	bool has_room; /* what was deleted goes before any text that is still shown */
	TRY(trash_give_room(pipeline, reader, &has_room, err));
	if (has_room) {
		*has_more = true;
		return OK;
	}
	TRY(store_read_expendable(reader, arena, 0, 0, clock_wall_ms() - day_ms, PAGE_JOBS, &jobs, &count, err));
	TRY(delete_oldest(pipeline, reader, jobs, count, (double)used - (double)budget, &deleted, err));
	*has_more = *has_more || deleted;
	return OK;
}

/* ---- ages and sizes ---- */

static struct retention limits_of(const struct expendable *job, const struct team_retention *teams, size_t team_count)
{
	struct retention limits = job->retention;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < team_count; i++)
			if (span_equal(teams[i].team, pass ? SPAN("") : job->team)) {
				limits.max_age_ms =
					limits.max_age_ms ? limits.max_age_ms : teams[i].retention.max_age_ms;
				limits.max_bytes = limits.max_bytes ? limits.max_bytes : teams[i].retention.max_bytes;
			}
	return limits;
}

struct round {
	bool has_more;
	bool is_early; /* text that should go is not all in blocks yet */
};

static enum status keep_limits(struct pipeline *pipeline, struct store_reader *reader, const struct expendable *job,
	const struct retention *limits, struct round *round, struct error *err)
{
	bool is_old = limits->max_age_ms && job->ended_ms < clock_wall_ms() - limits->max_age_ms;
	bool is_big = limits->max_bytes && job->text_bytes > limits->max_bytes;
	size_t deleted = 0;

	if (!is_old && !is_big)
		return OK;
	if (!is_whole(pipeline, job->name)) {
		round->is_early = true;
		return OK;
	}
	TRY(delete_some(pipeline, reader, job, is_old ? "age" : "size", is_old ? 0 : limits->max_bytes, &deleted, err));
	round->has_more = round->has_more || deleted;
	return OK;
}

/* ---- what will go ---- */

struct samples {
	struct {
		int64_t ms;
		uint64_t used;
	} items[SAMPLES_MAX];
	size_t count;
};

static const char samples_key[] = "space_samples";

static enum status write_samples(void *context, struct store_tx *tx, struct error *err)
{
	const struct samples *samples = context;

	return store_put_setting(
		tx, samples_key, span_of((const char *)samples->items, samples->count * sizeof samples->items[0]), err);
}

/* One an hour, for a week; growth is what lies between the oldest and now. */
static enum status sample(
	struct pipeline *pipeline, struct store_reader *reader, uint64_t used, double *growth_a_day, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct samples samples = {0};
	struct span stored;
	int64_t now_ms = clock_wall_ms();

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_setting(reader, arena, samples_key, &stored, err));
	if (stored.len <= sizeof samples.items && stored.len % sizeof samples.items[0] == 0) {
		samples.count = stored.len / sizeof samples.items[0];
		if (stored.len)
			memcpy(samples.items, stored.ptr, stored.len);
	}
	int64_t passed_ms = samples.count ? now_ms - samples.items[0].ms : 0;
	*growth_a_day = passed_ms >= hour_ms
				? ((double)used - (double)samples.items[0].used) * (double)day_ms / (double)passed_ms
				: NAN;
	if (samples.count && now_ms - samples.items[samples.count - 1].ms < hour_ms)
		return OK;
	if (samples.count == SAMPLES_MAX)
		memmove(samples.items, samples.items + 1, --samples.count * sizeof samples.items[0]);
	samples.items[samples.count].ms = now_ms;
	samples.items[samples.count++].used = used;
	return writer_execute(pipeline, write_samples, &samples, err);
}

/*
 * When its text goes, as far as can be told; INT64_MAX: not in sight. ahead: bytes of the jobs that go before it; notice_ms: by the budget not
 * before that has passed.
 */
static int64_t due_ms(const struct expendable *job, const struct retention *limits, double growth_a_day, double room,
	double ahead, int64_t notice_ms)
{
	int64_t by_age = limits->max_age_ms ? job->ended_ms + limits->max_age_ms : INT64_MAX;

	double left = room + ahead;
	if (!isfinite(left) || (left > 0 && !(growth_a_day > 0)))
		return by_age;
	double days = left > 0 ? left / growth_a_day : 0;
	int64_t left_ms = days < 3650 ? (int64_t)(fmax(days, 0) * (double)day_ms) : INT64_MAX;
	if (left_ms == INT64_MAX)
		return by_age;
	int64_t by_budget = clock_wall_ms() + (left_ms > notice_ms ? left_ms : notice_ms);
	return by_age < by_budget ? by_age : by_budget;
}

/* Jobs whose text is to stay for longer than a forecast moves from one look to the next: what was said of them does not hold any more. */
struct staying {
	int64_t job_ids[PLAN_JOBS_MAX];
	size_t count;
};

/* Of what goes at once nobody is warned: it has gone. */
static enum status plan_job(struct pipeline *pipeline, struct store_reader *reader, const struct expendable *job,
	int64_t due, struct staying *staying, struct error *err)
{
	int64_t left_ms = due - clock_wall_ms();

	if (left_ms > 2 * RETENTION_NOTICE_MS && staying->count < PLAN_JOBS_MAX)
		staying->job_ids[staying->count++] = job->job_id;
	return left_ms <= 0 || left_ms > RETENTION_NOTICE_MS ? OK
							     : retention_notice_open(pipeline, reader, job, due, err);
}

static enum status plan(struct pipeline *pipeline, struct store_reader *reader, struct round *round, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct team_retention *teams;
	struct expendable *jobs;
	size_t team_count, count, looked = 0;
	uint64_t used, budget = atomic_load(&pipeline->figures.log_bytes_limit);
	int64_t after_ms = 0, after_id = 0;
	int64_t notice_ms = atomic_load(&pipeline->figures.is_log_bytes_chosen) ? RETENTION_NOTICE_MS : 0;
	double growth_a_day, ahead = 0;
	AUTO_MEM struct staying *staying = mem_zeroed(sizeof *staying);

	if (!arena || !staying)
		return error_no_memory(err);
	TRY(retention_used_bytes(reader, &used, err));
	TRY(sample(pipeline, reader, used, &growth_a_day, err));
	atomic_store(&pipeline->figures.growth_bytes_a_day, isnan(growth_a_day) ? INT64_MIN : (int64_t)growth_a_day);
	TRY(store_read_team_retentions(reader, arena, &teams, &team_count, err));
	do {
		TRY(store_read_expendable(
			reader, arena, after_ms, after_id, clock_wall_ms() - day_ms, PAGE_JOBS, &jobs, &count, err));
		for (size_t i = 0; i < count && !round->has_more; i++) {
			TRY(store_weigh_text(reader, &jobs[i], err));
			struct retention limits = limits_of(&jobs[i], teams, team_count);
			int64_t due = due_ms(&jobs[i], &limits, growth_a_day,
				budget ? (double)budget - (double)used : INFINITY, ahead, notice_ms);
			TRY(keep_limits(pipeline, reader, &jobs[i], &limits, round, err));
			TRY(plan_job(pipeline, reader, &jobs[i], due, staying, err));
			ahead += (double)jobs[i].stored_bytes;
			after_ms = jobs[i].ended_ms;
			after_id = jobs[i].job_id;
			looked++;
		}
	} while (count == PAGE_JOBS && !round->has_more && looked < PLAN_JOBS_MAX);
	return retention_notices_end(pipeline, reader, staying->job_ids, staying->count, err);
}

/* ---- what was deleted goes for good ---- */

static enum status write_sweep(void *context, struct store_tx *tx, struct error *err)
{
	return store_sweep_dead(tx, clock_wall_ms(), SWEEP_ROWS, context, err);
}

static enum status write_vacuum(void *context, struct store_tx *tx, struct error *err)
{
	return store_vacuum(tx, VACUUM_PAGES, context, err);
}

static enum status clean(struct pipeline *pipeline, struct store_reader *reader, bool *has_more, struct error *err)
{
	struct store_figures figures;
	size_t waiting, waiting_bytes;
	bool has_dead = false;
	uint64_t left;

	TRY(trash_run(pipeline, reader, has_more, err));
	TRY(store_has_dead(reader, clock_wall_ms(), &has_dead, err));
	if (has_dead) {
		TRY(writer_execute(pipeline, write_sweep, &has_dead, err));
		*has_more = *has_more || has_dead;
	}
	TRY(deliveries_trim(pipeline, reader, has_more, err));
	TRY(store_figures(reader, &figures, err));
	queue_size(pipeline->queue, &waiting, &waiting_bytes);
	if (figures.freelist_count < VACUUM_FROM_PAGES || waiting)
		return OK; /* while lines wait, the free pages are better used than given back */
	TRY(writer_execute(pipeline, write_vacuum, &left, err));
	*has_more = *has_more || left >= VACUUM_FROM_PAGES;
	return OK;
}

static bool is_due(int64_t *last_ms, int64_t period_ms)
{
	int64_t now_ms = clock_mono_ms();

	if (*last_ms && now_ms - *last_ms < period_ms)
		return false;
	*last_ms = now_ms;
	return true;
}

enum status retention_run(struct pipeline *pipeline, struct retention_state *state, struct store_reader *reader,
	bool *has_more, struct error *err)
{
	bool was_told = atomic_exchange(&pipeline->retention_changed, false);

	*has_more = false;
	if (was_told)
		state->budget_ms = state->plan_ms = 0;
	if (!is_due(&state->budget_ms, BUDGET_MS))
		return OK;
	TRY(keep_budget(pipeline, reader, has_more, err));
	TRY(clean(pipeline, reader, has_more, err));
	TRY(pushes_trim(pipeline, state, reader, has_more, err));
	if (is_due(&state->plan_ms, PLAN_MS)) {
		struct round round = {0};
		TRY(plan(pipeline, reader, &round, err));
		if (round.has_more)
			state->plan_ms = 0;
		else if (round.is_early)
			state->plan_ms += AGAIN_MS - PLAN_MS;
		*has_more = *has_more || round.has_more;
	}
	if (*has_more)
		state->budget_ms = 0;
	return OK;
}
