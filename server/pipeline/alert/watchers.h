/*
 * Job: the conditions of users' rules over the series of a stream: bound to them when the rules change, fed with their points, kept with
 *      the stream's state, so that a start goes on where it was. A rule sees what was committed after it was made, at a replay as well.
 * Ownership: a series owns its watchers. Threads: under the stream's lock.
 */
#pragma once

#include "alert/rule.h"
#include "state/streams/directory.h"
#include "state/watchers/watcher_state.h"

struct pipeline;

/* The rules that hold for the slice that is consumed next, and its number. Borrowed until the next call; NULL: none. */
void watchers_begin(struct stream_state *stream, const struct rule_set *rules, uint64_t seq);
enum status watchers_feed(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	uint64_t ordinal, const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;
