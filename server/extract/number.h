/*
 * Job: captured text to numbers: values and steps as trainers print them.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "base/span.h"

/* The largest step: doubles and JSON readers hold every integer up to it. */
#define STEP_MAX ((int64_t)1 << 53)

/* Decimal with exponent, nan, inf, and thousands separators in groups of three: "4,376". */
bool number_parse(struct span text, double *value);
/* An integer within +-STEP_MAX; "1e3", "10.0" and "1,000" are integers too. */
bool number_parse_step(struct span text, int64_t *step);
