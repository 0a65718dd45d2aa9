/* What is derived from a window of a shape's jobs, after each change of one, against the derivation from all of them. */
#include "base/clock.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "pipeline/life/pools.h"
#include "store/jobs.h"
#include "store/pools.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { JOBS_MAX = 150, MINUTE_MS = 60000 };

struct told {
	int64_t job_id; /* 0: not there, or deleted */
	int64_t begun_ms, ended_ms;
	int keep_minutes; /* -1: none */
	int count; /* of instances: the shape */
	int heir; /* of the reports; -1: none */
	bool is_broken;
};

struct day {
	char folder[128], path[160];
	struct store *store;
	struct store_tx *tx;
	uint64_t random;
	int64_t now_ms;
	struct told jobs[JOBS_MAX];
	size_t count;
	size_t checks, reuses;
};

static uint64_t next_random(struct day *day)
{
	day->random ^= day->random << 13;
	day->random ^= day->random >> 7;
	day->random ^= day->random << 17;
	return day->random;
}

static int chance(struct day *day, int most)
{
	return (int)(next_random(day) % (uint64_t)most);
}

static void day_open(struct day *day)
{
	struct store_options options = {.path = day->path};

	*day = (struct day){.random = 88172645463325252ULL};
	test_make_folder(day->folder, sizeof day->folder, "pools");
	snprintf(day->path, sizeof day->path, "%s/test.db", day->folder);
	CHECK_OK(store_open(&day->store, &options, &err));
	CHECK_OK(store_tx_begin(&day->tx, day->store, &err));
}

static void day_close(struct day *day)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock"};
	char name[192];

	store_tx_rollback(day->tx);
	store_free(day->store);
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		snprintf(name, sizeof name, "%s%s", day->path, suffixes[i]);
		unlink(name);
	}
	CHECK(rmdir(day->folder) == 0);
}

static void put(struct day *day, size_t number, size_t round)
{
	struct told *job = &day->jobs[number];
	char name[32], document[512], keep[64] = "", heir[96] = "";
	struct job_row row = {.job_id = job->job_id,
		.team = SPAN(""),
		.status = job->ended_ms ? SPAN("Completed") : SPAN("InProgress"),
		.secondary = SPAN("Training"),
		.failure_reason = job->is_broken ? SPAN("InternalServerError: hardware") : SPAN(""),
		.created_ms = job->begun_ms,
		.started_ms = job->begun_ms,
		.ended_ms = job->ended_ms,
		.modified_ms = day->now_ms};

	snprintf(name, sizeof name, "j%zu-%zu", round, number);
	if (job->keep_minutes >= 0)
		snprintf(keep, sizeof keep, ",\"KeepAlivePeriodInSeconds\":%d", job->keep_minutes * 60);
	if (job->heir >= 0)
		snprintf(heir, sizeof heir, ",\"WarmPoolStatus\":{\"Status\":\"Reused\",\"ReusedByJob\":\"j%zu-%d\"}",
			round, job->heir);
	snprintf(document, sizeof document,
		"{\"RoleArn\":\"r%zu\",\"ResourceConfig\":{\"InstanceType\":\"t\",\"InstanceCount\":%d%s}%s}", round,
		job->count, keep, heir);
	row.name = span_from(name);
	row.document = span_from(document);
	CHECK_OK(pools_put_job(day->tx, &row, &err));
	job->job_id = row.job_id;
}

static uint64_t shape_hash(size_t round, int count)
{
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;
	struct pool_shape shape;
	char text[128];

	snprintf(text, sizeof text,
		"{\"RoleArn\":\"r%zu\",\"ResourceConfig\":{\"InstanceType\":\"t\",\"InstanceCount\":%d}}", round,
		count);
	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(pool_shape_read(&shape, document, arena, &err));
	return shape.hash;
}

