/*
 * Job: how much a condition may be.
 */
#pragma once

enum {
	CONDITION_MAX_BYTES = 1000,
	CONDITION_WINDOW_MAX = 1000,
	CONDITION_WINDOWS = 4,
	CONDITION_STEPS_MAX = 64, /* of the program */
	CONDITION_DEPTH_MAX = 16
};
