/*
 * Job: one setting out of a log, and how many and how long they may be.
 * Ownership: the spans are the reader's (settings.h).
 */
#pragma once

#include "base/span.h"

enum {
	SETTINGS_MAX = 1000, /* keys of one stream */
	SETTINGS_LINES_MAX = 20000, /* a trainer says its settings at the start; behind that nothing is looked at */
	SETTING_KEY_MAX_BYTES = 256,
	SETTING_VALUE_MAX_BYTES = 2560, /* longer ones are left out, not cut: half a path is wrong */
};

struct setting {
	struct span key;
	struct span value;
	uint64_t line;
};