static void check_shape(struct day *day, uint64_t shape)
{
	AUTO(arena) arena = arena_new();
	struct pool_job facts[JOBS_MAX] = {{0}};
	struct pool_place places[JOBS_MAX];
	struct pool_job_row *rows;
	size_t count;

	CHECK_OK(store_read_pool_group(
		store_tx_reader(day->tx), arena, shape, INT64_MIN, JOBS_MAX, &rows, &count, &err));
	for (size_t i = 0; i < count; i++)
		facts[i] = (struct pool_job){.job_id = rows[i].job_id,
			.begun_ms = rows[i].begun_ms,
			.ended_ms = rows[i].ended_ms,
			.keep_alive_ms = rows[i].keep_alive_ms,
			.released_ms = rows[i].released_ms,
			.reused_by = rows[i].told_heir_id,
			.is_retained = rows[i].is_retained};
	CHECK_OK(pool_derive(facts, count, clock_wall_ms(), places, &err));
	for (size_t i = 0; i < count; i++) {
		CHECK(rows[i].pool_id == places[i].pool_id && rows[i].position == places[i].position);
		CHECK(rows[i].heir_id == places[i].reused_by &&
			(!rows[i].pool_id || rows[i].is_last == places[i].is_last));
		CHECK(rows[i].state == (int)places[i].state && rows[i].retained_ms == places[i].retained_ms);
		CHECK(rows[i].until_ms == places[i].until_ms && rows[i].retained_ms >= 0);
		day->reuses += rows[i].state == POOL_REUSED;
	}
	day->checks += count;
}

/* One more thing becomes known of a job, or the same again, or something else. */
static void change(struct day *day, size_t number, size_t round)
{
	struct told *job = &day->jobs[number];
	int64_t span = chance(day, 4) ? 600 : 20000;

	if (!job->job_id || chance(day, 10) == 0)
		job->begun_ms = day->now_ms - MINUTE_MS / 2 - chance(day, (int)span) * (int64_t)MINUTE_MS;
	if (!job->job_id) {
		job->keep_minutes = chance(day, 5) ? chance(day, 61) : -1;
		job->count = chance(day, 8) ? 4 : 8;
		job->heir = -1;
	}
	if (chance(day, 2))
		job->ended_ms = chance(day, 8) ? job->begun_ms + chance(day, 60) * (int64_t)MINUTE_MS : 0;
	if (job->ended_ms > day->now_ms) /* nothing has ended in the future */
		job->ended_ms = day->now_ms - MINUTE_MS / 2;
	if (chance(day, 6) == 0)
		job->is_broken = chance(day, 4) == 0;
	if (chance(day, 8) == 0)
		job->keep_minutes = chance(day, 61);
	if (chance(day, 12) == 0)
		job->count = chance(day, 4) ? 4 : 8;
	if (chance(day, 10) == 0)
		job->heir = chance(day, 3) ? chance(day, (int)day->count) : -1;
	put(day, number, round);
}

static void delete_job(struct day *day, size_t number)
{
	struct told *job = &day->jobs[number];

	CHECK_OK(pools_leave(day->tx, job->job_id, &err));
	CHECK_OK(store_delete_job(day->tx, job->job_id, &err));
	*job = (struct told){0};
}

TEST(what_a_change_reaches_is_derived_as_all_of_it_would_be)
{
	struct day day;
	const char *seed = getenv("SM_SEED"), *more = getenv("SM_SEQUENCES");
	size_t sequences = more ? strtoul(more, NULL, 10) : 30, changes = 0;

	day_open(&day);
	day.random = seed ? strtoull(seed, NULL, 10) : day.random;
	for (size_t round = 0; round < sequences; round++) {
		day.now_ms = clock_wall_ms();
		memset(day.jobs, 0, sizeof day.jobs);
		day.count = round % 10 == 9 ? JOBS_MAX : 2 + (size_t)chance(&day, 20); /* more than one window */
		for (size_t i = 0; i < 4 * day.count; i++, changes++) {
			size_t number = (size_t)chance(&day, (int)day.count);
			if (day.jobs[number].job_id && chance(&day, 25) == 0)
				delete_job(&day, number);
			else
				change(&day, number, round);
			if (day.count == JOBS_MAX && i % 16)
				continue;
			check_shape(&day, shape_hash(round, 4));
			check_shape(&day, shape_hash(round, 8));
		}
	}
	printf("  %zu sequences, %zu changes, %zu places, %zu reuses, 0 disagreements\n", sequences, changes,
		day.checks, day.reuses);
	CHECK(day.reuses > changes);
	day_close(&day);
}
