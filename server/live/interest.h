/*
 * Job: which (job, kind) anybody listens to, or did within the last minute (who reconnects must find a replay).
 * Ownership: new/free; names are copied. Threads: one at a time (the hub's mutex).
 */
#pragma once

#include "base/alloc.h"
#include "base/span.h"

struct interest;

struct interest *interest_new(void) __attribute__((warn_unused_result));
void interest_free(struct interest *interest);
/* job.ptr NULL: all jobs. False: out of memory. */
bool interest_add(struct interest *interest, struct span job, unsigned kinds) __attribute__((warn_unused_result));
void interest_remove(struct interest *interest, struct span job, unsigned kinds, int64_t now_ms);
bool interest_has(const struct interest *interest, struct span job, unsigned kinds, int64_t now_ms);
/* Forgets the names that nobody has been interested in for a minute. */
void interest_sweep(struct interest *interest, int64_t now_ms);

AUTO_TYPE(interest)
