/*
 * Job: what parts of a prefix say of a line (prefix.h). Internal to extract/.
 * Ownership: nothing. Threads: any.
 */
#pragma once

enum { RANK_NONE = -1, RANK_MAX = 1 << 20 };

/* Kinds of guesses. */
enum {
	GUESS_HOST = 1, /* "gpu-1: " */
	GUESS_POD = 2, /* "pod-0 container " */
	GUESS_CONTAINER = 4, /* "web | " */
	GUESS_BRACKETS = 8, /* "[titan] " */
	GUESS_NAME = 16, /* "trainer: " behind a time or a level */
	GUESSES = 31
};
