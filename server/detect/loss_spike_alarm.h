/*
 * Job: a spike of a training loss from its opening to its end, or to the divergence that it becomes; and marks, which are one odd point or
 *      a small ramp, and may be the beginning of more. loss_spike.c says by which rules.
 * Ownership: the caller's. Threads: one at a time. Internal to detect/.
 */
#pragma once

#include "detect/loss_spike_evidence.h"

/* z: the score of the point that opens it. */
void spike_open_alarm(struct loss_spike *state, enum severity severity, uint64_t ordinal, const struct point *point,
	double z, const struct report_to *to);
void spike_mark_point(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to);
void spike_mark_ramp(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, double z, const struct report_to *to);
/* A jump to where the stream began may be the next training in it: then more of it does not raise it. */
bool spike_is_like_start(const struct loss_spike *state, const struct point *point);

/* One point while an alarm is open. */
void spike_follow_alarm(
	struct loss_spike *state, uint64_t ordinal, const struct point *point, const struct report_to *to);
/* One point while a mark is. */
void spike_follow_mark(struct loss_spike *state, const struct point *point, double z, enum spike_cause cause,
	const struct report_to *to);
void spike_end_alarm(struct loss_spike *state, const struct point *point, const struct report_to *to);
