/*
 * Job: how odd a point of a training loss is, against what is expected and against the points before it, and whether what has gathered is
 *      an excursion. loss_spike.c says by which rules.
 * Ownership: the caller's. Threads: one at a time. Internal to detect/.
 */
#pragma once

#include "detect/loss_spike_state.h"

enum spike_cause { SPIKE_NONE, SPIKE_EVIDENCE, SPIKE_SUM };

/* z of a value, against what is expected. */
double spike_score(const struct robust_window *window, double value);
/* The same with few values in the window. */
double spike_young_score(struct loss_spike *state, double value);
/* What is new in this point beside the last one; once a point. */
double spike_innovation(struct loss_spike *state, double z);
/* That of something small, in what was new in the last points. */
double spike_small(const struct loss_spike *state);
/* What is new in a point that is marked. */
double spike_mark_bar(const struct loss_spike *state);

/* How often odd points came at this distance; once a point, before spike_gather. */
unsigned spike_matches(struct loss_spike *state, const struct point *point, double z);
/* z: against what is expected; jump: against the last points as well. */
void spike_gather(struct loss_spike *state, double z, double jump, int64_t step);
/* After that; of points of an incident as well. */
void spike_follow_points(struct loss_spike *state, const struct point *point);
/* Of a point that belongs to no incident. */
void spike_count_tail(struct loss_spike *state, double z);
void spike_forget_evidence(struct loss_spike *state);

/* A line stands for several steps. */
bool spike_is_sampled(const struct loss_spike *state);
bool spike_has_evidence(const struct loss_spike *state);
enum spike_cause spike_judge(struct loss_spike *state, double value);
/* The step at which it began. */
int64_t spike_onset(const struct loss_spike *state, enum spike_cause cause);
