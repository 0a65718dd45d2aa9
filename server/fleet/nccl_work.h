/*
 * Job: how far a rank had come when the watchdog of PyTorch's NCCL ended it, by its line (ProcessGroupNCCL.cpp), and who is behind the others.
 * Ownership: spans are the line's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

struct nccl_work {
	bool is_default; /* it is of the group of all ranks: the name of another one is not the same everywhere */
	int64_t rank; /* in the job; where the line does not say it, in the group */
	int64_t completed; /* the last work that it completed; -1: none */
};
/* False: the line says it not. */
bool nccl_work_read(struct span line, struct nccl_work *out);
/* What timed out is one that all ranks count alike: sends and receives are counted by those that take part. *is_told: the line says it. */
bool nccl_work_is_collective(struct span line, bool *is_told);

struct nccl_rank {
	struct nccl_work work;
	struct span place; /* who sent the line: its machine, or else its stream */
	size_t hit; /* the caller's */
};
/* Who stopped first, and where the others did. */
struct nccl_behind {
	const struct nccl_rank *first;
	bool is_alone; /* the place has none of the others: it may be named. Else it may be who gathers all ranks' lines. */
	size_t ranks; /* of the same place, all of which stopped there */
	size_t others;
	int64_t others_least, others_most;
};
/*
 * Sorts the rows. False: nobody is behind, or ranks of several places are, or it may be another matter: another group, a hole in the ranks, a
 * rank that says two things, more than two works apart, two places.
 */
bool nccl_work_find_behind(struct nccl_rank *rows, size_t count, struct nccl_behind *out);
