/*
 * Job: what a stream remembers for the reading of any line: what earlier lines said about the names and counters of the next.
 *      Internal to extract/.
 * Ownership: a value. Threads: one at a time.
 */
#pragma once

#include "base/codec/pack.h"
#include "extract/generic/counters.h"

struct generic_memory {
	uint64_t header; /* the number of the last line that said the step alone, from 1; 0: none */
	bool has_fine; /* lines have said a step that is no epoch */
	bool has_loss;
	uint32_t loss_alias; /* the name of its loss (generic_value.alias); under others it is another series */
	int64_t epoch_total; /* the most batches of an epoch, as lines with an epoch say; 0: none did */
	int64_t first, second; /* of the last "3/120" without an epoch; second 0: there was none */
	uint32_t rises; /* how often in a row the second went on while the first stood still */
	int64_t ended; /* where the second was when the first went on; 0: it has not */
};

/* "Batch 3/120", "Batch 3/130": the second number goes on, so they are an epoch and a batch. *counters is what is meant then. */
void generic_memory_see(struct generic_memory *memory, struct generic_counters *counters);
/* "[Batch 10/50]" beside "[Epoch 2 Batch 10/1000]": another loop counts there, perhaps an evaluation. */
bool generic_memory_is_beside(const struct generic_memory *memory, const struct generic_counters *counters);
void generic_memory_pack(const struct generic_memory *memory, struct buf *out);
/* has_counters: not of the versions that remembered no counters. */
void generic_memory_unpack(struct generic_memory *memory, bool has_counters, struct unpacker *in);
