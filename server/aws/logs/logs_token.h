/*
 * Job: the tokens of GetLogEvents, which say where a page goes on and belong to one stream, and those of FilterLogEvents.
 * Ownership: values. Threads: pure.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

enum { LOGS_TOKEN_BYTES = 60 }; /* f/ and 56 digits, and a NUL */

struct logs_token {
	bool is_backward;
	bool is_by_time; /* the page is in order of times, else in that of arrival */
	int64_t ts_ms;
	uint64_t line;
};

/* owner: what the token belongs to. */
void logs_token_print(const struct logs_token *token, struct span owner, char out[LOGS_TOKEN_BYTES]);
/* False: no such token was given for that owner. */
bool logs_token_read(struct span text, struct span owner, struct logs_token *out);

/* Jobs from first_id to last_id are looked through up to a place. */
struct logs_filter_token {
	int64_t first_id, last_id; /* last_id 0: not chosen yet */
	bool has_place; /* behind this one */
	int64_t ts_ms, job_id;
	uint32_t stream_id;
	uint64_t line;
};
struct span logs_filter_token_print(
	struct arena *arena, const struct logs_filter_token *token); /* ptr NULL: out of memory */
bool logs_filter_token_read(struct span text, struct logs_filter_token *out);
