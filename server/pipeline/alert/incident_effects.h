/*
 * Job: what came of an incident that was written, for those who must hear of it after the commit.
 * Ownership: plain values; spans are the transaction's.
 */
#pragma once

#include "store/sessions.h"

struct incident_effects {
	bool has_news;
	bool has_deliveries;
	char team[64]; /* of its job */
	struct command_row command; /* command_id 0: none was given */
	char facts[600];
};
