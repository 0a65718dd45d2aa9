/*
 * Job: takes off what launchers, collectors and container runtimes put in front of a trainer's line. Internal to extract/.
 * Ownership: spans into the input. Threads: any.
 *
 * In any order and number, up to eight: mpirun --tag-output "[1,0]<stdout>:", torchrun "[default0]:" and "[rank3]:", srun
 * --label " 3: ", SageMaker local mode "algo-1-xyz | ", Ray "(TaskRunner pid=7, ip=10.0.0.1) ";
 * a timestamp with date and time, in brackets or not, with the CRI words "stdout F " behind it.
 */
#pragma once

#include "base/span.h"

enum { RANK_NONE = -1, RANK_MAX = 1 << 20 };

/* What stood in front. */
struct prefix {
	int32_t rank; /* RANK_NONE: no tag */
	bool is_bare; /* the rank is srun's bare number, which may be a counter of the trainer's own */
};

/* The text behind all prefixes. */
struct span line_peel(struct span text, struct prefix *prefix);
