/*
 * Job: the conditions of users' rules over the series of a stream: bound to them when the rules change, fed with their points, kept with
 *      the stream's state, so that a start goes on where it was. A rule sees what was committed after it was made, at a replay as well.
 * Ownership: a series owns its watchers. Threads: under the stream's lock.
 */
#pragma once

#include "alert/rule.h"
#include "pipeline/internal.h"

struct watcher {
	int64_t rule_id;
	uint64_t since_seq; /* of the rule: another one is another rule */
	int64_t modified_ms; /* of the rule as well, for what was changed twice between two commits of lines; 0: it was packed */
	struct watch *watch; /* NULL: still packed */
	unsigned life; /* of the series, in which it was asked to say again what is open */
	char *packed;
	size_t packed_len;
};

/* The rules that hold for the slice that is consumed next, and its number. Borrowed until the next call; NULL: none. */
void watchers_begin(struct stream_state *stream, const struct rule_set *rules, uint64_t seq);
enum status watchers_feed(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	uint64_t ordinal, const struct point *point, int64_t arrival_ms, struct error *err) MUST_CHECK;
void watchers_free(struct series_state *series);

/* Behind a stream's state; nothing where there are none. */
void watchers_pack(const struct stream_state *stream, struct buf *out);
enum status watchers_unpack(struct stream_state *stream, struct unpacker *in, struct error *err) MUST_CHECK;
