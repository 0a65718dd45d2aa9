/*
 * Job: what a trace of PyTorch's profiler (Chrome's JSON) says of the time of a GPU, by the rules of HolisticTraceAnalysis 0.5.0, whose
 *      get_temporal_breakdown and get_comm_comp_overlap give the same: how long kernels computed, how long others ran, how long none did, and
 *      how much of the communication ran beside computation. docs/anatomy.md has the rules.
 *      The file is read up to three times: for its steps, for what was launched in them, and for the kernels. Memory is bounded, see
 *      TRACE_INTERVALS_MOST.
 * Ownership: values. Threads: any.
 */
#pragma once

#include "cli/trace/trace_event.h"

enum { TRACE_INTERVALS_MOST = 2800000, TRACE_ID_BYTES = 33 };

struct trace_summary {
	char id[TRACE_ID_BYTES]; /* of its rank, steps and kernels: of the same trace, packed or not, the same */
	int64_t rank; /* -1: it does not say */
	int64_t profiled_ms; /* when the first kernel began; 0: not known */
	int64_t first_step, last_step; /* what is summed up; -1: it names no steps */
	int64_t steps;
	int64_t step_us; /* the median; -1: not known */
	bool is_last_left_out; /* as HTA does: kernels that the last step launched may be missing */
	int64_t devices, kernels;
	int64_t kernel_us; /* from the first kernel's start to the last one's end */
	int64_t idle_us, compute_us, communication_us; /* of merged times */
	int64_t overlap_us; /* communication that ran beside computation */
	int64_t sums_us[TRACE_KERNELS]; /* of kernels one by one */
};

/*
 * ERR_INVALID: it is no such trace, or cut off: nothing of it is known. ERR_NOT_FOUND: it has no kernels of a GPU. ERR_TOO_LARGE: more of them lie
 * apart than there is memory for. ERR_BUSY: it is being written.
 */
enum status trace_read_source(
	const struct trace_source *source, struct trace_summary *out, struct error *err) MUST_CHECK;
enum status trace_read(const char *path, struct trace_summary *out, struct error *err) MUST_CHECK;
