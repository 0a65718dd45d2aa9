/*
 * Job: what fails again and again for one reason is said at once, and then more and more seldom.
 * Ownership: a value, zeroed at first. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct log_pace {
	char text[128]; /* the reason */
	int64_t due_ms; /* monotonic */
	int64_t wait_ms;
	uint64_t left_out; /* since it was said last */
};

/* Whether to say it now. Another reason than before, or one that was not there for a while, is said at once. */
bool log_pace_is_due(struct log_pace *pace, const char *text, int64_t now_ms);
/* How often it was not said; from 0 again. */
uint64_t log_pace_take_left_out(struct log_pace *pace);
