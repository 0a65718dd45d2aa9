#include "base/alloc.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>

enum { JOBS_MAX = 40, MINUTE_MS = 60000 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void derive(const struct pool_job *jobs, size_t count, int64_t now_ms, struct pool_place *places)
{
	CHECK_OK(pool_derive(jobs, count, now_ms, places, &err));
}

static struct pool_job job_of(int64_t id, int64_t begun_min, int64_t ended_min, int64_t keep_min)
{
	return (struct pool_job){
		id, begun_min * MINUTE_MS, ended_min * MINUTE_MS, keep_min * MINUTE_MS, 0, 0, true, 0, 0, 0};
}

TEST(a_chain_is_one_pool)
{
	struct pool_job jobs[] = {job_of(1, 10, 20, 30), job_of(2, 25, 40, 30), job_of(3, 41, 0, 0)};
	struct pool_place places[3];

	derive(jobs, 3, 50 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_REUSED && places[0].reused_by == 2 && places[0].retained_ms == 5 * MINUTE_MS);
	CHECK(places[1].state == POOL_REUSED && places[1].reused_by == 3 && places[1].position == 1);
	CHECK(places[2].state == POOL_IN_USE && places[2].pool_id == 1 && places[2].is_last && !places[0].is_last);
	jobs[2].ended_ms = 60 * MINUTE_MS; /* without a keep-alive the cluster goes with it */
	derive(jobs, 3, 70 * MINUTE_MS, places);
	CHECK(places[2].state == POOL_TERMINATED && places[2].retained_ms == 0);
}

TEST(a_pool_waits_and_goes)
{
	struct pool_job jobs[] = {job_of(1, 10, 20, 30), job_of(2, 50, 60, 0)};
	struct pool_place places[2];

	derive(jobs, 1, 50 * MINUTE_MS - 1, places);
	CHECK(places[0].state == POOL_AVAILABLE && places[0].until_ms == 50 * MINUTE_MS && places[0].retained_ms == 0);
	derive(jobs, 1, 50 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_TERMINATED && places[0].retained_ms == 30 * MINUTE_MS);
	derive(jobs, 2, 70 * MINUTE_MS, places); /* a minute late is too late */
	CHECK(places[0].state == POOL_TERMINATED && places[1].pool_id == 0 && places[1].state == POOL_NONE);
	jobs[1].begun_ms--;
	derive(jobs, 2, 70 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_REUSED);
	jobs[0].released_ms = 30 * MINUTE_MS;
	derive(jobs, 2, 70 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_TERMINATED && places[0].retained_ms == 10 * MINUTE_MS);
	jobs[0].released_ms = 0;
	jobs[0].is_retained = false;
	derive(jobs, 2, 70 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_TERMINATED && places[0].retained_ms == 0 && places[1].pool_id == 0);
}

TEST(a_chain_has_an_end)
{
	struct pool_job jobs[] = {job_of(1, 1, 28 * 24 * 60 - 9, 60)};
	struct pool_place place;

	derive(jobs, 1, 0, &place);
	CHECK(place.until_ms == 1 * MINUTE_MS + POOL_CHAIN_MAX_MS);
}

TEST(what_is_known_counts_more_than_what_is_likely)
{
	struct pool_job jobs[] = {job_of(1, 10, 20, 60), job_of(2, 11, 21, 60), job_of(3, 30, 0, 0)};
	struct pool_place places[3];

	derive(jobs, 3, 40 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_REUSED && places[1].state == POOL_AVAILABLE);
	jobs[1].reused_by = 3;
	derive(jobs, 3, 40 * MINUTE_MS, places);
	CHECK(places[0].state == POOL_AVAILABLE && places[1].state == POOL_REUSED && places[2].pool_id == 2);
}

/* ---- against a machine that looks at everything each time ---- */

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static bool can_wait(const struct pool_job *job)
{
	return job->ended_ms && job->keep_alive_ms > 0 && job->is_retained;
}

static int64_t reference_until(const struct pool_job *job, int64_t chain_begun_ms)
{
	int64_t end = later(job->ended_ms, job->begun_ms), until = end + job->keep_alive_ms;

	until = sooner(until, chain_begun_ms + POOL_CHAIN_MAX_MS);
	if (job->released_ms)
		until = sooner(until, job->released_ms);
	return later(until, end);
}

/* heirs[i]: who got the cluster of job i; -1: nobody. */
static void reference(const struct pool_job *jobs, size_t count, int heirs[])
{
	int64_t chain_begun_ms[JOBS_MAX];
	bool is_promised[JOBS_MAX] = {false}, has_promise[JOBS_MAX] = {false};
	int promised[JOBS_MAX];

	for (size_t i = 0; i < count; i++) {
		heirs[i] = -1;
		for (size_t j = i + 1; j < count; j++)
			if (jobs[i].reused_by == jobs[j].job_id && !has_promise[j] && can_wait(&jobs[i])) {
				is_promised[i] = has_promise[j] = true;
				promised[j] = (int)i;
			}
	}
	for (size_t j = 0; j < count; j++) {
		int best = has_promise[j] ? promised[j] : -1;
		for (size_t i = 0; i < j && !has_promise[j]; i++) {
			int64_t end = later(jobs[i].ended_ms, jobs[i].begun_ms);
			if (!can_wait(&jobs[i]) || is_promised[i] || heirs[i] >= 0 || end > jobs[j].begun_ms ||
				reference_until(&jobs[i], chain_begun_ms[i]) <= jobs[j].begun_ms)
				continue;
			if (best < 0 || end < later(jobs[best].ended_ms, jobs[best].begun_ms))
				best = (int)i;
		}
		chain_begun_ms[j] = best >= 0 ? chain_begun_ms[best] : jobs[j].begun_ms;
		if (best >= 0)
			heirs[best] = (int)j;
	}
}

static int compare_jobs(const void *a, const void *b)
{
	const struct pool_job *left = a, *right = b;

	if (left->begun_ms != right->begun_ms)
		return left->begun_ms < right->begun_ms ? -1 : 1;
	return left->job_id < right->job_id ? -1 : left->job_id > right->job_id;
}

static size_t make_jobs(struct pool_job jobs[], uint64_t *random)
{
	size_t count = 1 + next_random(random) % JOBS_MAX;
	int64_t span = next_random(random) % 4 ? 200 : 60 * 24 * 60; /* minutes; long ones meet the chain's end */

	for (size_t i = 0; i < count; i++) {
		int64_t begun = 1 + (int64_t)(next_random(random) % (uint64_t)span);
		jobs[i] = job_of((int64_t)i + 1, begun,
			next_random(random) % 8 ? begun + (int64_t)(next_random(random) % (uint64_t)(span / 4)) - 1 : 0,
			next_random(random) % 4 ? (int64_t)(next_random(random) % 61) : 0);
		jobs[i].is_retained = next_random(random) % 8 != 0;
		if (next_random(random) % 8 == 0)
			jobs[i].released_ms = (1 + (int64_t)(next_random(random) % (uint64_t)span)) * MINUTE_MS;
		if (next_random(random) % 8 == 0)
			jobs[i].reused_by = 1 + (int64_t)(next_random(random) % JOBS_MAX);
	}
	qsort(jobs, count, sizeof *jobs, compare_jobs);
	return count;
}

static void check_places(const struct pool_job jobs[], const struct pool_place places[], size_t count, int64_t now_ms)
{
	int heirs[JOBS_MAX], donors[JOBS_MAX];

	reference(jobs, count, heirs);
	for (size_t i = 0; i < count; i++)
		donors[i] = -1;
	for (size_t i = 0; i < count; i++) {
		if (heirs[i] < 0)
			continue;
		CHECK(donors[heirs[i]] < 0);
		donors[heirs[i]] = (int)i;
	}
	for (size_t i = 0; i < count; i++) {
		const struct pool_place *place = &places[i];
		CHECK((place->reused_by != 0) == (heirs[i] >= 0) && (place->state == POOL_REUSED) == (heirs[i] >= 0));
		CHECK(heirs[i] < 0 || place->reused_by == jobs[heirs[i]].job_id);
		CHECK(place->retained_ms >= 0 && place->is_last == (heirs[i] < 0));
		CHECK(place->pool_id == (donors[i] >= 0                 ? places[donors[i]].pool_id
						: jobs[i].keep_alive_ms ? jobs[i].job_id
									: 0));
		CHECK(place->position == (donors[i] >= 0 ? places[donors[i]].position + 1 : 0));
		CHECK(place->state != POOL_AVAILABLE || place->until_ms > now_ms);
		CHECK(place->state != POOL_TERMINATED || place->until_ms <= now_ms || !can_wait(&jobs[i]));
		CHECK((place->state == POOL_IN_USE) == (place->pool_id && heirs[i] < 0 && !jobs[i].ended_ms));
	}
}

TEST(as_a_machine_that_looks_at_everything)
{
	uint64_t random = 88172645463325252ULL;
	size_t sequences = 20000, reuses = 0;

	for (size_t round = 0; round < sequences; round++) {
		struct pool_job jobs[JOBS_MAX];
		struct pool_place places[JOBS_MAX];
		size_t count = make_jobs(jobs, &random);
		/* The time passes while the jobs go on: what is not known yet is as if it were not. */
		int64_t now_ms = (int64_t)(next_random(&random) % 100000) * MINUTE_MS;
		derive(jobs, count, now_ms, places);
		check_places(jobs, places, count, now_ms);
		for (size_t i = 0; i < count; i++)
			reuses += places[i].state == POOL_REUSED;
	}
	printf("  %zu sequences, %zu reuses, 0 disagreements\n", sequences, reuses);
	CHECK(reuses > sequences);
}

TEST(memory_that_ends_is_an_error)
{
	struct pool_job jobs[] = {job_of(1, 10, 20, 30), job_of(2, 25, 40, 30)};
	struct pool_place places[2];
	struct error err;

	for (long n = 1;; n++) {
		mem_fail_at(n);
		enum status status = pool_derive(jobs, 2, 0, places, &err);
		mem_fail_at(0);
		if (status == OK)
			break;
		CHECK(status == ERR_MEMORY);
	}
}

/* ---- shapes ---- */

static struct pool_shape shape_of(const char *text, struct arena *arena)
{
	AUTO(json) document = NULL;
	struct pool_shape shape;

