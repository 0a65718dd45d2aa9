/*
 * Job: finds the shapes of line that bear numbers which vary, among lines of which nothing is known, and makes metric
 *      definitions for them: what a person would write who looks at the log.
 * Ownership: all that is found lives in the caller's arena. Threads: any. Pure: no clock, no I/O; the same lines give the same.
 *
 * Lines are of one shape when they have the same words and marks; numbers, times, paths and identifiers may differ, and so may
 * one word that many variants have (a user, a host). A shape counts the more, the more lines it has, the more of its numbers
 * vary, the more words of training stand beside them, and when a counter on it goes up: that is the step. A number is called
 * by the words before it, else by the unit behind it, else by its place. Each expression was compiled and run over the lines
 * of its shape, where it found the number in at least nine of ten; of several that do, the one that matches fewest other lines
 * is taken, and of these the shortest.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "extract/shapes/line_shape.h"

/* match_steps: the limit of one search. The best comes first. */
enum status shapes_find(struct arena *arena, const struct span *lines, size_t count, uint32_t match_steps,
	struct line_shape out[SHAPES_MAX], size_t *found, struct error *err) MUST_CHECK;
