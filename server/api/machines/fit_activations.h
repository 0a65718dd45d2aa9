/*
 * Job: what a job's settings say of the activations that it keeps. Internal to api/.
 * Ownership: spans are the facts'. Threads: workers.
 */
#pragma once

#include "api/machines/fit_names.h"
#include "fleet/fit.h"

/* setup: its sizes and degrees are read. */
void fit_activations_read(const struct advice_facts *facts, struct fit_setup *setup, struct fit_unread *unread);
