/*
 * Job: which of the progress bars of a stream are the training's: those with the most steps. Internal to extract/.
 * Ownership: a value. Threads: one at a time.
 *
 * A smaller one is that of an evaluation. A larger one that is full when it is first seen belongs to something beside the
 * training; so may one that comes while the present one is not full, until three of its lines have come without another one of these.
 */
#pragma once

#include "base/codec/pack.h"

#include <stdbool.h>
#include <stdint.h>

enum { BARS_SURE = 3 };

struct bars {
	int64_t largest; /* steps; 0: there was none yet */
	bool is_full;
	int64_t other; /* a larger one, not yet believed; 0: none */
	int64_t other_step; /* where it stood last */
	uint32_t other_lines;
};

/* total: of its steps, more than 0. True: it is not the training's. */
bool bars_is_side(struct bars *bars, int64_t step, int64_t total);
void bars_pack(const struct bars *bars, struct buf *out);
void bars_unpack(struct bars *bars, struct unpacker *in);
