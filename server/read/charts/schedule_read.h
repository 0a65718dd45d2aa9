/*
 * Job: the learning rate that a job's settings declare beside the one that its log shows, and how many gradients were clipped.
 * Ownership: lives in the arena. Threads: any.
 */
#pragma once

#include "fleet/lr_watch.h"
#include "store/jobs.h"

#include <stdint.h>

struct pipeline;

enum { SCHEDULE_OBSERVED_MAX = 100 };

struct schedule_point {
	int64_t step;
	double declared, observed; /* declared: NaN: nothing is */
};

struct schedule_report {
	struct lr_schedule declared;
	struct span metric; /* of the learning rate; "": none is printed */
	struct schedule_point *observed; /* of all points, evenly */
	size_t observed_count;
	bool has_difference;
	struct schedule_point difference; /* the first of two prints in a row that are not the declared rate */
	double clip; /* NaN: nobody says */
	struct span clip_from, norm_metric; /* "": none */
	uint64_t norms, clipped; /* points of the gradient norm, and those above it */
};

/* Goes on with the prints that came since. With another schedule or other points it begins again. *out: what is declared, and of which metric;
 * what is only in a report stays empty. */
enum status schedule_go_on(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_progress *progress, struct schedule_report *out, struct error *err) MUST_CHECK;
enum status schedule_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena, struct span job,
	struct schedule_report *out, struct error *err) MUST_CHECK;
