/*
 * Job: what a job's settings say of what is spread over its ranks: DeepSpeed's and FSDP's words, Megatron-LM's and torchtitan's own. Internal
 *      to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/advice_facts.h"
#include "api/machines/fit_names.h"
#include "fleet/fit.h"

struct fit_sharding {
	bool is_spread; /* degrees divide the devices a whole number of times */
	bool is_within_node; /* what is sharded stays within a node: each has a whole copy */
};

/* setup: its precision and degrees are read. ranks_per_node: NaN: not known. */
void fit_sharding_read(const struct advice_facts *facts, double ranks_per_node, struct fit_setup *setup,
	struct fit_sharding *out, struct fit_unread *unread);
