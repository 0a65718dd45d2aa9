/*
 * Job: tells whether a spike is what this loss does all the time: batches of two kinds of data, each of a loss of its own, in any order.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 * Deterministic: the same values in the same order give the same bits, also after pack and unpack.
 *
 * A spell is a run of odd points that was worth a warning and went back by itself. Where six of them came of late (a count that fades
 * within 1024 points), another is usual: unless it lasts half as long again as any of late, or is twice as high.
 */
#pragma once

#include "base/codec/pack.h"

struct spells {
	double count; /* of late */
	double longest, highest; /* points, spreads; of any of late */
	double height; /* of the run that goes on */
	uint32_t run; /* points in it */
	bool is_spell; /* it is worth a warning */
};

/* The next point; is_open: a warning is. */
void spells_gather(struct spells *spells, double z, bool is_open);
/* The run of the last point is worth a warning, where none is usual. */
void spells_add(struct spells *spells);
/* What runs is no spell: it stays, or another attempt begins. */
void spells_drop(struct spells *spells);
bool spells_are_usual(const struct spells *spells);
/* What runs is more than that. */
bool spells_have_more(const struct spells *spells);
void spells_pack(const struct spells *spells, struct buf *out);
void spells_unpack(struct spells *spells, struct unpacker *in);
