/*
 * Job: how far a rank had come when the watchdog of PyTorch's NCCL ended it, by its line (ProcessGroupNCCL.cpp), and who is behind the others.
 * Ownership: spans are the line's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

struct nccl_work {
	struct span group; /* of processes: ranks of one count the same work */
	int64_t rank; /* in the job; where the line does not say it, in the group */
	int64_t completed; /* the last work that it completed; -1: none */
};
/* False: the line says it not. */
bool nccl_work_read(struct span line, struct nccl_work *out);

/* Of one group: who stopped first, and where the others did. */
struct nccl_behind {
	size_t at; /* of the first row of it */
	size_t ranks; /* of the same machine, all of which stopped there */
	size_t others;
	int64_t completed, others_least, others_most;
};
struct nccl_rank {
	struct nccl_work work;
	struct span place; /* its machine */
};
/*
 * Several lines of a rank are its last one. False: nobody is behind, or ranks of several machines are, or one group says this machine and
 * another that one.
 */
bool nccl_work_find_behind(const struct nccl_rank *rows, size_t count, struct nccl_behind *out);
