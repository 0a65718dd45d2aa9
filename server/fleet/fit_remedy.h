/*
 * Job: what would make a training fit into the memory of its devices: each change alone that does, the cheapest first; where none does,
 *      several one behind the other.
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include "fleet/fit.h"

#include <stddef.h>

enum fit_change {
	FIT_HALVE_MICRO_BATCH, /* as often as it takes: twice the accumulation each time */
	FIT_SELECTIVE_RECOMPUTATION,
	FIT_SEQUENCE_PARALLEL,
	FIT_SHARD_MORE, /* the next ZeRO stage that suffices */
	FIT_FULL_RECOMPUTATION,
	FIT_DOUBLE_TENSOR, /* as often as it takes, within a node */
	FIT_CHANGES
};

struct fit_remedy {
	struct fit_setup setup; /* behind the change */
	bool changes[FIT_CHANGES];
	double total; /* bytes of a device, by the formulas */
};
/* limit: what a device has. factor: bytes that are really taken, per byte of the formulas. Returns how many; none where the total is not known. */
size_t fit_remedies(const struct fit_setup *setup, double limit, double factor, double ranks_per_node,
	struct fit_remedy out[FIT_CHANGES]);
