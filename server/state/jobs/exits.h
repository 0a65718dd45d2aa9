/*
 * Job: how a job ended, by how the processes of its sessions did: with rank 0, or when all have ended; the first that failed is
 *      named. Pure.
 * Ownership: out->message and reason are the facts'. Threads: any.
 */
#pragma once

#include "store/sessions.h"
#include "store/told.h"

/* run_ms: what ended before is of an earlier run; 0: there was none. False: it goes on. */
bool exits_decide(const struct held_row *held, size_t count, int64_t run_ms, bool was_stopped, struct told_row *out);
/* A reason that was stated is how one of them ended, and no more: `held` as named, a sender may say its rank: "algo-2 on n7 (rank 1): …". */
bool exits_say(const struct held_row *held, size_t count, struct span reason);
/* The same of the words alone, before its exit is known. */
bool exits_is_how_one_ended(struct span reason);
/* algo-1, algo-1-r0, worker-0: what a name says; a job with one stream alone has no other. */
bool exits_is_rank_0(struct span stream);
