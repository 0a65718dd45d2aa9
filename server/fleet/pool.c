#include "fleet/pool.h"

#include "base/alloc.h"

#include <stdlib.h>

static const size_t NO_JOB = SIZE_MAX;

struct machine {
	const struct pool_job *jobs;
	struct pool_place *places;
	size_t count;
	int64_t *chain_begun_ms; /* of the cluster that each job runs on */
	size_t *by_end; /* jobs whose cluster waits after them, the first to end first */
	size_t end_count;
	size_t *queue; /* those that wait for any job, and some that did until lately: the longest wait first */
	size_t queue_from, queue_to;
	size_t *heir; /* that is known to have got the cluster */
	size_t *donor; /* the other way round */
};

const char *pool_state_name(enum pool_state state)
{
	static const char *const names[] = {
		[POOL_IN_USE] = "InUse",
		[POOL_AVAILABLE] = "Available",
		[POOL_REUSED] = "Reused",
		[POOL_TERMINATED] = "Terminated",
	};

	return names[state];
}

static bool waits(const struct pool_job *job)
{
	return job->ended_ms && job->keep_alive_ms > 0 && job->is_retained;
}

/* Clocks of two hosts may say that it ended before it began. */
static int64_t end_of(const struct pool_job *job)
{
	return job->ended_ms > job->begun_ms ? job->ended_ms : job->begun_ms;
}

bool pool_job_reaches(const struct pool_job *job, int64_t at_ms)
{
	return waits(job) && (job->reused_by || end_of(job) + job->keep_alive_ms > at_ms);
}

static int64_t wait_ends(const struct machine *m, size_t i)
{
	const struct pool_job *job = &m->jobs[i];
	int64_t until = end_of(job) + job->keep_alive_ms, chain_ends = m->chain_begun_ms[i] + POOL_CHAIN_MAX_MS;

	if (until > chain_ends)
		until = chain_ends;
	if (job->released_ms && job->released_ms < until)
		until = job->released_ms;
	return until > end_of(job) ? until : end_of(job);
}

struct by_id {
	int64_t job_id;
	size_t index;
};

static int compare_ids(const void *a, const void *b)
{
	int64_t left = ((const struct by_id *)a)->job_id, right = ((const struct by_id *)b)->job_id;

	return left < right ? -1 : left > right;
}

/* What is known: at most one heir a cluster, one cluster an heir, and no job before itself. */
static enum status link_known(struct machine *m, struct error *err)
{
	AUTO_MEM struct by_id *ids = mem_resize(NULL, m->count, sizeof *ids);

	if (!ids)
		return error_no_memory(err);
	for (size_t i = 0; i < m->count; i++) {
		ids[i] = (struct by_id){m->jobs[i].job_id, i};
		m->heir[i] = m->donor[i] = NO_JOB;
	}
	qsort(ids, m->count, sizeof *ids, compare_ids);
	for (size_t i = 0; i < m->count; i++) {
		struct by_id key = {m->jobs[i].reused_by, 0};
		const struct by_id *found = key.job_id ? bsearch(&key, ids, m->count, sizeof *ids, compare_ids) : NULL;
		if (!found || found->index <= i || m->donor[found->index] != NO_JOB || !waits(&m->jobs[i]))
			continue;
		m->heir[i] = found->index;
		m->donor[found->index] = i;
	}
	return OK;
}

struct by_end {
	int64_t ended_ms;
	size_t index;
};

static int compare_ends(const void *a, const void *b)
{
	const struct by_end *left = a, *right = b;

	if (left->ended_ms != right->ended_ms)
		return left->ended_ms < right->ended_ms ? -1 : 1;
	return left->index < right->index ? -1 : left->index > right->index;
}

static enum status order_ends(struct machine *m, struct error *err)
{
	AUTO_MEM struct by_end *ends = mem_resize(NULL, m->count, sizeof *ends);

	if (!ends)
		return error_no_memory(err);
	for (size_t i = 0; i < m->count; i++)
		if (waits(&m->jobs[i]) && m->heir[i] == NO_JOB)
			ends[m->end_count++] = (struct by_end){end_of(&m->jobs[i]), i};
	qsort(ends, m->end_count, sizeof *ends, compare_ends);
	for (size_t i = 0; i < m->end_count; i++)
		m->by_end[i] = ends[i].index;
	return OK;
}

