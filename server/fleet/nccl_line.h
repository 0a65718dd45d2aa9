/*
 * Job: what nccl-tests prints (all_reduce_perf and its like), line by line: src/common.cu of https://github.com/NVIDIA/nccl-tests.
 * Ownership: spans are the line's. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

enum nccl_line_kind {
	NCCL_OTHER,
	NCCL_BEGIN, /* "# nThread 1 nGpus 8 minBytes …" */
	NCCL_NAME, /* "# Collective test starting: all_reduce_perf", or the command */
	NCCL_RANK, /* "#  Rank  0 Group  0 Pid  9 on HOST device  0 [0x53] NVIDIA H100" */
	NCCL_ROW,
	NCCL_WRONG, /* "# Out of bounds values : 0 OK" */
	NCCL_AVERAGE /* "# Avg bus bandwidth    : 42.1" */
};

struct nccl_half { /* out of place, or in place */
	double time_us, algbw, busbw; /* GB/s; NaN: not printed */
	double wrong; /* NaN: it was not checked */
};

struct nccl_line {
	enum nccl_line_kind kind;
	struct span name; /* of the test, or of the host */
	double value; /* wrong values, or the average */
	int64_t size; /* bytes */
	struct span type, redop;
	struct nccl_half out, in;
};

extern const char nccl_line_pattern[];
void nccl_line_read(struct span line, struct nccl_line *out);
