/*
 * Job: tells the audit log whom a provider has signed in who may nothing here. What comes back without such a person is not told: it costs
 *      nothing to begin a sign-in and to come back with an error, and what is new pushes out what is old.
 * Ownership: the caller's; zeros at first. Threads: one.
 */
#pragma once

#include "base/span.h"

#include <stdint.h>

struct pipeline;

struct refusals {
	int64_t hour_mono_ms; /* when it began; 0: none has */
	unsigned told; /* in it */
};

struct refusal {
	const char *provider; /* as --sign-in calls it */
	struct span person; /* "": the provider has said no name that counts */
	struct span address, reason;
};

/* So many in an hour: with many accounts, too, nobody fills the log. Waits for the writer. */
enum { REFUSALS_AN_HOUR = 60 };
void refusals_tell(struct refusals *refusals, struct pipeline *pipeline, const struct refusal *refusal);
