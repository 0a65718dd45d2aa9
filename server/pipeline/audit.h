/*
 * Job: who is at work. What a thread hands to the writer while somebody acts on it is told in the audit log, in the transaction that
 *      changes it: what it was, what it is.
 * Ownership: the actor is the caller's until it acts no more. Threads: each has its own.
 */
#pragma once

#include "pipeline/pipeline.h"

struct actor {
	struct span token, team, address;
	struct span verb; /* "create", "change", "ack" … */
	struct span kind, id; /* of what: store_read_audited; id "": what comes into being */
	struct span body; /* told of an action that leaves no trace in the thing itself: a JSON object, or empty */
};

/* Of this thread, from now on; NULL: nobody. */
void pipeline_act_as(struct pipeline *pipeline, const struct actor *actor);
