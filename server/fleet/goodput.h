/*
 * Job: where the time of a job went: its wall clock cut into pieces, each in one bucket, so that the buckets add up to it.
 *      A pure function of secondary statuses, of the times at which steps were printed, and of what was seen between them.
 * Ownership: the caller's arrays; what is derived is in the caller's arena. Threads: any.
 *
 * Goodput is the share of the wall clock in which steps were made that nobody had to make again: as the effective training time
 * ratio of Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (arXiv 2410.21680), and the
 * effective training time of "The Llama 3 Herd of Models" (arXiv 2407.21783, 3.3.4). docs/goodput.md has the definitions.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers are in the database. */
enum goodput_bucket {
	GOODPUT_CAPACITY, /* start-up: no machines to be had */
	GOODPUT_UNHEALTHY, /* start-up: a machine was bad and was replaced */
	GOODPUT_LAUNCH, /* start-up: all else before an image */
	GOODPUT_IMAGE,
	GOODPUT_DATA,
	GOODPUT_FIRST_STEP, /* installing, compiling, setting up collectives: training, but no step yet */
	GOODPUT_PRODUCTIVE,
	GOODPUT_EVALUATION,
	GOODPUT_CHECKPOINT,
	GOODPUT_REDONE, /* steps that a restart made once more: the first time */
	GOODPUT_STALLED,
	GOODPUT_RESTART, /* from the last step before it to the first one after it, without the latter */
	GOODPUT_IDLE, /* the machines are held, and nothing is left to train, or not yet */
	GOODPUT_UNMEASURED, /* training, by a job that prints no steps, or of which nobody knows how long they took */
	GOODPUT_BUCKETS
};
/* "capacity", "first_step" … */
const char *goodput_bucket_name(enum goodput_bucket bucket);

/* Interrupted with this message: the process of a tracked run was gone, and nobody held its machines. */
#define GOODPUT_GONE "the run's process was gone"

/* Causes that a status, or its message, says in general. */
#define GOODPUT_SPOT "spot interruption"
#define GOODPUT_BY_USER "stopped by a user"
#define GOODPUT_NODE_FAILURE "node failure"
/* A machine's own fault that the log tells of says more than these. */
bool goodput_cause_is_general(struct span cause);
/* "node failure", "maintenance", "preempted": as the message of a status says; "": it says nothing of this. */
struct span goodput_said_cause(struct span message);

/* One stretch of one secondary status, or a pause; they follow on each other without gaps. */
struct goodput_phase {
	int64_t from_ms, to_ms;
	bool is_training; /* the steps decide */
	bool is_away; /* the job was put aside: no part of its wall clock */
	bool is_done; /* it is Completed: what goes on behind that was not broken off */
	enum goodput_bucket bucket; /* if not */
	struct span cause; /* of a restart, where it says so: "spot interruption"; "" */
};

/* Times and steps beyond this are cut: what is added and taken from each other stays in range. */
#define GOODPUT_LIMIT (1LL << 50)
static inline int64_t goodput_within(int64_t x)
{
	return x > GOODPUT_LIMIT ? GOODPUT_LIMIT : x < -GOODPUT_LIMIT ? -GOODPUT_LIMIT : x;
}

/* More nodes than anybody has: a job that claims them is taken as one that does not say. */
enum { JOB_NODES_MAX = 1000000 };

/* A step was printed; in order of time. A pyramid's bucket is its first and its last. */
struct goodput_point {
	int64_t ts_ms;
	int64_t step;
	uint32_t attempt;
};

/* An evaluation or a checkpoint was printed; in order of time. */
struct goodput_mark {
	int64_t ts_ms;
	enum goodput_bucket bucket;
	int64_t step; /* of a checkpoint; -1: not known */
};

enum goodput_end { GOODPUT_RUNS, GOODPUT_COMPLETED, GOODPUT_FAILED, GOODPUT_STOPPED };

