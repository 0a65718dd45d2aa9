/*
 * Job: what Megatron-LM's, torchtitan's and torchtune's own settings say of what is spread over the ranks. Internal to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/fit_names.h"
#include "fleet/fit.h"

/* Whole copies of what Megatron's distributed optimizer and its FSDP shard within a group. */
void fit_copies_read(const struct advice_facts *facts, struct fit_setup *setup, struct fit_unread *unread);
/* Megatron's two FSDPs; false: neither is on. */
bool fit_megatron_read(const struct advice_facts *facts, struct fit_setup *setup, struct fit_unread *unread);
/* false: it is none of its. *is_spread: false where its degrees are not of these ranks. */
bool fit_torchtitan_read(
	const struct advice_facts *facts, struct fit_setup *setup, bool *is_spread, struct fit_unread *unread);
bool fit_torchtune_read(const struct advice_facts *facts, struct fit_setup *setup);
