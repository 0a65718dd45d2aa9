/*
 * Job: curves that are one object: {"loss": {"1": 2.5, "100": 2.25}}. Members whose names count up are points, and their names the
 *      steps. Internal to extract/.
 * Ownership: spans into the text. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

#include <stdint.h>

enum {
	CURVES_DEPTH_MAX = 8, /* deeper objects are passed over */
	CURVES_MEMBERS_MIN = 3, /* fewer are no curve */
	CURVES_POINTS_MAX = 65536 /* of one line */
};

/* The name of the curve that an object is: its own, or that of the object around it; empty: none that is known. */
struct span curves_name(struct span key, struct span around);
/* "12": a name that counts. */
bool curves_step(struct span key, int64_t *step);

struct curves {
	struct span rest;
	size_t depth;
	struct span keys[CURVES_DEPTH_MAX];
	struct span names[CURVES_DEPTH_MAX]; /* of what is a curve */
};

struct curves_point {
	struct span name, text;
	int64_t step;
	double value;
};

/* False: the text is no object with a curve in it, or it says a step besides. */
bool curves_begin(struct curves *curves, struct span text);
bool curves_next(struct curves *curves, struct curves_point *point);
