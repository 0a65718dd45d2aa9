/*
 * Job: how often something is heard of a job, and how long it may be silent before that is news. Pure: time is an argument,
 *      on any clock that does not jump.
 * Ownership: values; zeroed is new. Threads: one at a time.
 *
 * The limit is the largest of: the floor, 20 times the typical gap, twice the longest gap of late. In public logs an
 * evaluation or a checkpoint takes up to 19 median gaps, and the next one is about as long as the last. Nothing is said
 * before 20 gaps over a stretch as long as the floor: an upload of a whole log is no rhythm.
 */
#pragma once

#include <stdint.h>

struct rhythm {
	int64_t first_ms, last_ms;
	uint32_t gaps;
	double typical_ms; /* the median, as far as steps of a few per cent follow it */
	double longest_ms; /* fades: half is left after 700 gaps */
};

void rhythm_hear(struct rhythm *rhythm, int64_t now_ms);
/* INT64_MAX: too little is known. */
int64_t rhythm_limit_ms(const struct rhythm *rhythm, int64_t floor_ms);
