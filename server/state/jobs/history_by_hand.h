/*
 * Job: the times that somebody set by hand, in a history: they win over whatever it is made of. Pure.
 * Ownership: in the arena that the caller gives. Threads: any.
 */
#pragma once

#include "model/jobs/by_hand.h"
#include "state/jobs/history.h"
#include "store/jobs.h"

struct history_by_hand {
	struct history shown;
	/* What it was set upon: `known`, with what a later end takes into the run; its end is the known one. */
	struct history base;
	bool has_given_way; /* a time that is worked out is on the wrong side of the one that was set: it has that time */
};
/* known: as the facts have it; row has its status and times, and gets those that are shown. */
enum status history_set_by_hand(struct arena *arena, const struct history_facts *facts, const struct history *known,
	const struct by_hand *by, struct job_row *row, struct history_by_hand *out, struct error *err) MUST_CHECK;
