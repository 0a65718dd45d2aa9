/*
 * Job: "wait until woken" for one connection, exactly right when the wake-up comes first, late, or at the same time.
 * Ownership: part of an exchange. Threads: park_wait in the connection's I/O thread, park_wake from any.
 *
 * After park_wake has resumed a connection its I/O thread may finish the request and free the park at once: nothing is
 * touched behind that point, which is why this is one atomic word and not a mutex.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct MHD_Connection;

enum park_state {
	PARK_RUNNING, /* the I/O thread has it */
	PARK_WOKEN, /* a wake-up came while it was running: the next wait returns at once */
	PARK_SUSPENDED, /* libmicrohttpd has put it aside */
	PARK_DETACHED, /* the server stopped although a wake-up is still owed */
};

struct park {
	struct MHD_Connection *connection;
	_Atomic enum park_state state;
};

/* True: put aside, the I/O thread's callback must return; it will be called again. False: woken already, go on. */
bool park_wait(struct park *park);
/* False: it was detached, and whoever owes the wake-up has the last reference. */
bool park_wake(struct park *park);
bool park_is_suspended(const struct park *park);
/* Neither suspended nor detached: the I/O thread may go on. */
bool park_is_free(const struct park *park);
/* True: was suspended; it runs again although nobody woke it, and park_wake will return false. */
bool park_detach(struct park *park);
/* Of a connection that the transport has put aside already: the wake-up is owed from now on. */
void park_owe(struct park *park);
/* True: whoever owed it is about to resume the connection by himself. False: it was detached. */
bool park_claim(struct park *park);
bool park_is_detached(const struct park *park);
/* Forgets a wake-up that came before now. */
void park_clear(struct park *park);
