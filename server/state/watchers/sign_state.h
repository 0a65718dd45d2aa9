/*
 * Job: what is kept of the signatures in the lines of a stream: the present stretch of each; signs.h fills it.
 * Ownership: new/free; a stream's. Threads: the stream's lock. Packed with the stream's state.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"

enum { SIGN_TEXT_BYTES = 400, SIGN_HOST_BYTES = 255, SIGN_OWN_MAX = 64 };

struct sign { /* the present stretch of one signature */
	struct buf name; /* of the signature: the file may change between two starts */
	uint64_t count, first_line, last_line;
	int64_t first_ms, last_ms;
	unsigned own_count; /* lines that each were a stretch of their own, of late; not packed: a start counts anew */
	bool is_historic;
	bool is_dirty; /* the store does not know it as it is */
	bool is_under_way; /* and is being told */
	struct buf text;
	struct buf host; /* that the line names */
};

/* sign_cuts.h; not packed: read from the store */
struct sign_cut {
	uint64_t first_line; /* of the stretch that somebody cleared */
	uint64_t last_line; /* that was there then: one behind it is of another stretch */
};
struct sign_cuts {
	struct sign_cut *at;
	size_t count, cap;
	uint64_t *begun; /* lines with which a stretch began, as the store knows: a replay begins it there again */
	size_t begun_count, begun_cap;
};

struct signs {
	struct sign *items;
	size_t count, cap;
	struct sign_cuts cuts;
	int64_t checkpoint_step; /* the last one taken, and its attempt: many lines may tell of one */
	uint32_t checkpoint_attempt;
};

struct signs *signs_new(void) __attribute__((warn_unused_result));
void signs_free(struct signs *signs); /* NULL: nothing */
/* By the signature's name; NULL: there is none. */
struct sign *signs_find(const struct signs *signs, struct span name);
struct sign *signs_add(struct signs *signs, struct span name); /* NULL: out of memory */

void signs_pack(const struct signs *signs, struct buf *out);
enum status signs_unpack(struct signs **out, struct unpacker *in, struct error *err) MUST_CHECK;
