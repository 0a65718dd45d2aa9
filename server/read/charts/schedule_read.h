/*
 * Job: the learning rate that a job's settings declare beside the one that its log shows, and how many gradients were clipped.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "fleet/lr_watch.h"
#include "store/jobs.h"

#include <stdint.h>

struct pipeline;

enum { SCHEDULE_OBSERVED_MAX = 100, SCHEDULE_CHANGES_MAX = 50 };

struct schedule_point {
	int64_t step;
	double declared, observed; /* declared: NaN: nothing is */
};

/* A setting that moves during the run, as it is printed: where it became another one. */
struct schedule_trail {
	struct span metric; /* "": none is printed */
	uint64_t prints, lowered; /* finite ones; those below the one before, of the same attempt */
	uint32_t attempt; /* of the last one */
	double first, last, least, most;
	struct schedule_change {
		int64_t step;
		double value;
	} changes[SCHEDULE_CHANGES_MAX]; /* the first ones */
	uint64_t change_count; /* of all */
};

struct schedule_report {
	struct lr_schedule declared;
	struct span metric; /* of the learning rate; "": none is printed */
	struct schedule_point *observed; /* of all points, evenly, and the last one */
	size_t observed_count;
	bool is_counted; /* the log says no step: its prints were counted, and none is laid beside what is declared */
	bool is_loose; /* its steps are those of a progress bar that lags: each rate is compared with all up to the next print's */
	bool has_difference;
	struct schedule_point difference; /* the first of two prints in a row that are not the declared rate */
	double clip; /* NaN: nobody says */
	struct span clip_from, norm_metric; /* "": none */
	uint64_t norms, clipped; /* points of the gradient norm, and those above it */
	struct schedule_trail loss_scale, batch;
	struct span ramp, ramp_from; /* what the settings say of a batch that grows, and which one; "": nothing */
};

/* Goes on with the prints that came since. With another schedule or other points it begins again. *out: what is declared, and of which metric;
 * what is only in a report stays empty. */
enum status schedule_go_on(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_progress *progress, struct schedule_report *out, struct error *err) MUST_CHECK;
enum status schedule_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_report *out, struct error *err) MUST_CHECK;
