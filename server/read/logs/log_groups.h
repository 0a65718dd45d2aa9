/*
 * Job: lines of a search, those that say the same as one group: how often, on which streams, and the first of each. Two lines say the
 *      same when they differ in nothing but numbers, ranks, addresses and colours.
 * Ownership: results live in the caller's arena. Threads: workers; the pipeline's search pool works along.
 */
#pragma once

#include "read/logs/log_search.h"

enum { LOG_GROUPS_MAX = 1000, LOG_GROUP_STREAMS = 8, LOG_GROUP_TEXT_BYTES = 1024 };

struct log_group {
	uint64_t lines;
	struct log_place first;
	int64_t last_ms;
	struct span text,
		stream; /* of the first one: its text, at most so many bytes of it, and the name of its stream */
	bool is_cut;
	size_t stream_count; /* of those that say it */
	size_t named_count;
	struct span named[LOG_GROUP_STREAMS]; /* the first of these, by number */
};

struct log_groups {
	struct log_group *groups; /* by their first lines, oldest first */
	size_t count; /* of those that were asked for; `found` may be more */
	size_t found;
	uint64_t lines; /* all that match */
	uint64_t ungrouped; /* of these, those of further messages than a search keeps apart */
	uint64_t limited;
	bool is_partial;
};

/* search: what log_search_run takes, without a counter; `limit` is of groups, at most LOG_GROUPS_MAX. */
enum status log_groups_find(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct log_search *search, struct log_groups *out, struct error *err) MUST_CHECK;
