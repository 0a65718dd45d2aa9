/*
 * Job: settings that change the memory that is taken and that nothing else here follows: they are named. Internal to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/fit_names.h"
#include "fleet/fit.h"

/* setup: its degrees and stage are read. is_offloaded: it is known that something is, or that the formulas are of none of it. */
void fit_unfollowed_note(
	const struct advice_facts *facts, const struct fit_setup *setup, bool is_offloaded, struct fit_unread *unread);
