/*
 * Job: how many interruptions are to be expected, and within which bounds: the rate of a Poisson process is not known, but a Gamma
 *      distribution of it is, so that a count to come is of a negative binomial distribution (Gelman et al., "Bayesian Data Analysis",
 *      3rd edition, 2.6).
 * Ownership: values. Threads: any. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { INTERRUPTIONS_LEAST = 5 /* of fewer events nothing is said */ };

struct interruptions {
	double shape, exposure; /* of the Gamma distribution: events, and the machine-days that they took */
	double ahead; /* machine-days to come */
	double expected; /* shape / exposure * ahead */
	int64_t low, high; /* in 90 of 100 cases from low to high */
};

/* False: exposure or ahead is not above 0, or there would be more than a million. */
bool interruptions_expect(double shape, double exposure, double ahead, struct interruptions *out);
