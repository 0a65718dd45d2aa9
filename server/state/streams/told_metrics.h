/*
 * Job: which metrics of a job were sent as points with steps, by a tracker's client or otherwise: lines that print them without a step make no
 *      second series of them (docs/metrics.md).
 * Ownership: init/done. Threads: any; nothing else is locked under its lock.
 */
#pragma once

#include "model/metrics/batch_series.h"
#include "model/metrics/metric.h"

#include <pthread.h>
#include <stdatomic.h>

/* When: in which life of the job it was sent last (one that goes on may do so without its tracker), and from when on in that. */
struct told_when {
	unsigned life; /* 0: never */
	int64_t since_ms; /* the first time that was sent; NO_TIME: none was */
	bool has_no_number; /* a NaN or an infinity was among it */
};

struct told_name {
	uint64_t hash; /* of what is compared of a name */
	struct told_when when;
	int64_t number_ms; /* of the newest number before its last NaN that opened an incident; 0: not known. Not kept */
};

struct told_metrics {
	atomic_bool has_any;
	pthread_mutex_t mutex; /* of the fields below */
	struct told_when roles[ROLE_COUNT];
	int64_t role_number_ms[ROLE_COUNT]; /* as of a name */
	struct told_name *names;
	size_t count, cap;
};

/* Values with steps, of no machine. */
bool series_is_of_steps(const struct batch_series *sent, struct span stream);
/* They are of the job's present life, as far as their times tell: began_ms is when it went on after its last end. */
bool told_metrics_is_since(const struct batch_series *sent, int64_t began_ms);
/* As it is said, else as the name tells. */
enum role series_role(const struct batch_series *sent);

void told_metrics_init(struct told_metrics *told);
void told_metrics_done(struct told_metrics *told);
/* What is to be known of these points, which are of this life. */
struct told_when told_metrics_when(const struct batch_series *sent, unsigned life);
/* False: no memory. */
bool told_metrics_add(struct told_metrics *told, struct span metric, enum role role, const struct told_when *when);
/* Of the same role, where that can be one metric alone and neither is a part of it, or called alike: train:mean_acc and train/mean_acc, eval_acc and eval/acc. */
bool told_metrics_have(struct told_metrics *told, struct span metric, enum role role, unsigned life);
/* The same; *when: of that life. */
bool told_metrics_find(
	struct told_metrics *told, struct span metric, enum role role, unsigned life, struct told_when *when);
/* Of a NaN that was told: of the newest number before it. Nothing is known of a metric that was not told. */
void told_metrics_note_number(struct told_metrics *told, struct span metric, enum role role, int64_t number_ms);
int64_t told_metrics_number_ms(struct told_metrics *told, struct span metric, enum role role);
/* Two metrics of a job are one by what is said above; the roles are those that their series have. */
bool told_metrics_are_one(struct span a, enum role role_of_a, struct span b, enum role role_of_b);
