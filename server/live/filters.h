/*
 * Job: subscribers of the hub who want matching lines alone. One thread of its own reads the hub for them all, so that no
 *      I/O thread, no extraction and no other subscriber waits for somebody's regular expression; who lags is resynced by
 *      the hub as everybody is. Events that are not lines pass as they are.
 * Ownership: a filtered is its opener's until filters_unsubscribe.
 * Threads: all calls from any; wake runs in the filters' thread.
 */
#pragma once

#include "live/filter.h"
#include "live/hub.h"

struct filters;
struct filtered;

struct filters_options {
	struct hub *hub; /* outlives the filters */
	uint32_t match_steps; /* on one line, before a match is given up: 100,000 */
	int64_t event_ms; /* time for all lines of one event: 50 ms */
	int64_t heartbeat_ms; /* a comment line to every silent subscriber: 15 s */
};

enum status filters_start(struct filters **out, const struct filters_options *options, struct error *err) MUST_CHECK;
/* Ends the thread; no filtered may be left. */
void filters_free(struct filters *filters);

/* Like hub_subscribe; the errors of filter_new beside its own. */
enum status filters_subscribe(struct filters *filters, struct filtered **out, const struct filter_spec *spec,
	const struct hub_wish *wish, void (*wake)(void *context), void *context, struct error *err) MUST_CHECK;
/* When it returns no wake is running or will come. It does not wait for a match that is under way. */
void filters_unsubscribe(struct filtered *filtered);
/* Like hub_read. */
ssize_t filters_read(struct filtered *filtered, char *out, size_t room);

AUTO_TYPE(filters)
