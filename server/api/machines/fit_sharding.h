/*
 * Job: what a job's settings say of what is spread over its ranks: DeepSpeed's and FSDP's words, Megatron-LM's and torchtitan's own. Internal
 *      to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/advice_facts.h"
#include "fleet/fit.h"

struct fit_sharding {
	bool is_spread; /* degrees divide the devices a whole number of times */
	struct span unread; /* a setting that shards in a way that is not followed; "" */
};

/* setup: its precision and degrees are read. */
void fit_sharding_read(const struct advice_facts *facts, struct fit_setup *setup, struct fit_sharding *out);
