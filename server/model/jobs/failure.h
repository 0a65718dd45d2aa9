/*
 * Job: what kind of failure a FailureReason tells of, so that failures can be counted: SageMaker's classes, also for the reasons
 *      that sm-ship, Slurm and the trainers give. The table in failure.c is all there is to it; docs/jobs.md shows it.
 * Threads: pure.
 */
#pragma once

#include "base/span.h"

/* "AlgorithmError", "ClientError", "InternalServerError", "CapacityError", "Unknown"; NULL: no reason is given. */
const char *failure_class(struct span reason);
