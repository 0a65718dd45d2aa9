/*
 * Job: what is kept of the signatures in the lines of a stream: the present stretch of each; signs.h fills it.
 * Ownership: new/free; a stream's. Threads: the stream's lock. Packed with the stream's state.
 */
#pragma once

#include "base/buf.h"
#include "base/codec/pack.h"

enum { SIGN_TEXT_BYTES = 400, SIGN_HOST_BYTES = 1000, SIGN_OWN_MAX = 64, SIGNS_MAX = 128, SIGN_DUMPED_MAX = 16 };

struct sign { /* the present stretch of one signature, of each machine that lines name for themselves */
	struct buf name; /* of the signature: the file may change between two starts */
	uint64_t count, first_line, last_line;
	int64_t first_ms, last_ms;
	unsigned own_count; /* lines that each were a stretch of their own, of late; not packed: a start counts anew */
	bool is_historic;
	bool is_dirty; /* the store does not know it as it is */
	bool is_under_way; /* and is being told */
	struct buf text;
	struct buf host; /* that the lines name */
	uint8_t naming; /* enum naming: how sure that is; not packed: the store knows by then whose the stretch is */
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
	bool is_in_dump; /* a shell prints a kernel's log, of what was; not packed, nor what it printed: */
	uint64_t dumped[SIGN_DUMPED_MAX]; /* lines of it that would accuse, hashed, the newest last */
	struct buf record_host; /* of journald's record whose lines are read; not packed */
};

struct signs *signs_new(void) __attribute__((warn_unused_result));
void signs_free(struct signs *signs); /* NULL: nothing */
/* By the signature's name and the machine that its lines name; NULL: there is none. */
struct sign *signs_find(const struct signs *signs, struct span name, struct span host);
struct sign *signs_add(struct signs *signs, struct span name, struct span host); /* NULL: out of memory */
/* Of all that name a machine the one whose last line is the oldest, once there are SIGNS_MAX: its place is wanted. NULL: there is room. */
struct sign *signs_find_oldest(const struct signs *signs);
/* It is that machine's from now on. */
void sign_begin(struct sign *sign, struct span name, struct span host);

void signs_pack(const struct signs *signs, struct buf *out);
enum status signs_unpack(struct signs **out, struct unpacker *in, struct error *err) MUST_CHECK;
