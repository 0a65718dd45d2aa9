/*
 * Job: a host's addresses within a deadline: the system's resolver has none, so it runs in a thread that may be left
 *      behind.
 * Ownership: the result is freed by freeaddrinfo. Threads: any.
 */
#pragma once

#include "base/error.h"

#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>

/* give_up_ms: read again and again; past it (on the monotonic clock, 0: never) the wait ends. ERR_UNAVAILABLE. */
enum status resolve_host(struct addrinfo **out, const char *host, const char *port, int64_t deadline_ms,
	const _Atomic int64_t *give_up_ms, struct error *err) MUST_CHECK;
