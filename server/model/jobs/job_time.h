/*
 * Job: between which times a job's start, its end and its statuses can be stated: what is outside is a mistake, mostly of the unit.
 * Ownership: none. Threads: any.
 */
#pragma once

#include <stdint.h>

/* As lines and points: of 1990 to 2199. */
#define JOB_EARLIEST_MS INT64_C(631152000000)
#define JOB_LATEST_MS INT64_C(7258118400000)
/* No clock is off by more; of what is later, a job would be billed for days to come. */
#define JOB_AHEAD_MS INT64_C(86400000)