	CHECK_OK(json_parse(&document, span_from(text), &err));
	CHECK_OK(pool_shape_read(&shape, document, arena, &err));
	return shape;
}

TEST(shapes)
{
	AUTO(arena) arena = arena_new();
	struct pool_shape a =
		shape_of("{\"ResourceConfig\":{\"InstanceType\":\"ml.p4d.24xlarge\",\"InstanceCount\":4,"
			 "\"VolumeSizeInGB\":50,\"KeepAlivePeriodInSeconds\":600},\"RoleArn\":\"r\","
			 "\"VpcConfig\":{\"Subnets\":[\"b\",\"a\"],\"SecurityGroupIds\":[\"g\"]},"
			 "\"EnableNetworkIsolation\":false,\"AlgorithmSpecification\":{\"TrainingImage\":\"x\"}}",
			arena);
	struct pool_shape b = shape_of("{\"ResourceConfig\":{\"InstanceType\":\"ml.p4d.24xlarge\",\"InstanceCount\":8,"
				       "\"VolumeSizeInGB\":50},\"RoleArn\":\"r\",\"HyperParameters\":"
				       "{\"keep_alive_period_in_seconds\":\"120\"},"
				       "\"VpcConfig\":{\"Subnets\":[\"a\",\"b\"],\"SecurityGroupIds\":[\"g\"]}}",
		arena);

	CHECK(a.is_whole && a.keep_alive_ms == 600000 && b.keep_alive_ms == 120000);
	CHECK(pool_shape_count_differences(&a, &b) == 1 && a.hash != b.hash);
	CHECK(!span_equal(a.fields[1], b.fields[1]));
	CHECK(strcmp(pool_shape_field(1), "ResourceConfig.InstanceCount") == 0);
	b.fields[1] = a.fields[1];
	CHECK(pool_shape_count_differences(&a, &b) == 0);
	AUTO_DONE(buf) text = BUF_INIT(1000);
	struct pool_shape again;
	pool_shape_print(&a, &text);
	CHECK(pool_shape_parse(&again, buf_span(&text)) && again.hash == a.hash);
	CHECK(!pool_shape_parse(&again, SPAN("a\nb")));
	CHECK(!shape_of("{}", arena).is_whole);
	CHECK(!shape_of("{\"ResourceConfig\":{\"InstanceType\":\"t\",\"InstanceCount\":1},"
			"\"EnableManagedSpotTraining\":true}",
		arena)
			.is_whole);
	CHECK(shape_of("{\"ResourceConfig\":{\"KeepAlivePeriodInSeconds\":99999}}", arena).keep_alive_ms == 3600000);
}
