/*
 * Job: the value of a condition of a rule (fleet/advice.h has the grammar). NaN: not known; a truth is 1 or 0.
 * Ownership: nothing is kept. Threads: any. Pure.
 */
#pragma once

#include "base/error.h"
#include "base/span.h"

/* False: there is no such name. */
typedef bool condition_resolve(void *context, struct span name, double *value);

/* ERR_INVALID says what was expected, and at which byte. */
enum status condition_evaluate(
	struct span text, condition_resolve *resolve, void *context, double *value, struct error *err) MUST_CHECK;
