/*
 * Job: the checkpoints of many jobs by their scores: a leaderboard of jobs, of runs (jobs that go on with each other) or of checkpoints.
 *      What suites found is compared, not what trainers print: that a search of jobs sorts by.
 * Ownership: lives in the arena. Threads: workers. A view of the database may be open.
 */
#pragma once

#include "model/jobs/evaluation_judge.h"
#include "model/query.h"
#include "store/store.h"

enum leaders_by { LEADERS_BY_JOB, LEADERS_BY_RUN, LEADERS_BY_CHECKPOINT };

struct leader {
	struct span job; /* whose checkpoint it is */
	struct span run; /* by run: the job that it began with */
	bool has_step;
	int64_t step;
	struct span path; /* "": not known */
	double value; /* of the rule: more is better */
	const double *scores; /* as they are, one a weight */
	double error; /* of the score, where one alone is weighed; -1: not known */
	int64_t evaluated_ms; /* 0: not known */
	size_t compared; /* checkpoints of the job, or of the run's jobs, that have all scores */
	size_t jobs; /* of the run that have such checkpoints */
};

struct score_count {
	struct span name; /* TASK/METRIC */
	size_t jobs; /* that have it */
};

struct leaders {
	const struct evaluation_weight *weights; /* what was asked for, else the score that most jobs have */
	size_t weight_count;
	struct leader *rows; /* the best first */
	size_t count;
	struct score_count *known; /* scores of these jobs, by name */
	size_t known_count;
	bool is_partial; /* the newest of the evaluated jobs alone were looked at */
};

/* weight_count 0: by the usual score. */
enum status leaders_read(struct store_reader *reader, struct arena *arena, const struct query_node *query,
	const struct evaluation_weight *weights, size_t weight_count, enum leaders_by by, struct leaders *out,
	struct error *err) MUST_CHECK;
