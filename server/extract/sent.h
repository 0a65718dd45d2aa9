/*
 * Job: whether points that were sent as such, and not found in lines, begin an attempt of their stream: by the steps of the series that
 *      leads, its loss (docs/decisions/0033-attempts-of-sent-points.md). Internal to extract/.
 * Ownership: plain values. Threads: one at a time.
 *
 * A step below the highest one is one of these:
 *   a restart      its sender has said that it begins anew (a 0 that may be none counts with the step behind it); or the steps went on from there, each later than all before, until they
 *                  passed the old maximum without leaving a step out (by FALLEN_SENT points, or behind a pause), or for long enough
 *                  (FALLEN_POINTS, or FALLEN_LATER and FALLEN_MS). Only then the attempt is opened, back to the first of these steps:
 *                  nothing is ever taken back;
 *   out of order   it bears an earlier time than the newest of the series, or none of its own;
 *   undecided      it bears the newest's own time, as what is sent again does, and the first steps of a restart without a pause, or
 *                  by a clock of whole seconds. If those behind it go on from it, and are later, it is where the restart begins;
 *   an epoch       a counter that starts over goes back to where it began: such a step is none;
 *   other senders  that are behind in the same series: the steps go on where they were. From the second time on (SENDERS_SURE) such a
 *                  series says nothing any more, until it was calm for CALM_POINTS.
 * A step that goes on takes back the attempt that a counter in lines has opened on trial since: that was an epoch's.
 */
#pragma once

#include "base/codec/pack.h"
#include "extract/attempt.h"
#include "extract/extract.h"

enum {
	FALLEN_SENT = 5,
	FALLEN_LATER = 20, /* more than a batch of who is behind */
	FALLEN_POINTS = 64,
	FALLEN_MS = 30 * 1000,
	FALLEN_FORGOTTEN_MS = 10 * 60 * 1000, /* without a word of the series that leads, while others go on */
	UNDERWAY_MS = 60 * 1000, /* so long a point may take that was sent before its process ended */
	SPEAKS_MS = 10 * 60 * 1000, /* so long it may be silent, or for twice its longest gap of late */
	SENDERS_SURE = 2,
	CALM_POINTS = 1024,
};

struct sent_steps {
	uint64_t leader; /* hash of its name; 0: no series yet */
	bool is_loss;
	uint32_t attempt; /* that what follows is of; 0: no step yet */
	int64_t first; /* the lowest that began an attempt */
	int64_t highest, newest_ms;
	bool is_over; /* it has gone back to the first, and not passed the highest again */
	int64_t stride, gap_ms; /* the largest of late, from one highest step to the next; 0: not known */
	int64_t lines_ms; /* when lines opened the last attempt that they did; 0: they opened none */
	bool has_begun; /* its sender began anew, and no step has come since */
	struct {
		bool is_there;
		int64_t step, ms; /* where it began */
		int64_t highest, newest_ms;
		int64_t heard_ms; /* when the last one arrived */
		uint32_t points; /* that went on */
	} fallen;
	struct {
		bool is_there;
		int64_t step, highest;
		int64_t heard_ms;
	} back; /* steps that bear the newest's own time, behind it */
	bool is_joining; /* it leads since the attempt began, and has come to the millisecond in which that was */
	uint32_t refuted, calm;
};

/* *is_open: the step has opened an attempt, which may have begun some points ago (attempts->sent_ms). */
enum status sent_place(struct sent_steps *sent, struct attempts *attempts, const struct sent_step *at, bool *is_open,
	struct error *err) MUST_CHECK;
/* Lines, of that time, have opened an attempt. What had fallen back to their step just before is of it: the call that stands before the print. */
void sent_see_lines(struct sent_steps *sent, struct attempts *attempts, int64_t ms);
/* Lines have opened an attempt, and the series that leads is not dead, but has said nothing since. */
bool sent_may_speak(const struct sent_steps *sent, const struct attempts *attempts, int64_t now_ms);
void sent_end_body(struct sent_steps *sent, int64_t arrival_ms);
void sent_pack(const struct sent_steps *sent, struct buf *out);
/* only: of a state of before, in which only the last attempt's beginning was known, and here; NULL: of none. */
void sent_unpack(struct sent_steps *sent, struct attempts *only, struct unpacker *in);
