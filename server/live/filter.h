/*
 * Job: which lines of an event somebody wants: of one stream, and matching a text or a regular expression.
 * Ownership: new/free; copies what it is given. Threads: immutable; a work belongs to one thread.
 */
#pragma once

#include "base/text/regex.h"

struct filter;

struct filter_spec {
	struct span stream; /* ptr NULL: all */
	struct span text; /* what a line must hold; empty: every line */
	bool is_regex;
	bool ignores_case;
};

/* ERR_INVALID with field "filter" and the column of the mistake in a regular expression. */
enum status filter_new(struct filter **out, const struct filter_spec *spec, struct error *err) MUST_CHECK;
void filter_free(struct filter *filter);

/* Of one thread; serves any filter. */
struct filter_work {
	struct regex_scratch *scratch;
	int64_t event_ms; /* time for all lines of one event; the rest is unread */
	struct buf stream, text;
};

/*
 * Appends the event of lines (SSE text) with the matching lines alone, and beside the publisher's fields "unread": lines
 * that were not looked at (a burst beyond one event, or the time was over), and "limited": lines whose match was given up.
 * Nothing where there is none of the three.
 */
void filter_event(const struct filter *filter, struct filter_work *work, struct span event, struct buf *out);

AUTO_TYPE(filter)
