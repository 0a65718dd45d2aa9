/*
 * Job: warm pools as SageMaker runs them: which job's cluster waited for another, which job took it, when it was let go. A pool
 *      is the chain of jobs that used one cluster, and is called by the first of them.
 * A pure function of the jobs' facts and the time: the order in which the facts came, and how often, changes nothing.
 * Source: https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html
 * Ownership: the caller's arrays. Threads: any.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cluster is not kept longer than that after its first job began. */
#define POOL_CHAIN_MAX_MS (28LL * 24 * 3600 * 1000)

/* SageMaker keeps no cluster longer than that for a next job. */
#define POOL_KEEP_ALIVE_MAX_MS (3600LL * 1000)

/* Of jobs that ask for the same cluster (fleet/pool_shape.h) and got one. */
struct pool_job {
	int64_t job_id;
	int64_t begun_ms; /* asked for its cluster */
	int64_t ended_ms; /* 0: it runs */
	int64_t keep_alive_ms; /* 0: its cluster goes with it */
	int64_t released_ms; /* its keep-alive was taken back while the cluster waited; 0: it was not */
	int64_t reused_by; /* the job of this list that is known to have got the cluster; 0: not known */
	bool is_retained; /* it ended in a way that leaves the cluster usable */
	/* How it got its cluster was worked out before and is not again: 0, else its pool, and: */
	int64_t settled_pool_id;
	uint32_t settled_position;
	int64_t settled_begun_ms; /* when the first job of the pool began */
};

enum pool_state { POOL_NONE, POOL_IN_USE, POOL_AVAILABLE, POOL_REUSED, POOL_TERMINATED };

struct pool_place {
	int64_t pool_id; /* 0: in no pool */
	uint32_t position; /* in the pool's chain, from 0 */
	bool is_last;
	enum pool_state state; /* of this job's turn */
	int64_t reused_by; /* 0: by none */
	int64_t retained_ms; /* how long the cluster waited: final in states REUSED and TERMINATED, else 0 */
	int64_t until_ms; /* AVAILABLE: it goes then; TERMINATED: it went then; else 0 */
};

/*
 * jobs: by begun_ms, then by job_id. places[i] is of jobs[i]. ERR_MEMORY.
 * Not all of a shape's jobs are needed: those from some moment on, and of the earlier ones, as settled, those whose cluster one of
 * them may get (pool_job_reaches), and those that are known to have left theirs to one of them.
 */
enum status pool_derive(const struct pool_job *jobs, size_t count, int64_t now_ms, struct pool_place *places,
	struct error *err) MUST_CHECK;

/* May a job that begins at at_ms or later get its cluster, as far as the job itself says? */
bool pool_job_reaches(const struct pool_job *job, int64_t at_ms);

/* "Available", "InUse", "Reused", "Terminated"; NONE: NULL. */
const char *pool_state_name(enum pool_state state);
