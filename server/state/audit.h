/*
 * Job: who is at work. What a thread hands to the writer while somebody acts on it is told in the audit log, in the transaction that
 *      changes it: what it was, what it is.
 * Ownership: the actor is the caller's until it acts no more. Threads: each has its own.
 */
#pragma once

#include "store/store.h"

struct pipeline;

struct actor {
	struct span token, team, address;
	struct span verb; /* "create", "change", "ack" … */
	struct span kind, id; /* of what: store_read_audited; id "": what comes into being */
	const struct span
		*becomes; /* what it is called once the work is done, "": as it was; NULL: it keeps its name */
	struct span body; /* told of an action that leaves no trace in the thing itself: a JSON object, or empty */
};

/* Of this thread, from now on; NULL: nobody. */
void audit_act_as(struct pipeline *pipeline, const struct actor *actor);

/* This thread's; NULL: nobody acts on it. */
const struct actor *audit_actor(const struct pipeline *pipeline);

/* The work, and in its transaction what there is to tell of it. actor NULL: the work alone. */
enum status audit_run(struct pipeline *pipeline, const struct actor *actor, struct store_tx *tx,
	enum status (*work)(void *context, struct store_tx *tx, struct error *err), void *context,
	struct error *err) MUST_CHECK;
