/*
 * Job: what a number of a line is called, by the words beside it, and what it may measure. Internal to extract/.
 * Ownership: names are in the caller's arena. Threads: any. Pure.
 */
#pragma once

#include "base/arena.h"
#include "extract/shapes/shape_tokens.h"
#include "model/metrics/metric.h"

enum {
	SHAPE_NAME_WORDS_MAX = 3, /* before the number */
	SHAPE_UNIT_WORDS_MAX = 3 /* behind it: "tokens/s" */
};

enum shape_meaning {
	SHAPE_NEVER, /* a place, a setting, a time of day: no metric */
	SHAPE_MAY_BE,
	SHAPE_KNOWN, /* a word of training is in its name */
	SHAPE_STEPS, /* counts steps */
	SHAPE_EPOCHS
};

struct shape_name {
	struct span name; /* ptr NULL: no memory */
	struct span unit; /* "" : none, or nothing known of it */
	size_t first_token; /* of the words before it; its own where there are none */
	size_t last_token; /* of the unit that the name is made of; else its own */
	enum shape_meaning meaning;
	enum role role;
};

/* `hides` says of each token whether it is a word that varies, and so is no part of a name. */
struct shape_name shape_name_of(
	struct arena *arena, const struct shape_token *tokens, const bool *hides, size_t count, size_t number);