static void hand_over(struct machine *m, size_t from, size_t to)
{
	struct pool_place *old = &m->places[from], *new = &m->places[to];
	int64_t waited_ms = m->jobs[to].begun_ms - end_of(&m->jobs[from]);

	old->state = POOL_REUSED;
	old->reused_by = m->jobs[to].job_id;
	old->retained_ms = waited_ms > 0 ? waited_ms : 0;
	old->is_last = false;
	new->pool_id = old->pool_id;
	new->position = old->position + 1;
	m->chain_begun_ms[to] = m->chain_begun_ms[from];
}

/* The cluster that has waited longest; those whose time is over are passed for good. */
static size_t take_waiting(struct machine *m, int64_t at_ms)
{
	while (m->queue_from < m->queue_to) {
		size_t index = m->queue[m->queue_from++];
		if (wait_ends(m, index) > at_ms)
			return index;
	}
	return NO_JOB;
}

static void settle(struct machine *m, size_t i)
{
	const struct pool_job *job = &m->jobs[i];

	m->chain_begun_ms[i] = job->settled_begun_ms;
	m->places[i] = (struct pool_place){
		.is_last = true, .pool_id = job->settled_pool_id, .position = job->settled_position};
}

static void begin(struct machine *m, size_t i, size_t *ended)
{
	const struct pool_job *job = &m->jobs[i];
	size_t donor = m->donor[i];

	if (job->settled_pool_id) {
		settle(m, i);
		return;
	}

	/* A job that begins later in this list has not ended before this one begins. */
	while (*ended < m->end_count && end_of(&m->jobs[m->by_end[*ended]]) <= job->begun_ms && m->by_end[*ended] < i)
		m->queue[m->queue_to++] = m->by_end[(*ended)++];
	m->chain_begun_ms[i] = job->begun_ms;
	m->places[i] = (struct pool_place){.is_last = true, .pool_id = job->keep_alive_ms > 0 ? job->job_id : 0};
	if (donor == NO_JOB)
		donor = take_waiting(m, job->begun_ms);
	if (donor != NO_JOB)
		hand_over(m, donor, i);
}

static void finish(const struct machine *m, size_t i, int64_t now_ms)
{
	const struct pool_job *job = &m->jobs[i];
	struct pool_place *place = &m->places[i];

	if (place->state == POOL_REUSED || !place->pool_id)
		return;
	if (!job->ended_ms) {
		place->state = POOL_IN_USE;
	} else if (waits(job)) {
		place->until_ms = wait_ends(m, i);
		place->state = now_ms < place->until_ms ? POOL_AVAILABLE : POOL_TERMINATED;
		place->retained_ms = place->state == POOL_TERMINATED ? place->until_ms - end_of(job) : 0;
	} else {
		place->state = POOL_TERMINATED;
		place->until_ms = end_of(job);
	}
}

enum status pool_derive(
	const struct pool_job *jobs, size_t count, int64_t now_ms, struct pool_place *places, struct error *err)
{
	AUTO_MEM int64_t *chain_begun_ms = mem_resize(NULL, count ? count : 1, sizeof *chain_begun_ms);
	AUTO_MEM size_t *room = mem_resize(NULL, 4 * (count ? count : 1), sizeof *room);
	struct machine m = {.jobs = jobs, .places = places, .count = count, .chain_begun_ms = chain_begun_ms};
	size_t ended = 0;

	if (!chain_begun_ms || !room)
		return error_no_memory(err);
	m.by_end = room;
	m.queue = room + count;
	m.heir = room + 2 * count;
	m.donor = room + 3 * count;
	if (!count)
		return OK;
	TRY(link_known(&m, err));
	TRY(order_ends(&m, err));
	for (size_t i = 0; i < count; i++)
		begin(&m, i, &ended);
	for (size_t i = 0; i < count; i++)
		finish(&m, i, now_ms);
	return OK;
}
