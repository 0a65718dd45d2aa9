/*
 * Job: how long the last slow stretches of a rate lasted, by how deep they were: what the next one must outlast to be news.
 * Ownership: values; zeroed is new. Threads: one at a time. Internal to detect/.
 * Deterministic: the same stretches in the same order give the same bits, also after pack and unpack.
 */
#pragma once

#include "base/codec/pack.h"

enum { STAYS = 4, FEW_STAYS = 4 };

struct stay {
	float depth; /* as a share of what was usual; 0: none */
	float length; /* in medians; fades */
	uint32_t count; /* stretches that it stands for; no more than FEW_STAYS */
};

struct stays {
	struct stay kept[STAYS];
};

/* The longest one, in medians. One less than half as deep counts for less. */
double stays_longest(const struct stays *stays, double depth);
/* How many were like it; no more than FEW_STAYS. */
unsigned stays_count(const struct stays *stays, double depth);
/* A median has gone by. */
void stays_fade(struct stays *stays);
/* One that is over: put together with a kept one that is as deep, or nearly; else the shortest gives way. */
void stays_keep(struct stays *stays, double depth, double length);
void stays_pack(const struct stays *stays, struct buf *out);
/* Before they were counted each stood for many. */
void stays_unpack(struct stays *stays, bool has_counts, struct unpacker *in);