/* Where work goes on behind a job's end, in those that state to go on with it; and what a job is to those before it. */
struct goodput_link {
	int64_t from_step; /* work goes on from this one; INT64_MAX: none of them has printed a step */
	int64_t step_ms; /* the first step there; 0: there is none */
	int64_t work_ms; /* the same, without its own time */
	int64_t silent_ms; /* up to there, which breaks of these jobs count already */
};

struct goodput_facts {
	const struct goodput_phase *phases;
	size_t phase_count;
	const struct goodput_point *points;
	size_t point_count;
	bool is_thinned; /* they are the first and last of buckets: between two of them others were printed */
	const struct goodput_mark *marks;
	size_t mark_count;
	int64_t stride; /* steps between two that are printed; 0: that of the points */
	int64_t declared_steps; /* how many it is to make; 0: nobody says */
	bool made_no_step; /* it has a log, and no line of it is of a step, as those of who goes on with it are */
	int64_t printed_ms; /* from when on lines say that steps were made, maybe of more than the points; 0: none do */
	enum goodput_end end;
	struct span end_cause; /* of a failure */
	struct goodput_link next; /* the jobs that go on with it */
};

struct goodput_segment {
	int64_t from_ms, to_ms;
	enum goodput_bucket bucket;
};

/* What broke the work off, and what that took. */
struct goodput_break {
	int64_t from_ms; /* the last step before it, or the status that says so */
	int64_t to_ms; /* the first step after it; 0: there is none yet */
	struct span cause; /* "": nobody said */
	int64_t step; /* the last one that was printed; -1: none */
	int64_t from_step; /* work went on from here: the checkpoint; -1: not known */
	bool is_of_next; /* work went on in another job */
	int64_t lost_steps; /* -1: not known */
	int64_t redone_ms; /* these steps took, the first time */
	int64_t restart_ms;
};

struct goodput {
	int64_t ms[GOODPUT_BUCKETS];
	int64_t total_ms; /* their sum */
	struct goodput_segment *segments; /* in order of time, without gaps but for pauses */
	size_t segment_count;
	struct goodput_break *breaks; /* in order of time */
	size_t break_count;
	double step_ms; /* the median of undisturbed steps, by their number; 0: not known */
	int64_t stride; /* 0: not known */
	bool has_steps;
	int64_t first_from_step; /* the first step that was printed followed on this one */
	int64_t last_step; /* the highest of the newest attempt */
	int64_t steps; /* made and kept */
	int64_t lost_steps; /* made, and made again, as far as is known */
	struct goodput_link link; /* what those that it goes on with have of it */
};

/*
 * A tracker's client that was killed has told less than lines of the same metric say: all of an attempt, or what lies behind its last point. Keeps of
 * what was printed what was not told, and says how much that is. Both in order of time.
 */
size_t goodput_find_untold(const struct goodput_point *told, size_t told_count, struct goodput_point *printed,
	size_t printed_count, int64_t stride);

/* How many steps lie between two that are printed, usually; points as facts have them, or with several of one time. 1: nobody knows. */
enum status goodput_find_stride(const struct goodput_point *points, size_t count, struct arena *arena, int64_t *stride,
	struct error *err) MUST_CHECK;

/* The median time of a step, by the points alone; 0: nobody knows. */
enum status goodput_find_step_ms(const struct goodput_point *points, size_t count, struct arena *arena, double *step_ms,
	struct error *err) MUST_CHECK;

/* Is a status that broke the training off that of the restart whose first step is points[first]? It is a moment behind that step, and the
 * steps go on beside it in time. */
bool goodput_status_lags(
	const struct goodput_point *points, size_t count, size_t first, int64_t status_ms, double step_ms);

enum status goodput_derive(
	const struct goodput_facts *facts, struct arena *arena, struct goodput *out, struct error *err) MUST_CHECK;

/* What a secondary status is as a phase: has_trained says whether Training came before it. */
struct goodput_phase goodput_phase_of(struct span secondary, struct span message, bool has_trained);
